import { useState } from 'react'
import type { FileDiff } from '../../../src-shared/timeline.ts'
import { plainOutput } from '../../text/controls.ts'
import { LineViewer } from '../../text/line-viewer.tsx'
import { cutLine, lineCount, linesUpTo } from '../../text/lines.ts'
import { counted } from '../../ui/words.ts'

const SHOWN_LINES = 24
const CUT_FROM_LINES = 32

function lineClass(line: string): string | undefined {
  if (line.startsWith('+')) return 'diff-add'
  if (line.startsWith('-')) return 'diff-del'
  if (line.startsWith('@@')) return 'diff-hunk'
  if (line.startsWith('\\')) return 'diff-note'
  return undefined
}

function Lines({ patch }: { patch: string }) {
  const lines = patch.replace(/\n$/, '').split('\n')
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: wide lines are scrolled by keyboard
    <pre className="diff" tabIndex={0}>
      <div>
        {lines.map((line, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines of a fixed text have no other name
          <span key={at} className={lineClass(line)}>
            {plainOutput(cutLine(line)) || ' '}
          </span>
        ))}
      </div>
    </pre>
  )
}

/** How many lines came and went; what is zero is not said. */
export function Delta({ added, removed }: { added: number; removed: number }) {
  return (
    <>
      {added > 0 ? <span className="tl-added">+{added}</span> : null}
      {added > 0 && removed > 0 ? ' ' : null}
      {removed > 0 ? <span className="tl-removed">−{removed}</span> : null}
    </>
  )
}

function File({ file, named }: { file: FileDiff; named: boolean }) {
  const [all, setAll] = useState(false)
  // The first hunk's place tells nothing when it is the only one.
  const patch = file.patch.replace(/^@@[^\n]*@@[^\n]*\n(?![\s\S]*\n@@)/, '')
  const total = lineCount(patch)
  const cut = total > CUT_FROM_LINES
  return (
    <>
      {named ? (
        <p className="diff-file">
          <code>{plainOutput(file.path)}</code>
          <Delta added={file.added} removed={file.removed} />
        </p>
      ) : null}
      {all ? (
        <LineViewer text={patch} label={`Changes of ${file.path}`} lineClass={lineClass} />
      ) : (
        <Lines patch={cut ? linesUpTo(patch, SHOWN_LINES) : patch} />
      )}
      {cut ? (
        <div className="tl-tool-foot">
          <button type="button" className="btn-link" onClick={() => setAll(!all)}>
            {all ? 'Show less' : `Show all · ${counted(total, 'line')}`}
          </button>
        </div>
      ) : null}
    </>
  )
}

const SHOWN_FILES = 10

/** The changes of an edit: each line with its sign, so that colour is not needed to read it. */
export function DiffView({ files, title }: { files: readonly FileDiff[]; title: string }) {
  const [all, setAll] = useState(false)
  const shown = all ? files : files.slice(0, SHOWN_FILES)
  return (
    <>
      {shown.map((file) => (
        <File key={file.path} file={file} named={files.length > 1 || !title.includes(file.path)} />
      ))}
      {shown.length < files.length ? (
        <div className="tl-tool-foot">
          <button type="button" className="btn-link" onClick={() => setAll(true)}>
            Show all · {counted(files.length, 'file')}
          </button>
        </div>
      ) : null}
    </>
  )
}
