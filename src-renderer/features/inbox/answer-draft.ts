import { useStore } from 'zustand'
import { createStore } from 'zustand/vanilla'
import { keepDraft } from '../../stores/drafts.ts'

/** What was chosen of a question and not sent yet; its text is kept as other drafts are. */
export type AnswerDraft = { chosen: readonly number[]; writes: 'nothing' | 'answer' | 'decline' }

const none: AnswerDraft = { chosen: [], writes: 'nothing' }

const store = createStore<{ drafts: ReadonlyMap<string, AnswerDraft> }>(() => ({
  drafts: new Map(),
}))

export const textOwner = (question: string) => `answer.${question}`

export const useAnswerDraft = (question: string): AnswerDraft =>
  useStore(store, ({ drafts }) => drafts.get(question) ?? none)

export function setAnswerDraft(question: string, change: Partial<AnswerDraft>): void {
  store.setState(({ drafts }) => ({
    drafts: new Map(drafts).set(question, { ...(drafts.get(question) ?? none), ...change }),
  }))
}

export function forgetAnswerDraft(question: string): void {
  keepDraft(textOwner(question), '')
  store.setState(({ drafts }) => {
    const rest = new Map(drafts)
    rest.delete(question)
    return { drafts: rest }
  })
}
