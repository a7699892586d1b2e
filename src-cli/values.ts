import { InvalidArgumentError } from 'commander'
import type { z } from 'zod'
import { describeIssues, UsageError } from './failures.ts'

/** Reads an option's or an argument's text with the contract's schema; what does not fit is a usage error. */
export function parsed<S extends z.ZodType>(schema: S): (text: string) => z.output<S> {
  return (text) => check(schema, text)
}

/** Like `parsed`, for a whole number. */
export function parsedNumber<S extends z.ZodType>(schema: S): (text: string) => z.output<S> {
  return (text) => {
    if (!/^-?\d{1,15}$/.test(text))
      throw new InvalidArgumentError(`"${text}" is not a whole number.`)
    return check(schema, Number(text))
  }
}

/** Like `parsed`, for names with commas between; an empty text gives none. */
export function parsedNames<S extends z.ZodType>(schema: S): (text: string) => z.output<S> {
  return (text) =>
    check(
      schema,
      text.split(',').flatMap((name) => name.trim() || []),
    )
}

/** Like `parsed`; an empty text, which stands for nothing, stays one. */
export function orNothing<S extends z.ZodType>(schema: S): (text: string) => z.output<S> | '' {
  return (text) => (text === '' ? '' : check(schema, text))
}

/** An edit without a field. */
export function nothingToChange(command: string): UsageError {
  return new UsageError({
    code: 'usage.missing',
    message: 'Nothing was named to change.',
    hint: `\`ballet ${command} edit --help\` says what can be.`,
  })
}

function check<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw new InvalidArgumentError(`${describeIssues(result.error.issues)}.`)
}

/** Collects `KEY=VALUE` of a repeated option. */
export function assignment(
  text: string,
  before: Record<string, string> | undefined,
): Record<string, string> {
  const at = text.indexOf('=')
  const name = text.slice(0, at)
  if (at < 1 || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    throw new InvalidArgumentError('It must read NAME=VALUE.')
  }
  return { ...before, [name]: text.slice(at + 1) }
}

export function collected(text: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), text]
}
