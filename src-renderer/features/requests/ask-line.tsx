import { useMemo } from 'react'
import { wantRequest } from '../../stores/wanted-request.ts'
import { useRecords } from '../../sync/records.ts'
import { showControls } from '../../text/controls.ts'
import { Key } from '../../ui/key.tsx'
import { StateDot } from '../../ui/state-dot.tsx'
import { counted } from '../../ui/words.ts'
import { askingWord } from './wanted.ts'

/** Says over the message box that the turn waits for a permission, wherever the timeline is scrolled to. */
export function AskLine({ session }: { session: string }) {
  const requests = useRecords((records) => records.requests)
  const open = useMemo(
    () =>
      [...requests.values()]
        .filter((request) => request.session === session)
        .sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1)),
    [requests, session],
  )
  const [oldest] = open
  if (oldest === undefined) return null
  return (
    <p className="comp-ask" role="status">
      <StateDot look="ask" />
      <span className="clip grow">
        {askingWord(oldest.toolKind)}: <code>{showControls(oldest.title.slice(0, 200))}</code>
        {open.length > 1 ? ` and ${counted(open.length - 1, 'more request')}` : ''}
      </span>
      <button type="button" className="btn-quiet" onClick={() => wantRequest(oldest.id)}>
        Answer <Key keys="Mod+Shift+A" />
      </button>
    </p>
  )
}
