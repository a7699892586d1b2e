import '../../sync/without-jit.ts'
import { Passphrase } from '../../../src-shared/moving.ts'

/** How long a session may take to park, or a file to be written or read, in milliseconds: over what the host allows. */
const MOVE_LIMIT_MS = 65 * 60_000

export const moveLimit = () => ({ signal: AbortSignal.timeout(MOVE_LIMIT_MS) })

/** A file and what seals it, as they are typed. */
export type MoveDraft = {
  /** Absolute. */
  file: string
  passphrase: string
  /** The passphrase once more, where the file is a new one. */
  again?: string
}

export type WrongMove = Partial<Record<keyof MoveDraft, string>>

/** What can be told wrong without asking the host, by field. */
export function checkMove({ file, passphrase, again }: MoveDraft): WrongMove {
  const sealed = Passphrase.safeParse(passphrase)
  const isAbsolute = /^(\/|[A-Za-z]:[\\/]|\\\\)/.test(file.trim())
  return {
    ...(isAbsolute
      ? {}
      : { file: 'It needs the whole path of a file, such as /home/ada/shop-1.ballet.' }),
    ...(sealed.success
      ? {}
      : { passphrase: `${sealed.error.issues[0]?.message ?? 'it does not do'}.` }),
    ...(again === undefined || again === passphrase ? {} : { again: 'The two differ.' }),
  }
}
