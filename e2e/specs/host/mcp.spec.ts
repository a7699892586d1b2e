import { readFile } from 'node:fs/promises'
import { expect } from '@playwright/test'
import { ask, balletTool } from '../../support/asking.ts'
import type { BalletClient } from '../../support/ballet-client.ts'
import { requestsOf, seenIn } from '../../support/conversation.ts'
import { isAlive, processOf } from '../../support/process-tree.ts'
import { useRuntime, writeRuntime } from '../../support/runtime-wrapper.ts'
import { bash, say, script } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import { waitFor } from '../../support/wait-for.ts'
import {
  addProject,
  ofKind,
  startTicket,
  timelineOf,
  waitForEvent,
  waitForState,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { test, type Workbench } from '../../support/workbench.ts'

const TOOLS = ['ask_question', 'complete_stage', 'record_assumption', 'report_progress']

type Server = { url: string; token: string }

/** How the runtime of this user reaches Ballet's tools, from the file that its command line names. */
async function serverOf(bench: Workbench): Promise<Server> {
  const runtime = await waitFor('the runtime', async () =>
    (await bench.processes()).find(({ command }) => command.includes('--mcp-config')),
  )
  const file = /--mcp-config (\S+)/u.exec(runtime.command)?.[1] ?? ''
  const { mcpServers } = JSON.parse(await readFile(file, 'utf8')) as {
    mcpServers: { ballet: { url: string; headers: { Authorization: string } } }
  }
  const { url, headers } = mcpServers.ballet
  return { url, token: headers.Authorization.replace('Bearer ', '') }
}

/** Asks for the list of tools, as somebody with these headers. */
async function knock(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  const type = { 'content-type': 'application/json' }
  return (await fetch(url, { method: 'POST', headers: { ...type, ...headers }, body })).status
}

async function killRuntime(client: BalletClient): Promise<void> {
  const before = await waitFor('a runtime', async () => {
    const [agent] = await client.agents.list()
    return processOf(agent?.runtimePids[0] ?? 0)
  })
  process.kill(before.pid, 'SIGKILL')
  await waitFor('its end', async () => !(await isAlive(before)))
}

test('a project that asks for everything does not ask for a question; the tools outlive the runtime', async ({
  bench,
}) => {
  const { client } = await bench.host()
  const remote = await bench.remote()
  await addProject(client, remote.path, { permission: 'ask', planner: false })
  // The shell in the middle shows what the machine itself takes.
  const body = script(
    bash('true'),
    ask({ question: 'Which?' }),
    ask({ question: 'And how?' }),
    say('Asked.'),
  )
  const { session } = await startTicket(client, { body })
  await waitForTurnEnd(client, session.id, 1)
  const before = await waitForState(client, session.id, 'waiting')
  expect(before).toMatchObject({ openQuestions: 2, openRequests: 0 })

  const events = await timelineOf(client, session.id)
  expect(ofKind(events, 'request.opened')).toEqual([])
  expect(ofKind(events, 'notice').filter(({ level }) => level !== 'info')).toEqual([])
  const [, first] = ofKind(events, 'tool.call')
  expect(first).toMatchObject({
    name: balletTool('ask_question'),
    toolKind: 'mcp',
    title: 'ballet: ask question: Which?',
  })
  const took = ofKind(events, 'tool.result').map(({ durationMs = 0 }) => durationMs)
  // A busy machine takes longer for everything: what counts is that nobody waits for an answer.
  expect(Math.min(...took.slice(1)), `${took}`).toBeLessThan(Math.max(100, took[0] ?? 0))
  const offered = requestsOf(bench.model, before.conversation).at(-1)?.tools ?? []
  expect(offered.filter((name) => name.startsWith('mcp__')).sort()).toEqual(TOOLS.map(balletTool))
  expect(offered).not.toContain('AskUserQuestion')

  const { url, token } = await serverOf(bench)
  const authorization = `Bearer ${token}`
  expect(await knock(url, { authorization })).toBe(200)
  expect(await knock(url, {})).toBe(401)
  expect(await knock(url, { authorization: 'Bearer wrong' })).toBe(401)
  expect(await knock(url, { authorization, origin: 'https://example.org' })).toBe(403)
  // Nothing that others can see holds the token.
  const processes = await bench.processes()
  expect(processes.filter(({ command }) => command.includes(token))).toEqual([])
  for (const { pid } of processes) {
    expect(await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')).not.toContain(token)
  }
  expect(JSON.stringify(events)).not.toContain(token)

  await killRuntime(client)
  await client.sessions.send({
    ref: session.id,
    text: `Go on. ${script(ask({ question: 'Once more?' }), say('Asked again.'))}`,
  })
  await waitForTurnEnd(client, session.id, 2)
  const after = await waitForState(client, session.id, 'waiting')
  expect(after).toMatchObject({ openQuestions: 3, conversation: before.conversation })
  expect(await serverOf(bench)).toEqual({ url, token })

  await client.sessions.stop({ ref: session.id })
  await waitForState(client, session.id, 'parked')
  await expect(fetch(url)).rejects.toThrow()
  checkTimeline(
    await timelineOf(client, session.id),
    await client.sessions.show({ ref: session.id }),
  )
})

test('a session whose runtime does not reach the tools says so, and goes on without them', async ({
  bench,
}) => {
  const elsewhere = `for file in "$@"; do
  case "$file" in *mcp.json) sed -i 's/127.0.0.1:[0-9]*/127.0.0.1:1/' "$file" ;; esac
done
exec "$claude" "$@"`
  await useRuntime(bench.dataDir, await writeRuntime(bench.folder, elsewhere))
  const { client } = await bench.host()
  const remote = await bench.remote()
  await addProject(client, remote.path, { planner: false })
  const body = script(ask({ question: 'Which?' }), say('I could not ask.'))
  const { session } = await startTicket(client, { body })
  const notice = await waitForEvent(
    client,
    session.id,
    'notice',
    ({ code }) => code === 'mcp.unreachable',
  )
  expect(notice).toMatchObject({ level: 'error', text: expect.stringContaining('ballet') })
  await waitForTurnEnd(client, session.id, 1)
  const after = await waitForState(client, session.id, 'waiting')
  expect(after).toMatchObject({
    openQuestions: 0,
    reason: "the agent does not reach Ballet's tools: it cannot ask questions",
    hint: expect.stringMatching(/\S/u),
  })
  expect(seenIn(requestsOf(bench.model, after.conversation).at(-1))).toContain('No such tool')
  await client.sessions.send({ ref: session.id, text: `Go on. ${script(say('Still here.'))}` })
  await waitForTurnEnd(client, session.id, 2)
})
