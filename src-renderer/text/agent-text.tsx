import { useMemo, useState } from 'react'
import { chunksOf } from './chunks.ts'
import { MarkdownChunk } from './markdown.tsx'

/** Pieces that are drawn before somebody asks for the rest. */
const SHOWN_CHUNKS = 60

/** A finished Markdown text of any length. */
export function AgentText({ text, className }: { text: string; className?: string }) {
  const chunks = useMemo(() => chunksOf(text), [text])
  const [all, setAll] = useState(false)
  return (
    <div className={className === undefined ? 'md' : `md ${className}`} dir="auto">
      {(all ? chunks : chunks.slice(0, SHOWN_CHUNKS)).map((chunk, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces of a fixed text
        <MarkdownChunk key={at} chunk={chunk} live={false} />
      ))}
      {all || chunks.length <= SHOWN_CHUNKS ? null : (
        <button type="button" className="btn" onClick={() => setAll(true)}>
          Show the rest
        </button>
      )}
    </div>
  )
}
