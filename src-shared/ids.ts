import { z } from 'zod'

/** UUIDv7 in lower case, made where the thing is made. */
const uuid = z
  .string()
  .regex(
    /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
    'not a UUID in lower case',
  )

export const ProjectId = uuid.brand<'ProjectId'>()
export type ProjectId = z.infer<typeof ProjectId>

export const TicketId = uuid.brand<'TicketId'>()
export type TicketId = z.infer<typeof TicketId>

export const SessionId = uuid.brand<'SessionId'>()
export type SessionId = z.infer<typeof SessionId>

export const InputId = uuid.brand<'InputId'>()
export type InputId = z.infer<typeof InputId>

export const LeaseId = uuid.brand<'LeaseId'>()
export type LeaseId = z.infer<typeof LeaseId>

/** One hand-over of one or more inputs to the runtime; the runtime sees it as the message's own id. */
export const DeliveryId = uuid.brand<'DeliveryId'>()
export type DeliveryId = z.infer<typeof DeliveryId>

/** Makes a command idempotent: the same id gives the first answer again. */
export const CommandId = uuid.brand<'CommandId'>()
export type CommandId = z.infer<typeof CommandId>

export const RequestId = uuid.brand<'RequestId'>()
export type RequestId = z.infer<typeof RequestId>

export const QuestionId = uuid.brand<'QuestionId'>()
export type QuestionId = z.infer<typeof QuestionId>

export const AssumptionId = uuid.brand<'AssumptionId'>()
export type AssumptionId = z.infer<typeof AssumptionId>

/** `agent-1`, `agent-2`, …: a place of the fleet, the same after a restart. */
export const AgentId = z
  .string()
  .regex(/^agent-[1-9][0-9]{0,2}$/, 'not an agent such as agent-1')
  .brand<'AgentId'>()
export type AgentId = z.infer<typeof AgentId>

/** sha256 of the content, 64 hexadecimal digits. */
export const BlobId = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'not a sha256 in lower case')
  .brand<'BlobId'>()
export type BlobId = z.infer<typeof BlobId>

/** A ticket's key: the project's key, a dash and a number, such as `SHOP-14`. */
export const TicketKey = z
  .string()
  .regex(/^[A-Z][A-Z0-9]{0,9}-[1-9][0-9]*$/, 'not a ticket key such as SHOP-14')
  .brand<'TicketKey'>()
export type TicketKey = z.infer<typeof TicketKey>

/** What a person types for a thing: its whole id, a unique prefix of it, a name or a key. */
export const Reference = z.string().trim().min(1, 'name the thing').max(200)
export type Reference = z.infer<typeof Reference>

/** A moment: ISO 8601 in UTC with milliseconds, `2026-11-29T16:32:50.123Z`. */
export const Instant = z.iso.datetime({ precision: 3 })
export type Instant = z.infer<typeof Instant>
