import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { keptFile } from '../storage/test-samples.ts'
import { asked, startWithoutPlanner } from '../testing/asking.ts'
import { answerProbe } from '../testing/fake-agent.ts'
import { refusalOf, type TestCore, withTicket } from '../testing/test-core.ts'
import { settle, until } from '../testing/until.ts'
import { deliveries, letGo, passIdle, timeline } from '../testing/walks.ts'

const PASSPHRASE = 'a long passphrase'
const FILE = keptFile({ name: 'state-0000000000000001.sealed' })

/** The folder that a file of these agents names, with what a real one has sealed. */
const inside = (file: string) => readFileSync(file, 'utf8')

/** Agents that write a session to a folder that its file names, and read it from there. */
function carry(core: TestCore) {
  core.launcher.answer = (probe) => {
    if (probe.kind === 'session.pack') {
      const folder = mkdtempSync(join(core.dir, 'sealed-'))
      cpSync(probe.folder, folder, { recursive: true })
      writeFileSync(probe.file, folder, { flag: 'wx' })
      return { kind: 'session.pack', bytes: 1_000 }
    }
    if (probe.kind !== 'session.unpack') return answerProbe(probe)
    cpSync(inside(probe.file), probe.folder, { recursive: true })
    mkdirSync(join(probe.folder, 'sealed'))
    writeFileSync(join(probe.folder, 'sealed', FILE.name), 'sealed here')
    return { kind: 'session.unpack', files: [FILE] }
  }
}

/** A session with an open question, and a place for its file. */
async function scene(folder = '') {
  const core = await startWithoutPlanner({ agents: 1 })
  carry(core)
  mkdirSync(join(core.dir, folder), { recursive: true })
  const { ticket, agent } = await asked(core, 1)
  return { core, ticket, agent, file: join(core.dir, folder, 'out.ballet') }
}

/** What lies where the export was to go, by its name or another that begins so. */
const outOf = (core: TestCore) =>
  readdirSync(core.dir).filter((name) => name.startsWith('out.ballet'))

async function exported() {
  const made = await scene()
  const { core, ticket, agent, file } = made
  const asking = core.client.sessions.export({ ref: ticket.key, file, passphrase: PASSPHRASE })
  await letGo(core, ticket.key, agent)
  await asking
  return made
}

test('a session that waits is parked, written, and takes nothing any more', async () => {
  const { core, ticket, file } = await exported()
  const { client } = core
  const session = await client.sessions.show({ ref: ticket.key })
  expect(session).toMatchObject({ state: 'moved', openQuestions: 0, reason: `exported to ${file}` })
  expect(session.hint).toContain(`\`ballet session import ${file}\``)
  expect((await client.tickets.show({ ref: ticket.key })).status).toBe('In progress')
  expect(await client.inbox.list()).toEqual([])
  for (const call of [
    client.sessions.send({ ref: ticket.key, text: 'More.' }),
    client.sessions.resume({ ref: ticket.key }),
    client.sessions.finish({ ref: ticket.key }),
    client.tickets.start({ ref: ticket.key }),
    client.sessions.export({ ref: ticket.key, file: `${file}2`, passphrase: PASSPHRASE }),
  ]) {
    expect(await refusalOf(call)).toMatchObject({ code: 'session.moved' })
  }
  expect(existsSync(`${file}2`)).toBe(false)
  const rows: unknown = JSON.parse(readFileSync(join(inside(file), 'session.json'), 'utf8'))
  expect(rows).toMatchObject({
    version: 1,
    questions: [{ state: 'open' }],
    lastSeq: expect.any(Number),
  })
  // Nothing of the host it leaves is in it.
  expect(JSON.stringify(rows)).not.toMatch(/leaseId|"nonce"|"env"/)
  expect(readdirSync(join(core.dir, 'scratch'))).toEqual([])
})

test('what cannot be written leaves the session parked, and answers still reach it', async () => {
  const { core, ticket, agent, file } = await scene()
  core.launcher.answer = (probe) =>
    probe.kind === 'session.pack'
      ? { code: 'disk.full', message: 'The disk is full.' }
      : answerProbe(probe)
  const asking = core.client.sessions.export({ ref: ticket.key, file, passphrase: PASSPHRASE })
  const refused = refusalOf(asking)
  await letGo(core, ticket.key, agent)
  expect(await refused).toMatchObject({ code: 'disk.full' })
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({
    ...{ state: 'parked', openQuestions: 1 },
  })
  expect(readdirSync(join(core.dir, 'scratch'))).toEqual([])
})

