import { oc } from '@orpc/contract'
import { z } from 'zod'
import { CommandId, Reference } from './ids.ts'
import { Refusal } from './refusal.ts'

/** A title and a body of a ticket, and the text of a message, in UTF-16 code units. */
export const TEXT_LIMIT = 2_000_000

/**
 * Every refusal and failure crosses the wire as this one error; its data tells which.
 * Anything else that arrives is a defect of the host or of the wire.
 */
const refusals = { REFUSED: { message: 'refused', data: Refusal } } as const

export const call = oc.errors(refusals)

/** Given to every command; the same id gives the first answer again and does nothing twice. */
export const command = { commandId: CommandId.optional() }

export const text = z
  .string()
  .max(TEXT_LIMIT)
  .refine((value) => value.trim() !== '', 'an empty text says nothing')

export const referenced = z.object({ ref: Reference })
