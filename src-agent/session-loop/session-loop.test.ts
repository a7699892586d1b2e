import { access, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BalletError } from '../../src-shared/refusal.ts'
import { processesWith } from '../process-tree/index.ts'
import { makeSample, type Sample, writeFiles } from '../workspace/sample-repository.ts'
import { LoopHarness, makeDelivery, makeSpec, until } from './loop-harness.ts'
import { RecordingDriver } from './recording-driver.ts'

let sample: Sample
beforeEach(async () => {
  sample = await makeSample()
})
afterEach(() => sample.remove())

const open = (changes: Record<string, unknown> = {}, driver = new RecordingDriver()) =>
  new LoopHarness(sample, { spec: makeSpec(sample, changes), driver })

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

const earlier = {
  conversation: 'conversation-1',
  turn: 4,
  turnCut: false,
  recorded: true,
  openCalls: [],
  storedRefs: [],
  told: [],
  openDeliveries: [],
  costUsd: 2,
}

describe('the beginning of a session', () => {
  it('prepares the workspace, starts the runtime in it, and says that it is ready', async () => {
    const harness = await open({
      env: { SHOP_MODE: 'test', BALLET_SECRET: 'x' },
      model: 'sonnet',
    }).ready()
    expect(harness.story()).toEqual(['notice', 'workspace', 'ready'])
    const [spec] = harness.driver.specs
    expect(spec).toMatchObject({ cwd: sample.plan().workspaceDir, model: 'sonnet' })
    expect(spec?.env).toMatchObject({ SHOP_MODE: 'test', HOME: sample.env.HOME })
    expect(Object.keys(spec?.env ?? {}).filter((name) => name.startsWith('BALLET_'))).toEqual([])
    expect(await isThere(spec?.scratchDir ?? '')).toBe(true)
    await harness.loop.release()
    expect(await isThere(spec?.scratchDir ?? '')).toBe(false)
  })

  it('fails with the reason when the runtime is not there, and leaves no workspace behind', async () => {
    const driver = new RecordingDriver()
    driver.report = { path: null, problem: { code: 'runtime.not-found', message: 'no claude' } }
    const harness = open({}, driver).start()
    const ended = await harness.untilItem('ended')
    expect(ended).toMatchObject({
      outcome: 'failed',
      kept: false,
      refusal: { code: 'runtime.not-found' },
    })
    expect(harness.ended).toBe(true)
    expect(await readdir(join(sample.dataDir, 'workspaces')).catch(() => [])).toEqual([])
  })

  it('fails with the reason when the remote or the start of the runtime does', async () => {
    const bad = open({ repo: join(sample.folder, 'nowhere') }).start()
    expect(await bad.untilItem('ended')).toMatchObject({
      outcome: 'failed',
      refusal: { code: 'remote.not-a-repository' },
    })
    const driver = new RecordingDriver()
    driver.launches = [new BalletError({ code: 'runtime.too-old', message: 'too old' })]
    const old = open({}, driver).start()
    expect(await old.untilItem('ended')).toMatchObject({
      outcome: 'failed',
      kept: true,
      refusal: { code: 'runtime.too-old' },
    })
  })

  it('gives back what waited when it fails', async () => {
    const harness = open({ baseBranch: 'nothing' }).start()
    const delivery = makeDelivery('hello')
    harness.loop.deliver(delivery)
    expect(await harness.untilItem('undelivered')).toMatchObject({
      delivery: delivery.id,
      fate: 'never',
    })
    expect(harness.story().at(-1)).toBe('ended')
  })
})

