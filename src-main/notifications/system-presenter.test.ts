import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { optionName } from './action.ts'
import type { Notice } from './notice.ts'
import {
  createSystemPresenter,
  type NotificationOptions,
  type SystemNotification,
} from './system-presenter.ts'
import { questionId, sampleQuestion, sampleRecords } from './testing/samples.ts'
import { thingsOf } from './wanted.ts'

class FakeNotification extends EventEmitter {
  readonly options: NotificationOptions
  state: 'new' | 'shown' | 'closed' = 'new'
  constructor(options: NotificationOptions) {
    super()
    this.options = options
  }
  show() {
    this.state = 'shown'
  }
  close() {
    this.state = 'closed'
    this.emit('close', {})
  }
}

function setUp(platform: NodeJS.Platform = 'darwin', electronMajor = 33) {
  const made: FakeNotification[] = []
  const told: string[] = []
  let removed = 0
  const presenter = createSystemPresenter(
    {
      platform,
      electronMajor,
      isSupported: () => true,
      create: (options) => {
        const notification = new FakeNotification(options)
        made.push(notification)
        return notification as SystemNotification
      },
      removeAll: () => {
        removed += 1
      },
      log: { debug() {}, info() {}, warn: (message) => told.push(message), error() {} },
    },
    {
      onButton: (_key, name) => told.push(`button ${name}`),
      onReply: (key, text) => told.push(`reply ${key} ${text}`),
      onClick: (key) => told.push(`click ${key}`),
      onPutAway: (key) => told.push(`put away ${key}`),
      onLost: () => told.push('lost'),
      onReport: () => told.push('report'),
    },
  )
  return { presenter, made, told, removed: () => removed }
}

function notice(): Notice {
  const [thing] = thingsOf(sampleRecords({ questions: [sampleQuestion()] })).values()
  if (thing === undefined || thing === null) throw new Error('no notice')
  return thing.notice()
}

test('options are buttons and free text is a reply', () => {
  const { presenter, made, told, removed } = setUp()
  presenter.show(notice())
  const [first] = made
  expect(removed()).toBe(1)
  expect(first?.state).toBe('shown')
  expect(first?.options).toMatchObject({
    title: 'SHOP-1-Q1 asks · shop',
    hasReply: true,
    actions: [
      { type: 'button', text: 'Sliding window (recommended)' },
      { type: 'button', text: 'Token bucket' },
    ],
    timeoutType: 'never',
  })
  first?.emit('action', {}, 1)
  first?.emit('action', { actionIndex: 0 })
  first?.emit('action', {}, 9)
  first?.emit('reply', {}, 'Neither.')
  first?.emit('reply', { reply: 'Both.' })
  first?.emit('click', {})
  const { key } = notice()
  expect(told).toEqual([
    `button ${optionName(questionId(), 2)}`,
    `button ${optionName(questionId(), 1)}`,
    `reply ${key} Neither.`,
    `reply ${key} Both.`,
    `click ${key}`,
  ])
})

test('what a person puts away is told, and what is taken back is not', async () => {
  const { presenter, made, told } = setUp()
  presenter.show(notice())
  presenter.close(notice().key)
  expect(made[0]?.state).toBe('closed')
  expect(told).toEqual([])
  presenter.show(notice())
  made[1]?.close()
  expect(told).toEqual([`put away ${notice().key}`])
  presenter.show(notice())
  await presenter.end()
  expect(made[2]?.state).toBe('closed')
  expect(told).toHaveLength(1)
})

test('Windows has buttons and replies only where its Electron has them', () => {
  const old = setUp('win32', 33)
  expect(old.presenter.report()).toMatchObject({ state: 'ready', buttons: false, reply: false })
  old.presenter.show(notice())
  expect(old.made[0]?.options).toMatchObject({ hasReply: false, actions: [] })
  const now = setUp('win32', 45)
  now.presenter.show(notice())
  expect(now.made[0]?.options).toMatchObject({ hasReply: true })
  expect(now.presenter.report()).toMatchObject({ buttons: true, reply: true })
})

test('a notification that the system refuses is no end of anything', () => {
  const { presenter, made, told } = setUp()
  presenter.show(notice())
  made[0]?.emit('failed', {}, 'not allowed')
  presenter.close(notice().key)
  expect(told).toEqual(['the system did not show a notification'])
})
