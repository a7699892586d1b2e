import { z } from 'zod'
import { call, command, referenced } from './call.ts'
import { Reference } from './ids.ts'
import { DeletedTicket, ExportedFile, Leftover, Passphrase } from './moving.ts'
import { Session } from './records.ts'

const file = z
  .string()
  .max(4_096)
  .regex(/^(\/|[A-Za-z]:[\\/]|\\\\)/, 'not an absolute path')

/** The part of the contract's `sessions` that moves one to another host. */
export const movingCalls = {
  /**
   * Parks it where it is live, writes everything of it to one new file, sealed with the passphrase, and leaves it as
   * `moved`. The file lies on the host's machine; one that is there is never written over.
   */
  export: call.input(referenced.extend({ file, passphrase: Passphrase })).output(ExportedFile),
  /** Parked, as it was when it was exported. Its project is the one of its remote, else the named one. */
  import: call
    .input(z.object({ file, passphrase: Passphrase, project: Reference.optional() }))
    .output(Session),
}

/** The part of the contract's `tickets` that removes one. */
export const deletionCalls = {
  /**
   * Refused while a session of it is live, or holds work that is not pushed. With `remoteBranch` its branch goes from
   * the remote too; refused where that holds what no other branch has. `forceBranch`, the branch's name, removes
   * also what is nowhere else.
   */
  delete: call
    .input(
      referenced.extend({
        ...command,
        remoteBranch: z.boolean().default(false),
        forceBranch: z.string().max(250).optional(),
      }),
    )
    .output(DeletedTicket),
}

/** The part of the contract's `host` that looks after its data folder. */
export const housekeepingCalls = {
  /** Writes the data key to a file of its owner alone, for a host without a keychain. */
  exportKey: call.output(z.object({ file: z.string(), written: z.boolean() })),
  /** What nothing needs any more; with `remove` it is removed as well. */
  gc: call
    .input(z.object({ remove: z.boolean().default(false) }).default({ remove: false }))
    .output(z.array(Leftover)),
}