describe('setup', () => {
  const setup = (command: string, limitMs: number | null = 20_000) => ({
    setup: { command, limitMs },
  })

  it('runs once in the workspace, before the runtime, with its output in the timeline', async () => {
    const command = 'echo out; echo err >&2; echo "$SHOP_TOKEN" ; echo made > made.txt'
    const changes = { ...setup(command), env: { SHOP_TOKEN: 'very-secret-token' } }
    const harness = await open(changes).ready()
    expect(harness.story()).toEqual(['notice', 'workspace', 'tool.call', 'tool.result', 'ready'])
    expect(harness.events('tool.call')[0]).toMatchObject({ name: 'setup', toolKind: 'execute' })
    const [result] = harness.events('tool.result')
    expect(result).toMatchObject({ status: 'ok' })
    expect(result?.output).toContain('out')
    expect(result?.output).toContain('err')
    expect(JSON.stringify([harness.items, harness.live])).not.toContain('very-secret-token')
    expect(harness.live.some((message) => message.type === 'live')).toBe(true)
    await harness.loop.release()
    await rm(join(sample.plan().workspaceDir, 'made.txt'))
    const again = await open({ ...changes, resume: earlier }).ready()
    expect(again.events('tool.call')).toEqual([])
    await again.loop.release()
  })

  it('fails the session with its output shown, and runs again the next time', async () => {
    const harness = open(setup('echo this went wrong; exit 3')).start()
    expect(await harness.untilItem('ended')).toMatchObject({
      outcome: 'failed',
      kept: true,
      refusal: { code: 'setup.failed', message: expect.stringContaining('this went wrong') },
    })
    expect(harness.events('tool.result')[0]).toMatchObject({
      status: 'error',
      output: 'this went wrong\n',
    })
    expect(harness.driver.asked).not.toContain('start')
    const again = await open(setup('true')).ready()
    expect(again.events('tool.result')[0]).toMatchObject({ status: 'ok' })
    await again.loop.release()
  })

  it('is over when its command is, whatever that left running and writing', async () => {
    const command = '(while sleep 0.05; do echo later; done) & echo done'
    const harness = await open(setup(command)).ready()
    expect(harness.events('tool.result')[0]?.output).toContain('done')
    const told = harness.live.length
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(harness.live.slice(told)).toEqual([])
    expect(harness.outgoing.liveBlocks()).toEqual([])
    await harness.loop.release()
  })

  it.each([
    ['over its limit', 'setup.time-limit', 'error'],
    ['stopped', undefined, 'cancelled'],
  ])('ends everything that it started when it is %s', async (how, code, status) => {
    const command = 'setsid sleep 300 & sleep 300'
    const spec = makeSpec(sample, setup(command, code === undefined ? null : 300))
    const harness = new LoopHarness(sample, { spec }).start()
    await until('the command to run', async () => {
      const found = await processesWith([spec])
      return found.length > 1
    })
    if (how === 'stopped') await harness.loop.stop()
    const ended = await harness.untilItem('ended')
    expect(ended.refusal?.code).toBe(code)
    expect(harness.events('tool.result')[0]?.status).toBe(status)
    expect(await processesWith([spec])).toEqual([])
  })
})

describe('turns', () => {
  it('delivers one at a time, between turns, in order, and each once', async () => {
    const harness = open()
    const [first, second, third] = ['one', 'two', 'three'].map(makeDelivery)
    if (!first || !second || !third) throw new Error('no deliveries')
    harness.loop.deliver(first)
    await harness.ready()
    await harness.untilAsked('send one')
    harness.loop.deliver(second)
    harness.loop.deliver(first)
    harness.loop.deliver(third)
    harness.driver.take(first)
    expect(harness.driver.asked.filter((asked) => asked.startsWith('send'))).toEqual(['send one'])
    harness.driver.end()
    await harness.untilAsked('send two')
    harness.driver.take(second)
    harness.driver.end()
    await harness.untilAsked('send three')
    harness.driver.take(third)
    harness.driver.end()
    await harness.loop.release()
    expect(harness.events('turn.started').map(({ turn, inputs }) => ({ turn, inputs }))).toEqual([
      { turn: 1, inputs: first.inputs },
      { turn: 2, inputs: second.inputs },
      { turn: 3, inputs: third.inputs },
    ])
    const delivered = harness.items.flatMap((item) =>
      item.type === 'delivered' ? [item.delivery] : [],
    )
    expect(delivered).toEqual([first.id, second.id, third.id])
  })

  it('puts the number of the turn on what belongs to it, and counts costs on', async () => {
    const harness = await open({ resume: earlier }).ready()
    expect(harness.driver.asked).toContain('resume')
    harness.driver.tell({ kind: 'notice', level: 'info', code: 'x.before', text: 'before' })
    harness.driver.begin()
    harness.driver.tell({ kind: 'assistant.text', text: 'hello', ref: 'r1' })
    harness.driver.tell({
      kind: 'cost',
      usage: { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 },
      costUsd: 0.5,
    })
    harness.driver.end()
    await harness.loop.release()
    expect(harness.events('notice').find(({ code }) => code === 'x.before')?.turn).toBe(undefined)
    expect(harness.events('turn.started')[0]?.turn).toBe(5)
    expect(harness.events('assistant.text')[0]?.turn).toBe(5)
    expect(harness.events('cost')[0]?.costUsd).toBe(2.5)
    expect(harness.events('turn.ended')[0]).toMatchObject({ turn: 5, costUsd: 0.5 })
  })

  it('interrupts once, also when asked before the turn began, and never between turns', async () => {
    const harness = await open().ready()
    harness.loop.interrupt()
    const delivery = makeDelivery('go')
    harness.loop.deliver(delivery)
    await harness.untilAsked('send go')
    harness.driver.obeysInterrupts = false
    harness.loop.interrupt()
    expect(harness.driver.asked).not.toContain('interrupt')
    harness.driver.take(delivery)
    harness.loop.interrupt()
    harness.loop.interrupt()
    harness.driver.end('interrupted')
    expect(harness.driver.asked.filter((asked) => asked === 'interrupt')).toHaveLength(1)
    await harness.loop.release()
    expect(harness.events('turn.ended').map(({ reason }) => reason)).toEqual(['interrupted'])
  })
})

