import { chmod, cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import type { Session } from '../../../src-shared/records.ts'
import { ask } from '../../support/asking.ts'
import type { BalletClient } from '../../support/ballet-client.ts'
import { runBallet } from '../../support/command-line.ts'
import { requestsOf, seenIn, timesSaid } from '../../support/conversation.ts'
import { hasKeyring, KEYRING_DESKTOP, type Keyring, startKeyring } from '../../support/keyring.ts'
import { parkNow } from '../../support/parked-work.ts'
import { hasBus, startPrivateBus } from '../../support/private-bus.ts'
import { bash, say, script } from '../../support/steps.ts'
import { checkTimeline } from '../../support/timeline-checks.ts'
import {
  addProject,
  startTicket,
  timelineOf,
  waitForState,
  waitForTurnEnd,
} from '../../support/watch.ts'
import { runByName } from '../../support/window.ts'
import { type Work, workIn } from '../../support/work-in.ts'
import { test, type Workbench } from '../../support/workbench.ts'

test.skip(!hasBus() || !hasKeyring(), 'needs Linux, dbus-daemon and gnome-keyring')

// Each starts the application or a host four times.
test.describe.configure({ timeout: 300_000 })

const PASSWORD = 'of the login'
const QUESTION = { question: 'Which colour?', options: [{ label: 'Red' }, { label: 'Blue' }] }
const WORK = 'echo KEY=never-on-the-remote > .env && echo half > work.txt && git add work.txt'

type Parked = { session: Session; work: Work; remote: string }

/** A machine with a keychain, which a person locks and unlocks. */
async function withKeychain(bench: Workbench) {
  const folder = bench.path('b')
  await mkdir(folder)
  const bus = await startPrivateBus(folder, bench.env)
  bench.atEnd(() => bus.close())
  let keyring: Keyring | undefined
  const end = async () => {
    await keyring?.end()
    keyring = undefined
  }
  bench.atEnd(end)
  const env = { DBUS_SESSION_BUS_ADDRESS: bus.address, ...KEYRING_DESKTOP }
  return {
    end,
    start: async (password?: string) => {
      await end()
      keyring = await startKeyring(bus.address, bench.env, password)
    },
    desktop: async () => {
      const desktop = await bench.desktop({ env })
      return { desktop, client: await desktop.client() }
    },
  }
}

/** A session that waits for an answer, parked with work and a secret; the keychain wraps the key that seals them. */
async function parkAsking(bench: Workbench, client: BalletClient): Promise<Parked> {
  const { path } = await bench.remote()
  await addProject(client, path, { planner: false, window: 'never' })
  const body = `Ticket-word. ${script(bash(WORK, 'I begin.'), ask(QUESTION), say('I asked.'))}`
  const { session } = await startTicket(client, { body })
  await waitForTurnEnd(client, session.id, 1, 60_000)
  const { workspace } = await client.sessions.show({ ref: session.id })
  const work = await workIn(workspace ?? 'no workspace')
  return { session: await parkNow(client, session.id), work, remote: path }
}

/** The answer brought it back: with all that was said, and with its work. */
async function expectAnswered(
  bench: Workbench,
  client: BalletClient,
  { session, work }: Parked,
): Promise<void> {
  await waitForTurnEnd(client, session.id, 2, 60_000)
  const after = await client.sessions.show({ ref: session.id })
  expect(after.conversation).toBe(session.conversation)
  expect(await workIn(after.workspace ?? 'no workspace')).toEqual(work)
  const request = requestsOf(bench.model, session.conversation).at(-1)
  for (const part of ['I begin.', 'I asked.', 'Answer: Blue']) {
    expect(seenIn(request), part).toContain(part)
  }
  expect(timesSaid(request, 'Ticket-word.')).toBe(1)
  checkTimeline(await timelineOf(client, session.id), after)
}

const keysIn = async (dataDir: string) =>
  (await readdir(dataDir)).filter((name) => name.startsWith('key'))

const modeOf = async (file: string) => (await stat(file)).mode & 0o777

function told(bench: Workbench, dataDir: string) {
  return (...args: string[]) =>
    runBallet([...args, '--data', dataDir, '--json'], { env: { ...bench.env } })
}

test('the keychain keeps the data key: found after a restart, and said to be out of reach while it is locked', async ({
  bench,
}) => {
  const keychain = await withKeychain(bench)
  const cli = told(bench, bench.dataDir)
  await keychain.start(PASSWORD)
  const first = await keychain.desktop()
  const parked = await parkAsking(bench, first.client)
  expect(await keysIn(bench.dataDir)).toEqual(['key.wrapped'])
  expect(await modeOf(join(bench.dataDir, 'key.wrapped'))).toBe(0o600)
  await first.desktop.quit()

  // Nobody unlocked it after the start of the machine: what is answered waits, and nothing is made anew.
  await keychain.start()
  const locked = await keychain.desktop()
  const answer = await cli('answer', 'SHOP-1-Q1', '--option', '2', script(say('Blue it is.')))
  expect(answer.code, answer.stderr).toBe(0)
  const failed = await waitForState(locked.client, parked.session.id, 'failed')
  expect(failed.reason).toContain("is wrapped by the system's keychain, which is locked")
  expect(failed.hint).toContain('Unlock the keychain')
  expect(failed.parked).toMatchObject({ pushed: true })
  expect(await cli('key', 'export')).toMatchObject({ code: 1, error: { code: 'key.locked' } })
  await locked.desktop.quit()
  // Nor does one that does not run at all.
  await keychain.end()
  const absent = await keychain.desktop()
  expect(await cli('key', 'export')).toMatchObject({ code: 1, error: { code: 'key.locked' } })
  await absent.desktop.quit()
  expect(await keysIn(bench.dataDir)).toEqual(['key.wrapped'])

  await keychain.start(PASSWORD)
  const { client } = await keychain.desktop()
  await client.sessions.resume({ ref: parked.session.id })
  await expectAnswered(bench, client, parked)
  expect(await keysIn(bench.dataDir)).toEqual(['key.wrapped'])
})

test('an exported key lets a headless host of another machine go on with what the desktop parked', async ({
  bench,
}) => {
  const keychain = await withKeychain(bench)
  await keychain.start(PASSWORD)
  const first = await keychain.desktop()
  const parked = await parkAsking(bench, first.client)
  await first.desktop.quit()

  // A copy of the folder alone does not do, and says what would.
  const elsewhere = bench.path('another machine/data')
  const copy = async () => {
    await rm(elsewhere, { recursive: true, force: true })
    await cp(bench.dataDir, elsewhere, {
      recursive: true,
      filter: (path) => !/(ballet\.sock|chromium)$/u.test(path),
    })
  }
  const config = bench.path('claude of the other')
  await mkdir(config)
  const headless = () => bench.host({ dataDir: elsewhere, env: { CLAUDE_CONFIG_DIR: config } })
  const there = told(bench, elsewhere)
  await copy()
  const without = await headless()
  await without.client.sessions.resume({ ref: parked.session.id })
  const failed = await waitForState(without.client, parked.session.id, 'failed')
  expect(failed.reason).toContain('wrapped by the desktop')
  expect(failed.hint).toContain('ballet key export')
  expect(await there('key', 'export')).toMatchObject({ code: 1, error: { code: 'key.wrapped' } })
  await without.stop()

  const second = await keychain.desktop()
  const here = told(bench, bench.dataDir)
  const file = join(bench.dataDir, 'key')
  const { window } = second.desktop
  await runByName(window, 'Check this machine')
  const toKnow = window.getByText('The data key, which seals what is kept of parked sessions')
  await expect(window.getByRole('button', { name: 'Check again' })).toBeVisible()
  await expect(toKnow).toHaveCount(0)
  expect((await here('key', 'export')).rows).toMatchObject([{ file, written: true }])
  expect(await modeOf(file)).toBe(0o600)
  const key = await readFile(file, 'utf8')
  expect((await here('key', 'export')).rows).toMatchObject([{ file, written: false }])
  expect(await readFile(file, 'utf8')).toBe(key)
  await window.getByRole('button', { name: 'Check again' }).click()
  await expect(toKnow).toContainText(file)
  const other = Buffer.alloc(32, 7).toString('base64')
  await writeFile(file, other)
  expect(await here('key', 'export')).toMatchObject({ code: 1, error: { code: 'key.other' } })
  expect(await readFile(file, 'utf8')).toBe(other)
  await writeFile(file, key)
  await second.desktop.quit()

  await copy()
  // As a careless copy leaves it.
  await chmod(join(elsewhere, 'key'), 0o644)
  const host = await headless()
  await there('answer', 'SHOP-1-Q1', '--option', '2', script(say('Blue it is.')))
  await expectAnswered(bench, host.client, parked)
  expect(await modeOf(join(elsewhere, 'key'))).toBe(0o600)
})
