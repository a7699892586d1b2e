import { z } from 'zod'

/** As the contract has it, so that a bad title is a usage error before a host is asked. */
export const TicketTitle = z.string().trim().min(1, 'a ticket needs a title').max(500)