describe('a runtime that ends by itself', () => {
  it('between turns comes back with the next message, in the same conversation', async () => {
    const harness = await open().ready()
    harness.driver.die()
    expect(harness.driver.asked).not.toContain('resume')
    const delivery = makeDelivery('again')
    harness.loop.deliver(delivery)
    await harness.untilAsked('send again')
    expect(harness.driver.facts).toEqual([
      {
        conversation: 'conversation-1',
        openDeliveries: [],
        openCalls: [],
        turn: 0,
        turnCut: false,
        recorded: false,
        storedRefs: [],
        told: [],
      },
    ])
    await harness.loop.release()
    expect(harness.story().filter((word) => word === 'ready')).toHaveLength(1)
    expect(harness.events('notice').map(({ code }) => code)).toContain('runtime.exited')
  })

  it('in a turn leaves nothing open and comes back at once; what it recovers has its number', async () => {
    const harness = await open().ready()
    const delivery = makeDelivery('work')
    harness.loop.deliver(delivery)
    await harness.untilAsked('send work')
    harness.driver.take(delivery)
    harness.driver.tell({ kind: 'assistant.text', text: 'done so far', ref: 'r1' })
    harness.driver.tell({
      kind: 'tool.call',
      callId: 'c1',
      name: 'Bash',
      toolKind: 'execute',
      title: 'sleep',
      input: '{}',
    })
    harness.driver.live('b1', 0, 'half a sen')
    const recovered = { kind: 'assistant.text', text: 'lost', ref: 'r2' } as const
    harness.driver.launches = [
      {
        signals: [{ type: 'event', at: new Date().toISOString(), event: recovered }],
      },
    ]
    harness.driver.die()
    await harness.untilAsked('resume')
    expect(harness.driver.facts[0]).toMatchObject({
      ...{ turnCut: true, storedRefs: ['r1'], turn: 1 },
      told: [{ ref: 'r1', text: 'said: done so far' }],
    })
    await until('the recovered text', () => harness.events('assistant.text').length === 3)
    await harness.loop.release()
    expect(harness.events('assistant.text')).toMatchObject([
      { text: 'done so far', turn: 1 },
      { text: 'half a sen', partial: true, block: 'b1', turn: 1 },
      { text: 'lost', turn: 1 },
    ])
    expect(harness.events('tool.result')).toMatchObject([{ callId: 'c1', status: 'unknown' }])
    expect(harness.events('turn.ended')).toMatchObject([{ reason: 'killed', turn: 1 }])
  })

  it.each(['delivered', 'never', 'unknown'] as const)(
    'with a message under way learns its fate: %s',
    async (fate) => {
      const harness = await open().ready()
      const delivery = makeDelivery('lost?')
      harness.loop.deliver(delivery)
      await harness.untilAsked('send lost?')
      harness.driver.launches = [{ signals: [], fate }]
      harness.driver.die()
      const item = await harness.untilItem(fate === 'delivered' ? 'delivered' : 'undelivered')
      expect(item).toMatchObject({ delivery: delivery.id })
      if (item.type === 'undelivered') expect(item.fate).toBe(fate)
      expect(harness.driver.facts[0]?.openDeliveries[0]).toMatchObject({
        id: delivery.id,
        inputs: delivery.inputs,
      })
      await harness.loop.release()
    },
  )

  it.each(['delivered', 'never', 'unknown'] as const)(
    'in a turn that a person interrupted, what became of its message is asked, whatever waits behind it: %s',
    async (fate) => {
      const harness = await open().ready()
      const delivery = makeDelivery('not this')
      harness.loop.deliver(delivery)
      await harness.untilAsked('send not this')
      harness.driver.begin(delivery.id)
      harness.driver.obeysInterrupts = false
      harness.loop.interrupt()
      harness.driver.launches = [{ signals: [], fate }]
      harness.driver.end('interrupted', { cut: true })
      // Until its end is told nothing goes to a runtime that is gone.
      harness.loop.deliver(makeDelivery('next'))
      await new Promise((resolve) => setTimeout(resolve, 20))
      expect(harness.driver.asked).not.toContain('send next')
      harness.driver.die()
      await harness.untilAsked('send next')
      const told = harness.items.filter(({ type }) => /delivered$/.test(type))
      const { id } = delivery
      expect(told).toMatchObject([
        fate === 'delivered'
          ? { type: 'delivered', delivery: id }
          : { type: 'undelivered', delivery: id, fate },
      ])
      expect(harness.driver.facts[0]).toMatchObject({ turnCut: true })
      await harness.loop.release()
    },
  )

  it('takes a message again that certainly was not handed over', async () => {
    const harness = await open().ready()
    const delivery = makeDelivery('hm')
    harness.driver.sends = [new BalletError({ code: 'runtime.exited', message: 'pipe closed' })]
    harness.loop.deliver(delivery)
    expect(await harness.untilItem('undelivered')).toMatchObject({ fate: 'never' })
    harness.loop.deliver(delivery)
    await harness.untilAsked('send hm', 2)
    harness.driver.take(delivery)
    harness.driver.end()
    expect(await harness.untilItem('delivered')).toMatchObject({ delivery: delivery.id })
    await harness.loop.release()
  })

  it('three times within a minute fails the session', async () => {
    const harness = await open().ready()
    for (const text of ['one', 'two', 'three']) {
      const delivery = makeDelivery(text)
      harness.loop.deliver(delivery)
      await harness.untilAsked(`send ${text}`)
      harness.driver.take(delivery)
      harness.driver.die()
    }
    expect(await harness.untilItem('ended')).toMatchObject({
      outcome: 'failed',
      kept: true,
      refusal: { code: 'runtime.crashing', hint: expect.any(String) },
    })
  })

  it('is started again when it was killed in its start, and given up at the third time', async () => {
    const killed = () =>
      new BalletError({
        ...{ code: 'runtime.start-killed', hint: 'Try again.' },
        message: 'Claude Code ended by SIGKILL',
      })
    const driver = new RecordingDriver()
    driver.launches = [killed(), killed()]
    const harness = await open({}, driver).ready()
    expect(driver.asked.filter((asked) => asked === 'start')).toHaveLength(3)
    const ended = harness.events('notice').filter(({ code }) => code === 'runtime.exited')
    expect(ended.map(({ text }) => text)).toEqual([
      ...[expect.stringContaining('by SIGKILL'), expect.stringContaining('by SIGKILL')],
    ])
    await harness.loop.release()

    const hopeless = new RecordingDriver()
    hopeless.launches = [killed(), killed(), killed()]
    expect(await open({}, hopeless).start().untilItem('ended')).toMatchObject({
      ...{ outcome: 'failed', kept: true },
      refusal: { message: 'Claude Code ended by SIGKILL' },
    })
    expect(hopeless.asked.filter((asked) => asked === 'start')).toHaveLength(3)
  })

  it('learns the fate of what an earlier lease handed over', async () => {
    const driver = new RecordingDriver()
    driver.launches = [{ signals: [], fate: 'delivered' }]
    const openDeliveries = [
      { id: makeDelivery('x').id, inputs: makeDelivery('x').inputs, steer: false },
    ]
    const harness = await open({ resume: { ...earlier, openDeliveries } }, driver).ready()
    expect(harness.story()).toContain('delivered')
    expect(harness.events('resume.step').map(({ step }) => step)).toEqual([
      'clone',
      'workspace',
      'conversation',
    ])
    await harness.loop.release()
    // A conversation that never began holds nothing.
    const never = await open({ resume: { ...earlier, conversation: null, openDeliveries } }).ready()
    expect(never.driver.asked).toContain('start')
    expect(await never.untilItem('undelivered')).toMatchObject({ fate: 'never' })
    await never.loop.release()
  })
})

