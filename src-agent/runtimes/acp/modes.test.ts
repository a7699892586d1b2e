import { afterEach, describe, expect, it, vi } from 'vitest'
import type { PermissionMode } from '../../../src-shared/records.ts'
import { deliveryOf } from '../claude-code/testing/real-runtime.ts'
import { modeFor, readModes } from './modes.ts'
import { FakeScene, steps } from './testing/scene.ts'

// Processes on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 20_000, hookTimeout: 20_000 })

const GEMINI = [
  { id: 'default', name: 'Default' },
  { id: 'autoEdit', name: 'Auto Edit' },
  { id: 'yolo', name: 'YOLO' },
  { id: 'plan', name: 'Plan' },
]
const opened = (current: string, offered: readonly object[] = GEMINI) => ({
  modes: { currentModeId: current, availableModes: offered },
})

describe('the mode for a conversation', () => {
  const decide = (answer: unknown, permission: PermissionMode = 'ask') => {
    const decided = modeFor(readModes(answer), permission)
    return decided.choice === 'set' ? decided.mode.id : decided.choice
  }

  it.each([
    ['of an agent that asks', opened('default'), 'keep'],
    ['that is another one than asking', opened('plan'), 'keep'],
    ['of an agent without modes', { sessionId: 'x' }, 'keep'],
    ['that cannot be read', { modes: 'none' }, 'keep'],
    ['that runs everything', opened('yolo'), 'default'],
    ['that edits unasked', opened('autoEdit'), 'default'],
    ['by its name', opened('m1', [{ id: 'm1', name: 'Auto-accept' }, ...GEMINI]), 'default'],
    [
      'for which one is offered by its name',
      opened('bypass', [
        { id: 'm1', name: 'Default (auto)' },
        { id: 'm2', name: 'Always ask' },
      ]),
      'm2',
    ],
    [
      'of an agent that calls it so',
      opened('auto', [{ id: 'auto' }, { id: 'chat' }, { id: 'approve' }]),
      'approve',
    ],
    ['without another', opened('auto', [{ id: 'auto' }, { id: 'full-access' }]), 'none'],
  ])('%s', (_, answer, choice) => {
    expect(decide(answer)).toBe(choice)
    expect(decide(answer, 'edits')).toBe(choice)
    expect(decide(answer, 'full')).toBe('keep')
  })
})

describe('an agent with modes', () => {
  let fake: FakeScene

  afterEach(() => fake.scene.close())

  const notices = () => fake.scene.told().filter((line) => line.includes('acp.mode'))

  /** Starts or resumes it, and gives the mode in which its first turn runs. */
  async function modeOf(
    current: string,
    more: { args?: string[]; permission?: PermissionMode; offered?: object[]; isLoad?: true } = {},
  ): Promise<string | undefined> {
    const modes = JSON.stringify(opened(current, more.offered).modes)
    fake = await FakeScene.make([`--modes=${modes}`, ...(more.args ?? [])], { answerMs: 1_000 })
    const spec = { ...fake.spec, permission: more.permission ?? 'ask' }
    const facts = fake.scene.facts('fake-1', { turn: 0 })
    const session =
      more.isLoad === true
        ? (await fake.driver.resume(spec, facts, fake.scene.onSignal)).session
        : await fake.driver.start(spec, fake.scene.onSignal)
    await session.send(deliveryOf(steps({ mode: 'say' })))
    await fake.scene.waitForSignal('turn.ended')
    await session.stop()
    return fake.scene.told().find((line) => line.startsWith('text: mode'))
  }

  it.each([[undefined], [true as const]])(
    'that asks for nothing is told to ask (loaded: %s)',
    async (isLoad) => {
      const more = isLoad === undefined ? {} : { isLoad }
      expect(await modeOf('yolo', more)).toBe('text: mode default')
      expect(notices()).toEqual([
        'info acp.mode: The fake was in its mode “YOLO”; Ballet chose “Default”, since the project wants to be asked.',
      ])
    },
  )

  it('keeps its mode where everything is allowed, and where it asks', async () => {
    expect(await modeOf('yolo', { permission: 'full' })).toBe('text: mode yolo')
    expect(notices()).toEqual([])
    await fake.scene.close()
    expect(await modeOf('plan')).toBe('text: mode plan')
    expect(notices()).toEqual([])
  })

  it.each([
    ['refuses', '--mode-fails', /“YOLO” and did not change to “Default”.*No such mode/],
    ['does not answer', '--mode-mute', /“YOLO” and did not change.*no answer to session\/set_mode/],
  ])('that %s to change it goes on, and that is told', async (_, arg, text) => {
    expect(await modeOf('yolo', { args: [arg] })).toBe('text: mode yolo')
    expect(notices()).toEqual([expect.stringMatching(text)])
    expect(notices()[0]).toMatch(/^warning/)
  })

  it('that has none in which it asks goes on, and that is told', async () => {
    expect(await modeOf('auto', { offered: [{ id: 'auto', name: 'Auto' }] })).toBe(
      'text: mode auto',
    )
    expect(notices()).toEqual([expect.stringMatching(/^warning.*“Auto” and offers none that asks/)])
  })

  it('that changes it says so once, by its name', async () => {
    fake = await FakeScene.make([`--modes=${JSON.stringify(opened('default').modes)}`])
    const session = await fake.driver.start(fake.spec, fake.scene.onSignal)
    const change = (currentModeId?: string) => ({
      update: { sessionUpdate: 'current_mode_update', currentModeId },
    })
    await session.send(
      deliveryOf(
        steps(
          ...[change('default'), change('autoEdit'), change('autoEdit')],
          ...[change(), change('unheard-of')],
        ),
      ),
    )
    await fake.scene.waitForSignal('turn.ended')
    expect(notices()).toEqual([
      'info acp.mode: The fake is in its mode “Auto Edit”.',
      'info acp.mode: The fake is in its mode “unheard-of”.',
    ])
    await session.stop()
  })
})
