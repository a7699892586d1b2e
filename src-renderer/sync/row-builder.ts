import type { TimelineEvent } from '../../src-shared/timeline.ts'
import { isCallOf, keyOfFate, toldRow, toolOf, withFate } from './asked-rows.ts'
import type { LiveBlocks } from './live-blocks.ts'
import { liveRow, type Of, placeOf, proseRow, sameRow, toolResult, turnEnd } from './row-makers.ts'
import type { Asked, InputRow, ProseRow, Row, StepEvent, ToolRow } from './rows.ts'
import { stepsRow, withStep } from './step-rows.ts'

/** A place in a list of rows. The row in it is replaced, never changed, so that drawn rows can be compared. */
type Cell = { row: Row; parent: Cell | null; children: Cell[]; stale: boolean; hidden: boolean }

const stateOfInput = {
  'input.sent': 'sent',
  'input.delivered': 'delivered',
  'input.cancelled': 'cancelled',
  'input.unknown': 'unknown',
} as const

const noImages: InputRow['images'] = []

/** The call that told a todo list is the one right before it. */
function madeTodo(row: Row, todo: Of<'todo'>): boolean {
  if (row.kind !== 'tool' || row.toolKind !== 'other' || row.result !== null) return false
  return row.ref !== undefined && todo.ref !== undefined
    ? todo.ref.startsWith(row.ref)
    : row.seq !== null && todo.seq - row.seq === 1
}

/** A change between working and waiting is told by the turn's heading already. */
const isTold = (event: Of<'session.state'>) =>
  event.reason !== '' || !['working', 'waiting'].includes(event.to)

/**
 * Groups the events of a session into rows: a call with its result, an input with its fate, a turn with
 * its end, a subagent's work under its call. Fed in order, in pieces of any size, it gives the same rows.
 * A result, an end or a fate whose beginning was never fed is left out: it is drawn where that begins.
 */
export class RowBuilder {
  #top: Cell[] = []
  #cells = new Map<string, Cell>()
  #todos = new Map<string, Cell>()
  #live: LiveBlocks = new Map()
  /** Live prose by the call id of its parent; '' is the session itself. */
  #liveProse = new Map<string, ProseRow[]>()
  #liveRows = new Map<string, ProseRow>()
  /** Tools of Ballet that were told of before their call was. */
  #told = new Set<string>()
  /** Where the steps that are being taken are told. */
  #saga: Cell | null = null
  #rows: readonly Row[] | null = null
  #before: ReadonlyMap<string, Cell> | null

  /** With the builder before it, of the same session, rows that come out equal are that one's objects. */
  constructor(before: RowBuilder | null = null) {
    this.#before = before === null ? null : before.#cells
  }

  add(events: readonly TimelineEvent[]): void {
    for (const event of events) this.#take(event)
    if (events.length > 0) this.#rows = null
  }

