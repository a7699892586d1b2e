import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BlobId, type CommandId, type SessionId, TicketKey } from '../../src-shared/ids.ts'
import type { EventBody } from '../../src-shared/timeline.ts'
import type { Storage } from './port.ts'
import {
  AT,
  appendTexts,
  commitOf,
  inputRow,
  newId,
  projectRow,
  smallWorld,
  textBody,
  ticketRow,
} from './test-samples.ts'

/** What every implementation of the storage port must do; `open` gives one over an empty place. */
export function testStoragePort(name: string, open: () => Promise<Storage>): void {
  describe(`${name}: the storage port`, () => {
    let storage: Storage
    let world: ReturnType<typeof smallWorld>

    beforeEach(async () => {
      storage = await open()
      world = smallWorld()
      expect((await storage.commit(world.commit)).outcome).toBe('committed')
    })
    afterEach(() => storage.close())

    const blobId = (text: string) => BlobId.parse(text.repeat(64).slice(0, 64))
    const committed = async (commit: Parameters<Storage['commit']>[0]) => {
      const answer = await storage.commit(commit)
      if (answer.outcome !== 'committed')
        throw new Error(`not committed: ${JSON.stringify(answer)}`)
      return answer
    }

    it('gives every row back as it was put, with version and change', async () => {
      expect(await storage.row('project', world.project.id)).toEqual({
        ...world.project,
        version: 1,
        change: 1,
      })
      expect(await storage.row('session', world.session.id)).toEqual({
        ...world.session,
        version: 1,
        change: 1,
        lastSeq: 0,
      })
      expect(await storage.rows({ table: 'lease' })).toEqual([
        { ...world.lease, version: 1, change: 1 },
      ])
      expect(await storage.rows({ table: 'request', where: { state: 'open' } })).toEqual([
        { ...world.request, version: 1, change: 1 },
      ])
      for (const table of ['question', 'assumption'] as const) {
        const row = { ...world[table], version: 1, change: 1 }
        expect(await storage.row(table, row.id)).toEqual(row)
      }
      expect(await storage.row('ticket', 'nobody')).toBeUndefined()
    })

    it('gives the first rows of a limit, or the newest ones, oldest first', async () => {
      const more = ['SHOP-2', 'SHOP-3'].map((key) =>
        ticketRow(world.project, { key: TicketKey.parse(key) }),
      )
      await committed(commitOf({ puts: more.map((row) => ({ table: 'ticket', row })) }))
      const keys = async (query: { limit: number; newest?: boolean }) =>
        (await storage.rows({ table: 'ticket', ...query })).map(({ key }) => key)
      expect(await keys({ limit: 2 })).toEqual(['SHOP-1', 'SHOP-2'])
      expect(await keys({ limit: 2, newest: true })).toEqual(['SHOP-2', 'SHOP-3'])
    })

    it('counts versions and changes, and answers with the rows as stored', async () => {
      const answer = await committed(
        commitOf({
          expected: [{ table: 'ticket', id: world.ticket.id, version: 1 }],
          puts: [
            { table: 'ticket', row: { ...world.ticket, status: 'Review' } },
            { table: 'session', row: { ...world.session, turnCut: true, agent: null } },
          ],
          timeline: [{ session: world.session.id, events: [{ at: AT, body: textBody('a') }] }],
        }),
      )
      expect(answer.change).toBe(2)
      expect(await storage.change()).toBe(2)
      expect(answer.rows).toEqual([
        { table: 'ticket', row: { ...world.ticket, status: 'Review', version: 2, change: 2 } },
        {
          table: 'session',
          row: { ...world.session, turnCut: true, version: 2, change: 2, lastSeq: 1 },
        },
      ])
      expect(await storage.row('session', world.session.id)).toEqual(answer.rows[1]?.row)
    })

    it('answers conflict to every row that is not as expected, and stores nothing', async () => {
      const other = projectRow({ key: 'BANK' })
      const wrong = [
        { table: 'project', id: world.project.id, version: 0 },
        { table: 'ticket', id: world.ticket.id, version: 2 },
        { table: 'session', id: newId(), version: 1 },
      ] as const
      const answer = await storage.commit(
        commitOf({
          expected: [...wrong, { table: 'project', id: other.id, version: 0 }],
          puts: [{ table: 'project', row: other }],
          timeline: [{ session: world.session.id, events: [{ at: AT, body: textBody('a') }] }],
          receipt: { command: newId<CommandId>(), answer: 1 },
          outbox: [{ id: 'o', effect: 'e', data: {} }],
        }),
      )
      expect(answer).toEqual({ outcome: 'conflict', at: wrong })
      expect(await storage.rows({ table: 'project' })).toHaveLength(1)
      expect(await storage.timeline(world.session.id, { limit: 5 })).toEqual({
        events: [],
        last: 0,
      })
      expect(await storage.pendingOutbox()).toEqual([])
      expect(await storage.change()).toBe(1)
    })

    it('answers conflict where another row has the same key', async () => {
      const other = projectRow()
      const answer = await storage.commit(commitOf({ puts: [{ table: 'project', row: other }] }))
      expect(answer).toEqual({
        outcome: 'conflict',
        at: [{ table: 'project', id: other.id, version: 0 }],
      })
    })

    it('carries a command out once and repeats its answer', async () => {
      const command = newId<CommandId>()
      const commit = commitOf({
        ...appendTexts(world.session.id, ['once']),
        receipt: { command, answer: { ticket: 'SHOP-1', list: [1, null] } },
      })
      await committed(commit)
      expect(await storage.commit(commit)).toEqual({
        outcome: 'repeated',
        answer: { ticket: 'SHOP-1', list: [1, null] },
      })
      expect(await storage.receipt(command)).toEqual({
        answer: { ticket: 'SHOP-1', list: [1, null] },
      })
      expect(await storage.receipt(newId<CommandId>())).toBeUndefined()
      expect((await storage.timeline(world.session.id, { limit: 9 })).last).toBe(1)
    })

    it('stores nothing of a commit that fails in the middle', async () => {
      const commit = commitOf({
        puts: [{ table: 'ticket', row: { ...world.ticket, title: 'changed' } }],
        deletes: [{ table: 'input', id: world.input.id }],
        timeline: [
          { session: world.session.id, events: [{ at: AT, body: textBody('a') }] },
          { session: newId<SessionId>(), events: [{ at: AT, body: textBody('b') }] },
        ],
      })
      await expect(storage.commit(commit)).rejects.toMatchObject({
        code: 'storage.failed',
        message: expect.stringContaining('does not exist'),
      })
      expect((await storage.row('ticket', world.ticket.id))?.title).toBe(world.ticket.title)
      expect(await storage.rows({ table: 'input' })).toHaveLength(1)
      expect((await storage.timeline(world.session.id, { limit: 9 })).last).toBe(0)
      expect(await storage.deletions(0)).toEqual([])
      expect(await storage.change()).toBe(1)
      expect((await committed(commitOf())).change).toBe(2)
    })

    it('refuses a row that belongs to nothing', async () => {
      const stray = ticketRow(projectRow({ key: 'NONE' }))
      await expect(
        storage.commit(commitOf({ puts: [{ table: 'ticket', row: stray }] })),
      ).rejects.toMatchObject({ code: 'storage.failed' })
      expect(await storage.rows({ table: 'ticket' })).toHaveLength(1)
    })

    it('numbers events from 1 without a gap, also over two appends of one commit', async () => {
      const { session } = world
      const answer = await committed(
        commitOf({
          timeline: [
            { session: session.id, events: [{ at: AT, body: textBody('a') }] },
            {
              session: session.id,
              events: [
                { at: '2026-11-29T12:00:00.007Z', body: textBody('b', 2) },
                { at: AT, body: { kind: 'notice', level: 'info', code: 'c', text: 'no turn' } },
              ],
            },
          ],
        }),
      )
      const events = [
        { session: session.id, seq: 1, at: AT, ...textBody('a') },
        { session: session.id, seq: 2, at: '2026-11-29T12:00:00.007Z', ...textBody('b', 2) },
        {
          session: session.id,
          seq: 3,
          at: AT,
          kind: 'notice',
          level: 'info',
          code: 'c',
          text: 'no turn',
        },
      ]
      expect(answer.events).toEqual(events)
      expect(await storage.timeline(session.id, { limit: 9 })).toEqual({ events, last: 3 })
      expect(await storage.turn(session.id, 2)).toEqual([events[1]])
    })

    it('keeps every body exactly, whatever the text', async () => {
      const body: EventBody = {
        kind: 'tool.result',
        turn: 3,
        parent: 'p',
        callId: 'c',
        status: 'ok',
        output: 'nul \0, half \ud800, emoji 🎻,   "quotes"',
        diff: [{ path: '../a b', patch: '@@', added: 1, removed: 0 }],
        durationMs: 1.5,
      }
      await committed(
        commitOf({ timeline: [{ session: world.session.id, events: [{ at: AT, body }] }] }),
      )
      const { events } = await storage.timeline(world.session.id, { limit: 1 })
      expect(events).toEqual([{ session: world.session.id, seq: 1, at: AT, ...body }])
    })

    it('reads the end of a timeline, what is before, and what is after', async () => {
      const { id } = world.session
      await committed(appendTexts(id, ['1', '2', '3', '4', '5']))
      const seqs = async (range: Parameters<Storage['timeline']>[1]) => {
        const { events, last } = await storage.timeline(id, range)
        expect(last).toBe(5)
        return events.map(({ seq }) => seq)
      }
      expect(await seqs({ limit: 2 })).toEqual([4, 5])
      expect(await seqs({ limit: 2, before: 4 })).toEqual([2, 3])
      expect(await seqs({ limit: 9, before: 1 })).toEqual([])
      expect(await seqs({ limit: 2, after: 0 })).toEqual([1, 2])
      expect(await seqs({ limit: 9, after: 3 })).toEqual([4, 5])
      expect(await seqs({ limit: 9, after: 1, before: 4 })).toEqual([2, 3])
      expect(await seqs({ limit: 9, after: 5 })).toEqual([])
      expect(await storage.timeline(newId<SessionId>(), { limit: 9 })).toEqual({
        events: [],
        last: 0,
      })
    })

    it('takes the items of a lease once', async () => {
      const { lease, session } = world
      const batch = (last: number, after?: number) => ({
        ...appendTexts(session.id, ['item']),
        advance: { lease: lease.id, last, ...(after === undefined ? {} : { after }) },
      })
      await committed(batch(2))
      expect(await storage.row('lease', lease.id)).toMatchObject({ lastItem: 2, version: 1 })
      expect(await storage.commit(batch(2))).toEqual({
        outcome: 'conflict',
        at: [{ lease: lease.id, last: 2 }],
      })
      expect((await storage.commit(batch(4, 1))).outcome).toBe('conflict')
      await committed(batch(4, 2))
      // A row that was loaded before does not take it back.
      await committed(commitOf({ puts: [{ table: 'lease', row: { ...lease, reaped: true } }] }))
      expect(await storage.row('lease', lease.id)).toMatchObject({ lastItem: 4, reaped: true })
      const gone = { ...batch(9), advance: { lease: newId<typeof lease.id>(), last: 9 } }
      expect((await storage.commit(gone)).outcome).toBe('conflict')
      expect((await storage.timeline(session.id, { limit: 9 })).last).toBe(2)
    })

    it('keeps blobs beside the timeline, small, large and broken', async () => {
      const { id } = world.session
      const texts = { a: 'small', b: 'ä'.repeat(100_000), c: `half \udc00${'x'.repeat(5_000)}` }
      await committed(
        commitOf({
          timeline: [
            {
              session: id,
              events: [],
              blobs: Object.entries(texts).map(([name, text]) => ({ id: blobId(name), text })),
            },
          ],
        }),
      )
      for (const [name, text] of Object.entries(texts)) {
        expect(await storage.blob(id, blobId(name))).toBe(text)
      }
      expect(await storage.blob(id, blobId('d'))).toBeUndefined()
      expect(await storage.blob(newId<SessionId>(), blobId('a'))).toBeUndefined()
      // The same blob again is the same blob.
      await committed(
        commitOf({
          timeline: [{ session: id, events: [], blobs: [{ id: blobId('a'), text: 'small' }] }],
        }),
      )
    })

    it('finds rows by fields, prefix, change and limit, oldest first', async () => {
      const { session } = world
      const inputs = [
        inputRow(session, { state: 'sent', position: 0.5, delivery: newId() }),
        inputRow(session, { state: 'delivered' }),
      ]
      await committed(commitOf({ puts: inputs.map((row) => ({ table: 'input', row }) as const) }))
      const ids = async (query: Omit<Parameters<typeof storage.rows<'input'>>[0], 'table'>) =>
        (await storage.rows({ table: 'input', ...query })).map(({ id }) => id)
      const all = [world.input.id, ...inputs.map(({ id }) => id)]
      expect(await ids({})).toEqual(all)
      expect(await ids({ limit: 1 })).toEqual([all[0]])
      expect(await ids({ where: { state: ['queued', 'sent'] } })).toEqual(all.slice(0, 2))
      expect(await ids({ where: { state: 'sent', sessionId: session.id } })).toEqual([all[1]])
      expect(await ids({ where: { state: [] } })).toEqual([])
      expect(await ids({ where: { delivery: null } })).toEqual([all[0], all[2]])
      expect(await ids({ where: { delivery: [null, inputs[0]?.delivery ?? null] } })).toEqual(all)
      expect(await ids({ changedAfter: 1 })).toEqual(all.slice(1))
      expect(await ids({ idPrefix: all[0]?.slice(0, 30) ?? '' })).toContain(all[0])
      expect(await ids({ idPrefix: all[2] ?? '' })).toEqual([all[2]])
      expect(await ids({ idPrefix: 'zz' })).toEqual([])
      expect(await storage.rows({ table: 'lease', where: { reaped: false } })).toHaveLength(1)
      expect(await storage.rows({ table: 'lease', where: { reaped: true } })).toHaveLength(0)
    })

    it('deletes a ticket with all that hangs on it, and leaves tombstones', async () => {
      const { ticket, session, input, request, lease } = world
      const id = blobId('a')
      await committed(
        commitOf({
          timeline: [
            {
              session: session.id,
              events: [{ at: AT, body: textBody('a') }],
              blobs: [{ id, text: 'text' }],
            },
          ],
        }),
      )
      const { change } = await committed(
        commitOf({ deletes: [{ table: 'ticket', id: ticket.id }] }),
      )
      expect(await storage.deletions(change)).toEqual([])
      const gone = await storage.deletions(change - 1)
      expect(new Set(gone.map(({ table, id }) => `${table} ${id}`))).toEqual(
        new Set([
          `ticket ${ticket.id}`,
          `question ${world.question.id}`,
          `assumption ${world.assumption.id}`,
          `session ${session.id}`,
          `input ${input.id}`,
          `request ${request.id}`,
          `lease ${lease.id}`,
        ]),
      )
      expect(gone.every((entry) => entry.change === change)).toBe(true)
      expect(await storage.rows({ table: 'session' })).toEqual([])
      expect(await storage.timeline(session.id, { limit: 9 })).toEqual({ events: [], last: 0 })
      expect(await storage.blob(session.id, id)).toBeUndefined()
      expect(await storage.rows({ table: 'project' })).toHaveLength(1)
      // What was not there leaves no tombstone.
      await committed(commitOf({ deletes: [{ table: 'ticket', id: ticket.id }] }))
      expect(await storage.deletions(change)).toEqual([])
    })

    it('keeps the outbox in order until an entry is done', async () => {
      const entry = (id: string) => ({ id, effect: 'push', data: { id, list: [1] } })
      await committed(commitOf({ outbox: [entry('b'), entry('a')] }))
      expect(await storage.pendingOutbox()).toEqual([entry('b'), entry('a')])
      await committed(commitOf({ outboxDone: ['b'], outbox: [entry('c')] }))
      expect(await storage.pendingOutbox()).toEqual([entry('a'), entry('c')])
    })

    it('answers in the order of the calls', async () => {
      const { id } = world.session
      const order: string[] = []
      const note = (name: string) => () => order.push(name)
      const texts = Array.from({ length: 20 }, (_, index) => String(index))
      await Promise.all([
        ...texts.map((text) => storage.commit(appendTexts(id, [text])).then(note(text))),
        storage.timeline(id, { limit: 1 }).then(({ last }) => order.push(`read ${last}`)),
      ])
      expect(order).toEqual([...texts, 'read 20'])
      const { events } = await storage.timeline(id, { limit: 99 })
      expect(events.map((event) => ('text' in event ? event.text : ''))).toEqual(texts)
    })

    it('says where it keeps things', async () => {
      const info = await storage.info()
      expect(info.schemaVersion).toBeGreaterThan(1)
      expect(info.bytes).toBeGreaterThan(1_000)
      expect(info.file).toContain('ballet.sqlite')
    })
  })
}
