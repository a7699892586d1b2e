import { type OpenDelivery, RECORD_BEHIND } from '../../../src-shared/agent-wire.ts'
import { type DeliveryId, Instant } from '../../../src-shared/ids.ts'
import type { ToldEntry } from '../../../src-shared/told-entries.ts'
import { asCutTurn } from '../cut-turn.ts'
import type { DriverSignal, Fate, Recovery, ResumeFacts } from '../driver.ts'
import type { SecretMask } from '../mask-secrets.ts'
import { EntryMaker, isCall, isResult, refOf, resultStatus, shownText } from './entries.ts'
import { blockId } from './live-blocks.ts'
import { notice } from './notices.ts'
import { readRows, type TranscriptRow } from './transcript.ts'

export type Conversation = {
  recovery: Recovery
  /** A message that was answered, or else the only one; null when the file holds no message at all. */
  proof: { uuid: string; answered: boolean } | null
}

/** At most so much of the last turn is recovered; the model's own memory is not touched by that. */
const ROW_LIMIT = 20_000

type Options = {
  path: string
  facts: ResumeFacts
  cwd: string
  mask: SecretMask
  now: () => Instant
}

/** A message and what came of it. */
type Segment = { prompt: string | null; rows: TranscriptRow[]; left: number }

/** Reads a conversation from its transcript: what of it the timeline lacks, and how to prove that it is loaded. */
export async function readConversation(options: Options): Promise<Conversation> {
  const { facts } = options
  const open = new Map<string, OpenDelivery>(facts.openDeliveries.map((each) => [each.id, each]))
  const fates = new Map<DeliveryId, Fate>()
  let last: Segment = { prompt: null, rows: [], left: 0 }
  /** The turn that was cut, where what came too late for it began another one. */
  let before: Segment | null = null
  let answered: string | null = null
  const tail = new RecordTail(facts.told)
  const { unreadable } = await readRows(
    options.path,
    (row) => {
      if (row.isSidechain === true) return
      tail.see(row)
      if (isPrompt(row)) {
        const delivery = open.get(row.uuid)
        if (delivery !== undefined) fates.set(delivery.id, 'delivered')
        before = delivery?.steer === true && facts.turnCut ? last : null
        last = { prompt: row.uuid, rows: [], left: 0 }
        return
      }
      if (row.type === 'assistant' && row.message.model !== '<synthetic>') answered = last.prompt
      if (last.rows.length < ROW_LIMIT) last.rows.push(row)
      else last.left += 1
    },
    0,
    (uuid) => {
      const delivery = open.get(uuid)
      if (delivery !== undefined) fates.set(delivery.id, 'joined')
    },
  )
  const signals = [
    ...(before === null ? [] : recoverSegment(before, options)),
    ...recoverLast(last, open, fates, options),
    ...behind(tail.missing, options),
  ]
  for (const { id } of open.values()) {
    if (!fates.has(id)) fates.set(id, unreadable > 0 ? 'unknown' : 'never')
  }
  return {
    recovery: { signals, fates },
    proof:
      last.prompt === null ? null : { uuid: answered ?? last.prompt, answered: answered !== null },
  }
}

/** Finds what the timeline tells after the last of it that the record holds: a kill loses the end of the record. */
class RecordTail {
  readonly #told: readonly ToldEntry[]
  readonly #places: ReadonlyMap<string, number>
  #last = -1

  constructor(told: readonly ToldEntry[]) {
    this.#told = told
    this.#places = new Map(told.map(({ ref }, place) => [ref, place]))
  }

