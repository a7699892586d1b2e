import { access, rm } from 'node:fs/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { WORKSPACE_GONE } from '../../src-shared/agent-wire.ts'
import { makeSample, type Sample } from '../workspace/sample-repository.ts'
import { type LoopHarness, makeDelivery } from './loop-harness.ts'
import { ParkedScene } from './parked-scene.ts'

let sample: Sample
let scene: ParkedScene
let workspace: string
beforeEach(async () => {
  sample = await makeSample()
  scene = new ParkedScene(sample)
  workspace = sample.plan().workspaceDir
})
afterEach(() => sample.remove())

const told = (harness: LoopHarness) =>
  harness.events('notice').flatMap(({ code, text }) => (code === WORKSPACE_GONE ? [text] : []))

/** What Core tells the next lease. */
const resume = {
  ...{ conversation: 'conversation-1', turn: 1, turnCut: false, openCalls: [], recorded: true },
  ...{ storedRefs: [], told: [], openDeliveries: [], costUsd: 0 },
}

it('that is removed while the session waits is said and replaced, in the same conversation', async () => {
  const harness = await scene.open().ready()
  expect(told(harness)).toEqual([])
  await rm(workspace, { recursive: true })
  // It is given back, so that it comes again with what the notice says.
  const delivery = makeDelivery('go on')
  harness.loop.deliver(delivery)
  await harness.untilItem('undelivered')
  await harness.untilAsked('resume')
  harness.loop.deliver(makeDelivery('go on, told'))
  await harness.untilAsked('send go on, told')
  expect(harness.driver.asked).not.toContain('send go on')
  await access(`${workspace}/.git`)
  expect(harness.driver.facts).toMatchObject([{ conversation: 'conversation-1' }])
  expect(told(harness)).toEqual([
    `The workspace ${workspace} was not there any more. A fresh one is made. Nothing of the work had been pushed: there is what main has.`,
  ])
  await harness.loop.release()
})

it('that is gone at the next lease is said, with what is known of the work', async () => {
  const { branch } = sample.plan()
  const commit = await sample.commit(branch, { 'pushed.txt': 'x' })
  const harness = await scene.open({ pushedCommit: commit, resume }).ready()
  expect(told(harness)).toEqual([
    `The workspace ${workspace} was not there any more. A fresh one is made. What had been pushed is there, up to ${commit.slice(0, 12)}; what was not pushed is lost.`,
  ])
  await access(`${workspace}/pushed.txt`)
  await harness.loop.release()
  // It is there now.
  const again = await scene.open({ pushedCommit: commit, resume }).ready()
  expect(told(again)).toEqual([])
  await again.loop.release()
})

it.each(['park', 'finish'] as const)('that is gone at a %s is said', async (how) => {
  const harness = await scene.open().ready()
  await scene.converse('all that was said\n')
  await rm(workspace, { recursive: true })
  if (how === 'park') await harness.loop.park(scene.order())
  else await harness.loop.finish('Message')
  expect(told(harness)).toEqual([
    `The workspace ${workspace} was not there any more when the session was ${how}ed. Nothing of the work had been pushed: there is what main has.`,
  ])
  expect(harness.ended).toBe(true)
})
