import { access, chmod, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Probe } from '../../src-shared/agent-wire.ts'
import { systemClock } from '../port/clock.ts'
import { runProbe } from '../probes/probe.ts'
import { endTree, gitMarker, processesWith } from '../process-tree/index.ts'
import { makeSample, never, type Sample, writeFiles } from '../workspace/sample-repository.ts'
import { LoopHarness, makeSpec, until } from './loop-harness.ts'

let sample: Sample
let hook: string
beforeEach(async () => {
  sample = await makeSample()
  hook = join(sample.remote, 'hooks', 'pre-receive')
})
afterEach(() => sample.remove())

/** A session whose finish is in the middle of its push, and stays there. */
async function hanging() {
  await writeFile(hook, '#!/bin/sh\necho $$ > "$GIT_DIR/hangs"\nsleep 300\n')
  await chmod(hook, 0o755)
  const spec = makeSpec(sample)
  const marker = { session: spec.session, nonce: spec.nonce }
  const harness = await new LoopHarness(sample, { spec }).ready()
  await writeFiles(spec.workspaceDir, { 'new.txt': 'new\n' })
  const finishing = harness.loop.finish('Done')
  await until('the push', () =>
    access(join(sample.remote, 'hangs')).then(
      () => true,
      () => false,
    ),
  )
  return { harness, marker, finishing }
}

const probe = (given: object) =>
  runProbe(Probe.parse(given), 15_000, {
    ...{ dataDir: sample.dataDir, env: sample.env, drivers: {}, clock: systemClock },
    ...{ signal: never, running: new Set() },
  })

describe('a push that hangs', () => {
  it('carries its lease to the last process; ending the tree leaves it, reaping ends it', async () => {
    const { harness, marker, finishing } = await hanging()
    const git = () => processesWith([gitMarker(marker)])
    // git push, what it starts on the remote's side, the hook, and what that started.
    const running = await git()
    expect(running.length).toBeGreaterThanOrEqual(4)
    await endTree([marker], { limitMs: 5_000 })
    // What it was just about to start may have come.
    expect(await git()).toEqual(expect.arrayContaining(running))
    expect(await probe({ kind: 'reap', markers: [marker] })).toMatchObject({
      finding: { ended: expect.arrayContaining([...running]) },
    })
    expect(await git()).toEqual([])
    await finishing
    await harness.untilItem('refused')
    await rm(hook)
    await harness.loop.release()
  })

  it('gives way to a stop, which pushes what there is', async () => {
    const { harness, marker, finishing } = await hanging()
    await rm(hook)
    await harness.loop.stop()
    await finishing
    expect(await harness.untilItem('refused')).toMatchObject({ refusal: { code: 'git.cancelled' } })
    expect(await harness.untilItem('ended')).toMatchObject({ outcome: 'stopped', kept: true })
    expect(harness.story()).toContain('pushed')
    expect(await processesWith([gitMarker(marker)])).toEqual([])
  })

  it('is ended when the host is gone', async () => {
    const { harness, marker } = await hanging()
    await harness.loop.handOver(5_000, () => undefined)
    expect(await processesWith([gitMarker(marker)])).toEqual([])
  })

  it('of a session that no agent holds is ended by the next try', async () => {
    const { harness, marker, finishing } = await hanging()
    const { dataDir: _, ...plan } = sample.plan()
    const before = await processesWith([gitMarker(marker)])
    await rm(hook)
    const given = { kind: 'workspace.push', ...plan, env: {}, message: 'The work', marker }
    expect(await probe(given)).toMatchObject({ finding: { commit: expect.any(String) } })
    expect(before.length).toBeGreaterThan(0)
    expect(await processesWith([gitMarker(marker)])).toEqual([])
    await finishing
    await harness.loop.release()
  })
})
