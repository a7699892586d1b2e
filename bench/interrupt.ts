import { isAlive } from '../e2e/support/process-tree.ts'
import { bash, say as said, script } from '../e2e/support/steps.ts'
import { waitFor } from '../e2e/support/wait-for.ts'
import { addProject, startTicket, waitForTurnEnd } from '../e2e/support/watch.ts'
import type { Bench } from './bench.ts'
import { atMost, figure, spread } from './figures.ts'

export const interrupt: Bench = {
  name: 'interrupt',
  method: `A headless host, a real Claude Code whose tool sleeps. From the call that interrupts to the moment at which the
system no longer has the tool's process (looked at every 2 ms).`,
  run: async (workbench, { brief }) => {
    const { client } = await workbench.host()
    await addProject(client, (await workbench.remote()).path)
    const times: number[] = []
    const rounds = brief ? 2 : 10
    const sleeper = (index: number) => script(bash(`sleep ${900 + index}`), said('Never.'))
    const { session } = await startTicket(client, { body: sleeper(0) })
    for (let index = 0; index < rounds; index += 1) {
      if (index > 0) await client.sessions.send({ ref: session.id, text: sleeper(index) })
      const tool = await workbench.process(`sleep ${900 + index}`)
      const begun = performance.now()
      await client.sessions.interrupt({ ref: session.id })
      await waitFor('the end of the tool', async () => !(await isAlive(tool)), { everyMs: 2 })
      times.push(performance.now() - begun)
      await waitForTurnEnd(client, session.id, index + 1)
    }
    return [
      figure(
        {
          bench: 'interrupt',
          what: 'interrupt → the tool’s process is gone',
          unit: 'ms',
          samples: times.length,
          values: spread(times),
        },
        atMost('max', 1_000, 'under 1 s'),
      ),
    ]
  },
}
