import { z } from 'zod'
import { SessionId, TicketId } from './ids.ts'
import { Ticket } from './records.ts'
import { Refusal } from './refusal.ts'

/** What seals an exported session. */
export const Passphrase = z
  .string()
  .min(8, 'a passphrase has 8 characters at least')
  .max(1_000, 'a passphrase has 1,000 characters at most')

/** The command line that takes an exported session in, wherever that file is then. */
export const importCommand = (file: string): string =>
  `ballet session import ${/^[\w./:\\-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`}`

/** What is gone with a ticket, also by an attempt before that was cut. */
export const DeletionReport = z.object({
  sessions: z.int().min(0),
  events: z.int().min(0),
  workspaces: z.int().min(0),
  /** Kept files of parked sessions, and their bytes. */
  keptFiles: z.int().min(0),
  keptBytes: z.int().min(0),
  /** Files in which runtimes kept the conversations of its sessions. */
  runtimeFiles: z.int().min(0),
  /** `left`: nobody asked for its removal. `none`: the remote had none. */
  remoteBranch: z.enum(['removed', 'left', 'none']),
})
export type DeletionReport = z.infer<typeof DeletionReport>

export const DeletedTicket = Ticket.extend({ removed: DeletionReport })
export type DeletedTicket = z.infer<typeof DeletedTicket>

/** What lies in a data folder, or in a runtime's, and belongs to nothing that Ballet knows any more. */
export const LeftoverKind = z.enum(['workspace', 'kept', 'scratch', 'mirror', 'lock', 'state'])
export type LeftoverKind = z.infer<typeof LeftoverKind>

/** A thing on the disk that Ballet made, as far as an agent can tell by looking at it. */
export const FoundThing = z.object({
  kind: LeftoverKind,
  /** Absolute. */
  path: z.string(),
  bytes: z.int().min(0),
  /** Milliseconds since it was last written to. */
  ageMs: z.number(),
  /** What it says it belongs to: a session's id, a project's id, a nonce, a conversation; null where it says nothing. */
  owner: z.string().nullable(),
  /** Of a conversation: the folder that it ran in; null for everything else. */
  place: z.string().nullable(),
})
export type FoundThing = z.infer<typeof FoundThing>

export const Leftover = FoundThing.pick({ kind: true, path: true, bytes: true }).extend({
  /** Why it is one, for people. */
  why: z.string(),
  removed: z.boolean(),
  /** Why it was to be removed and is not. */
  refusal: Refusal.nullable(),
})
export type Leftover = z.infer<typeof Leftover>

/** What an export became. */
export const ExportedFile = z.object({
  session: SessionId,
  ticketId: TicketId,
  /** Absolute. */
  file: z.string(),
  bytes: z.int().min(0),
})
export type ExportedFile = z.infer<typeof ExportedFile>