test('a message that comes while it is written keeps the session here, and the file goes', async () => {
  const { core, ticket, agent, file } = await scene()
  const { client } = core
  core.launcher.answer = (probe) => {
    if (probe.kind !== 'session.pack') return answerProbe(probe)
    writeFileSync(probe.file, 'sealed')
    void client.sessions.send({ ref: ticket.key, text: 'Wait!' })
    return undefined
  }
  const asking = client.sessions.export({ ref: ticket.key, file, passphrase: PASSPHRASE })
  const refused = refusalOf(asking)
  await letGo(core, ticket.key, agent)
  await until('another start', () => agent.heard('session.start').length === 2)
  const asked = agent.heard('probe').find(({ probe }) => probe.kind === 'session.pack')
  const finding = { kind: 'session.pack' as const, bytes: 5 }
  agent.say({ type: 'probe.found', id: asked?.id ?? '', finding, refusal: null })
  expect(await refused).toMatchObject({ code: 'session.changed' })
  expect(outOf(core)).toEqual([])
  expect((await client.sessions.show({ ref: ticket.key })).state).not.toBe('moved')
})

/** An export with something around the commit that moves its session. */
async function exporting(
  around: (commit: () => Promise<unknown>, file: string) => Promise<unknown>,
  folder?: string,
) {
  const made = await scene(folder)
  const { core, ticket, agent, file } = made
  const commit = core.storage.commit.bind(core.storage)
  core.storage.commit = (async (change: Parameters<typeof commit>[0]) => {
    const moves = change.puts.some(({ row }) => 'state' in row && row.state === 'moved')
    return moves ? around(() => commit(change), file) : commit(change)
  }) as typeof commit
  const asking = core.client.sessions.export({ ref: ticket.key, file, passphrase: PASSPHRASE })
  asking.catch(() => undefined)
  await letGo(core, ticket.key, agent)
  const mend = () => {
    core.storage.commit = commit
  }
  return { ...made, asking, mend }
}

test('what cannot be stored as moved leaves no file, and the same export works then', async () => {
  const { core, ticket, file, asking, mend } = await exporting(() =>
    Promise.reject(new Error('the disk is full')),
  )
  expect(await refusalOf(asking)).toMatchObject({ code: 'host.failed' })
  expect(outOf(core)).toEqual([])
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({ state: 'parked' })
  mend()
  await core.client.sessions.export({ ref: ticket.key, file, passphrase: PASSPHRASE })
  expect(outOf(core)).toEqual(['out.ballet'])
})

test('a host that ends before its session moved leaves no export, and the same one works then', async () => {
  let isReached = false
  const { core, ticket, file } = await exporting(() => {
    isReached = true
    return new Promise(() => undefined)
  })
  await until('the commit', () => isReached)
  expect(existsSync(file)).toBe(false)
  const next = await core.restart()
  carry(next)
  expect(await next.client.sessions.show({ ref: ticket.key })).toMatchObject({ state: 'parked' })
  await next.client.sessions.export({ ref: ticket.key, file, passphrase: PASSPHRASE })
  expect(existsSync(join(inside(file), 'session.json'))).toBe(true)
})

test('an export that was cut when its session had moved gets its name at the next start', async () => {
  const { core, ticket, file, asking } = await exporting(async (commit) => {
    await commit()
    throw new Error('nobody hears of it')
  })
  expect(await refusalOf(asking)).toMatchObject({ code: 'host.failed' })
  expect(outOf(core)).toEqual([expect.stringMatching(/^out\.ballet\..*\.part$/)])
  // As by a try that was cut after it took the name.
  writeFileSync(file, '')
  const next = await core.restart()
  await until('its name', async () => (await next.storage.pendingOutbox()).length === 0)
  expect(outOf(next)).toEqual(['out.ballet'])
  expect(existsSync(join(inside(file), 'session.json'))).toBe(true)
  expect(await next.client.sessions.show({ ref: ticket.key })).toMatchObject({
    ...{ state: 'moved', reason: `exported to ${file}` },
  })
})

test('an export on a disk that is away waits for it', async () => {
  const { core, file, asking } = await exporting(async (commit) => {
    await commit()
    throw new Error('nobody hears of it')
  }, 'stick')
  await refusalOf(asking)
  const [stick, away] = [join(core.dir, 'stick'), join(core.dir, 'away')]
  renameSync(stick, away)
  const next = await core.restart()
  await until('a try', () => next.logged.some(({ message }) => message.includes('tried again')))
  expect((await next.client.host.doctor()).problems).toMatchObject([{ code: 'export.not-named' }])
  renameSync(away, stick)
  await passIdle(next, 30_000)
  await until('its name', async () => (await next.storage.pendingOutbox()).length === 0)
  expect(readdirSync(stick)).toEqual(['out.ballet'])
  expect(existsSync(join(inside(file), 'session.json'))).toBe(true)
})

