import { BalletError } from '../../src-shared/refusal.ts'
import type { Git } from '../git/run.ts'

/** The error, with the file that has the setting that git could not use, where it is about one. */
export async function withPlaceOfSetting(git: Git, cwd: string, error: unknown): Promise<unknown> {
  if (!(error instanceof BalletError) || error.code !== 'git.configuration') return error
  const name = / for '([\w.-]+)'/.exec(error.message)?.[1]
  if (name === undefined) return error
  // It looks at the values of settings alone, and uses none of them.
  const asked = await git.run(['config', '--show-origin', '--get', name], { cwd })
  const file = /^file:(.+?)\t/.exec(asked.stdout.toString('utf8'))?.[1]
  if (file === undefined) return error
  const { code, message, ...rest } = error.toRefusal()
  const where = file === '.git/config' ? `${cwd}/.git/config` : file
  return new BalletError(
    { code, message: `${message}, set in ${where}`, ...rest },
    { cause: error },
  )
}
