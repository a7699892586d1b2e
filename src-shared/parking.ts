import { z } from 'zod'
import { Instant } from './ids.ts'
import { Refusal } from './refusal.ts'

/**
 * Why a session parks: its online window passed, a person said so, its agent is drained, or its host quits; `stop`: a
 * person stopped it while it parked.
 */
export const ParkReason = z.enum(['window', 'person', 'drain', 'quit', 'stop'])
export type ParkReason = z.infer<typeof ParkReason>

/** The steps of parking, in their order. */
export const ParkStep = z.enum(['settle', 'snapshot', 'push', 'state', 'store', 'free'])
export type ParkStep = z.infer<typeof ParkStep>

/** The steps of resuming what was parked, in their order. */
export const ResumeStep = z.enum(['clone', 'restore', 'setup', 'state', 'prove'])
export type ResumeStep = z.infer<typeof ResumeStep>

/**
 * What a kept file holds: the runtime's session state; commits that the remote lacks; other branches, tags and
 * stashes; files that are not for the remote; the whole workspace.
 */
export const KeptFileKind = z.enum(['state', 'bundle', 'refs', 'aside', 'archive'])
export type KeptFileKind = z.infer<typeof KeptFileKind>

/** A sealed file that Core keeps of a parked session, in the session's folder of kept files. */
export const KeptFile = z.object({
  kind: KeptFileKind,
  /** Its name in that folder. */
  name: z.string().regex(/^[a-z0-9][a-z0-9.-]{0,99}$/),
  bytes: z.int().min(0),
  /** Of the sealed file. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** Of what it holds. */
  contentSha256: z.string().regex(/^[0-9a-f]{64}$/),
})
export type KeptFile = z.infer<typeof KeptFile>

/** Codes of refusals that say that a kept file is not there any more, or not what was stored. */
export const DAMAGED: readonly string[] = ['state.missing', 'state.corrupt']

/** What an agent kept of a session; Core gives it back as it is when the session is resumed. */
export const ParkedWork = z.object({
  /** Where the session's branch stands with the work; null when there is no commit at all. */
  commit: z.string().nullable(),
  pushed: z.boolean(),
  /** Why it is not pushed. */
  notPushed: Refusal.nullable(),
  files: z.array(KeptFile).max(20),
  /** Of the session state; null when the runtime had none, or its driver cannot keep it. */
  state: z
    .object({ conversation: z.string(), runtimeVersion: z.string(), bytes: z.int().min(0) })
    .nullable(),
  /** The runtime can keep its state, and had recorded nothing: what it was given goes to a new conversation. */
  unrecorded: z.literal(true).optional(),
  /** Files that went into a kept file instead of to the remote. */
  aside: z.array(z.object({ name: z.string(), why: z.string(), bytes: z.int().min(0) })),
  /** The agent's own words for its snapshot; null when there was no workspace. */
  snapshot: z.record(z.string(), z.unknown()).nullable(),
})
export type ParkedWork = z.infer<typeof ParkedWork>

/** What people see of a parked session. */
export const Parked = z.object({
  why: ParkReason,
  at: Instant,
  commit: z.string().nullable(),
  pushed: z.boolean(),
  notPushed: Refusal.nullable(),
  /** Sizes of the kept files, and of the session state among them, in bytes. */
  keptBytes: z.int().min(0),
  stateBytes: z.int().min(0).nullable(),
  runtimeVersion: z.string().nullable(),
  aside: z.array(z.object({ name: z.string(), why: z.string(), bytes: z.int().min(0) })),
  /** It was working when it was drained, and goes on by itself after the start. */
  wakes: z.boolean(),
  /** A kept file is damaged, so that it is only resumed where a person goes on without it. */
  damaged: z.literal(true).optional(),
})
export type Parked = z.infer<typeof Parked>
