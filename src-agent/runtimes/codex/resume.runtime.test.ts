import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { endTree } from '../../process-tree/index.ts'
import { newMarker } from '../../process-tree/testing/new-marker.ts'
import {
  deliveryOf,
  type Scene,
  scripted,
  startModel,
} from '../claude-code/testing/real-runtime.ts'
import { tell } from '../claude-code/testing/replay.ts'
import type { DriverSpec, RuntimePlace, RuntimeSession } from '../driver.ts'
import { createCodexDriver } from './index.ts'
import { environment, makeScene, writeHome } from './testing/scene.ts'

// Real programs on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const driver = createCodexDriver()
const state = driver.state ?? expect.unreachable()
let model: Awaited<ReturnType<typeof startModel>>
let scene: Scene
let session: RuntimeSession | undefined

beforeAll(async () => {
  model = await startModel()
})
afterAll(() => model.close())
afterEach(async () => {
  await session?.stop()
  session = undefined
  await scene.close()
})

function placeOf({ cwd, env }: Pick<DriverSpec, 'cwd' | 'env'>): RuntimePlace {
  const marker = newMarker()
  return { cwd, env, marker, executable: null, scratchDir: join(scene.root, 'state') }
}

/** Another machine: another workspace, another configuration, nothing of the first. */
async function elsewhere(): Promise<DriverSpec> {
  const other = join(scene.root, 'other')
  const cwd = join(other, 'work')
  await mkdir(cwd, { recursive: true })
  await writeHome(join(other, 'codex'), model.url)
  return { ...scene.spec, cwd, env: environment(scene, join(other, 'codex')) }
}

/** A program that notes how it is called, and then is the real one. */
async function noting(executable: string): Promise<{ program: string; calls: string }> {
  const program = join(scene.root, 'noting.sh')
  const calls = join(scene.root, 'calls')
  const script = `#!/bin/sh\necho "$@" >> '${calls}'\n'${executable}' "$@" && echo done >> '${calls}'\n`
  await writeFile(program, script, { mode: 0o755 })
  return { program, calls }
}