test('a name that somebody takes at the last moment is left to them; the session says where it went', async () => {
  const { core, ticket, file, asking } = await exporting((commit, name) => {
    writeFileSync(name, 'mine')
    return commit()
  })
  const made = await asking
  expect(readFileSync(file, 'utf8')).toBe('mine')
  expect(made.file).toMatch(/out\.ballet\..*\.part$/)
  expect(existsSync(join(inside(made.file), 'session.json'))).toBe(true)
  const session = await core.client.sessions.show({ ref: ticket.key })
  expect(session).toMatchObject({ state: 'moved', reason: `exported to ${made.file}` })
  expect(session.hint).toContain(made.file)
})

test('an export that cannot get its name is told of, and gets it when that is possible', async () => {
  const { core, ticket, agent, file } = await scene()
  let part = ''
  core.launcher.answer = (probe) => {
    if (probe.kind !== 'session.pack') return answerProbe(probe)
    part = probe.file
    // No file can be replaced by a folder.
    mkdirSync(part)
    return { kind: 'session.pack', bytes: 5 }
  }
  const asking = core.client.sessions.export({ ref: ticket.key, file, passphrase: PASSPHRASE })
  const refused = refusalOf(asking)
  await letGo(core, ticket.key, agent)
  await until('a try', () => core.logged.some(({ message }) => message.includes('tried again')))
  await passIdle(core, 25_000)
  const { message, ...more } = await refused
  expect(more).toMatchObject({ code: 'export.not-named', hint: expect.stringContaining(part) })
  expect(message).toContain(file)
  const { problems } = await core.client.host.doctor()
  expect(problems).toMatchObject([{ code: 'export.not-named' }])
  rmdirSync(part)
  writeFileSync(part, 'sealed')
  await passIdle(core, 30_000)
  await until('its name', async () => (await core.storage.pendingOutbox()).length === 0)
  await settle()
  expect(outOf(core)).toEqual(['out.ballet'])
  expect(readFileSync(file, 'utf8')).toBe('sealed')
  expect((await core.client.host.doctor()).problems).toEqual([])
})

test('elsewhere it is parked as it was, with timeline and question, and goes on', async () => {
  const { core: first, ticket, file } = await exported()
  const before = await timeline(first, ticket.key)
  const second = await startWithoutPlanner({ agents: 1 })
  carry(second)
  const { client } = second
  // The other one has a ticket of that key of its own.
  await withTicket(second, { start: false })
  const imported = await client.sessions.import({ file, passphrase: PASSPHRASE })
  expect(imported).toMatchObject({
    ticket: 'SHOP-2',
    state: 'parked',
    openQuestions: 1,
    agent: null,
  })
  expect(imported.parked).toMatchObject({ keptBytes: FILE.bytes })
  expect(readdirSync(join(second.dir, 'kept', imported.id))).toEqual([FILE.name])
  const after = await timeline(second, imported.id)
  const moved = before.findIndex((event) => event.kind === 'question.withdrawn')
  expect(after.slice(0, -2)).toEqual(before.slice(0, moved))
  expect(after.at(-1)).toMatchObject({ kind: 'session.state', from: 'moved', to: 'parked' })
  const questions = await client.questions.list({ session: imported.id })
  expect(questions).toMatchObject([{ key: 'SHOP-2-Q1', state: 'open', heldBy: 'person' }])

  const again = client.sessions.import({ file, passphrase: PASSPHRASE })
  expect(await refusalOf(again)).toMatchObject({ code: 'session.exists' })
  expect(await client.sessions.list({ ticket: 'SHOP-2' })).toHaveLength(1)
  expect((await client.tickets.list()).map(({ key }) => key)).toEqual(['SHOP-1', 'SHOP-2'])
  expect(readdirSync(join(second.dir, 'scratch'))).toEqual([])

  // Its first lease here goes on with what leases of the other host began.
  await client.sessions.send({ ref: imported.id, text: 'Go on.' })
  const agent = await second.launcher.holder('SHOP-2')
  expect(agent.spec()).toMatchObject({
    resume: { conversation: imported.conversation, turn: 1 },
    parked: { work: { files: [FILE] } },
  })
  expect(imported.conversation).not.toBeNull()
})

