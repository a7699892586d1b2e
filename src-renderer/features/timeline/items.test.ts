import { describe, expect, it } from 'vitest'
import type { SessionId } from '../../../src-shared/ids.ts'
import type { LiveBlock } from '../../../src-shared/timeline.ts'
import { hostileBodies, numbered, sentence, storyBodies } from '../../fixture/story.ts'
import { fixtureId, seeded } from '../../fixture/world.ts'
import { RowBuilder } from '../../sync/row-builder.ts'
import type { ToolRow } from '../../sync/rows.ts'
import { timelineMarkdown } from './as-markdown.ts'
import { findItems } from './find.ts'
import { countCalls, ItemMaker, latestChild, runningOutsideTurns } from './items.ts'

const session = fixtureId() as SessionId
const nothing = new Map<string, boolean>()

function build(bodies = storyBodies()) {
  const builder = new RowBuilder()
  builder.add(numbered(session, bodies))
  return builder
}

describe('items of the virtual list', () => {
  it('have keys of their own', () => {
    for (const bodies of [storyBodies(), hostileBodies()]) {
      const items = new ItemMaker().items(build(bodies).rows(), nothing)
      expect(new Set(items.map(({ key }) => key)).size).toBe(items.length)
    }
  })

  it('show a subagent’s work under its call when it is opened', () => {
    const rows = build().rows()
    const agent = rows.find((row) => row.kind === 'tool' && row.toolKind === 'agent') as ToolRow
    const maker = new ItemMaker()
    const folded = maker.items(rows, nothing)
    const open = maker.items(rows, new Map([[agent.key, true]]))
    expect(open.length).toBe(folded.length + agent.children.length + 1)
    expect(open.filter(({ depth }) => depth === 1)).toHaveLength(4)
    expect(countCalls(agent)).toBe(2)
    expect(latestChild(agent)?.title).toBe('src/app.tsx')
    expect(maker.items(rows, nothing)).toHaveLength(folded.length)
  })

  it('of a long text are many, each small, and hold all of it', () => {
    const text = Array.from({ length: 400 }, (_, at) => sentence(seeded(at), 40)).join('\n\n')
    const builder = build([{ kind: 'assistant.text', text }])
    const items = new ItemMaker().items(builder.rows(), nothing)
    expect(items.length).toBeGreaterThan(20)
    const pieces = items.flatMap(({ chunks }) => chunks ?? [])
    expect(pieces.map((chunk) => chunk.text).join('\n\n')).toBe(text)
    const sizes = items.map(({ chunks }) =>
      (chunks ?? []).reduce((sum, chunk) => sum + chunk.text.length, 0),
    )
    expect(Math.max(...sizes)).toBeLessThan(9_000)
  })

  it('are the same objects while nothing of them changed', () => {
    const builder = build()
    const maker = new ItemMaker()
    const long = sentence(seeded(1), 3_000).replaceAll(' the ', '\n\n')
    const live = (text: string) =>
      builder.setLive(
        new Map<string, LiveBlock>([['b', { block: 'b', kind: 'assistant.text', text }]]),
      )
    live(long)
    const before = maker.items(builder.rows(), nothing)
    live(`${long} more`)
    const after = maker.items(builder.rows(), nothing)
    expect(after).toHaveLength(before.length)
    expect(after.slice(0, -1).every((item, at) => item === before[at])).toBe(true)
    expect(after.at(-1)).not.toBe(before.at(-1))
  })
})

describe('finding in a timeline', () => {
  it('finds in what is said, called and given, in either case', () => {
    const items = new ItemMaker().items(build().rows(), nothing)
    const kinds = (query: string) => findItems(items, query).map((at) => items[at]?.row.kind)
    expect(kinds('SESSIONSTORAGE')).toEqual(['thinking', 'tool'])
    expect(kinds('price table')).toEqual(['tool'])
    expect(kinds('OLD_KEY) ??')).toEqual([])
    expect(kinds('?? localStorage')).toEqual(['text', 'tool'])
    expect(kinds('  ')).toEqual([])
  })
})

describe('a timeline as Markdown', () => {
  it('holds what was said and changed, and cannot be broken out of', () => {
    const text = timelineMarkdown(
      build([
        ...storyBodies(),
        {
          kind: 'tool.call',
          callId: 'z',
          name: 'Bash',
          toolKind: 'execute',
          title: 'cat README.md',
          input: '{}',
        },
        { kind: 'tool.result', callId: 'z', status: 'ok', output: '```\ninner\n```' },
      ]).rows(),
    )
    expect(text).toContain('## Turn 2')
    expect(text).toContain('> Keep the old key readable for one release.')
    expect(text).toContain('```diff')
    expect(text).toContain('````\n```\ninner\n```\n````')
  })
})

describe('a setup command', () => {
  const call = {
    kind: 'tool.call',
    callId: 'setup-1',
    name: 'setup',
    toolKind: 'execute',
    title: 'npm ci',
    input: '',
  } as const
  const running = (...more: Parameters<typeof build>[0] & {}) =>
    runningOutsideTurns(build([call, ...more]).rows(), true)

  it('runs until it has a result', () => {
    expect(running()).toBe('call:setup-1')
    const result = { kind: 'tool.result', callId: 'setup-1', status: 'ok', output: '' } as const
    expect(running(result)).toBeNull()
    expect(runningOutsideTurns(build([call]).rows(), false)).toBeNull()
  })

  it('runs no more when its agent is gone, also while the next one starts', () => {
    const lost = {
      kind: 'session.state',
      from: 'starting',
      to: 'resuming',
      reason: 'lost',
    } as const
    expect(running(lost)).toBeNull()
    expect(running(lost, { ...call, callId: 'setup-2' })).toBe('call:setup-2')
  })
})
