import { Fragment } from 'react'
import { showControls } from '../text/controls.ts'

/** A sentence of the host or of a runtime, in which `backticks` mark what is typed somewhere. */
export function InlineCode({ text }: { text: string }) {
  const parts = showControls(text).split(/`([^`\n]+)`/)
  return parts.map((part, at) => {
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of a fixed text
    return at % 2 === 1 ? <code key={at}>{part}</code> : <Fragment key={at}>{part}</Fragment>
  })
}
