import { expect } from '@playwright/test'
import type { TimelineEvent } from '../../../src-shared/timeline.ts'
import type { BalletClient } from '../../support/ballet-client.ts'
import { requestsOf, timesSaid } from '../../support/conversation.ts'
import { killed, type Victim, victims } from '../../support/crash.ts'
import { expectNoLeftovers } from '../../support/leftovers.ts'
import { bash, say, script } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import { waitFor } from '../../support/wait-for.ts'
import {
  addProject,
  ofKind,
  startTicket,
  timelineOf,
  waitForState,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { test } from '../../support/workbench.ts'

/** The moment right after the first event of this kind is seen. */
const moments: readonly { after: TimelineEvent['kind']; victims: readonly Victim[] }[] = [
  { after: 'notice', victims: ['the agent', 'the host'] },
  { after: 'input.sent', victims },
  { after: 'turn.started', victims },
  { after: 'input.delivered', victims },
  { after: 'tool.call', victims },
  { after: 'tool.result', victims },
  { after: 'turn.ended', victims },
]

for (const { after, victims: possible } of moments) {
  for (const victim of possible) {
    test(`kill -9 of ${victim} right after the first ${after} keeps every promise`, async ({
      bench,
    }) => {
      const first = await bench.host()
      await addProject(first.client, (await bench.remote()).path)
      const { session } = await startTicket(first.client, {
        body: `Ticket-word. ${script(bash('echo one', 'I begin.'), bash('echo two'), say('Done.'))}`,
      })
      const { id } = session
      let before: TimelineEvent[] = []
      await waitFor(
        `the first ${after}`,
        async () => {
          before = await timelineOf(first.client, id)
          return ofKind(before, after).length > 0
        },
        { timeoutMs: 30_000, everyMs: 2 },
      )
      const { client } = await killed(bench, first, victim)
      await settled(client, id)
      const { session: cut, events } = await seenAtOnce(client, id)
      checkTimeline(events, cut)
      expect(events.slice(0, before.length)).toEqual(before)
      const [ticket] = await client.sessions.inputs({ ref: id })
      expect(ticket?.state).toMatch(/^(delivered|unknown)$/u)

      await client.sessions.send({ ref: id, text: `Next-word. ${script(say('I go on.'))}` })
      await waitForTurnEnd(client, id, cut.turn + 1)
      const { session: now, events: all } = await seenAtOnce(client, id)
      checkTimeline(all, now)
      expect(ofKind(all, 'assistant.text').at(-1)?.text).toBe('I go on.')
      if (cut.conversation !== null) expect(now.conversation).toBe(cut.conversation)
      const last = requestsOf(bench.model, now.conversation).at(-1)
      expect(timesSaid(last, 'Next-word.')).toBe(1)
      if (ticket?.state === 'delivered') expect(timesSaid(last, 'Ticket-word.')).toBe(1)
      else expect(timesSaid(last, 'Ticket-word.')).toBeLessThanOrEqual(1)
      await client.sessions.finish({ ref: id })
      await waitForState(client, id, 'finished')
      await expectNoLeftovers(bench, client)
    })
  }
}

/** Waits until the session is brought back and nothing of what it was given is on its way. */
async function settled(client: BalletClient, id: string): Promise<void> {
  await waitFor(
    'the session to be brought back',
    async () => {
      const [{ state, queuedInputs }, inputs] = await Promise.all([
        client.sessions.show({ ref: id }),
        client.sessions.inputs({ ref: id }),
      ])
      const isOnItsWay = inputs.some((input) => input.state === 'queued' || input.state === 'sent')
      return state === 'waiting' && queuedInputs === 0 && !isOnItsWay
    },
    { timeoutMs: 60_000, everyMs: 50 },
  )
}

/** A session and its timeline, as of one moment: that a runtime ended is told whenever it is heard. */
function seenAtOnce(client: BalletClient, id: string) {
  return waitFor('the session and its timeline to agree', async () => {
    const session = await client.sessions.show({ ref: id })
    const events = await timelineOf(client, id)
    return events.at(-1)?.seq === session.lastSeq && { session, events }
  })
}