  setLive(blocks: LiveBlocks): void {
    if (blocks === this.#live) return
    const before = this.#live
    this.#live = blocks
    this.#rows = null
    const prose = new Map<string, ProseRow[]>()
    const rows = new Map<string, ProseRow>()
    const outputs = new Map<string, string>()
    for (const [name, block] of blocks) {
      if (block.kind === 'tool.output') {
        if (block.callId !== undefined) outputs.set(block.callId, block.text)
        continue
      }
      const known = before.get(name) === block ? this.#liveRows.get(name) : undefined
      const row = known ?? liveRow(block)
      rows.set(name, row)
      const parent = block.parent ?? ''
      const list = prose.get(parent)
      if (list === undefined) prose.set(parent, [row])
      else list.push(row)
    }
    for (const block of before.values()) {
      if (
        block.kind === 'tool.output' &&
        block.callId !== undefined &&
        !outputs.has(block.callId)
      ) {
        this.#setOutput(block.callId, null)
      }
    }
    for (const [callId, text] of outputs) this.#setOutput(callId, text)
    for (const parent of new Set([...prose.keys(), ...this.#liveProse.keys()])) {
      const cell = this.#cells.get(`call:${parent}`)
      if (cell !== undefined) this.#touch(cell)
    }
    this.#liveProse = prose
    this.#liveRows = rows
  }

  /** The rows of the session itself; rows that did not change are the same objects as before. */
  rows(): readonly Row[] {
    this.#rows ??= this.#listOf(this.#top, '')
    this.#before = null
    return this.#rows
  }

  #listOf(cells: Cell[], parent: string): readonly Row[] {
    const rows: Row[] = []
    for (const cell of cells) if (!cell.hidden) rows.push(this.#fresh(cell))
    for (const row of this.#liveProse.get(parent) ?? []) {
      // The finished block may have come in the same answer that still calls it live.
      if (!this.#cells.has(row.key)) rows.push(row)
    }
    return rows
  }

  #fresh(cell: Cell): Row {
    if (!cell.stale) return cell.row
    if (cell.row.kind === 'tool') {
      cell.row = { ...cell.row, children: this.#listOf(cell.children, cell.row.callId) }
    }
    const before = this.#before?.get(cell.row.key)?.row
    if (before !== undefined && sameRow(before, cell.row)) cell.row = before
    cell.stale = false
    return cell.row
  }

  #touch(cell: Cell): void {
    for (let at: Cell | null = cell; at !== null; at = at.parent) at.stale = true
    this.#rows = null
  }

  #put(given: Row, parentCall: string | undefined): Cell {
    // A name that a runtime gave twice must not make one row of two events.
    const row = this.#cells.has(given.key) ? { ...given, key: `${given.key}:${given.seq}` } : given
    const parent = (parentCall && this.#cells.get(`call:${parentCall}`)) || null
    const cell: Cell = { row, parent, children: [], stale: true, hidden: false }
    const list = parent?.children ?? this.#top
    list.push(cell)
    this.#cells.set(row.key, cell)
    this.#touch(cell)
    return cell
  }

  #replace(cell: Cell, row: Row): void {
    cell.row = row
    this.#touch(cell)
  }

  #setOutput(callId: string, liveOutput: string | null): void {
    const cell = this.#cells.get(`call:${callId}`)
    if (cell?.row.kind !== 'tool') return
    const shown = cell.row.result === null ? liveOutput : null
    if (cell.row.liveOutput !== shown) this.#replace(cell, { ...cell.row, liveOutput: shown })
  }

  #take(event: TimelineEvent): void {
    switch (event.kind) {
      case 'turn.started':
        this.#startTurn(event)
        break
      case 'turn.ended':
        this.#endTurn(event)
        break
      case 'assistant.text':
      case 'assistant.thinking':
        this.#prose(event)
        break
      case 'tool.call':
        this.#call(event)
        break
      case 'tool.result':
        this.#result(event)
        break
      case 'todo':
        this.#todo(event)
        break
      case 'input.queued':
        this.#unsend(event.input)
        break
      case 'input.sent':
      case 'input.delivered':
      case 'input.cancelled':
      case 'input.unknown':
        this.#input(event)
        break
      case 'request.opened':
        this.#ask(event)
        break
      case 'request.closed':
        this.#answer(event)
        break
      case 'question.asked':
      case 'assumption':
      case 'progress':
      case 'stage.completed':
        this.#hideCall(toolOf[event.kind])
        this.#put(toldRow(event), event.parent)
        break
      case 'question.planned':
      case 'question.answered':
      case 'question.withdrawn':
      case 'assumption.reviewed': {
        const cell = this.#cells.get(keyOfFate(event))
        if (cell !== undefined) this.#replace(cell, withFate(cell.row, event))
        break
      }
      case 'park.step':
      case 'resume.step':
        this.#step(event)
        break
      case 'notice': {
        const { level, code, text, textBlob } = event
        const place = placeOf(`seq:${event.seq}`, event)
        this.#put({ ...place, kind: 'notice', level, code, text, textBlob }, event.parent)
        break
      }
      case 'session.state': {
        if (!isTold(event)) return
        const { from, to, reason } = event
        this.#put(
          { ...placeOf(`seq:${event.seq}`, event), kind: 'state', from, to, reason },
          undefined,
        )
        break
      }
      case 'runtime.changed': {
        const { from, to, model } = event
        const place = placeOf(`seq:${event.seq}`, event)
        this.#put({ ...place, kind: 'runtime', from, to, model }, undefined)
        break
      }
      case 'cost':
        break
    }
  }

  /** What the call did says all that the call says; one that failed is shown again. */
  #hideCall(tool: string): void {
    for (let at = this.#top.length - 1; at >= 0; at -= 1) {
      const cell = this.#top[at]
      if (cell === undefined || cell.row.kind === 'turn') break
      if (cell.hidden || !isCallOf(cell.row, tool)) continue
      if (cell.row.kind === 'tool' && cell.row.result !== null) break
      cell.hidden = true
      return
    }
    this.#told.add(tool)
  }

  /** A block that was cut off and is recovered whole later is one row, where it was cut off. */
  #prose(event: Of<'assistant.text' | 'assistant.thinking'>): void {
    const row = proseRow(event)
    const cut = event.block === undefined ? undefined : this.#cells.get(row.key)
    if (cut?.row.kind === row.kind && cut.row.partial) {
      const { seq, at, turn } = cut.row
      this.#replace(cut, { ...row, seq, at, turn })
    } else this.#put(row, event.parent)
  }

  #startTurn(event: Of<'turn.started'>): void {
    this.#told.clear()
    this.#saga = null
    const key = event.turn === undefined ? `seq:${event.seq}` : `turn:${event.turn}`
    const inputs = new Set(event.inputs.map((input) => `input:${input}`))
    // Sent just before the turn began, shown in it.
    const carried: Cell[] = []
    const moves = (cell: Cell) => inputs.has(cell.row.key)
    for (let at = this.#top.length - 1; at >= 0 && inputs.size > carried.length; at -= 1) {
      const cell = this.#top[at]
      if (cell === undefined || cell.row.kind === 'turn') break
      if (moves(cell)) carried.unshift(...this.#top.splice(at, 1))
    }
    this.#put({ ...placeOf(key, event), kind: 'turn', end: null }, undefined)
    this.#top.push(...carried)
  }

  #endTurn(event: Of<'turn.ended'>): void {
    const end = turnEnd(event)
    const cell = this.#cells.get(`turn:${event.turn ?? ''}`)
    if (cell?.row.kind === 'turn') this.#replace(cell, { ...cell.row, end })
    if (end.reason !== 'completed') {
      this.#put({ ...placeOf(`seq:${event.seq}`, event), kind: 'ended', end }, undefined)
    }
  }

  #call(event: Of<'tool.call'>): void {
    const { callId, ref, name, toolKind, title, input, inputBlob } = event
    let liveOutput: string | null = null
    for (const block of this.#live.values()) {
      if (block.kind === 'tool.output' && block.callId === callId) liveOutput = block.text
    }
    const row: ToolRow = {
      ...placeOf(`call:${callId}`, event),
      kind: 'tool',
      callId,
      ref,
      name,
      toolKind,
      title,
      input,
      inputBlob,
      result: null,
      permission: null,
      liveOutput,
      children: [],
    }
    const cell = this.#put(row, event.parent)
    for (const tool of this.#told) {
      if (!isCallOf(row, tool)) continue
      cell.hidden = true
      this.#told.delete(tool)
    }
  }

  #result(event: Of<'tool.result'>): void {
    const cell = this.#cells.get(`call:${event.callId}`)
    if (cell?.row.kind !== 'tool') return
    if (event.status !== 'ok') cell.hidden = false
    this.#replace(cell, { ...cell.row, result: toolResult(event), liveOutput: null })
  }

  /** Shown at the call that is asked for; by itself where that is not loaded. */
  #ask(asked: Of<'request.opened'>): void {
    const permission: Asked = { asked, answer: null }
    const call = this.#cells.get(`call:${asked.callId}`)
    if (call?.row.kind === 'tool') {
      this.#cells.set(`request:${asked.request}`, call)
      this.#replace(call, { ...call.row, permission })
      return
    }
    const place = placeOf(`request:${asked.request}`, asked)
    this.#put({ ...place, kind: 'request', permission }, asked.parent)
  }

  #answer(answer: Of<'request.closed'>): void {
    const cell = this.#cells.get(`request:${answer.request}`)
    if (cell?.row.kind !== 'tool' && cell?.row.kind !== 'request') return
    const { permission } = cell.row
    if (permission?.asked.request !== answer.request) return
    this.#replace(cell, { ...cell.row, permission: { asked: permission.asked, answer } })
  }

  #todo(event: Of<'todo'>): void {
    const owner = event.parent ?? ''
    const before = this.#todos.get(owner)
    if (before?.row.kind === 'todo') this.#replace(before, { ...before.row, latest: false })
    const siblings = this.#cells.get(`call:${owner}`)?.children ?? this.#top
    const call = siblings.at(-1)
    // The list says all that the call which made it says.
    if (call !== undefined && madeTodo(call.row, event)) call.hidden = true
    const place = placeOf(`seq:${event.seq}`, event)
    const cell = this.#put(
      { ...place, kind: 'todo', items: event.items, latest: true },
      event.parent,
    )
    this.#todos.set(owner, cell)
  }

  #input(event: Of<keyof typeof stateOfInput>): void {
    const key = `input:${event.input}`
    const state = stateOfInput[event.kind]
    const cell = this.#cells.get(key)
    const steer = 'steer' in event && event.steer === true
    if (cell?.row.kind === 'input') {
      this.#replace(cell, { ...cell.row, state, steer })
      return
    }
    const { input, inputKind, text, textBlob, images, author } = event
    const row: InputRow = {
      ...placeOf(key, event),
      kind: 'input',
      input,
      inputKind,
      text,
      textBlob,
      images: images ?? noImages,
      author,
      state,
      steer,
    }
    this.#put(row, undefined)
  }

  /** Certainly not delivered and queued again: it is drawn where it will be sent. */
  #unsend(input: string): void {
    const cell = this.#cells.get(`input:${input}`)
    if (cell === undefined) return
    this.#cells.delete(cell.row.key)
    this.#top.splice(this.#top.indexOf(cell), 1)
    this.#rows = null
  }

  #step(event: StepEvent): void {
    const group = withStep(this.#saga?.row, event)
    if (this.#saga !== null && group !== null) this.#replace(this.#saga, group)
    else this.#saga = this.#put(stepsRow(event), undefined)
  }
}
