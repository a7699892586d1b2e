import { createHash } from 'node:crypto'
import { mkdir, open, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@playwright/test'
import Sqlite from 'better-sqlite3'
import { startServing } from '../../support/headless-host.ts'
import { mountSmallDisk } from '../../support/small-disk.ts'
import { bash, say, script, untilFile, write } from '../../support/steps.ts'
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

/**
 * Every file of the database, with its checksum. The empty log and its index that SQLite lays beside a file when it
 * only looks at it are left out.
 */
async function databaseFiles(dataDir: string): Promise<Record<string, string>> {
  const names = (await readdir(dataDir)).filter((name) => name.startsWith('ballet.sqlite'))
  const sums = names.map(async (name) => {
    const content = await readFile(join(dataDir, name))
    if (name.endsWith('-shm') || content.length === 0) return []
    return [[name, createHash('sha256').update(content).digest('hex')] as const]
  })
  return Object.fromEntries((await Promise.all(sums)).flat())
}

/** A data folder with a project in it, whose host has ended. */
async function usedFolder(bench: Workbench): Promise<void> {
  const host = await bench.host()
  await addProject(host.client, (await bench.remote()).path)
  expect(await host.stop()).toBe(0)
}

/** The host must refuse the folder with this code, name the file, and leave it as it is. */
async function expectLeftAlone(bench: Workbench, code: string): Promise<void> {
  const file = join(bench.dataDir, 'ballet.sqlite')
  const before = await databaseFiles(bench.dataDir)
  for (let time = 0; time < 2; time += 1) {
    const serve = await bench.ballet('serve', '--data', bench.dataDir, '--json')
    expect(serve).toMatchObject({
      code: 1,
      stdout: '',
      error: { code, message: expect.stringContaining(file), hint: expect.any(String) },
    })
    expect(await databaseFiles(bench.dataDir)).toEqual(before)
  }
  const forPeople = await bench.ballet('serve', '--data', bench.dataDir)
  expect(forPeople.code).toBe(1)
  expect(forPeople.stderr).toContain(file)
  expect(forPeople.stderr).not.toMatch(/\n +at /u)
}

test('a database whose beginning is damaged is reported and left byte for byte', async ({
  bench,
}) => {
  await usedFolder(bench)
  const file = await open(join(bench.dataDir, 'ballet.sqlite'), 'r+')
  await file.write('this is no database, it is a letter', 0)
  await file.close()
  await expectLeftAlone(bench, 'storage.corrupt')
})

test('a database that is damaged in its middle is reported and left byte for byte', async ({
  bench,
}) => {
  await usedFolder(bench)
  const path = join(bench.dataDir, 'ballet.sqlite')
  const { size } = await stat(path)
  const file = await open(path, 'r+')
  for (let at = 4096; at < size; at += 8192) await file.write(Buffer.alloc(2048, 0xa5), 0, 2048, at)
  await file.close()
  await expectLeftAlone(bench, 'storage.corrupt')
})

test('a file that another program made is reported and left byte for byte', async ({ bench }) => {
  await mkdir(bench.dataDir)
  const db = new Sqlite(join(bench.dataDir, 'ballet.sqlite'))
  db.exec('CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES (1)')
  db.close()
  await expectLeftAlone(bench, 'storage.corrupt')
})

test('a database of a newer version is reported and left byte for byte', async ({ bench }) => {
  await usedFolder(bench)
  const db = new Sqlite(join(bench.dataDir, 'ballet.sqlite'))
  db.pragma('user_version = 9999')
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
  await expectLeftAlone(bench, 'storage.newer')
})

test('a database that another program has locked is reported', async ({ bench }) => {
  await usedFolder(bench)
  const db = new Sqlite(join(bench.dataDir, 'ballet.sqlite'))
  db.exec('BEGIN IMMEDIATE')
  try {
    const serve = await bench.ballet('serve', '--data', bench.dataDir, '--json')
    expect(serve).toMatchObject({ code: 1, error: { code: 'storage.locked' } })
  } finally {
    db.exec('ROLLBACK')
    db.close()
  }
  const host = await bench.host()
  expect(await host.client.projects.list()).toHaveLength(1)
})

test('a second host on the folder is refused and harms the first in nothing', async ({ bench }) => {
  const host = await bench.host()
  await addProject(host.client, (await bench.remote()).path)
  const { session } = await startTicket(host.client, {
    body: script(bash(untilFile(bench.path('go'))), say('Done.')),
  })
  await waitForEvent(host.client, session.id, 'tool.call')
  const second = await bench.ballet('serve', '--data', bench.dataDir, '--json')
  expect(second).toMatchObject({
    code: 1,
    stdout: '',
    error: { code: 'host.running', message: expect.stringContaining(bench.dataDir) },
  })
  await writeFile(bench.path('go'), '')
  await waitForTurnEnd(host.client, session.id, 1)
  checkTimeline(
    await timelineOf(host.client, session.id),
    await host.client.sessions.show({ ref: session.id }),
  )
})

test('of two hosts that are started at once one serves', async ({ bench }) => {
  const options = { dataDir: bench.dataDir, env: bench.env }
  const both = [startServing(options), startServing(options)]
  bench.atEnd(async () => {
    for (const program of both) if (program.isRunning()) program.child.kill('SIGKILL')
    await Promise.all(both.map((program) => program.exited))
  })
  await waitFor('one to serve and one to end', () => {
    const serving = both.filter((program) => program.stdout().includes('"ready":true'))
    return serving.length === 1 && both.filter((program) => !program.isRunning()).length === 1
  })
  const loser = both.find((program) => !program.isRunning())
  expect(await loser?.ended).toMatchObject({ code: 1 })
  expect(loser?.stderr()).toContain('host.running')
  expect((await bench.ballet('agents', '--data', bench.dataDir)).code).toBe(0)
})

test('a folder whose host was killed is free at once', async ({ bench }) => {
  const host = await bench.host()
  await host.kill()
  const again = await bench.host()
  expect(await again.client.projects.list()).toEqual([])
})

test('the socket is for its user only, also where the path is too long for one', async ({
  bench,
}) => {
  const host = await bench.host()
  const socket = await stat(join(bench.dataDir, 'ballet.sock'))
  expect(socket.mode & 0o777).toBe(0o600)
  await host.stop()

  const long = join(bench.folder, 'a-folder-with-quite-a-long-name'.repeat(5), 'data')
  const other = await bench.host({ dataDir: long })
  expect((await other.cli('agents')).rows).toHaveLength(1)
  const named = (await readFile(join(long, 'socket.path'), 'utf8')).trim()
  const elsewhere = await stat(named)
  expect(elsewhere.mode & 0o777).toBe(0o600)
  expect((await stat(join(named, '..'))).mode & 0o777).toBe(0o700)
})

test('a full disk refuses what cannot be stored, loses nothing, and goes on when there is room', async ({
  bench,
}) => {
  const disk = await mountSmallDisk(bench.dataDir, 64)
  bench.atEnd(() => disk.remove())
  const remote = await bench.remote()
  const host = await bench.host()
  const { client } = host
  await addProject(client, remote.path)
  const go = bench.path('go')
  const { session } = await startTicket(client, {
    body: script(
      bash(untilFile(go)),
      bash('seq 20000', 'The second one.'),
      bash('seq 20000', 'The third one.'),
      say('Done in spite of it.'),
    ),
  })
  const { id } = session
  await waitForEvent(client, id, 'tool.call')
  await disk.fill()

  const refused = await waitFor('a message to be refused', async () => {
    // The log of the database may still have room for the first ones.
    const sent = await host.cli('send', id, `${'long '.repeat(20_000)}`)
    return sent.code !== 0 && sent
  })
  expect(refused).toMatchObject({
    code: 1,
    stdout: '',
    error: { code: 'storage.full', message: expect.stringMatching(/full/iu) },
  })
  expect(refused.error?.hint).not.toBe('')
  const ticket = await host.cli(
    'ticket',
    'add',
    '--project',
    'Shop',
    '--title',
    'x'.repeat(400),
    '--body',
    'b'.repeat(50_000),
  )
  expect(ticket).toMatchObject({ code: 1, error: { code: 'storage.full' } })
  const stored = (await client.sessions.inputs({ ref: id })).length

  // The turn goes on meanwhile; what it tells waits for room.
  await writeFile(go, '')
  await bench.model.waitFor(({ step }) => step?.index === 3 && step.script === 'inline', {
    timeoutMs: 20_000,
  })
  expect(host.isRunning()).toBe(true)
  await disk.free()
  await waitForTurnEnd(client, id, 1)
  if (stored > 1) await waitForTurnEnd(client, id, 2)
  const after = await client.sessions.show({ ref: id })
  const events = await timelineOf(client, id)
  checkTimeline(events, after)
  expect(ofKind(events, 'tool.result').filter(({ turn }) => turn === 1)).toHaveLength(3)
  expect(
    ofKind(events, 'assistant.text')
      .filter(({ turn }) => turn === 1)
      .map(({ text }) => text),
  ).toEqual(['The second one.', 'The third one.', 'Done in spite of it.'])
  expect(await client.tickets.list()).toHaveLength(1)
  expect((await client.sessions.inputs({ ref: id })).length).toBe(stored)
})

test('a full disk keeps the work at a finish, and the finish works when there is room', async ({
  bench,
}) => {
  const disk = await mountSmallDisk(bench.dataDir, 64)
  bench.atEnd(() => disk.remove())
  const remote = await bench.remote()
  const host = await bench.host()
  const { client } = host
  await addProject(client, remote.path)
  const { session } = await startTicket(client, {
    body: script(
      write('a.txt', 'a\n'),
      bash('head -c 3000000 /dev/urandom > noise.bin'),
      say('Written.'),
    ),
  })
  const { id } = session
  await waitForTurnEnd(client, id, 1)
  await disk.fill()
  const finish = await host.cli('session', 'finish', id)
  if (finish.code === 0) {
    const notice = await waitForEvent(client, id, 'notice', ({ level }) => level === 'error')
    expect(notice.text).toMatch(/full/iu)
  } else expect(finish.error?.message).toMatch(/full/iu)
  expect(await remote.branches()).toEqual(['main'])
  await disk.free()
  const still = await waitForState(client, id, 'waiting')
  checkTimeline(await timelineOf(client, id), still)
  await host.cli('session', 'finish', id)
  const finished = await waitForState(client, id, 'finished')
  expect(await remote.readFile(finished.branch, 'a.txt')).toBe('a\n')
  expect(await remote.listFiles(finished.branch)).toContain('noise.bin')
  checkTimeline(await timelineOf(client, id), finished)
})
