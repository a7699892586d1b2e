import { mkdir } from 'node:fs/promises'
import { startBareClaude } from '../e2e/support/bare-claude.ts'
import { bash, say as said, script } from '../e2e/support/steps.ts'
import { addProject, startTicket, waitForState, waitForTurnEnd } from '../e2e/support/watch.ts'
import type { Workbench } from '../e2e/support/workbench.ts'
import type { Bench } from './bench.ts'
import { atMost, figure, median, spread } from './figures.ts'

const WORK = script(
  bash('echo staged > a.txt && git add a.txt && echo more >> a.txt && echo new > b.txt'),
  said('Done.'),
)

export const parking: Bench = {
  name: 'parking',
  method: `A headless host with one agent, a small repository with a remote on the same machine, staged and unstaged work,
a real Claude Code that waits between turns. Park: from the call that parks to the state parked, in which the work is
pushed and the session state is stored and read back. Resume: from the call that sends a message to the parked session
to the model's first request, with the clone, the restored work, the proof of the conversation. The runtime's own
resume: from its start with \`--resume\` and a message on its standard input to the model's first request.`,
  run: async (workbench, { brief }) => {
    const { client } = await workbench.host()
    await addProject(client, (await workbench.remote()).path, { window: 'never' })
    const { session } = await startTicket(client, { body: WORK })
    await waitForTurnEnd(client, session.id, 1)
    const bare = await bareConversation(workbench)
    const [parks, resumes, own]: [number[], number[], number[]] = [[], [], []]
    for (let round = 0; round < (brief ? 1 : 8); round += 1) {
      const begun = performance.now()
      await client.sessions.park({ ref: session.id })
      await waitForState(client, session.id, 'parked', { everyMs: 5 })
      parks.push(performance.now() - begun)
      const word = `Resumed-${round}.`
      resumes.push(
        await untilRequest(workbench, word, (text) =>
          client.sessions.send({ ref: session.id, text }),
        ),
      )
      await waitForTurnEnd(client, session.id, round + 2)
      own.push(await bare(`Bare-${round}.`))
    }
    const limit = 1.5 * median(own) + 1_000
    const facts = { bench: 'parking', unit: 'ms', samples: parks.length } as const
    return [
      figure(
        { ...facts, what: 'park a session', values: spread(parks) },
        atMost('max', 3_000, 'under 3 s'),
      ),
      figure(
        { ...facts, what: 'resume → the model’s first request', values: spread(resumes) },
        atMost('p50', limit, 'at most 1.5 × the runtime’s own resume + 1 s'),
      ),
      figure({ ...facts, what: 'the runtime’s own resume', values: spread(own) }),
    ]
  },
}

/** Milliseconds from the call to the model's request with its text. */
async function untilRequest(
  { model }: Workbench,
  word: string,
  send: (text: string) => unknown,
): Promise<number> {
  const begun = Date.now()
  await send(`${word} ${script(said('Here.'))}`)
  const { at } = await model.waitFor(({ userText }) => userText?.includes(word) === true, {
    timeoutMs: 60_000,
  })
  return Date.parse(at) - begun
}

/** A conversation of Claude Code alone; gives how long it takes from its start to the model's next request. */
async function bareConversation(workbench: Workbench): Promise<(word: string) => Promise<number>> {
  const cwd = workbench.path('bare')
  const configDir = workbench.path('bare-config')
  for (const folder of [cwd, configDir]) await mkdir(folder)
  const place = { url: workbench.model.url, cwd, configDir }
  const first = startBareClaude(place)
  const begun = await first.turn(script(bash('echo work'), said('Done.')))
  await first.close()
  const resume = String(begun.session_id)
  return async (word) => {
    const taken: { claude?: ReturnType<typeof startBareClaude> } = {}
    const ms = await untilRequest(workbench, word, (text) => {
      taken.claude = startBareClaude({ ...place, resume })
      taken.claude.send(text)
    })
    await taken.claude?.waitForLine('its result', ({ type }) => type === 'result')
    await taken.claude?.close()
    return ms
  }
}
