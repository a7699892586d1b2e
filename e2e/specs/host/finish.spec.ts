import { access, chmod, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import { expectNoLeftovers } from '../../support/leftovers.ts'
import { isAlive } from '../../support/process-tree.ts'
import { bash, say, script, write } from '../../support/steps.ts'
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

test('a stopped session is finished while the fleet is full, without a runtime', async ({
  bench,
}) => {
  const host = await bench.host({ agents: 1 })
  const { client } = host
  const remote = await bench.remote()
  await addProject(client, remote.path)
  const { session } = await startTicket(client, {
    body: script(write('note.txt', 'kept\n'), say('Done.')),
  })
  const { id } = session
  await waitForTurnEnd(client, id, 1)
  await client.sessions.stop({ ref: id })
  await waitForState(client, id, 'parked')
  const other = await startTicket(client, { body: script(bash('sleep 306'), say('Never.')) })
  await bench.process('sleep 306')

  const finished = await host.cli('session', 'finish', id)
  expect(finished).toMatchObject({ code: 0, rows: [{ state: 'finished', workspace: null }] })
  const { branch } = await client.sessions.show({ ref: id })
  expect(await remote.readFile(branch, 'note.txt')).toBe('kept\n')
  const events = await timelineOf(client, id)
  checkTimeline(events, await client.sessions.show({ ref: id }))
  expect(ofKind(events, 'session.state').map(({ to }) => to)).not.toContain('resuming')
  expect((await client.sessions.show({ ref: other.session.id })).state).toBe('working')
  await client.sessions.stop({ ref: other.session.id })
  await waitForState(client, other.session.id, 'parked')
  await expectNoLeftovers(bench, client)
})

test('a finish that cannot push leaves the session as it was; it goes on over a kill -9 of the host', async ({
  bench,
}) => {
  const first = await bench.host()
  const remote = await bench.remote()
  await addProject(first.client, remote.path)
  const { session } = await startTicket(first.client, {
    body: script(write('note.txt', 'kept\n'), say('Done.')),
  })
  const { id } = session
  await waitForTurnEnd(first.client, id, 1)
  await rename(remote.path, `${remote.path}.away`)
  const stopped = await first.cli('session', 'stop', id)
  expect(stopped).toMatchObject({
    code: 1,
    rows: [{ state: 'parked', reason: expect.stringContaining('not pushed') }],
    error: { code: 'stop.not-pushed', message: expect.stringContaining(remote.path) },
  })
  const refused = await first.cli('session', 'finish', id)
  expect(refused).toMatchObject({
    code: 1,
    error: { code: expect.stringMatching(/^remote\./u), hint: expect.any(String) },
  })
  const { workspace, state } = await first.client.sessions.show({ ref: id })
  expect(state).toBe('parked')
  await access(workspace ?? 'none')

  await rename(`${remote.path}.away`, remote.path)
  await first.client.sessions.finish({ ref: id })
  await first.kill()
  const { client } = await bench.host()
  const finished = await waitForState(client, id, 'finished')
  expect(await remote.readFile(finished.branch, 'note.txt')).toBe('kept\n')
  await expect(access(workspace ?? '')).rejects.toThrow('ENOENT')
  checkTimeline(await timelineOf(client, id), finished)
  expect((await client.tickets.show({ ref: finished.ticket })).status).toBe('Done')
})

test('a push that hangs goes with its agent, or gives way to a stop', async ({ bench }) => {
  const host = await bench.host()
  const { client } = host
  const remote = await bench.remote()
  await addProject(client, remote.path)
  const hook = join(remote.path, 'hooks', 'pre-receive')
  const hang = async (seconds: number) => {
    await writeFile(hook, `#!/bin/sh\nsleep ${seconds}\n`)
    await chmod(hook, 0o755)
  }
  const begin = async () => {
    const { session } = await startTicket(client, {
      body: script(write('note.txt', 'kept\n'), say('Done.')),
    })
    await waitForTurnEnd(client, session.id, 1)
    return session.id
  }

  const killed = await begin()
  await hang(307)
  await client.sessions.finish({ ref: killed })
  const push = await bench.process('sleep 307')
  const { agent, reason } = await client.sessions.show({ ref: killed })
  expect(reason).toContain('is being finished')
  const holder = (await client.agents.list()).find(({ id }) => id === agent)
  await rm(hook)
  process.kill(holder?.pid ?? Number.NaN, 'SIGKILL')
  await waitForState(client, killed, 'finished')
  expect(await isAlive(push)).toBe(false)

  const stopped = await begin()
  await hang(308)
  await client.sessions.finish({ ref: stopped })
  const hung = await bench.process('sleep 308')
  await rm(hook)
  expect(await host.cli('session', 'stop', stopped)).toMatchObject({
    code: 0,
    rows: [{ state: 'parked', reason: 'stopped by a person' }],
  })
  expect(await isAlive(hung)).toBe(false)
  const { branch, ticket } = await client.sessions.show({ ref: stopped })
  expect(await remote.readFile(branch, 'note.txt')).toBe('kept\n')
  expect((await client.tickets.show({ ref: ticket })).status).toBe('Ready')
  await expectNoLeftovers(bench, client)
})

test('a finish that a drain or a quit cuts is forgotten by neither', async ({ bench }) => {
  const first = await bench.host()
  const remote = await bench.remote()
  await addProject(first.client, remote.path)
  const { session } = await startTicket(first.client, {
    body: script(write('note.txt', 'kept\n'), say('Done.')),
  })
  const { id } = session
  await waitForTurnEnd(first.client, id, 1)
  await first.client.sessions.stop({ ref: id })
  await waitForState(first.client, id, 'parked')
  const hook = join(remote.path, 'hooks', 'pre-receive')
  await writeFile(hook, '#!/bin/sh\nsleep 309\n', { mode: 0o755 })
  await first.client.sessions.finish({ ref: id })
  const push = await bench.process('sleep 309')
  // No agent holds it: every one that is drained ends at once, with the push that it was asked for.
  await first.client.agents.drain({})
  await waitFor('the push to end', async () => !(await isAlive(push)))
  expect(await first.client.sessions.show({ ref: id })).toMatchObject({
    ...{ state: 'parked', pending: 'finish' },
    reason: expect.stringContaining('is being finished'),
  })
  await first.client.agents.drain({ how: 'cancel' })
  const again = await bench.process('sleep 309')
  await first.stop()
  expect(await isAlive(again)).toBe(false)

  await rm(hook)
  const { client } = await bench.host()
  const finished = await waitForState(client, id, 'finished')
  expect(await remote.readFile(finished.branch, 'note.txt')).toBe('kept\n')
  const events = await timelineOf(client, id)
  checkTimeline(events, finished)
  expect(ofKind(events, 'notice').filter(({ level }) => level === 'error')).toEqual([])
  await expectNoLeftovers(bench, client)
})
