import { z } from 'zod'
import { call, command, referenced, text } from './call.ts'
import { Reference } from './ids.ts'
import { InboxItem, InboxKind } from './inbox.ts'
import { Assumption, AssumptionState, Question, QuestionState } from './questions.ts'
import { Ticket } from './records.ts'

/** The part of the contract that is about what agents ask and what they assume. */
export const questionCalls = {
  /** What agents ask. The first answer counts; a second one is refused with `question.answered` and says by whom. */
  questions: {
    /** Oldest first; `search` looks in question, answer and key. */
    list: call
      .input(
        z
          .object({
            session: Reference.optional(),
            ticket: Reference.optional(),
            project: Reference.optional(),
            state: QuestionState.optional(),
            search: z.string().max(500).optional(),
            /** The newest ones, when there are more. */
            limit: z.int().min(1).max(1_000).default(200),
          })
          .default({ limit: 200 }),
      )
      .output(z.array(Question)),
    /** By its id, a prefix of it, or its key. */
    show: call.input(referenced).output(Question),
    /**
     * Delivered as the next user message of its session, together with the other answers of its turn: when the last of
     * them is answered, or at once with `sendNow`. `undoMs` holds it that long. A stopped session is brought back,
     * unless `resume` is false: then it is delivered when somebody brings the session back.
     */
    answer: call
      .input(
        referenced
          .extend({
            ...command,
            /** Numbers of options, from 1. */
            options: z.array(z.int().min(1).max(10)).max(10).optional(),
            text: text.optional(),
            sendNow: z.boolean().default(false),
            undoMs: z.int().min(0).max(30_000).default(0),
            resume: z.boolean().default(true),
          })
          .refine(
            (value) => value.text !== undefined || (value.options?.length ?? 0) > 0,
            'an answer needs an option or a text',
          ),
      )
      .output(Question),
    /** “Decide yourself”, with an optional word. An answer like any other. */
    decline: call
      .input(
        referenced.extend({
          ...command,
          text: text.optional(),
          sendNow: z.boolean().default(false),
          undoMs: z.int().min(0).max(30_000).default(0),
          resume: z.boolean().default(true),
        }),
      )
      .output(Question),
    /** Takes an answer back that its session does not have yet; refused with `question.sent` once it is on its way. */
    undo: call.input(referenced.extend(command)).output(Question),
    /** Delivers what is answered of the question's turn now, though others of it are open. */
    sendNow: call.input(referenced.extend(command)).output(Question),
    /** Replaces an answer of the planner: the correction goes to the session as its next input. */
    overturn: call.input(referenced.extend({ ...command, text })).output(Question),
  },

  /** Decisions that agents took themselves. */
  assumptions: {
    /** Oldest first. */
    list: call
      .input(
        z
          .object({
            session: Reference.optional(),
            ticket: Reference.optional(),
            state: AssumptionState.optional(),
          })
          .default({}),
      )
      .output(z.array(Assumption)),
    confirm: call.input(referenced.extend(command)).output(Assumption),
    /**
     * The correction goes to the session as an input. Of a session that is over it makes a new ticket with the
     * correction where `newTicket` is true, and is refused with `session.over` otherwise.
     */
    overturn: call
      .input(referenced.extend({ ...command, text, newTicket: z.boolean().default(false) }))
      .output(Assumption.extend({ newTicket: Ticket.nullable() })),
  },

  inbox: {
    /** In the order of `inboxOf`. */
    list: call
      .input(z.object({ project: Reference.optional(), kind: InboxKind.optional() }).default({}))
      .output(z.array(InboxItem)),
  },
}
