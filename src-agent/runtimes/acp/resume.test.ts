import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { deliveryOf } from '../claude-code/testing/real-runtime.ts'
import { chunk, FakeScene, steps } from './testing/scene.ts'

// Processes on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 20_000, hookTimeout: 20_000 })

let fake: FakeScene

afterEach(() => fake.scene.close())

const refs = () =>
  fake.scene.signals.flatMap((signal) =>
    signal.type === 'event' && signal.event.ref !== undefined ? signal.event.ref : [],
  )

const call = (status: string) => ({
  update: {
    sessionUpdate: status === 'in_progress' ? 'tool_call' : 'tool_call_update',
    toolCallId: 'c1',
    title: 'make it',
    kind: 'execute',
    status,
  },
})

/** A conversation with one whole turn and one that was cut in its second text. */
async function makeCut(lastSteps: string) {
  fake = await FakeScene.make()
  const record = join(fake.scene.root, 'record.json')
  const other = await FakeScene.make([`--record=${record}`])
  await other.scene.close()
  const session = await other.driver.start(fake.spec, fake.scene.onSignal)
  await session.send(deliveryOf(steps(chunk('First.', 'a1'), chunk('', 'a1'))))
  await fake.scene.waitForSignal('turn.ended')
  const before = refs().length
  const last = deliveryOf(lastSteps)
  await session.send(last)
  await fake.scene.waitForSignal('exited')
  return { driver: other.driver, conversation: session.conversation, last, before, record }
}

it('a cut turn: what the agent kept of it and nobody told is told, and nothing twice', async () => {
  const script = steps(chunk('Second.', 'a2'), call('in_progress'), { exit: 1 })
  const { driver, conversation, before, record } = await makeCut(script)
  const storedRefs = refs().slice(before)
  expect(storedRefs).toContain('text:a2:1')
  // The agent kept the end of the call, and something that it said after it.
  const kept = JSON.parse(await readFile(record, 'utf8'))
  kept.push(call('completed').update, chunk('Third.', 'a3').update)
  await writeFile(record, JSON.stringify(kept))
  const told = fake.scene.signals.length
  const { session, recovery } = await driver.resume(
    fake.spec,
    fake.scene.facts(conversation, {
      turn: 2,
      turnCut: true,
      storedRefs: storedRefs.filter((ref) => ref !== 'result:c1'),
    }),
    fake.scene.onSignal,
  )
  expect(fake.scene.signals.slice(told)).toEqual([])
  expect(
    recovery.signals.map((signal) => (signal.type === 'event' ? signal.event.ref : signal.type)),
  ).toEqual(['result:c1', 'text:a3:1'])
  expect(session.conversation).toBe(conversation)
  // The instructions are in the conversation already.
  await session.send(deliveryOf(steps(chunk('On.', 'a4'))))
  await fake.scene.waitForSignal('turn.ended', 3)
  await session.stop()
})

it('the fate of a message is told only where no other could be meant', async () => {
  const { driver, conversation, before, last, record } = await makeCut(steps({ exit: 1 }))
  const open = { id: last.id, inputs: last.inputs, steer: false }
  const resume = async (facts: Parameters<typeof fake.scene.facts>[1]) => {
    const { session, recovery } = await driver.resume(
      fake.spec,
      fake.scene.facts(conversation, { openDeliveries: [open], ...facts }),
      () => undefined,
    )
    await session.stop()
    return recovery.fates.get(last.id)
  }
  expect(await resume({ turn: 2, turnCut: true, storedRefs: [] })).toBe('unknown')
  expect(await resume({ turn: 1, turnCut: true, storedRefs: [] })).toBe('delivered')
  // The agent did not keep it: its last turn is the one before, of which the timeline has more.
  const kept: unknown[] = JSON.parse(await readFile(record, 'utf8'))
  await writeFile(record, JSON.stringify(kept.slice(0, -1)))
  expect(await resume({ turn: 1, storedRefs: refs().slice(0, before) })).toBe('never')
})

it.each([
  ['an id that the agent does not know', [], 'fake-0', 2],
  ['an agent that loads no conversations', ['--no-load'], 'fake-1', 2],
  ['an agent that loads it and tells nothing of it', [], 'fake-1', 2],
])('%s: the conversation is lost, and nothing is left running', async (_, args, id, turn) => {
  fake = await FakeScene.make(args)
  const resumed = fake.driver.resume(fake.spec, fake.scene.facts(id, { turn }), fake.scene.onSignal)
  await expect(resumed).rejects.toMatchObject({ code: 'runtime.conversation-lost' })
  expect(await fake.scene.tools(-1)).toEqual([])
})

it('a conversation that never took a message begins anew', async () => {
  fake = await FakeScene.make(['--echo'])
  const open = deliveryOf('never')
  const { session, recovery } = await fake.driver.resume(
    fake.spec,
    fake.scene.facts('gone', {
      turn: 0,
      openDeliveries: [{ id: open.id, inputs: [], steer: false }],
    }),
    fake.scene.onSignal,
  )
  expect(session.conversation).toBe('fake-1')
  expect(recovery.fates.get(open.id)).toBe('never')
  await session.send(deliveryOf('/clear'))
  await fake.scene.waitForSignal('turn.ended')
  const said = fake.scene.told().filter((line) => line.startsWith('text:'))[0]
  // The system prompt begins the first message; a slash is no command.
  expect(said).toContain('You work for Ballet.')
  expect(said).toContain('/clear')
  await session.stop()
})

it.each([
  ['no message', [], true],
  [
    'a message',
    [{ sessionUpdate: 'user_message_chunk', content: { type: 'text', text: 'Before.' } }],
    false,
  ],
])(
  'a loaded conversation with %s gets the instructions only where it has none',
  async (_, kept, gets) => {
    fake = await FakeScene.make()
    const record = join(fake.scene.root, 'record.json')
    await writeFile(record, JSON.stringify(kept))
    const other = await FakeScene.make([`--record=${record}`, '--echo'])
    await other.scene.close()
    const open = deliveryOf('never')
    const { session, recovery } = await other.driver.resume(
      fake.spec,
      fake.scene.facts('fake-1', {
        openDeliveries: [{ id: open.id, inputs: [], steer: false }],
        recorded: false,
      }),
      fake.scene.onSignal,
    )
    expect(session.conversation).toBe('fake-1')
    expect(recovery.fates.get(open.id)).toBe(gets ? 'never' : 'delivered')
    await session.send(deliveryOf('Go on.'))
    await fake.scene.waitForSignal('turn.ended')
    const said = fake.scene.told().filter((line) => line.startsWith('text:'))[0]
    expect(said?.includes('You work for Ballet.')).toBe(gets)
    await session.stop()
  },
)
