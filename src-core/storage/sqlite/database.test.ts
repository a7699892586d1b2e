import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CommandId } from '../../../src-shared/ids.ts'
import { appendTexts, commitOf, projectRow, smallWorld } from '../test-samples.ts'
import { openDatabase } from './database.ts'
import { openSqliteDirect, storageOver } from './direct.ts'
import { type Migration, migrations } from './migrations/index.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ballet-database-'))
  file = join(folder, 'ballet.sqlite')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const silent = { debug() {}, info() {}, warn() {}, error() {} }

const hash = (path = file) => createHash('sha256').update(readFileSync(path)).digest('hex')

/** A database with something in it, closed in good order. */
async function seed(): Promise<ReturnType<typeof smallWorld>> {
  const world = smallWorld()
  const storage = await openSqliteDirect(file)
  await storage.commit(world.commit)
  await storage.commit(appendTexts(world.session.id, ['a', 'b']))
  await storage.close()
  return world
}

function codeOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  }
  return 'opened'
}

describe('opening a database', () => {
  it('sets what durability and integrity hang on', () => {
    const db = openDatabase(file)
    const pragma = (name: string) => db.pragma(name, { simple: true })
    expect(pragma('journal_mode')).toBe('wal')
    expect(pragma('synchronous')).toBe(2)
    expect(pragma('foreign_keys')).toBe(1)
    expect(pragma('mmap_size')).toBe(0)
    const lax = db
      .prepare(
        `SELECT name FROM pragma_table_list WHERE type = 'table' AND strict = 0 AND schema = 'main'
         AND name NOT LIKE 'sqlite%'`,
      )
      .all()
    expect(lax).toEqual([])
    for (const path of [file, `${file}-wal`]) expect(statSync(path).mode & 0o777).toBe(0o600)
    db.close()
  })

  it('leaves a database from a newer version as it is', async () => {
    await seed()
    const db = new Sqlite(file)
    db.pragma('user_version = 99')
    db.close()
    const before = hash()
    expect(() => openDatabase(file)).toThrow(/version is 99, this Ballet knows \d+/)
    expect(codeOf(() => openDatabase(file))).toBe('storage.newer')
    expect(hash()).toBe(before)
    expect(readdirSync(folder)).toEqual(['ballet.sqlite'])
  })

  it('sees the newer version also where it stands in the log only', async () => {
    await seed()
    const db = new Sqlite(file)
    db.pragma('user_version = 99')
    writeFileSync(join(folder, 'copy'), readFileSync(file))
    writeFileSync(join(folder, 'copy-wal'), readFileSync(`${file}-wal`))
    db.close()
    const [before, log] = [hash(join(folder, 'copy')), hash(join(folder, 'copy-wal'))]
    expect(codeOf(() => openDatabase(join(folder, 'copy')))).toBe('storage.newer')
    expect(hash(join(folder, 'copy'))).toBe(before)
    expect(hash(join(folder, 'copy-wal'))).toBe(log)
  })

  it.each([
    ['text', () => Buffer.from('This is a letter, not a database.\n'.repeat(50))],
    ['a few bytes', () => Buffer.from('SQLite')],
    ['a damaged page', (whole: Buffer) => whole.fill(0xa5, 4_096, 8_192)],
    ['a wiped page', (whole: Buffer) => whole.fill(0, whole.length - 4_096)],
    ['a missing end', (whole: Buffer) => whole.subarray(0, whole.length - 8_192)],
  ])('leaves a file with %s as it is', async (_name, damage) => {
    await seed()
    writeFileSync(file, damage(readFileSync(file)))
    const before = hash()
    const beside = readdirSync(folder)
    expect(codeOf(() => openDatabase(file))).toBe('storage.corrupt')
    expect(hash()).toBe(before)
    expect(readdirSync(folder)).toEqual(beside)
  })

  it("leaves another program's database as it is", () => {
    const db = new Sqlite(file)
    db.exec('CREATE TABLE bookmarks (url TEXT)')
    db.close()
    const before = hash()
    expect(codeOf(() => openDatabase(file))).toBe('storage.corrupt')
    expect(hash()).toBe(before)
  })

  it('begins anew where an earlier start was ended before its first table', () => {
    const db = new Sqlite(file)
    db.pragma('journal_mode = WAL')
    db.close()
    openDatabase(file).close()
    writeFileSync(join(folder, 'empty'), '')
    openDatabase(join(folder, 'empty')).close()
  })

  it('leaves a database that another program writes as it is', async () => {
    await seed()
    const other = new Sqlite(file)
    other.exec('BEGIN EXCLUSIVE')
    const before = hash()
    expect(codeOf(() => openDatabase(file))).toBe('storage.locked')
    expect(hash()).toBe(before)
    other.exec('ROLLBACK')
    other.close()
    openDatabase(file).close()
  })

  it('says that the folder is missing', () => {
    const missing = join(folder, 'none', 'ballet.sqlite')
    expect(() => openDatabase(missing)).toThrow(/folder .*none of the database does not exist/)
    expect(existsSync(join(folder, 'none'))).toBe(false)
  })
})

