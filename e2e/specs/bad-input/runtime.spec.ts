import { rm, symlink, writeFile } from 'node:fs/promises'
import { expect } from '@playwright/test'
import { CLAUDE_PROGRAM } from '../../support/bare-claude.ts'
import type { HeadlessHost } from '../../support/headless-host.ts'
import { installInto } from '../../support/installation.ts'
import { injectMidTurn, useRuntime, writeRuntime } from '../../support/runtime-wrapper.ts'
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
import { test, type Workbench } from '../../support/workbench.ts'

async function begun(bench: Workbench, host: HeadlessHost, body: string) {
  await addProject(host.client, (await bench.remote()).path)
  return (await startTicket(host.client, { body })).session
}

async function checked(host: HeadlessHost, id: string) {
  const session = await host.client.sessions.show({ ref: id })
  const events = await timelineOf(host.client, id)
  checkTimeline(events, session)
  return { session, events }
}

/** A report in which Claude Code stands so among the runtimes. */
const withClaude = (facts: Readonly<Record<string, unknown>>) => ({
  runtimes: expect.arrayContaining([expect.objectContaining({ runtime: 'claude-code', ...facts })]),
})

test('no claude: doctor and the session say so and what to do, and nothing is lost', async ({
  bench,
}) => {
  const installed = bench.path('bin/claude')
  await rm(installed)
  const host = await bench.host({ program: await installInto(bench.path('ballet')) })
  const doctor = await host.cli('doctor')
  expect(doctor.code).toBe(1)
  expect(doctor.rows[0]).toMatchObject(withClaude({ path: null }))
  expect(doctor.error?.message).toMatch(/Claude Code|claude/u)
  expect(doctor.error?.hint).toMatch(/npm|install/iu)
  const session = await begun(bench, host, script(say('Done.')))
  const failed = await waitForState(host.client, session.id, 'failed')
  expect(failed.reason).toMatch(/Claude Code|claude/u)
  expect(failed.hint).toMatch(/install/iu)
  await checked(host, session.id)

  // It is installed, and the same host finds it.
  await symlink(CLAUDE_PROGRAM, installed)
  await host.client.tickets.start({ ref: session.ticket })
  await waitForTurnEnd(host.client, session.id, 1)
  await checked(host, session.id)
})

test('not logged in: doctor and the session say so and what to do', async ({ bench }) => {
  const host = await bench.host({ env: { ANTHROPIC_API_KEY: undefined } })
  const doctor = await host.cli('doctor')
  expect(doctor.code).toBe(1)
  expect(doctor.rows[0]).toMatchObject(withClaude({ loggedIn: false }))
  expect(`${doctor.error?.message} ${doctor.error?.hint}`).toMatch(/log(ged)? ?in/iu)
  const session = await begun(bench, host, script(say('Done.')))
  const failed = await waitForState(host.client, session.id, 'failed')
  expect(`${failed.reason} ${failed.hint}`).toMatch(/log(ged)? ?in/iu)
  await checked(host, session.id)
  expect(bench.model.requests()).toEqual([])
})

test('doctor finds nothing to say where all is well', async ({ bench }) => {
  const host = await bench.host()
  const doctor = await host.cli('doctor')
  expect(doctor).toMatchObject({ code: 0, stderr: '' })
  expect(doctor.rows[0]).toMatchObject({
    host: { kind: 'headless', dataDir: bench.dataDir, agents: 1 },
    ...withClaude({ version: '2.1.332', loggedIn: true, problem: null }),
    problems: [],
  })
})

test('a runtime that is too old is not used', async ({ bench }) => {
  await useRuntime(
    bench.dataDir,
    await writeRuntime(bench.folder, 'exit 9', "echo '1.0.17 (Claude Code)'"),
  )
  const host = await bench.host()
  const session = await begun(bench, host, script(say('Done.')))
  const failed = await waitForState(host.client, session.id, 'failed')
  expect(failed.reason).toContain('1.0.17')
  expect(failed.hint).not.toBe('')
  await checked(host, session.id)
})

