import { memo, useState } from 'react'
import ReactMarkdown, { type Components } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import remend from 'remend'
import { openOutside } from '../sync/bridge.ts'
import { counted, whole } from '../ui/words.ts'
import { type Chunk, tableHead } from './chunks.ts'
import { CodeBlock } from './code-block.tsx'
import { showControls } from './controls.ts'

const plugins = [remarkGfm]

/** Only these leave the window; all else is shown as its text. */
const allowedLink = /^(?:https?:\/\/|mailto:)/i

export const safeLink = (url: string): string => (allowedLink.test(url.trim()) ? url.trim() : '')

function OutsideLink({ href, children }: { href: string | undefined; children: React.ReactNode }) {
  if (href === undefined || href === '') return <span className="md-dead-link">{children}</span>
  return (
    <a
      href={href}
      title={href}
      rel="noreferrer noopener"
      onClick={(event) => {
        event.preventDefault()
        openOutside(href)
      }}
    >
      {children}
    </a>
  )
}

const components: Components = {
  a: ({ href, children }) => <OutsideLink href={href}>{children}</OutsideLink>,
  // A remote image would tell its server who reads this; it is offered as a link.
  img: ({ src, alt }) => (
    <OutsideLink href={typeof src === 'string' ? src : undefined}>
      {`Image: ${alt === undefined || alt === '' ? 'without a description' : alt}`}
    </OutsideLink>
  ),
  pre: ({ node }) => {
    const code = node?.children[0]
    if (code?.type !== 'element') return null
    const [text] = code.children
    const classes = code.properties.className
    const language = Array.isArray(classes)
      ? String(classes[0] ?? '').replace(/^language-/, '')
      : ''
    return (
      <CodeBlock
        text={text?.type === 'text' ? text.value.replace(/\n$/, '') : ''}
        language={language}
        closed
      />
    )
  },
  input: ({ checked }) => (
    <span className="md-check" role="img" aria-label={checked ? 'done' : 'open'}>
      {checked ? '☑' : '☐'}
    </span>
  ),
  // Below the headings of the turns, which are of the third level.
  h1: ({ children }) => <h4 className="md-h md-h1">{children}</h4>,
  h2: ({ children }) => <h4 className="md-h md-h2">{children}</h4>,
  h3: ({ children }) => <h5 className="md-h">{children}</h5>,
  h4: ({ children }) => <h6 className="md-h">{children}</h6>,
  h5: ({ children }) => <h6 className="md-h">{children}</h6>,
  h6: ({ children }) => <h6 className="md-h">{children}</h6>,
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled by keyboard
    <section className="md-table" tabIndex={0} aria-label="Table">
      <table>{children}</table>
    </section>
  ),
}

/** What follows a piece of Markdown that is still being written is not there yet: close what is open. */
const closed = (text: string) => remend(text, { linkMode: 'text-only' })

const MarkdownText = memo(function MarkdownText({ text, live }: { text: string; live: boolean }) {
  return (
    <ReactMarkdown remarkPlugins={plugins} components={components} urlTransform={safeLink}>
      {showControls(live ? closed(text) : text)}
    </ReactMarkdown>
  )
})

const TABLE_ROWS = 40
const MORE_ROWS = 200

const TableText = memo(function TableText({ chunk }: { chunk: Extract<Chunk, { kind: 'table' }> }) {
  const [rows, setRows] = useState(TABLE_ROWS)
  const left = chunk.rows - rows
  return (
    <>
      <MarkdownText text={left > 0 ? tableHead(chunk.text, rows) : chunk.text} live={false} />
      {left > 0 ? (
        <p className="md-more">
          <button
            type="button"
            className="btn"
            onClick={() => setRows((shown) => shown + MORE_ROWS)}
          >
            Show {left > MORE_ROWS ? `${whole(MORE_ROWS)} more rows` : counted(left, 'more row')}
          </button>
          <span className="faint">
            {whole(rows)} of {whole(chunk.rows)} rows
          </span>
        </p>
      ) : null}
    </>
  )
})

/** One piece of Markdown text of an agent: no HTML, no remote images, only links that may leave the window. */
export const MarkdownChunk = memo(function MarkdownChunk({
  chunk,
  live,
}: {
  chunk: Chunk
  live: boolean
}) {
  switch (chunk.kind) {
    case 'code':
      return (
        <CodeBlock text={chunk.text} language={chunk.language} closed={chunk.closed || !live} />
      )
    case 'table':
      return <TableText chunk={chunk} />
    case 'markdown':
      return <MarkdownText text={chunk.text} live={live} />
  }
})
