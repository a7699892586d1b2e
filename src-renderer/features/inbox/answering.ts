import type { Ticket } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import type { Client } from '../../sync/client.ts'
import { recordsStore } from '../../sync/records.ts'
import { newCommand } from '../composer/steer.ts'
import { attempt } from '../session/actions.ts'

/** An answer that was given in the window can be taken back for so long, where that is on. */
export const UNDO_MS = 5_000

export type GivenAnswer =
  | { kind: 'answer'; options: readonly number[]; text: string }
  | { kind: 'decline'; text: string }

/** `resume`: a stopped session is brought back by it. */
export type Delivery = { sendNow: boolean; resume: boolean }

const undoMs = (): number =>
  recordsStore().getState().settings.get('settings')?.answerUndo === false ? 0 : UNDO_MS

/** Gives an answer to the host; what comes back is why it could not be given. */
export async function answerQuestion(
  client: Client,
  question: string,
  given: GivenAnswer,
  { sendNow, resume }: Delivery,
): Promise<Refusal | null> {
  const text = given.text.trim()
  const command = {
    ref: question,
    commandId: newCommand(),
    sendNow,
    resume,
    undoMs: undoMs(),
    ...(text === '' ? {} : { text }),
  }
  const outcome = await attempt(() => {
    if (given.kind === 'decline') return client.questions.decline(command)
    return client.questions.answer({
      ...command,
      ...(given.options.length === 0 ? {} : { options: [...given.options] }),
    })
  })
  return outcome.ok ? null : outcome.refusal
}

export async function undoAnswer(client: Client, question: string): Promise<Refusal | null> {
  const outcome = await attempt(() =>
    client.questions.undo({ ref: question, commandId: newCommand() }),
  )
  return outcome.ok ? null : outcome.refusal
}

export async function sendAnswersNow(client: Client, question: string): Promise<Refusal | null> {
  const outcome = await attempt(() =>
    client.questions.sendNow({ ref: question, commandId: newCommand() }),
  )
  return outcome.ok ? null : outcome.refusal
}

export async function overturnAnswer(
  client: Client,
  question: string,
  text: string,
): Promise<Refusal | null> {
  const outcome = await attempt(() =>
    client.questions.overturn({ ref: question, commandId: newCommand(), text: text.trim() }),
  )
  return outcome.ok ? null : outcome.refusal
}

export async function confirmAssumption(
  client: Client,
  assumption: string,
): Promise<Refusal | null> {
  const outcome = await attempt(() =>
    client.assumptions.confirm({ ref: assumption, commandId: newCommand() }),
  )
  return outcome.ok ? null : outcome.refusal
}

/** The new ticket is the one that the correction became where the session was over. */
export async function overturnAssumption(
  client: Client,
  assumption: string,
  text: string,
  newTicket: boolean,
): Promise<{ refusal: Refusal } | { newTicket: Ticket | null }> {
  const outcome = await attempt(() =>
    client.assumptions.overturn({
      ref: assumption,
      commandId: newCommand(),
      text: text.trim(),
      newTicket,
    }),
  )
  return outcome.ok ? { newTicket: outcome.value.newTicket } : { refusal: outcome.refusal }
}

/** Somebody else was first, or the question is withdrawn: it takes no answer any more. */
export const isOverAlready = ({ code }: Refusal): boolean =>
  code === 'question.answered' || code === 'question.withdrawn'

type KeyPress = {
  key: string
  shiftKey: boolean
  altKey: boolean
  ctrlKey: boolean
  metaKey: boolean
}

export type QuestionAct =
  | { act: 'pick'; option: number }
  | { act: 'send' }
  | { act: 'write' }
  | { act: 'decline' }

/** What a key does on a question that has the focus; `0` is the tenth option. */
export function questionAct(press: KeyPress, options: number): QuestionAct | null {
  if (press.altKey || press.ctrlKey || press.metaKey || press.shiftKey) return null
  if (/^[0-9]$/.test(press.key)) {
    const option = press.key === '0' ? 10 : Number(press.key)
    return option <= options ? { act: 'pick', option } : null
  }
  switch (press.key.toLowerCase()) {
    case 'enter':
      return { act: 'send' }
    case 'o':
      return { act: 'write' }
    case 'd':
      return { act: 'decline' }
    default:
      return null
  }
}

/** The choice after an option was picked: the other ones stay where several may be chosen. */
export function picked(
  chosen: readonly number[],
  option: number,
  multiple: boolean,
): readonly number[] {
  if (!multiple) return [option]
  return chosen.includes(option)
    ? chosen.filter((each) => each !== option)
    : [...chosen, option].sort((a, b) => a - b)
}

/** Why nothing can be sent yet; null where it can. */
export function whatIsMissing(
  given: { chosen: readonly number[]; text: string },
  options: number,
): string | null {
  if (given.chosen.length > 0 || given.text.trim() !== '') return null
  if (options === 0) return 'Write an answer first.'
  return options === 1 ? 'Pick 1, or write an answer.' : `Pick 1 to ${options}, or write an answer.`
}