const strange = [
  { what: 'that is not JSON', line: 'not json { at all', shows: 'not json { at all' },
  { what: 'of an unknown kind', line: '{"type":"brand_new","x":1}', shows: 'brand_new' },
  { what: 'of 50 MB', line: 'x'.repeat(50_000_000), shows: 'xxx' },
]

for (const { what, line, shows } of strange) {
  for (const where of ['at the start', 'in the middle of a turn'] as const) {
    test(`a line ${what} from the runtime ${where} is kept as a notice and harms nothing`, async ({
      bench,
    }) => {
      const file = bench.path('line')
      await writeFile(file, `${line}\n`)
      const inject =
        where === 'at the start'
          ? `cat '${file}'\nexec "$claude" "$@"`
          : await injectMidTurn(bench.folder, file)
      await useRuntime(bench.dataDir, await writeRuntime(bench.folder, inject))
      const host = await bench.host()
      const session = await begun(bench, host, script(bash('echo tool-output'), say('All done.')))
      await waitForTurnEnd(host.client, session.id, 1, 40_000)
      const { events } = await checked(host, session.id)
      expect(ofKind(events, 'turn.ended')).toMatchObject([{ reason: 'completed' }])
      expect(ofKind(events, 'assistant.text').at(-1)?.text).toBe('All done.')
      expect(ofKind(events, 'tool.result')).toMatchObject([{ status: 'ok' }])
      const notices = ofKind(events, 'notice').filter(({ text }) => text.includes(shows))
      expect(notices).toHaveLength(1)
      expect(JSON.stringify(events).length).toBeLessThan(200_000)
      // The agent still takes the next message.
      await host.client.sessions.send({ ref: session.id, text: script(say('And more.')) })
      await waitForTurnEnd(host.client, session.id, 2)
      await checked(host, session.id)
    })
  }
}

test('a runtime that is killed at its start fails the session until it works', async ({
  bench,
}) => {
  const allow = bench.path('allow')
  const program = await writeRuntime(
    bench.folder,
    `[ -e '${allow}' ] || kill -9 $$\nexec "$claude" "$@"`,
  )
  await useRuntime(bench.dataDir, program)
  const host = await bench.host()
  const session = await begun(bench, host, script(say('Done.')))
  const failed = await waitForState(host.client, session.id, 'failed')
  expect(failed.reason).toMatch(/SIGKILL|killed|signal/u)
  expect(failed).toMatchObject({ agent: null, hint: expect.stringMatching(/.+/u) })
  await checked(host, session.id)
  expect((await host.client.agents.list())[0]).toMatchObject({ state: 'idle', restarts: 0 })

  await writeFile(allow, '')
  await host.client.sessions.send({ ref: session.id, text: 'try-again' })
  await waitForTurnEnd(host.client, session.id, 1)
  const { events } = await checked(host, session.id)
  expect(ofKind(events, 'input.delivered')).toHaveLength(2)
})

test('a runtime that says on its standard error why it does not start is quoted', async ({
  bench,
}) => {
  await useRuntime(
    bench.dataDir,
    await writeRuntime(bench.folder, 'echo "error: the moon is wrong" >&2; exit 7'),
  )
  const host = await bench.host()
  const session = await begun(bench, host, script(say('Done.')))
  const failed = await waitForState(host.client, session.id, 'failed')
  expect(failed.reason).toContain('the moon is wrong')
  await checked(host, session.id)
})

test('a runtime that never answers at its start is given up within its limit', async ({
  bench,
}) => {
  test.slow()
  await useRuntime(bench.dataDir, await writeRuntime(bench.folder, 'exec sleep 399'))
  const host = await bench.host()
  const session = await begun(bench, host, script(say('Done.')))
  const failed = await waitForState(host.client, session.id, 'failed', { timeoutMs: 75_000 })
  expect(failed.hint).not.toBe('')
  await checked(host, session.id)
  await waitFor('its process to be gone', async () =>
    (await bench.processes()).every(({ command }) => command !== 'sleep 399'),
  )
})

test('a path in the settings that is no program is named', async ({ bench }) => {
  await useRuntime(bench.dataDir, bench.path('no-such-program'))
  const host = await bench.host()
  const doctor = await host.cli('doctor')
  expect(doctor.code).toBe(1)
  expect(doctor.error?.message).toContain(bench.path('no-such-program'))
})
