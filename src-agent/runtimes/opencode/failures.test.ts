import { chmod } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { deliveryOf, Scene } from '../claude-code/testing/real-runtime.ts'
import type { DriverSpec } from '../driver.ts'
import { createOpencodeDriver } from './index.ts'

// Real processes on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 30_000 })

const FAKE = fileURLToPath(new URL('./testing/fake-opencode.mjs', import.meta.url))

describe('a server of opencode that misbehaves', () => {
  let scene: Scene
  beforeEach(async () => {
    await chmod(FAKE, 0o755)
    scene = await Scene.make('http://127.0.0.1:9')
  })
  afterEach(() => scene.close())

  const specFor = (fake: string): DriverSpec => ({
    ...scene.spec,
    executable: FAKE,
    model: null,
    env: { PATH: process.env.PATH ?? '', HOME: scene.root, FAKE: fake },
  })
  const left = () => scene.tools(0)

  it('takes another port when its own is taken', async () => {
    const taken = await listen()
    const ports = [portOf(taken)]
    const driver = createOpencodeDriver({
      freePort: async () => ports.shift() ?? freePort(),
    })
    try {
      const session = await driver.start(specFor(''), scene.onSignal)
      expect(session.conversation).toBe('ses_fake1')
      expect(ports).toEqual([])
      await session.stop()
    } finally {
      taken.close()
    }
  })

  it('says so when every port is taken, and leaves nothing', async () => {
    const taken = await listen()
    const driver = createOpencodeDriver({ freePort: async () => portOf(taken) })
    try {
      await expect(driver.start(specFor(''), scene.onSignal)).rejects.toMatchObject({
        code: 'runtime.start-failed',
        message: expect.stringContaining('no free port in 4 attempts'),
      })
      expect(await left()).toEqual([])
    } finally {
      taken.close()
    }
  })

  it('ends a server that never gets ready', async () => {
    const driver = createOpencodeDriver({ readyLimitMs: 500 })
    await expect(driver.start(specFor('never-ready'), scene.onSignal)).rejects.toMatchObject({
      code: 'runtime.start-failed',
      message: expect.stringContaining('did not get ready within 0.5 s'),
    })
    expect(await left()).toEqual([])
  })

  it('refuses a server that does not take the password', async () => {
    const driver = createOpencodeDriver()
    await expect(driver.start(specFor('unauthorized'), scene.onSignal)).rejects.toMatchObject({
      code: 'runtime.unauthorized',
    })
    expect(await left()).toEqual([])
  })

  it('names a program that is not there, and a workspace that is gone', async () => {
    const driver = createOpencodeDriver()
    const missing = { ...specFor(''), executable: '/nowhere/opencode' }
    await expect(driver.start(missing, scene.onSignal)).rejects.toMatchObject({
      code: 'runtime.not-found',
    })
    const gone = { ...specFor(''), cwd: '/nowhere/workspace' }
    await expect(driver.start(gone, scene.onSignal)).rejects.toThrow()
    const model = { ...specFor(''), model: 'sonnet' }
    await expect(driver.start(model, scene.onSignal)).rejects.toMatchObject({
      code: 'runtime.model',
    })
  })

  it('tells the death of a server between two turns', async () => {
    const session = await createOpencodeDriver().start(specFor('dies'), scene.onSignal)
    await session.send(deliveryOf('Hello.'))
    const exited = await scene.waitForSignal('exited')
    expect(exited).toMatchObject({
      expected: false,
      detail: expect.stringContaining('opencode ended with exit code 3'),
    })
    expect(scene.told().filter((line) => line.startsWith('turn.'))).toEqual([
      'turn.started 1',
      'turn.ended completed',
    ])
    await expect(session.send(deliveryOf('Late.'))).rejects.toMatchObject({
      code: 'runtime.not-written',
    })
  })

  it('reads what it missed when the events are cut in the middle of one', async () => {
    const session = await createOpencodeDriver().start(specFor('disconnect'), scene.onSignal)
    await session.send(deliveryOf('Hello.'))
    await scene.waitForSignal('turn.ended')
    expect(scene.told()).toEqual([
      'turn.started 1',
      'delivered 1',
      'text: Said.',
      expect.stringMatching(/^cost 0\.25/),
      'turn.ended completed',
    ])
    await session.stop()
  })

  it('tells nothing of the earlier conversation when the events are cut before a new turn is heard', async () => {
    const facts = scene.facts('ses_fake1', { turn: 1, storedRefs: ['prt_o2'] })
    const { session } = await createOpencodeDriver().resume(
      specFor('unheard'),
      facts,
      scene.onSignal,
    )
    await session.send(deliveryOf('Hello.'))
    await scene.waitForSignal('turn.ended')
    expect(scene.told()).toEqual([
      'turn.started 1',
      'delivered 1',
      'text: Said.',
      expect.stringMatching(/^cost 0\.00/),
      'turn.ended completed',
    ])
    await session.stop()
  })

  it('tells the last words of a turn that ended unheard, where a subagent had worked in it', async () => {
    const session = await createOpencodeDriver().start(specFor('delegates'), scene.onSignal)
    await session.send(deliveryOf('Hello.'))
    await scene.waitForSignal('turn.ended')
    expect(scene.told()).toEqual([
      'turn.started 1',
      'delivered 1',
      'call agent task: look',
      'result ok: Found.',
      '> text: Found.',
      'text: Said.',
      expect.stringMatching(/^cost 0\.25/),
      'turn.ended completed',
    ])
    await session.stop()
  })

  const asked = async (fake: string) => {
    const session = await createOpencodeDriver().start(specFor(fake), scene.onSignal)
    await session.send(deliveryOf('Hello.'))
    const opened = await scene.waitFor(
      'the request',
      () =>
        scene.signals.flatMap((signal) =>
          signal.type === 'event' && signal.event.kind === 'request.opened' ? signal.event : [],
        )[0],
    )
    return { session, answered: session.answerRequest(opened.request, { outcome: 'allow' }) }
  }

  it('is ended where it does not take an answer, and only a sure refusal is told as one', async () => {
    const torn = await asked('reply-500')
    await torn.answered
    expect(scene.told()).toContainEqual(expect.stringContaining('It did not work.'))
    expect(scene.told().slice(-2)).toEqual([
      expect.stringMatching(/^turn\.ended killed/),
      'exited unexpected',
    ])
    expect(await torn.session.processes()).toEqual([])

    scene.signals.length = 0
    const refused = await asked('reply-400')
    await expect(refused.answered).rejects.toMatchObject({ code: 'runtime.not-written' })
    expect(scene.told().at(-1)).toBe('exited unexpected')

    scene.signals.length = 0
    const gone = await asked('reply-404')
    await expect(gone.answered).rejects.toMatchObject({ code: 'request.gone' })
    expect(scene.told().filter((line) => line.startsWith('exited'))).toEqual([])
    await gone.session.stop()
  })

  it('is ended where it does not take what was allowed before', async () => {
    const rules = [{ permission: 'bash', pattern: 'ls *' }]
    const spec = { ...specFor('reply-500'), grants: [{ digest: 'a'.repeat(64), rules }] }
    const session = await createOpencodeDriver().start(spec, scene.onSignal)
    await session.send(deliveryOf('Hello.'))
    await scene.waitForSignal('exited')
    expect(scene.told()).not.toContainEqual(expect.stringMatching(/^request/))
    expect(scene.told().at(-2)).toMatch(/^turn\.ended killed/)
  })

  it("says so where the person's own file of settings is not read", async () => {
    const { env } = specFor('')
    const own = join(scene.root, 'providers.json')
    const spec = { ...specFor(''), env: { ...env, OPENCODE_CONFIG: own } }
    const session = await createOpencodeDriver().start(spec, scene.onSignal)
    const global = join(scene.root, '.config', 'opencode', 'opencode.json')
    expect(scene.told()).toEqual([
      expect.stringMatching(/^warning runtime\.config-unread: OPENCODE_CONFIG names /),
    ])
    for (const path of [own, global]) expect(scene.told()[0]).toContain(path)
    await session.stop()
  })

  it('tells an event of a kind that it does not know, and goes on', async () => {
    const session = await createOpencodeDriver().start(specFor('odd'), scene.onSignal)
    await session.send(deliveryOf('Hello.'))
    await scene.waitForSignal('turn.ended')
    expect(scene.told()).toContainEqual(expect.stringMatching(/runtime\.unknown.*session\.brewed/))
    expect(scene.told().at(-1)).toBe('turn.ended completed')
    await session.stop()
  })

  it('goes on where the last word that the timeline holds is that of a subagent', async () => {
    const driver = createOpencodeDriver()
    const facts = (ref: string) =>
      scene.facts('ses_fake1', { turn: 2, turnCut: true, storedRefs: ['prt_0', ref] })
    const spec = specFor('delegated')
    const { session } = await driver.resume(spec, facts('prt_8'), scene.onSignal)
    expect(session.conversation).toBe('ses_fake1')
    await session.stop()
    await expect(driver.resume(spec, facts('prt_77'), scene.onSignal)).rejects.toMatchObject({
      code: 'runtime.conversation-lost',
      message: expect.stringContaining('prt_77'),
    })
  })

  it('says so where the password could not be overwritten, and only there', async () => {
    for (const fake of ['', 'unwiped']) {
      const session = await createOpencodeDriver().start(specFor(fake), scene.onSignal)
      const notices = scene.told().filter((line) => line.includes('runtime.unguarded'))
      const isSaid = fake === 'unwiped' && process.platform !== 'win32'
      expect(notices, fake).toHaveLength(isSaid ? 1 : 0)
      await session.stop()
    }
  })

  it('refuses a conversation that the server does not have, and begins one that it never kept', async () => {
    const driver = createOpencodeDriver()
    const facts = scene.facts('ses_gone', { turn: 3 })
    await expect(driver.resume(specFor(''), facts, scene.onSignal)).rejects.toMatchObject({
      code: 'runtime.conversation-lost',
      message: expect.stringContaining('ses_gone'),
    })
    expect(await left()).toEqual([])
    const open = deliveryOf('first')
    const openDeliveries = [{ id: open.id, inputs: open.inputs, steer: false }]
    // What was recorded once is in its record, or that is lost, also where a message is in flight.
    const second = scene.facts('ses_gone', { openDeliveries })
    await expect(driver.resume(specFor(''), second, scene.onSignal)).rejects.toMatchObject({
      code: 'runtime.conversation-lost',
    })
    const first = scene.facts('ses_gone', { openDeliveries, turnCut: true, recorded: false })
    const { session, recovery } = await driver.resume(specFor(''), first, scene.onSignal)
    expect(session.conversation).toBe('ses_fake1')
    expect(recovery.fates.get(open.id)).toBe('never')
    await session.stop()
  })
})

function listen(): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer()
    server.listen(0, '127.0.0.1', () => resolve(server))
  })
}

function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function freePort(): Promise<number> {
  const server = await listen()
  const port = portOf(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}
