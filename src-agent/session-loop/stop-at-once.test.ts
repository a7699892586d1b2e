import { access, chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { HandClock } from '../port/hand-clock.ts'
import { makeSample, type Sample, writeFiles } from '../workspace/sample-repository.ts'
import { LoopHarness, makeSpec, until } from './loop-harness.ts'

let sample: Sample
beforeEach(async () => {
  sample = await makeSample()
})
afterEach(() => sample.remove())

/** Pushes are taken and never answered. */
async function hang(): Promise<void> {
  const hook = join(sample.remote, 'hooks', 'pre-receive')
  await writeFile(hook, `#!/bin/sh\necho $$ > '${sample.folder}/asked'\nexec sleep 300\n`)
  await chmod(hook, 0o755)
}

const isAsked = () =>
  access(join(sample.folder, 'asked')).then(
    () => true,
    () => false,
  )

async function stopping(options: { clock?: HandClock } = {}) {
  const harness = await new LoopHarness(sample, { spec: makeSpec(sample), ...options }).ready()
  await writeFiles(sample.plan().workspaceDir, { 'new file.txt': 'new\n' })
  await hang()
  const stopped = harness.loop.stop()
  await until('the push', isAsked)
  return { harness, stopped }
}

it('a stop that is asked for again gives up its push and is over', async () => {
  const { harness, stopped } = await stopping()
  expect(harness.ended).toBe(false)
  await harness.loop.stop()
  await stopped
  expect(await harness.untilItem('ended')).toMatchObject({
    ...{ outcome: 'stopped', kept: true },
    refusal: { code: 'stop.not-pushed', message: expect.stringContaining('Nobody wanted to wait') },
  })
})

it('a push that is not taken in time is given up by itself', async () => {
  const clock = new HandClock()
  const { harness, stopped } = await stopping({ clock })
  clock.advance(120_000)
  await stopped
  expect(await harness.untilItem('ended')).toMatchObject({
    ...{ outcome: 'stopped', kept: true },
    refusal: { message: expect.stringContaining('did not take it within 120 s') },
  })
})

it('asked for twice before it is pushed, it is not pushed at all', async () => {
  const harness = await new LoopHarness(sample, { spec: makeSpec(sample) }).ready()
  await writeFiles(sample.plan().workspaceDir, { 'new file.txt': 'new\n' })
  await Promise.all([harness.loop.stop(), harness.loop.stop()])
  expect(await harness.untilItem('ended')).toMatchObject({ outcome: 'stopped', kept: true })
  expect(await sample.sh(sample.remote, 'for-each-ref', 'refs/heads/ballet')).toBe('')
})
