import { useEffect, useState } from 'react'
import { copyText } from '../sync/bridge.ts'

/** Copies a text and says for a moment that it did. */
export function CopyButton({ text, label }: { text: string | (() => string); label: string }) {
  const [said, setSaid] = useState<'copied' | 'failed' | null>(null)
  useEffect(() => {
    if (said === null) return
    const timer = setTimeout(() => setSaid(null), 1_600)
    return () => clearTimeout(timer)
  }, [said])
  return (
    <button
      type="button"
      className="btn-quiet copy"
      aria-label={label}
      title={label}
      onClick={() => {
        void copyText(typeof text === 'string' ? text : text()).then((done) =>
          setSaid(done ? 'copied' : 'failed'),
        )
      }}
    >
      <span aria-live="polite">
        {said === 'copied' ? 'copied' : said === 'failed' ? 'not copied' : 'copy'}
      </span>
    </button>
  )
}
