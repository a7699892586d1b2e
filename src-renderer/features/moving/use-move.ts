import { useRef, useState } from 'react'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { tell } from '../../stores/told.ts'
import { attempt } from '../session/actions.ts'
import { checkMove, type MoveDraft, type WrongMove } from './moves.ts'

/** A form that moves a session: what is typed, what is wrong with it, and what came of it; `run` gives it to the host. */
export function useMove<T>(initial: MoveDraft, run: (draft: MoveDraft) => Promise<T>) {
  const [draft, setDraft] = useState(initial)
  const [wrong, setWrong] = useState<WrongMove>({})
  const [busy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  const form = useRef<HTMLFormElement>(null)
  const change = (key: keyof MoveDraft, value: string) => {
    setDraft((before) => ({ ...before, [key]: value }))
    setWrong((before) => ({ ...before, [key]: undefined }))
    setRefusal(null)
  }
  /** What the host answered; null where it was not asked, refused, or the form is closed by then. */
  const submit = async (): Promise<T | null> => {
    if (busy) return null
    const found = checkMove(draft)
    setWrong(found)
    const [first] = Object.keys(found)
    if (first !== undefined) {
      form.current?.querySelector<HTMLElement>(`[name="${first}"]`)?.focus()
      return null
    }
    setBusy(true)
    setRefusal(null)
    const outcome = await attempt(() => run({ ...draft, file: draft.file.trim() }))
    if (form.current === null) {
      if (!outcome.ok) tell(outcome.refusal)
      return null
    }
    setBusy(false)
    if (outcome.ok) return outcome.value
    setRefusal(outcome.refusal)
    return null
  }
  return { draft, wrong, busy, refusal, form, change, submit }
}