describe('resuming Codex', () => {
  it('goes on elsewhere from one file, proves it, and removes it there', async () => {
    ;({ scene } = await makeScene(model.url))
    session = await driver.start(scene.spec, scene.onSignal)
    const { conversation } = session
    const first = [{ tool: 'Bash', input: { command: 'echo WORD-4711' } }, { text: 'I know it' }]
    await session.send(deliveryOf(scripted('remember', first)))
    await scene.waitForSignal('turn.ended')
    await scene.waitForSignal('delivered')
    await session.stop()
    const files = await state.capture(conversation, placeOf(scene.spec))
    expect(files.map(({ name }) => name)).toEqual([
      expect.stringMatching(/^sessions\/\d{4}\/\d\d\/\d\d\/rollout-.*\.jsonl$/),
    ])
    const spec = await elsewhere()
    await state.restore(conversation, files, placeOf(spec))
    const refs = scene.signals.flatMap((each) =>
      each.type === 'event' && each.event.ref !== undefined ? [each.event.ref] : [],
    )
    const facts = scene.facts(conversation, { storedRefs: refs })
    const resumed = await driver.resume(spec, facts, scene.onSignal)
    session = resumed.session
    expect(session.conversation).toBe(conversation)
    expect(resumed.recovery).toEqual({ signals: [], fates: new Map() })
    await session.send(deliveryOf(scripted('where', [{ tool: 'Bash', input: { command: 'pwd' } }])))
    await scene.waitForSignal('turn.ended', 2)
    await scene.waitForSignal('delivered', 2)
    expect(scene.told()).toContain(`result ok: ${spec.cwd}`)
    const asked = JSON.stringify(model.requests().at(-1)?.messages)
    expect(asked).toContain('WORD-4711')
    expect(asked).toContain('I know it')
    await session.stop()
    const below = { ...placeOf(spec), cwd: join(scene.root, 'other') }
    expect(await state.list(below)).toMatchObject([{ conversation, ran: spec.cwd }])
    expect(await state.list({ ...below, cwd: scene.cwd })).toEqual([])
    expect(await state.remove(conversation, { ...below, cwd: scene.cwd })).toBe(0)
    const { program, calls } = await noting(spec.executable)
    expect(await state.remove(conversation, { ...below, executable: program })).toBe(1)
    // What the databases hold of it goes by Codex itself.
    expect(await readFile(calls, 'utf8')).toBe(`delete --force ${conversation}\ndone\n`)
    expect(await state.list(below)).toEqual([])
    await expect(driver.resume(spec, facts, scene.onSignal)).rejects.toMatchObject({
      code: 'runtime.conversation-lost',
    })
  })

  it('recovers what the record holds of a turn that was killed, and tells the fates', async () => {
    ;({ scene } = await makeScene(model.url))
    session = await driver.start(scene.spec, scene.onSignal)
    const { conversation } = session
    const steps = [
      { text: 'I look', tool: 'Bash', input: { command: 'echo there' } },
      { tool: 'Bash', input: { command: 'sleep 30' } },
      { text: 'never' },
    ]
    const delivery = deliveryOf(scripted('look', steps))
    await session.send(delivery)
    await scene.waitFor('the last call', () => scene.told().join().includes('sleep 30'))
    await endTree([scene.spec.marker], { graceMs: 0, limitMs: 10_000 })
    const exit = await scene.waitForSignal('exited')
    expect(exit.expected).toBe(false)
    expect(scene.lastTold()).toBe('exited unexpected')
    expect(scene.told()).toContain('result unknown: ')
    const lost = deliveryOf('never written')
    const openDeliveries = [delivery, lost].map(({ id, inputs }) => ({ id, inputs, steer: false }))
    const facts = scene.facts(conversation, { turn: 0, openDeliveries })
    const resumed = await driver.resume(scene.spec, facts, scene.onSignal)
    session = resumed.session
    expect(resumed.recovery.fates).toEqual(
      new Map([
        [delivery.id, 'delivered'],
        [lost.id, 'never'],
      ]),
    )
    expect(tell(resumed.recovery.signals)).toEqual([
      'turn.started 1',
      'text: I look',
      'call execute shell: echo there',
      'result ok: there',
      expect.stringMatching(/^turn\.ended killed/),
    ])
    await session.send(deliveryOf('go on'))
    await scene.waitForSignal('turn.ended', 2)
    expect(JSON.stringify(model.requests().at(-1)?.messages)).toContain('I look')
  })

  it('begins anew when nothing was kept yet, and refuses what is of another conversation', async () => {
    ;({ scene } = await makeScene(model.url))
    const gone = '01a229ae-2452-7770-a704-00e7009862e6'
    const open = deliveryOf('first')
    const openDeliveries = [{ id: open.id, inputs: open.inputs, steer: false }]
    const facts = scene.facts(gone, { turn: 0, openDeliveries })
    const anew = await driver.resume(scene.spec, facts, scene.onSignal)
    session = anew.session
    expect(session.conversation).not.toBe(gone)
    expect([...anew.recovery.fates.values()]).toEqual(['never'])
    await session.send(deliveryOf('hello'))
    await scene.waitForSignal('delivered')
    const { conversation } = session
    await session.stop()
    const place = placeOf(scene.spec)
    const [file] = await state.capture(conversation, place)
    if (file === undefined) throw new Error('no file')
    await expect(state.restore(gone, [file], place)).rejects.toMatchObject({
      code: 'state.corrupt',
    })
    const claudes = { path: file.path, name: `${conversation}.jsonl` }
    await expect(state.restore(conversation, [claudes], place)).rejects.toMatchObject({
      code: 'state.corrupt',
    })
    await expect(state.capture(gone, place)).rejects.toMatchObject({ code: 'state.missing' })
    const kept = scene.facts(conversation, { storedRefs: ['msg_of_another'] })
    await expect(driver.resume(scene.spec, kept, scene.onSignal)).rejects.toMatchObject({
      code: 'runtime.conversation-lost',
    })
    await writeFile(file.path, '{"half a li')
    await expect(
      driver.resume(scene.spec, scene.facts(conversation, {}), scene.onSignal),
    ).rejects.toMatchObject({ code: 'runtime.conversation-lost' })
    expect(await readFile(file.path, 'utf8')).toBe('{"half a li')
  })

  it('does not take for lost what another program holds, or what it cannot read now', async () => {
    const { scene: made, home } = await makeScene(model.url)
    scene = made
    session = await driver.start(scene.spec, scene.onSignal)
    await session.send(deliveryOf(scripted('remember', [{ text: 'I know it' }])))
    await scene.waitForSignal('turn.ended')
    await scene.waitForSignal('delivered')
    const facts = scene.facts(session.conversation, {})
    const marker = { ...scene.spec.marker, nonce: 'f'.repeat(16) }
    await expect(
      driver.resume({ ...scene.spec, marker }, facts, scene.onSignal),
    ).rejects.toMatchObject({
      ...{ code: 'runtime.start-failed', message: expect.stringContaining('active writer') },
      hint: expect.stringContaining('conversation is kept'),
    })
    await session.stop()
    const databases = (await readdir(home)).filter((name) => name.startsWith('thread_history'))
    expect(databases).not.toEqual([])
    const whole = await Promise.all(databases.map((name) => readFile(join(home, name))))
    for (const name of databases) await writeFile(join(home, name), 'no database')
    await expect(driver.resume(scene.spec, facts, scene.onSignal)).rejects.toMatchObject({
      ...{ code: 'runtime.start-failed', message: expect.stringContaining('thread history') },
      hint: expect.stringContaining('conversation is kept'),
    })
    for (const [index, name] of databases.entries()) {
      await writeFile(join(home, name), whole[index] ?? '')
    }
    const resumed = await driver.resume(scene.spec, facts, scene.onSignal)
    session = resumed.session
    expect(session.conversation).toBe(facts.conversation)
  })
})
