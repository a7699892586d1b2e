import { z } from 'zod'

/**
 * Why something was refused or failed, for people and for programs.
 * `code` is stable (`ticket.not-found`), `message` names the thing and the cause, `hint` the next step.
 */
export const Refusal = z.object({
  code: z.string().regex(/^[a-z]+(-[a-z]+)*(\.[a-z]+(-[a-z]+)*)*$/),
  message: z.string(),
  hint: z.string().optional(),
})
export type Refusal = z.infer<typeof Refusal>

/** A refusal or a failure that travels as an exception inside a process. */
export class BalletError extends Error {
  readonly code: string
  readonly hint: string | undefined

  constructor(refusal: Refusal, options?: { cause?: unknown }) {
    super(refusal.message, options)
    this.name = 'BalletError'
    this.code = refusal.code
    this.hint = refusal.hint
  }

  toRefusal(): Refusal {
    return {
      code: this.code,
      message: this.message,
      ...(this.hint === undefined ? {} : { hint: this.hint }),
    }
  }
}

/** A value or the reason why there is none. */
export type Result<T> = { ok: true; value: T } | { ok: false; refusal: Refusal }

export function accept<T>(value: T): Result<T> {
  return { ok: true, value }
}

export function refuse(
  code: string,
  message: string,
  hint?: string,
): { ok: false; refusal: Refusal } {
  return { ok: false, refusal: { code, message, ...(hint === undefined ? {} : { hint }) } }
}

/** Ends a switch over a union; a new member is then an error of compilation. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`)
}
