import { type CSSProperties, memo, useEffect, useState } from 'react'
import { CopyButton } from '../ui/copy-button.tsx'
import { counted } from '../ui/words.ts'
import { showControls } from './controls.ts'
import { highlight, highlighted, type Token } from './highlight.ts'
import { LineViewer } from './line-viewer.tsx'
import { lineCount, linesUpTo } from './lines.ts'

const SHOWN_LINES = 60

function tokenStyle([, light, dark]: Token): CSSProperties {
  return { '--light': light, '--dark': dark } as CSSProperties
}

function ColouredLines({ lines }: { lines: Token[][] }) {
  return lines.map((line, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: lines of a fixed text have no other name
    <span key={at}>
      {line.map((token, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: as above
        <span key={place} className="tok" style={tokenStyle(token)}>
          {token[0]}
        </span>
      ))}
      {at < lines.length - 1 ? '\n' : ''}
    </span>
  ))
}

/** A block of code: coloured when it is finished, cut when it is long. */
export const CodeBlock = memo(function CodeBlock({
  text,
  language,
  closed,
}: {
  text: string
  language: string
  closed: boolean
}) {
  const [all, setAll] = useState(false)
  const total = lineCount(text)
  const cut = total > SHOWN_LINES + 10
  const shown = showControls(cut ? linesUpTo(text, SHOWN_LINES) : text)
  const [lines, setLines] = useState(() => highlighted(shown, language) ?? null)
  useEffect(() => {
    if (!closed) return
    let current = true
    void highlight(shown, language).then((found) => {
      if (current) setLines(found)
    })
    return () => {
      current = false
    }
  }, [shown, language, closed])
  return (
    <div className="code">
      <div className="code-head">
        <span>{language === '' ? 'text' : language}</span>
        <CopyButton text={text} label="Copy code" />
      </div>
      {all ? (
        <LineViewer text={text} label={`Code, ${counted(total, 'line')}`} />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: wide code is scrolled by keyboard
        <pre tabIndex={0}>
          <code>{lines === null || !closed ? shown : <ColouredLines lines={lines} />}</code>
        </pre>
      )}
      {cut ? (
        <button type="button" className="code-more" onClick={() => setAll((before) => !before)}>
          {all ? 'Show less' : `Show all ${counted(total, 'line')}`}
        </button>
      ) : null}
    </div>
  )
})