test('the session comes back by its file where it was moved away, also when an import was cut', async () => {
  const { core, ticket, agent, file } = await exported()
  const { client } = core
  writeFileSync(join(inside(file), 'timeline.jsonl'), 'cut', { flag: 'a' })
  const cut = client.sessions.import({ file, passphrase: PASSPHRASE })
  expect(await refusalOf(cut)).toMatchObject({ code: 'host.failed' })
  expect((await client.sessions.show({ ref: ticket.key })).state).toBe('moved')
  const whole = readFileSync(join(inside(file), 'timeline.jsonl'), 'utf8').replace(/cut$/, '')
  writeFileSync(join(inside(file), 'timeline.jsonl'), whole)
  const back = await client.sessions.import({ file, passphrase: PASSPHRASE })
  expect(back).toMatchObject({ ticket: ticket.key, state: 'parked', openQuestions: 1 })
  await client.sessions.send({ ref: ticket.key, text: 'Go on.' })
  await until('another start', () => agent.heard('session.start').length === 2)
  const spec = agent.heard('session.start').at(-1)?.spec
  expect(spec?.parked?.work.files).toEqual([FILE])
  agent.ready()
  expect((await deliveries(agent, 2)).at(-1)?.text).toContain('Go on.')
})

test('a session that was moved away is there until what comes back takes its place', async () => {
  const { core, ticket, file } = await exported()
  const commit = core.storage.commit.bind(core.storage)
  let stored = 0
  core.storage.commit = async (change) => {
    if (change.puts.some(({ table }) => table === 'session')) throw new Error('the disk is full')
    stored += 1
    return commit(change)
  }
  await expect(core.client.sessions.import({ file, passphrase: PASSPHRASE })).rejects.toThrow()
  core.storage.commit = commit
  expect(stored).toBe(0)
  expect(await core.client.sessions.show({ ref: ticket.key })).toMatchObject({ state: 'moved' })
  const back = await core.client.sessions.import({ file, passphrase: PASSPHRASE })
  expect(back).toMatchObject({ ticket: ticket.key, state: 'parked' })
})

test('a file of a remote that no project has, and of a newer Ballet, are refused', async () => {
  const { file } = await exported()
  const empty = await startWithoutPlanner({ agents: 1 })
  carry(empty)
  await empty.launcher.agent('agent-1')
  const given = { file, passphrase: PASSPHRASE }
  expect(await refusalOf(empty.client.sessions.import(given))).toMatchObject({
    code: 'export.no-project',
  })
  expect(
    await refusalOf(empty.client.sessions.import({ ...given, project: 'None' })),
  ).toMatchObject({ code: 'project.not-found' })
  const rows = JSON.parse(readFileSync(join(inside(file), 'session.json'), 'utf8')) as object
  writeFileSync(join(inside(file), 'session.json'), JSON.stringify({ ...rows, version: 2 }))
  expect(await refusalOf(empty.client.sessions.import(given))).toMatchObject({
    code: 'export.newer',
  })
})

test('a runtime that is not here is told of before the session starts, and one that nothing drives is refused', async () => {
  const { file } = await exported()
  const other = await startWithoutPlanner({ agents: 1 })
  carry(other)
  await withTicket(other, { start: false })
  const carried = other.launcher.answer
  const problem = { code: 'runtime.not-found', message: 'No Claude Code.', hint: 'Install it.' }
  other.launcher.answer = (probe) => {
    const found = carried(probe)
    if (found === undefined || 'code' in found || found.kind !== 'runtimes') return found
    return { ...found, runtimes: found.runtimes.map((each) => ({ ...each, path: null, problem })) }
  }
  const rowsFile = join(inside(file), 'session.json')
  const whole = readFileSync(rowsFile, 'utf8')
  writeFileSync(rowsFile, whole.replace('"runtime":"claude-code"', '"runtime":"newest-agent"'))
  const given = { file, passphrase: PASSPHRASE }
  expect(await refusalOf(other.client.sessions.import(given))).toMatchObject({
    code: 'export.runtime-unknown',
    message: expect.stringContaining('newest-agent'),
  })
  writeFileSync(rowsFile, whole)
  expect(await other.client.sessions.import(given)).toMatchObject({
    state: 'parked',
    reason: expect.stringMatching(/; No Claude Code$/u),
    hint: expect.stringContaining('Install it.'),
  })
})
