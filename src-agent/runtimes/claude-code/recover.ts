import type { z } from 'zod'
import type { OpenDelivery } from '../../../src-shared/agent-wire.ts'
import { Instant } from '../../../src-shared/ids.ts'
import type { DriverSignal, Recovery, ResumeFacts } from '../driver.ts'
import type { SecretMask } from '../mask-secrets.ts'
import { EntryMaker, isCall, isResult, refOf, resultStatus, shownText } from './entries.ts'
import { blockId } from './live-blocks.ts'
import { notice } from './notices.ts'
import { NO_USAGE } from './spending.ts'
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

/** Reads a conversation from its transcript: what of it the timeline lacks, and how to prove that it is loaded. */
export async function readConversation(options: Options): Promise<Conversation> {
  const { facts } = options
  const open = facts.openDelivery
  let rows: TranscriptRow[] = []
  let left = 0
  let prompt: string | null = null
  let answered: string | null = null
  let holdsOpen = false
  const { unreadable } = await readRows(options.path, (row) => {
    if (row.isSidechain === true) return
    if (isPrompt(row)) {
      prompt = row.uuid
      holdsOpen ||= row.uuid === open?.id
      rows = []
      left = 0
      return
    }
    if (row.type === 'assistant' && row.message.model !== '<synthetic>') answered = prompt
    if (rows.length < ROW_LIMIT) rows.push(row)
    else left += 1
  })
  // Without the open delivery the last message is that of a turn which the timeline holds to its end.
  const wanted = open === null ? facts.turnCut : holdsOpen
  const signals = wanted ? recoverRows(rows, left, holdsOpen ? open : null, options) : []
  return {
    recovery: {
      signals,
      openDelivery: open === null ? null : fateOf(holdsOpen, unreadable),
    },
    proof: prompt === null ? null : { uuid: answered ?? prompt, answered: answered !== null },
  }
}

function fateOf(held: boolean, unreadable: number): Recovery['openDelivery'] {
  if (held) return 'delivered'
  return unreadable > 0 ? 'unknown' : 'never'
}

/** What people or Ballet said: not a tool's result, not what the runtime wrote in their place. */
function isPrompt(row: TranscriptRow): boolean {
  if (row.type !== 'user' || row.isMeta === true || row.isCompactSummary === true) return false
  const { content } = row.message
  if (typeof content === 'string') return !content.startsWith('<local-command-')
  if (content.some(isResult)) return false
  return !content.some((block) => block.text?.startsWith('[Request interrupted by user') === true)
}

function recoverRows(
  rows: readonly TranscriptRow[],
  left: number,
  open: z.infer<typeof OpenDelivery> | null,
  options: Options,
): DriverSignal[] {
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
  // Nobody has seen the turn of this delivery yet: it is told whole, with its beginning and its end.
  return open === null || facts.turnCut ? signals : asTurn(open, signals, at, now)
}

function asTurn(
  open: z.infer<typeof OpenDelivery>,
  signals: readonly DriverSignal[],
  last: Instant,
  now: () => Instant,
): DriverSignal[] {
  const first = signals[0]
  const begin = first !== undefined && 'at' in first ? first.at : now()
  return [
    { type: 'turn.started', at: begin, deliveries: [open.id] },
    ...signals,
    {
      type: 'turn.ended',
      at: last,
      reason: 'killed',
      durationMs: Math.max(0, Date.parse(last) - Date.parse(begin)),
      usage: NO_USAGE,
      costUsd: 0,
      detail: 'The runtime or its agent ended while the turn was running.',
      hint: 'Send a message to let it go on.',
    },
  ]
}

function instantOf(row: TranscriptRow, now: () => Instant): Instant {
  const parsed = Instant.safeParse(row.timestamp)
  return parsed.success ? parsed.data : now()
}
