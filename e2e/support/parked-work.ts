import { access } from 'node:fs/promises'
import { expect } from '@playwright/test'
import type { ParkStep, ResumeStep } from '../../src-shared/parking.ts'
import type { Session } from '../../src-shared/records.ts'
import type { TimelineEvent } from '../../src-shared/timeline.ts'
import type { BalletClient } from './ballet-client.ts'
import { requestsOf, timesSaid } from './conversation.ts'
import { bash, say, script } from './steps.ts'
import { checkTimeline } from './timeline-checks.ts'
import { waitFor } from './wait-for.ts'
import { ofKind, startTicket, timelineOf, waitForState, waitForTurnEnd } from './watch.ts'
import { type Work, workIn } from './work-in.ts'
import type { Workbench } from './workbench.ts'

export const SHOP_FILES = {
  'README.md': '# Shop\n',
  'src/cart.txt': 'a cart\n',
  'src/old name.txt': 'this one is renamed\n',
  'src/gone.txt': 'this one is deleted\n',
}

const EVERY_KIND = [
  'echo committed > done.txt && git add done.txt && git commit -q -m "Half of it"',
  'echo staged > src/cart.txt && git add src/cart.txt && echo "changed again" >> src/cart.txt',
  'git mv "src/old name.txt" "src/new name.txt" && rm src/gone.txt && mkdir -p empty/folder',
  'echo KEY=never-on-the-remote > .env && ln -s README.md link',
].join(' && ')

/** A session that waits with work of every kind, and how that work is. */
export type WithWork = { readonly session: Session; readonly work: Work }

/** Of the project Shop. `more` is a command that does more. */
export async function startWithWork(client: BalletClient, more = 'true'): Promise<WithWork> {
  const { session } = await startTicket(client, {
    body: `Ticket-word. ${script(bash(`${EVERY_KIND} && ${more}`, 'I begin.'), say('Half done.'))}`,
  })
  await waitForTurnEnd(client, session.id, 1, 90_000)
  return lookAtWork(client, session.id)
}

export async function lookAtWork(client: BalletClient, id: string): Promise<WithWork> {
  const session = await client.sessions.show({ ref: id })
  return { session, work: await workIn(session.workspace ?? 'no workspace') }
}

/** Parks it and waits until it is, its agent is free and its workspace is gone. */
export async function parkNow(client: BalletClient, id: string): Promise<Session> {
  const { workspace } = await client.sessions.show({ ref: id })
  await client.sessions.park({ ref: id })
  const parked = await waitForState(client, id, 'parked', { timeoutMs: 90_000 })
  await waitFor('the workspace to be gone', async () => !(await isThere(workspace ?? '')))
  return parked
}

/** A message brings it back: in the same conversation, once, with the work as it was. */
export async function expectSameWork(
  bench: Workbench,
  client: BalletClient,
  { session, work }: WithWork,
): Promise<void> {
  const { id, conversation, turn } = await client.sessions.show({ ref: session.id })
  const word = `Go-on-${turn}.`
  await client.sessions.send({ ref: id, text: `${word} ${script(say('I go on.'))}` })
  await waitForTurnEnd(client, id, turn + 1, 90_000)
  const after = await lookAtWork(client, id)
  expect(after.work).toEqual(work)
  expect(after.session.conversation).toBe(session.conversation)
  const last = requestsOf(bench.model, conversation).at(-1)
  for (const once of ['Ticket-word.', word]) expect(timesSaid(last, once), once).toBe(1)
  checkTimeline(await timelineOf(client, id), after.session)
}

/** Waits until the timeline tells that a step has begun, from an event on; looks as often as it can. */
export async function waitForStep(
  client: BalletClient,
  id: string,
  step: ParkStep | ResumeStep,
  from: number,
): Promise<void> {
  await waitFor(
    `the step ${step}`,
    async () => stepsIn(await timelineOf(client, id, from)).includes(`${step} started`),
    { timeoutMs: 60_000, everyMs: 2 },
  )
}

/** The steps of parking and resuming, each with its status. */
export function stepsIn(events: readonly TimelineEvent[]): string[] {
  return events.flatMap((event) =>
    event.kind === 'park.step' || event.kind === 'resume.step'
      ? [`${event.step} ${event.status}`]
      : [],
  )
}

export function noticesIn(events: readonly TimelineEvent[]): string[] {
  return ofKind(events, 'notice').map(({ code }) => code)
}

export function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