describe('the end of a session', () => {
  const change = () => writeFiles(sample.plan().workspaceDir, { 'new file.txt': 'new\n' })

  it('finish commits, pushes, says so, and only then removes the workspace', async () => {
    const harness = await open().ready()
    await change()
    await harness.loop.finish('SHOP-1: Title\n\nBody # not a comment\n# nor this')
    expect(await harness.untilItem('ended')).toMatchObject({ outcome: 'finished', kept: false })
    expect(harness.story().slice(-3)).toEqual(['pushed', 'finished', 'ended'])
    expect(await isThere(sample.plan().workspaceDir)).toBe(false)
    const { branch } = sample.plan()
    expect(await sample.sh(sample.remote, 'log', '-1', '--format=%B|%an', branch)).toBe(
      'SHOP-1: Title\n\nBody # not a comment\n# nor this\n|Ballet',
    )
    expect(harness.driver.asked.at(-1)).toBe('stop')
    await harness.loop.finish('again')
    await harness.loop.stop()
    expect(harness.story().filter((word) => word === 'ended')).toHaveLength(1)
  })

  it('finish that has nothing to push is on record before it removes the workspace, too', async () => {
    const harness = await open().ready()
    await harness.loop.finish('Nothing')
    expect(await harness.untilItem('ended')).toMatchObject({ outcome: 'finished', kept: false })
    expect(harness.story().slice(-3)).toEqual(['notice', 'finished', 'ended'])
  })

  it('finish that is refused keeps everything, and the next message brings the runtime back', async () => {
    const harness = await open().ready()
    await change()
    await sample.sh(sample.remote, 'config', 'receive.denyNonFastForwards', 'true')
    await sample.commit(sample.plan().branch, { 'theirs.txt': 'x' })
    await harness.loop.finish('Done')
    expect(await harness.untilItem('refused')).toMatchObject({
      what: 'finish',
      refusal: { code: 'branch.foreign' },
    })
    expect(harness.ended).toBe(false)
    expect(await isThere(join(sample.plan().workspaceDir, 'new file.txt'))).toBe(true)
    const delivery = makeDelivery('fix it')
    harness.loop.deliver(delivery)
    await harness.untilAsked('send fix it')
    harness.driver.take(delivery)
    harness.driver.end()
    await sample.sh(sample.remote, 'branch', '-D', sample.plan().branch)
    await harness.loop.finish('Done')
    expect(await harness.untilItem('ended')).toMatchObject({ outcome: 'finished' })
  })

  it('finish that is refused while the runtime comes back forgets nothing of the turn that was cut', async () => {
    const driver = new RecordingDriver()
    const harness = await open({}, driver).ready()
    const delivery = makeDelivery('work')
    harness.loop.deliver(delivery)
    await harness.untilAsked('send work')
    driver.take(delivery)
    driver.tell({ kind: 'assistant.text', text: 'half', ref: 'line-1' })
    await change()
    await sample.commit(sample.plan().branch, { 'theirs.txt': 'x' })
    const resume = driver.resume.bind(driver)
    let goOn = () => {}
    const gate = new Promise<void>((resolve) => {
      goOn = resolve
    })
    driver.resume = async (...given) => {
      await gate
      return resume(...given)
    }
    driver.die()
    const finishing = harness.loop.finish('Done')
    goOn()
    await finishing
    await harness.untilItem('refused')
    harness.loop.deliver(makeDelivery('fix it'))
    await harness.untilAsked('send fix it')
    expect(driver.facts.at(-1)).toMatchObject({ turnCut: true, storedRefs: ['line-1'] })
    await harness.loop.release()
  })

  it('stop interrupts, pushes a snapshot, and keeps the workspace for the next run', async () => {
    const harness = await open().ready()
    const delivery = makeDelivery('work')
    harness.loop.deliver(delivery)
    await harness.untilAsked('send work')
    harness.driver.take(delivery)
    await change()
    await harness.loop.stop()
    expect(harness.driver.asked.slice(-2)).toEqual(['interrupt', 'stop'])
    expect(harness.events('turn.ended')).toMatchObject([{ reason: 'interrupted' }])
    const { commit } = await harness.untilItem('pushed')
    expect(await harness.untilItem('ended')).toMatchObject({ outcome: 'stopped', kept: true })
    const { workspaceDir, branch } = sample.plan()
    expect(await sample.sh(workspaceDir, 'status', '--porcelain')).toBe('?? "new file.txt"')
    const next = await open({ resume: earlier, pushedCommit: commit }).ready()
    await next.loop.finish('All of it')
    expect(await sample.sh(sample.remote, 'log', '--format=%s', branch)).toBe(
      'All of it\nChange main',
    )
  })

  it('stop without a remote still ends, with the work in the kept workspace', async () => {
    const harness = await open().ready()
    await change()
    await rm(sample.remote, { recursive: true })
    await harness.loop.stop()
    expect(await harness.untilItem('ended')).toMatchObject({
      outcome: 'stopped',
      kept: true,
      refusal: { code: 'stop.not-pushed', message: expect.stringContaining('is only in') },
    })
    const notice = harness.events('notice').find(({ code }) => code === 'stop.not-pushed')
    expect(notice).toMatchObject({ level: 'warning' })
    expect(notice?.text).toContain(sample.plan().workspaceDir)
    expect(await readFile(join(sample.plan().workspaceDir, 'new file.txt'), 'utf8')).toBe('new\n')
  })

  it('release lets go at once, in a turn and while it begins', async () => {
    const harness = await open().ready()
    harness.driver.begin()
    const waiting = makeDelivery('later')
    harness.loop.deliver(waiting)
    await harness.loop.release()
    await harness.untilItem('ended')
    expect(harness.events('turn.ended')).toMatchObject([{ reason: 'killed' }])
    expect(harness.items.slice(-2)).toMatchObject([
      { type: 'undelivered', fate: 'never', delivery: waiting.id },
      { type: 'ended', outcome: 'released', kept: true },
    ])
    expect(await sample.sh(sample.remote, 'branch', '--format=%(refname:short)')).toBe('main')
    const early = open().start()
    await early.loop.release()
    await early.untilItem('ended')
    expect(early.driver.asked).not.toContain('send')
    expect(early.story().at(-1)).toBe('ended')
  })

  it('hands over what is unfinished when the host is gone', async () => {
    const spec = makeSpec(sample)
    const harness = new LoopHarness(sample, { spec, stores: false })
    await harness.ready()
    const [work, later] = [makeDelivery('work'), makeDelivery('later')]
    harness.loop.deliver(work)
    await harness.untilAsked('send work')
    harness.driver.take(work)
    harness.driver.live('b1', 0, 'half')
    harness.loop.deliver(later)
    let batch: ReturnType<typeof harness.outgoing.unacknowledged> = null
    await harness.loop.handOver(1_000, () => {
      batch = harness.outgoing.unacknowledged()
    })
    expect(batch).toMatchObject({ lease: spec.lease, from: 1 })
    const words = (batch as unknown as { items: { type: string; event?: { kind: string } }[] })
      .items
    expect(words.map(({ type, event }) => event?.kind ?? type).slice(-4)).toEqual([
      'delivered',
      'undelivered',
      'assistant.text',
      'turn.ended',
    ])
  })
})
