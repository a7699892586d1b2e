import { recall, remember } from './remembered.ts'

const drafts = new Map<string, string>()

/** The text that was begun for a session or a form and not sent; kept over reloads. */
export function draftOf(owner: string): string {
  const known = drafts.get(owner)
  if (known !== undefined) return known
  const stored = recall(`draft.${owner}`)
  return typeof stored === 'string' ? stored : ''
}

export function keepDraft(owner: string, text: string): void {
  drafts.set(owner, text)
  remember(`draft.${owner}`, text === '' ? undefined : text)
}
