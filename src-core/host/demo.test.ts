import { execFileSync, spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { layOut } from './data-folder.ts'
import { createDemo, type HostDemo } from './demo.ts'
import { systemClock } from './system.ts'

let base: string
const demos: HostDemo[] = []
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'ballet-demo-'))
  for (const path of ['resources/repo/src', 'data/demo']) {
    mkdirSync(join(base, path), { recursive: true })
  }
  writeFileSync(join(base, 'resources/ticket.json'), '{"title":"Do it","body":"now","priority":2}')
  writeFileSync(join(base, 'resources/script.json'), '{}')
  writeFileSync(join(base, 'resources/repo/README.md'), 'A sample\n')
  writeFileSync(join(base, 'resources/repo/src/a.js'), '')
  writeFileSync(join(base, 'model.mjs'), model)
})
afterEach(async () => {
  for (const demo of demos.splice(0)) await demo.close()
  rmSync(base, { recursive: true, force: true })
})

/** Tells where it listens as the real one does, and dies when it is asked to. */
const model = `
  import { createServer } from 'node:http'
  import { parseArgs } from 'node:util'
  const { values } = parseArgs({ strict: false, args: process.argv.slice(2) })
  const index = process.argv.indexOf('--port')
  const server = createServer((request, response) => {
    response.end(String(process.pid))
    if (request.url === '/die') setImmediate(() => process.exit(9))
  })
  server.on('error', (error) => { console.error(error.message); process.exit(1) })
  server.listen(Number(process.argv[index + 1]), '127.0.0.1', () => {
    const { port } = server.address()
    process.send({ url: 'http://127.0.0.1:' + port, port, pid: process.pid })
  })
  process.once('disconnect', () => process.exit(0))
`

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const folder = () => layOut(join(base, 'data'))

function create(parts: Partial<Parameters<typeof createDemo>[0]> = {}): HostDemo {
  const demo = createDemo({
    folder: folder(),
    resources: join(base, 'resources'),
    program: join(base, 'model.mjs'),
    execPath: process.execPath,
    env: { PATH: process.env.PATH ?? '' },
    clock: {
      ...systemClock,
      // The pause before a restart is short, the limits are what they are.
      after: (ms, callback) => systemClock.after(ms > 1_000 ? ms : 10, callback),
    },
    log: silent,
    ...parts,
  })
  demos.push(demo)
  return demo
}

const pidAt = async (url: string, path = '/') => Number(await (await fetch(url + path)).text())
const isUp = (url: string) =>
  fetch(url).then(
    () => true,
    () => false,
  )
const urlOf = async (demo: HostDemo) => (await demo.prepare()).project.env.ANTHROPIC_BASE_URL ?? ''

describe('the demo', () => {
  it('has a repository, a ticket and a model, and nothing of the person', async () => {
    const { project, ticket } = await create().prepare()
    expect(ticket).toEqual({ title: 'Do it', body: 'now' })
    expect(project.repo).toBe(join(base, 'data/demo/sample.git'))
    expect(project.env).toMatchObject({
      ANTHROPIC_API_KEY: 'demo',
      CLAUDE_CONFIG_DIR: join(base, 'data/demo/claude'),
    })
    expect(await pidAt(project.env.ANTHROPIC_BASE_URL ?? '')).toBeGreaterThan(0)

    const git = (...args: string[]) =>
      execFileSync('git', ['-C', project.repo, ...args], { encoding: 'utf8' }).trim()
    expect(git('log', '--format=%an <%ae> %s', 'main')).toBe(
      'Ballet <ballet@localhost> A timer for roasts',
    )
    expect(git('ls-tree', '-r', '--name-only', 'main').split('\n')).toEqual([
      'README.md',
      'src/a.js',
    ])
    expect(git('symbolic-ref', 'HEAD')).toBe('refs/heads/main')
    expect(git('config', '--get', 'core.bare')).toBe('true')
    expect(readdirSync(join(base, 'data/demo')).sort()).toEqual([
      'claude',
      'model.json',
      'sample.git',
    ])
  })

  it('is made once, also when it is asked for twice at a time', async () => {
    const demo = create()
    const [first, second] = await Promise.all([demo.prepare(), demo.prepare()])
    expect(second).toEqual(first)
    const head = readFileSync(join(first.project.repo, 'HEAD'), 'utf8')
    const pid = await pidAt(first.project.env.ANTHROPIC_BASE_URL ?? '')
    const third = await demo.prepare()
    expect(third).toEqual(first)
    expect(await pidAt(third.project.env.ANTHROPIC_BASE_URL ?? '')).toBe(pid)
    expect(readFileSync(join(first.project.repo, 'HEAD'), 'utf8')).toBe(head)
  })

  it('has its model on the same port after a restart, and only where it was made', async () => {
    const first = create()
    await first.resume()
    expect(existsSync(join(base, 'data/demo/model.json'))).toBe(false)
    const url = await urlOf(first)
    await first.close()
    expect(await isUp(url)).toBe(false)
    const second = create()
    await second.resume()
    expect(await isUp(url)).toBe(true)
    expect(await urlOf(second)).toBe(url)
  })

  it('starts its model again when it dies', async () => {
    const url = await urlOf(create())
    const pid = await pidAt(url, '/die')
    await expect.poll(() => pidAt(url).catch(() => pid), { timeout: 10_000 }).not.toBe(pid)
  })

  it('uses another port where its own is taken', async () => {
    const url = await urlOf(create())
    // A second host, whose folder names the same port.
    const other = create({ folder: { ...folder(), demo: join(base, 'data/other') } })
    mkdirSync(join(base, 'data/other'))
    writeFileSync(
      join(base, 'data/other/model.json'),
      readFileSync(join(base, 'data/demo/model.json')),
    )
    const elsewhere = await urlOf(other)
    expect(elsewhere).not.toBe(url)
    expect(await isUp(elsewhere)).toBe(true)
  })

  it('says what is missing', async () => {
    await expect(create({ env: { PATH: base } }).prepare()).rejects.toMatchObject({
      code: 'demo.git-missing',
    })
    await expect(create({ program: join(base, 'none.mjs') }).prepare()).rejects.toMatchObject({
      code: 'demo.no-model',
      message: expect.stringContaining('none.mjs'),
    })
    await expect(create({ resources: join(base, 'none') }).prepare()).rejects.toMatchObject({
      code: 'demo.incomplete',
    })
  })

  it('ends its model when the host is killed', async () => {
    // A host that does as `startModel` does: a child with a channel.
    const host = spawn(
      process.execPath,
      [
        '-e',
        `const child = require('child_process').spawn(process.execPath,
           [${JSON.stringify(join(base, 'model.mjs'))}, '--port', '0'],
           { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
         child.on('message', ({ url }) => process.stdout.write(url))`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const url = await new Promise<string>((resolve) =>
      host.stdout.once('data', (chunk) => resolve(String(chunk))),
    )
    expect(await isUp(url)).toBe(true)
    host.kill('SIGKILL')
    await expect.poll(() => isUp(url), { timeout: 10_000 }).toBe(false)
  })
})
