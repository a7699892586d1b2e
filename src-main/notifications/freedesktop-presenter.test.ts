import { expect, test } from 'vitest'
import type { Clock } from '../../src-core/index.ts'
import { optionName } from './action.ts'
import { createFreedesktopPresenter } from './freedesktop-presenter.ts'
import { SERVICE } from './freedesktop-service.ts'
import type { Notice } from './notice.ts'
import { BUS, type BusCall, type BusListener } from './notification-bus.ts'
import type { Shown } from './shown-file.ts'
import { questionId, sampleQuestion, sampleRecords } from './testing/samples.ts'
import { thingsOf } from './wanted.ts'

const ALL = ['body', 'body-markup', 'actions', 'inline-reply']

function noticeOf(n = 1, question = 'Which <b>limiter</b> & why?'): Notice {
  const records = sampleRecords({ questions: [sampleQuestion(n, { question })] })
  const [thing] = thingsOf(records).values()
  if (thing === undefined || thing === null) throw new Error('no notice')
  return thing.notice()
}

/** A bus with a service in hand. */
type Options = { can?: string[]; old?: Shown; bus?: boolean; owner?: string }

function setUp({ can = ALL, old, bus = true, owner = ':1.7' }: Options = {}) {
  const calls: BusCall[] = []
  const told: string[] = []
  const written: Shown[] = []
  const timers = new Set<{ ms: number; run: () => void }>()
  const world = {
    bus,
    /** Its name on the bus; empty: there is none. */
    owner,
    answers: true,
    hangs: false,
    opened: 0,
  }
  let listener: BusListener | undefined
  let nextId = 40
  const clock: Clock = {
    now: () => '2026-11-29T10:00:00.000Z',
    monotonic: () => 0,
    after: (ms, run) => {
      const timer = { ms, run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
  }
  const answer = (call: BusCall): unknown[] => {
    if (call.destination === BUS.destination) {
      return call.member === 'GetNameOwner' ? [world.owner] : ['bus-1']
    }
    if (world.owner === '') {
      throw Object.assign(new Error('The name is not activatable'), {
        type: 'org.freedesktop.DBus.Error.ServiceUnknown',
      })
    }
    if (!world.answers) throw new Error(`${call.member} was not answered within 5 s`)
    switch (call.member) {
      case 'GetServerInformation':
        return ['Test service', 'nobody', '3', '1.2']
      case 'GetCapabilities':
        return [can]
      case 'Notify':
        nextId += 1
        return [nextId]
      default:
        return []
    }
  }
  const presenter = createFreedesktopPresenter(
    {
      openBus: async (given) => {
        world.opened += 1
        if (!world.bus) throw new Error('there is no session bus')
        listener = given
        return {
          call: async (call) => {
            calls.push(call)
            if (world.hangs) return new Promise(() => undefined)
            return answer(call)
          },
          variant: (_signature, value) => value,
          close: () => {
            listener = undefined
          },
        }
      },
      clock,
      log: { debug() {}, info() {}, warn() {}, error() {} },
      file: {
        read: async () => old,
        write: async (shown) => {
          written.push(shown)
        },
      },
    },
    {
      onButton: (_key, name) => told.push(`button ${name}`),
      onReply: (key, text) => told.push(`reply ${key} ${text}`),
      onClick: (key) => told.push(`click ${key}`),
      onPutAway: (key) => told.push(`put away ${key}`),
      onLost: () => told.push('lost'),
      onReport: () => told.push(presenter.report().state),
    },
  )
  const settle = async () => {
    for (let n = 0; n < 30; n += 1) await Promise.resolve()
  }
  return {
    presenter,
    told,
    written,
    world,
    settle,
    of: (member: string) => calls.filter((call) => call.member === member),
    signal: (member: string, body: unknown[], sender = world.owner) => {
      listener?.onSignal({ ...SERVICE, sender, member, body })
    },
    ownerBecomes: async (owner: string) => {
      world.owner = owner
      const body = [SERVICE.destination, '', owner]
      listener?.onSignal({ ...BUS, sender: BUS.destination, member: 'NameOwnerChanged', body })
      await settle()
    },
    busDies: async () => {
      world.bus = false
      listener?.onLost(new Error('the bus died'))
      await settle()
    },
    /** Lets the next pause pass; its length. */
    pass: async () => {
      const [timer] = timers
      if (timer === undefined) throw new Error('nothing waits')
      timers.delete(timer)
      timer.run()
      await settle()
      return timer.ms
    },
    waiting: () => timers.size,
  }
}

async function shown(notice = noticeOf(), options: Parameters<typeof setUp>[0] = {}) {
  const it = setUp(options)
  await it.settle()
  it.presenter.show(notice)
  await it.settle()
  return it
}

test('a question goes to the service with its options, a reply field and an escaped body', async () => {
  const it = await shown()
  expect(it.told).toEqual(['ready'])
  expect(it.presenter.report()).toMatchObject({
    service: 'Test service 3',
    buttons: true,
    reply: true,
  })
  const [call] = it.of('Notify')
  expect(call?.body).toEqual([
    'Ballet',
    0,
    'ballet',
    'SHOP-1-Q1 asks · shop',
    'Which &lt;b&gt;limiter&lt;/b&gt; &amp; why?',
    [
      ...['default', 'Answer'],
      ...[optionName(questionId(), 1), 'Sliding window (recommended)'],
      ...[optionName(questionId(), 2), 'Token bucket'],
      ...['inline-reply', 'Reply'],
    ],
    expect.objectContaining({ urgency: 1, category: 'x-ballet.question' }),
    0,
  ])
  expect(it.written.at(-1)).toEqual({ bus: 'bus-1', service: ':1.7', ids: [41] })
})

test('a service without buttons, replies or bodies gets none', async () => {
  const it = await shown(noticeOf(), { can: [] })
  const [call] = it.of('Notify')
  expect(call?.body?.slice(3, 6)).toEqual([
    'SHOP-1-Q1 asks · shop: Which <b>limiter</b> & why?',
    '',
    [],
  ])
  expect(it.presenter.report()).toMatchObject({ buttons: false, reply: false })
})

test('buttons, replies and clicks are told; what is not ours is not', async () => {
  const it = await shown()
  const { key } = noticeOf()
  it.signal('ActionInvoked', [41, optionName(questionId(), 2)])
  it.signal('ActionInvoked', [41, 'default'])
  it.signal('NotificationReplied', [41, 'Neither.'])
  it.signal('ActionInvoked', [99, optionName(questionId(), 1)])
  it.signal('ActionInvoked', [41, optionName(questionId(), 1)], ':1.666')
  it.signal('NotificationClosed', [41, 2])
  it.signal('ActionInvoked', [41, 'default'])
  expect(it.told.slice(1)).toEqual([
    `button ${optionName(questionId(), 2)}`,
    `click ${key}`,
    `reply ${key} Neither.`,
    `put away ${key}`,
  ])
})

test('a button that is pressed before the service told the number is not lost', async () => {
  const it = setUp()
  await it.settle()
  it.presenter.show(noticeOf())
  it.signal('ActionInvoked', [41, optionName(questionId(), 1)])
  await it.settle()
  expect(it.told.slice(1)).toEqual([`button ${optionName(questionId(), 1)}`])
})

test('what is taken back is closed, also while the service is busy with it', async () => {
  const it = await shown()
  it.presenter.close(noticeOf().key)
  await it.settle()
  it.presenter.show(noticeOf(2))
  it.presenter.close(noticeOf(2).key)
  await it.settle()
  expect(it.of('CloseNotification').map(({ body }) => body?.[0])).toEqual([41, 42])
  expect(it.written.at(-1)?.ids).toEqual([])
  it.signal('NotificationClosed', [41, 3])
  expect(it.told).toEqual(['ready'])
})

test('the start takes off the screen what an earlier run left there, at the same service only', async () => {
  const ids = [3, 5]
  const same = setUp({ old: { bus: 'bus-1', service: ':1.7', ids } })
  await same.settle()
  expect(same.of('CloseNotification').map(({ body }) => body?.[0])).toEqual(ids)
  for (const old of [
    { bus: 'bus-1', service: ':1.6', ids },
    { bus: 'bus-2', service: ':1.7', ids },
  ]) {
    const other = setUp({ old })
    await other.settle()
    expect(other.presenter.report().state).toBe('ready')
    expect(other.of('CloseNotification')).toEqual([])
  }
})

test('without a bus it says so, and looks again with growing pauses', async () => {
  const it = setUp({ bus: false })
  await it.settle()
  expect(it.presenter.report()).toMatchObject({
    state: 'missing',
    problem: { code: 'notifications.missing', message: expect.stringContaining('session bus') },
  })
  it.presenter.show(noticeOf())
  it.presenter.close(noticeOf().key)
  const pauses: number[] = []
  for (let n = 0; n < 8; n += 1) pauses.push(await it.pass())
  expect(pauses).toEqual([...[1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * 1_000)])
  it.world.bus = true
  await it.pass()
  expect(it.presenter.report().state).toBe('ready')
  expect(it.waiting()).toBe(0)
  expect(it.told).toEqual(['missing', 'ready'])
})

test('a service that comes later is found at once', async () => {
  const it = setUp({ owner: '' })
  await it.settle()
  expect(it.presenter.report()).toMatchObject({
    state: 'missing',
    problem: { message: expect.stringContaining('no notification service runs') },
  })
  await it.ownerBecomes(':1.9')
  expect(it.presenter.report().state).toBe('ready')
  expect(it.world.opened).toBe(1)
  expect(it.waiting()).toBe(0)
})

test('a service that dies takes everything with it, and the next one is found', async () => {
  const it = await shown()
  await it.ownerBecomes('')
  expect(it.told).toEqual(['ready', 'lost', 'missing'])
  await it.ownerBecomes(':1.8')
  expect(it.told.at(-1)).toBe('ready')
  it.presenter.show(noticeOf())
  await it.settle()
  expect(it.written.at(-1)).toEqual({ bus: 'bus-1', service: ':1.8', ids: [42] })
})

test('a service that does not answer is given up and looked for again', async () => {
  const it = setUp()
  await it.settle()
  it.world.answers = false
  it.presenter.show(noticeOf())
  await it.settle()
  expect(it.told).toEqual(['ready', 'lost', 'missing'])
  it.world.answers = true
  await it.pass()
  expect(it.told.at(-1)).toBe('ready')
})

test('a bus that dies is connected to again', async () => {
  const it = await shown()
  await it.busDies()
  expect(it.told).toEqual(['ready', 'lost', 'missing'])
  it.world.bus = true
  await it.pass()
  expect(it.told.at(-1)).toBe('ready')
  expect(it.world.opened).toBe(2)
})

test('the end closes what is shown', async () => {
  const it = await shown()
  await it.presenter.end()
  expect(it.of('CloseNotification')).toHaveLength(1)
  expect(it.written.at(-1)?.ids).toEqual([])
  expect(it.waiting()).toBe(0)
})

test('the end does not wait for a service that hangs', async () => {
  const it = await shown()
  it.world.hangs = true
  const end = it.presenter.end()
  expect(await it.pass()).toBe(1_000)
  await end
  expect(it.of('CloseNotification')).toHaveLength(1)
})