  see(row: TranscriptRow): void {
    const blocks = typeof row.message.content === 'string' ? 1 : row.message.content.length
    for (let index = 0; index < blocks; index += 1) {
      const place = this.#places.get(refOf(row, index) ?? '')
      if (place !== undefined && place > this.#last) this.#last = place
    }
  }

  /** Empty where the record holds nothing of it: then it is of another conversation. */
  get missing(): readonly ToldEntry[] {
    return this.#last < 0 ? [] : this.#told.slice(this.#last + 1)
  }
}

function behind(missing: readonly ToldEntry[], { cwd, mask, now }: Options): DriverSignal[] {
  if (missing.length === 0) return []
  const text = [
    'Claude Code was ended before it had recorded the end of its last turn, so this is not in the conversation any more, and is told with the next message. Claude Code',
    ...missing.map((entry) => `- ${entry.text}`),
  ].join('\n')
  return [new EntryMaker(cwd, mask).notice(now(), notice('warning', RECORD_BEHIND, text))]
}

function recoverLast(
  last: Segment,
  open: ReadonlyMap<string, OpenDelivery>,
  fates: ReadonlyMap<DeliveryId, Fate>,
  options: Options,
): DriverSignal[] {
  const { facts, now } = options
  const delivery = last.prompt === null ? undefined : open.get(last.prompt)
  if (delivery === undefined) {
    // Without what began the cut turn the last message is that of one which the timeline holds to its end.
    const isLost = [...open.values()].some(({ id, steer }) => !steer && !fates.has(id))
    return facts.turnCut && !isLost ? recoverSegment(last, options) : []
  }
  const signals = recoverSegment(last, options)
  // Nobody has seen the turn of this delivery yet: it is told whole, with its beginning and its end.
  return facts.turnCut && !delivery.steer ? signals : asCutTurn(delivery, signals, now)
}

/** What people or Ballet said: not a tool's result, not what the runtime wrote in their place. */
function isPrompt(row: TranscriptRow): boolean {
  if (row.type !== 'user' || row.isMeta === true || row.isCompactSummary === true) return false
  const { content } = row.message
  if (typeof content === 'string') return !content.startsWith('<local-command-')
  if (content.some(isResult)) return false
  return !content.some((block) => block.text?.startsWith('[Request interrupted by user') === true)
}

function recoverSegment({ rows, left }: Segment, options: Options): DriverSignal[] {
  const { facts, now } = options
  const entries = new EntryMaker(options.cwd, options.mask)
  const stored = new Set(facts.storedRefs)
  const counts = new Map<string, number>()
  const openCalls = new Map<string, Instant>()
  const signals: DriverSignal[] = []
  let at = now()
  for (const row of rows) {
    at = instantOf(row, now)
    if (typeof row.message.content === 'string' || row.message.model === '<synthetic>') continue
    for (const [index, block] of row.message.content.entries()) {
      const ref = refOf(row, index)
      const isStored = ref !== undefined && stored.has(ref)
      if (row.type === 'assistant') {
        const message = row.message.id ?? row.uuid
        const count = counts.get(message) ?? 0
        counts.set(message, count + 1)
        if (isStored) continue
        const shown = shownText(block)
        if (shown !== null) {
          const id = blockId(message, row.apiBlockIndex ?? count)
          const fields = { kind: shown.kind, block: id, partial: false, parent: undefined, ref }
          signals.push(entries.block(at, shown.text, fields))
        } else if (isCall(block)) {
          openCalls.set(block.id, at)
          signals.push(...entries.call(at, block, undefined, ref))
        }
      } else if (isResult(block) && !isStored) {
        openCalls.delete(block.tool_use_id)
        signals.push(
          entries.result(at, block, {
            status: resultStatus(block, false),
            structured: row.toolUseResult,
            durationMs: undefined,
            parent: undefined,
            ref,
          }),
        )
      }
    }
  }
  for (const callId of openCalls.keys()) {
    signals.push(
      entries.result(
        at,
        { type: 'tool_result', tool_use_id: callId },
        {
          status: 'unknown',
          structured: null,
          durationMs: undefined,
          parent: undefined,
          ref: undefined,
        },
      ),
    )
  }
  if (left > 0) {
    const text = `${left} more entries of the cut turn are in the runtime's own record only.`
    signals.push(entries.notice(at, notice('warning', 'recovery.cut', text)))
  }
  return signals
}

function instantOf(row: TranscriptRow, now: () => Instant): Instant {
  const parsed = Instant.safeParse(row.timestamp)
  return parsed.success ? parsed.data : now()
}