describe('migrations', () => {
  const second: Migration = (db) => db.exec('ALTER TABLE project ADD COLUMN colour TEXT')
  const failing: Migration = (db) => {
    db.exec('CREATE TABLE half (a TEXT) STRICT')
    throw new Error('no further')
  }
  const versionOf = (path: string) => {
    const db = new Sqlite(path, { readonly: true })
    const version = db.pragma('user_version', { simple: true })
    db.close()
    return version
  }

  it('bring an older database to this version and keep what is in it', async () => {
    const world = await seed()
    const db = openDatabase(file, [...migrations, second])
    expect(db.prepare('SELECT id, colour FROM project').all()).toEqual([
      { id: world.project.id, colour: null },
    ])
    db.close()
    expect(versionOf(file)).toBe(migrations.length + 1)
    // This version then no longer touches it.
    expect(codeOf(() => openDatabase(file))).toBe('storage.newer')
  })

  it('run once', () => {
    const calls: number[] = []
    const step: Migration = () => calls.push(1)
    openDatabase(file, [...migrations, step]).close()
    openDatabase(file, [...migrations, step]).close()
    expect(calls).toEqual([1])
  })

  it('leave the version before when one fails', async () => {
    await seed()
    expect(() => openDatabase(file, [...migrations, second, failing])).toThrow(/no further/)
    expect(versionOf(file)).toBe(migrations.length + 1)
    const db = openDatabase(file, [...migrations, second])
    expect(db.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'half'").pluck().get()).toBe(
      0,
    )
    db.close()
  })

  it('make this version of an empty file, whose rows read back', async () => {
    const world = await seed()
    expect(versionOf(file)).toBe(migrations.length)
    const storage = await openSqliteDirect(file)
    expect(await storage.row('project', world.project.id)).toMatchObject({ key: 'SHOP' })
    expect((await storage.timeline(world.session.id, { limit: 9 })).last).toBe(2)
    await storage.close()
  })
})

describe('a full disk', () => {
  it('refuses the commit, stores nothing of it, and goes on when there is room', async () => {
    const world = await seed()
    const db = openDatabase(file)
    const storage = storageOver(db, file, silent)
    const pages = Number(db.pragma('page_count', { simple: true }))
    db.pragma(`max_page_count = ${pages + 4}`)
    const large = commitOf({
      ...appendTexts(
        world.session.id,
        Array.from({ length: 50 }, () => 'x'.repeat(4_000)),
      ),
      puts: [{ table: 'project', row: { ...projectRow({ key: 'BANK' }) } }],
    })
    await expect(storage.commit(large)).rejects.toMatchObject({
      code: 'storage.full',
      message: expect.stringContaining(file),
      hint: expect.stringContaining('Make room'),
    })
    expect(await storage.rows({ table: 'project' })).toHaveLength(1)
    expect((await storage.timeline(world.session.id, { limit: 99 })).last).toBe(2)
    expect((await storage.commit(appendTexts(world.session.id, ['small']))).outcome).toBe(
      'committed',
    )

    db.pragma(`max_page_count = ${pages + 1_000}`)
    const answer = await storage.commit(large)
    expect(answer.outcome === 'committed' && answer.events[0]?.seq).toBe(4)
    expect((await storage.timeline(world.session.id, { limit: 1 })).last).toBe(53)
    await storage.close()
    openDatabase(file).close()
  })
})

it('receipts are kept for a month', async () => {
  await seed()
  const command = (day: number) => CommandId.parse(`01930000-0000-7000-8000-00000000000${day}`)
  const storage = await openSqliteDirect(file)
  for (const day of [2, 29, 31]) {
    const at = new Date(Date.now() - day * 24 * 60 * 60_000).toISOString()
    const receipt = { command: command(day % 10), answer: day }
    await storage.commit({ ...commitOf({}), at, receipt })
  }
  await storage.close()
  const again = await openSqliteDirect(file)
  const kept = await Promise.all([1, 2, 9].map((day) => again.receipt(command(day))))
  expect(kept).toEqual([undefined, { answer: 2 }, { answer: 29 }])
  await again.close()
})

it('a commit that is stored is told as such, whatever becomes of its log', async () => {
  const world = await seed()
  // The size of a file of such a name cannot be asked for.
  const storage = storageOver(openDatabase(file), join(folder, 'x'.repeat(5_000)), silent)
  expect((await storage.commit(appendTexts(world.session.id, ['c']))).outcome).toBe('committed')
  await storage.close()
})

describe('damage that shows later', () => {
  it('is reported as such', async () => {
    const world = await seed()
    const storage = await openSqliteDirect(file)
    const whole = readFileSync(file)
    writeFileSync(file, whole.fill(0xa5, 4_096))
    await expect(storage.timeline(world.session.id, { limit: 9 })).rejects.toMatchObject({
      code: 'storage.corrupt',
    })
    await storage.close().catch(() => undefined)
  })
})
