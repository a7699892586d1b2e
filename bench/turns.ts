import { mkdir } from 'node:fs/promises'
import type { BalletClient } from '../e2e/support/ballet-client.ts'
import { isResult, startBareClaude } from '../e2e/support/bare-claude.ts'
import { say as said, script } from '../e2e/support/steps.ts'
import { addProject } from '../e2e/support/watch.ts'
import type { Workbench } from '../e2e/support/workbench.ts'
import type { SessionId } from '../src-shared/ids.ts'
import type { Bench } from './bench.ts'
import { atMost, type Figure, figure, type Goal, median, spread } from './figures.ts'

const QUICK = script(said('Done.'))
/** 21 pieces with 100 ms between them. */
const TWO_SECONDS = script({ text: 'some words '.repeat(42), chunks: 21, delay: 100 })

export const turns: Bench = {
  name: 'turns',
  method: `A headless host with one agent against a bare script that drives the same Claude Code with the same scripted
model by its streaming interface; the turns of both alternate. Bare: from the message on the runtime's standard input to
its result line. Ballet: from the call that sends the message to the end of the turn in a follower's hands, over the
host's socket. A first turn is, bare, a start of the runtime and one turn in an empty folder; with Ballet, from the call
that writes a ticket and starts it to the end of its turn, with the clone of a small repository in it (the mirror of the
project is there already, from the ticket before). The ratio is that of the medians.`,
  run: async (workbench, { brief }) => {
    const host = await workbench.host({ agents: 2 })
    await addProject(host.client, (await workbench.remote()).path)
    const bare = await openBare(workbench, 'warm')
    const { id } = await firstTurn(host.client)
    await bare.turn(QUICK)
    const compare = async (text: string, times: number) => {
      const [own, ballet]: [number[], number[]] = [[], []]
      for (let index = 0; index < times; index += 1) {
        own.push(await timed(() => bare.turn(text)))
        ballet.push(await timed(() => turn(host.client, id, text)))
      }
      return { own, ballet }
    }
    // Both sides are warm before anything counts.
    await compare(QUICK, brief ? 1 : 3)
    const long = await compare(TWO_SECONDS, brief ? 1 : 8)
    const quick = await compare(QUICK, brief ? 3 : 40)
    await bare.close()
    const first = await firstTurns(workbench, host.client, brief ? 1 : 8)
    return [
      ...figures('a 2 s turn', long, atMost('ratio', 1.03, 'at most 1.03 ×')),
      ...figures('a warm scripted turn', quick, atMost('ratio', 1.5, 'at most 1.5 ×')),
      ...figures('the first turn, with its clone', first, atMost('ratio', 2, 'at most 2 ×')),
    ]
  },
}

type Compared = { readonly own: readonly number[]; readonly ballet: readonly number[] }

function figures(what: string, { own, ballet }: Compared, goal: Goal): Figure[] {
  const ratio = median(ballet) / median(own)
  const facts = { bench: 'turns', samples: own.length } as const
  return [
    figure(
      { ...facts, what: `${what}: Ballet against bare`, unit: 'ratio', values: { ratio } },
      goal,
    ),
    figure({ ...facts, what: `${what}, bare`, unit: 'ms', values: spread(own) }),
    figure({ ...facts, what: `${what}, Ballet`, unit: 'ms', values: spread(ballet) }),
  ]
}

async function firstTurns(
  workbench: Workbench,
  client: BalletClient,
  times: number,
): Promise<Compared> {
  const [own, ballet]: [number[], number[]] = [[], []]
  for (let index = 0; index < times; index += 1) {
    let bare: Bare | undefined
    own.push(
      await timed(async () => {
        bare = await openBare(workbench, `first-${index}`)
        await bare.turn(QUICK)
      }),
    )
    await bare?.close()
    let session: SessionId | undefined
    ballet.push(
      await timed(async () => {
        session = (await firstTurn(client)).id
      }),
    )
    // Its agent is free again for the next one.
    if (session !== undefined) {
      await client.sessions.finish({ ref: session })
      await waitForOver(client, session)
    }
  }
  return { own, ballet }
}

type Bare = { turn(text: string): Promise<void>; close(): Promise<void> }

async function openBare(workbench: Workbench, name: string): Promise<Bare> {
  const cwd = workbench.path(`bare-${name}`)
  const configDir = workbench.path(`bare-${name}-config`)
  for (const folder of [cwd, configDir]) await mkdir(folder)
  let ended = () => {}
  const claude = startBareClaude({
    ...{ url: workbench.model.url, cwd, configDir },
    onLine: (line) => {
      if (isResult(line)) ended()
    },
  })
  return {
    turn: (text) =>
      new Promise((resolve, reject) => {
        const limit = setTimeout(() => reject(new Error('The bare turn does not end.')), 30_000)
        ended = () => {
          clearTimeout(limit)
          resolve()
        }
        claude.send(text)
      }),
    close: claude.close,
  }
}

async function firstTurn(client: BalletClient) {
  const ticket = await client.tickets.add({
    ...{ project: 'Shop', title: 'Work', body: QUICK, start: true },
  })
  const session = await client.sessions.show({ ref: ticket.key })
  await untilTurnEnd(client, session.id, 0)
  return session
}

async function turn(client: BalletClient, id: SessionId, text: string): Promise<void> {
  const { last } = await client.timeline.page({ session: id, limit: 1 })
  await client.sessions.send({ ref: id, text })
  await untilTurnEnd(client, id, last)
}

/** As a window follows: one question after the other, each answered when there is something. */
async function untilTurnEnd(client: BalletClient, session: SessionId, from: number): Promise<void> {
  let after = from
  const live: Record<string, number> = {}
  for (;;) {
    const followed = await client.timeline.follow({ session, after, live, waitMs: 20_000 })
    if (followed.events.some(({ kind }) => kind === 'turn.ended')) return
    after = followed.events.at(-1)?.seq ?? after
    for (const { block, offset, text } of followed.live) live[block] = offset + text.length
    for (const block of Object.keys(live)) {
      if (!followed.blocks.includes(block)) delete live[block]
    }
  }
}

async function waitForOver(client: BalletClient, ref: string): Promise<void> {
  let cursor: string | undefined
  for (;;) {
    if ((await client.sessions.show({ ref })).state === 'finished') return
    const more: { cursor: string } = await client.records.follow({
      ...(cursor === undefined ? {} : { cursor }),
      waitMs: 5_000,
    })
    cursor = more.cursor
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}
