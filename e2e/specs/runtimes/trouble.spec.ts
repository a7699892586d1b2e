import { expect } from '@playwright/test'
import type { Step } from '../../model/script.ts'
import {
  begin,
  expectNothingLeft,
  runtimeProcess,
  type Scene,
  TURN_LIMIT_MS,
} from '../../support/conformance.ts'
import { seenIn, timesSaid } from '../../support/conversation.ts'
import { wasCut } from '../../support/garbled-server.ts'
import { isAlive, processOf } from '../../support/process-tree.ts'
import { TESTED, writeGarbler } from '../../support/runtimes.ts'
import { bash, say, script } from '../../support/steps.ts'
import { waitFor } from '../../support/wait-for.ts'
import {
  ofKind,
  timelineOf,
  waitForDelivered,
  waitForEvent,
  waitForState,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { test } from '../../support/workbench.ts'

// The cold start of some of them takes a second of a processor that is not busy.
test.slow()

for (const runtime of TESTED) {
  test(`${runtime.title}: errors of the model are told, with what to do; one that passes is got over`, async ({
    bench,
  }) => {
    const refused: Step = { fail: [{ status: 401 }], text: 'Never.' }
    const scene = await begin(bench, runtime, `Ticket-word. ${script(refused)}`)
    const { client, id } = scene
    const ended = await waitForTurnEnd(client, id, 1, TURN_LIMIT_MS)
    expect(ended).toMatchObject({
      reason: 'failed',
      detail: expect.stringMatching(/401|key|log ?in|authenticat/iu),
      hint: expect.stringMatching(/\S/u),
    })
    expect(await scene.session()).toMatchObject({ state: 'waiting', reason: ended.detail })

    const broken: Step = { fail: [{ status: 500, times: 1 }], text: 'Second try.' }
    await scene.turn(2, 'Second-word.', broken)
    const limited: Step = { fail: [{ status: 429, times: 1 }], text: 'Third try.' }
    await scene.turn(3, 'Third-word.', limited)
    const events = await scene.checked()
    const [, second, third] = ofKind(events, 'turn.ended')
    const textOf = (turn: number) =>
      ofKind(events, 'assistant.text').find((event) => event.turn === turn)?.text
    // Not every runtime tells of a request that it repeats; the model knows.
    const statusesOf = (word: string) =>
      scene
        .requests()
        .filter(({ userText }) => userText?.includes(word))
        .map(({ status }) => status)
    expect(second?.reason, second?.detail).toBe('completed')
    expect(textOf(2)).toBe('Second try.')
    expect(statusesOf('Second-word.')).toEqual([500, 200])
    // A runtime may give up at a limit at once; then the turn says so, and the next message works.
    if (third?.reason === 'completed') {
      expect(textOf(3)).toBe('Third try.')
      expect(statusesOf('Third-word.')).toEqual([429, 200])
    } else {
      expect(third?.reason).toMatch(/^(failed|limit)$/u)
      expect(third?.detail).toMatch(/429|rate|limit/iu)
      expect(third?.hint ?? '').not.toBe('')
    }
    await scene.turn(4, 'Fourth-word.', say('Works.'))
    const last = scene.requests().at(-1)
    for (const word of ['Ticket-word.', 'Second-word.', 'Third-word.', 'Fourth-word.']) {
      expect(timesSaid(last, word), word).toBe(1)
    }
  })

  test(`${runtime.title}: killed between turns and in a turn, it goes on where it was`, async ({
    bench,
  }) => {
    const scene = await begin(
      bench,
      runtime,
      `Ticket-word. ${script(bash('echo first-tool', 'I begin.'), say('Turn one is over.'))}`,
    )
    const { client, id, can } = scene
    await waitForTurnEnd(client, id, 1, TURN_LIMIT_MS)
    const { conversation } = await scene.session()
    await killRuntime(scene)
    // A message that comes before its end is heard goes to one that is gone, and then once more.
    await waitFor('its end to be heard', async () =>
      (await timelineOf(client, id)).some(
        (event) =>
          (event.kind === 'notice' && event.code === 'runtime.exited') ||
          (event.kind === 'resume.step' && event.step === 'conversation'),
      ),
    )
    await scene.turn(2, 'Second-word.', say('Turn two is over.'))
    const ends = ofKind(await timelineOf(client, id), 'turn.ended')
    expect(ends).toMatchObject([{ reason: 'completed' }, { reason: 'completed' }])
    expectWhole(scene, ['Ticket-word.', 'Second-word.'], ['I begin.', 'first-tool'])

    await client.sessions.send({
      ref: id,
      text: `Third-word. ${script(bash('sleep 396'), say('Never.'))}`,
    })
    const inTool = await bench.process('sleep 396')
    await waitForEvent(client, id, 'tool.call', (event) => event.turn === 3)
    await waitForDelivered(client, id, 3)
    await killRuntime(scene)
    await waitFor('the tool of the killed runtime to be gone', async () => !(await isAlive(inTool)))
    await waitForState(client, id, 'waiting', { timeoutMs: TURN_LIMIT_MS })
    const after = await scene.session()
    await scene.turn(after.turn + 1, 'Fourth-word.', say('I go on.'))
    expectWhole(
      scene,
      ['Ticket-word.', 'Second-word.', 'Third-word.', 'Fourth-word.'],
      ['I begin.', 'first-tool', 'Turn two is over.'],
    )
    expect((await scene.session()).conversation === conversation).toBe(can.resume !== 'none')
    const events = await scene.checked()
    expect(ofKind(events, 'turn.ended').map(({ reason }) => reason)).toEqual([
      ...['completed', 'completed', 'killed', 'completed'],
    ])
    const [, cut] = ofKind(events, 'tool.result')
    expect(cut?.status).not.toBe('ok')
    const said = ofKind(events, 'assistant.text').map(({ text }) => text)
    expect(said).toEqual(['I begin.', 'Turn one is over.', 'Turn two is over.', 'I go on.'])
    await expectNothingLeft(scene)
  })

  test(`${runtime.title}: garbage and halves of lines on its output harm nothing`, async ({
    bench,
  }) => {
    const program = await writeGarbler(bench.folder, runtime)
    const scene = await begin(
      bench,
      runtime,
      script(bash('echo tool-output', 'I begin.'), say('All done.')),
      { program },
    )
    await waitForTurnEnd(scene.client, scene.id, 1, TURN_LIMIT_MS)
    await scene.turn(2, 'Second-word.', bash('echo again'), say('And more.'))
    const events = await scene.checked()
    expect(ofKind(events, 'turn.ended').map(({ reason }) => reason)).toEqual([
      ...['completed', 'completed'],
    ])
    expect(ofKind(events, 'tool.result').map(({ status }) => status)).toEqual(['ok', 'ok'])
    expect(ofKind(events, 'assistant.text').map(({ text }) => text)).toEqual([
      ...['I begin.', 'All done.', 'And more.'],
    ])
    const strange = ofKind(events, 'notice').filter(({ text }) => /garbage|brand/u.test(text))
    // Each is told once.
    expect(strange).toHaveLength(2)
    if (runtime.title === 'opencode') expect(await wasCut(program)).toBe(true)
    await expectNothingLeft(scene)
  })
}

/** `kill -9` of the runtime alone, once it is up. */
async function killRuntime(scene: Scene): Promise<void> {
  const before = await processOf(await runtimeProcess(scene))
  if (before === undefined) throw new Error('The runtime has ended already.')
  process.kill(before.pid, 'SIGKILL')
  await waitFor('its end', async () => !(await isAlive(before)))
  await waitFor('the session to know', async () => (await pidOf(scene)) !== before.pid)
}

async function pidOf({ client }: Scene): Promise<number | undefined> {
  return (await client.agents.list())[0]?.runtimePids[0]
}

/** The last request holds these words of the user once each, and all of these parts. */
function expectWhole(scene: Scene, words: readonly string[], parts: readonly string[]): void {
  const last = scene.requests().at(-1)
  for (const word of words) expect(timesSaid(last, word), word).toBe(1)
  for (const part of parts) expect(seenIn(last), part).toContain(part)
}
