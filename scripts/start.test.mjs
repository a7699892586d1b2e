import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { ROOT } from './ground/places.mjs'
import { launchPlan, readStartArguments } from './start.mjs'

const usual = {
  root: join('/', 'clone'),
  asked: { demo: true, dataDir: '/d', switches: ['--disable-gpu'] },
  electron: '/clone/.runtime/electron/electron',
  env: { DISPLAY: ':0' },
  platform: /** @type {const} */ ('linux'),
  uid: 1000,
}

/** @type {string} */
let folder
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ballet-start-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

it('opens the window with the person’s arguments, the sandbox on', () => {
  expect(launchPlan(usual)).toEqual({
    program: usual.electron,
    args: ['--disable-gpu', usual.root, '--demo', '--data', '/d'],
    env: usual.env,
    showsAll: false,
    notes: [],
  })
})

it('leaves the sandbox out only as root on Linux, and says so', () => {
  const plan = launchPlan({ ...usual, uid: 0 })
  expect(plan.args[0]).toBe('--no-sandbox')
  expect(plan.notes.join('\n')).toMatch(/root.*sandbox/)
  expect(launchPlan({ ...usual, uid: 0, platform: 'darwin' }).args).not.toContain('--no-sandbox')
})

it('runs the demo in the terminal without a display, and names the way to the window', () => {
  const plan = launchPlan({ ...usual, env: {} })
  expect([plan.program, ...plan.args]).toEqual([
    process.execPath,
    join(usual.root, 'bin', 'ballet.mjs'),
    ...['demo', '--data', '/d'],
  ])
  expect(plan.notes.join('\n')).toContain('xvfb-run -a npm start')
})

it('gives the window the PATH that the person has, and the demo in the terminal that of npm', () => {
  const own = join('/', 'usr', 'bin')
  const env = {
    npm_lifecycle_event: 'start',
    ELECTRON_RUN_AS_NODE: '1',
    PATH: [join(usual.root, 'node_modules', '.bin'), own].join(delimiter),
  }
  const window = launchPlan({ ...usual, env: { ...env, DISPLAY: ':0' } })
  expect(window.env).toEqual({ npm_lifecycle_event: 'start', DISPLAY: ':0', PATH: own })
  expect(launchPlan({ ...usual, env }).env).toEqual(env)
})

it.each(['--enable-logging', '--enable-logging=stderr', '--v=1', '--vmodule=dbus*=2'])(
  'shows all that Chromium says to who asks for it with %s',
  (each) => {
    const asked = { ...usual.asked, switches: [each] }
    expect(launchPlan({ ...usual, asked }).showsAll).toBe(true)
  },
)

it('needs no display variable on other systems, and takes Wayland', () => {
  expect(launchPlan({ ...usual, env: {}, platform: 'darwin' }).program).toBe(usual.electron)
  expect(launchPlan({ ...usual, env: { WAYLAND_DISPLAY: 'w-0' } }).program).toBe(usual.electron)
})

it('fails clearly without a runtime', () => {
  expect(() => launchPlan({ ...usual, electron: undefined })).toThrow(/no Electron runtime/)
})

it('reads what it knows, and refuses everything else with the usage', () => {
  expect(readStartArguments(['--demo', '--data=/d', '--', '--disable-gpu'])).toEqual({
    demo: true,
    dataDir: '/d',
    switches: ['--disable-gpu'],
  })
  expect(readStartArguments([])).toEqual({ demo: false, dataDir: undefined, switches: [] })
  expect(readStartArguments(['-h'])).toEqual({ help: expect.stringContaining('--data DIR') })
  for (const args of [['--bogus'], ['extra', 'words'], ['--data'], ['--data='], ['--demo=1']]) {
    expect(readStartArguments(args), args.join(' ')).toEqual({
      wrong: expect.stringContaining('Usage: npm start'),
    })
  }
  expect(readStartArguments(['--bogus'])).toEqual({ wrong: expect.stringContaining('--bogus') })
})

it('ends as interrupted where the same Ctrl-C took the display away', async () => {
  const parent = await launched(
    `process.on('SIGINT', () => {
       console.error('[1:1129/1.1:FATAL:electron_browser_main_parts.cc(504)] Failed to shutdown.')
       setTimeout(() => process.exit(1), 50)
     });
     setInterval(() => {}, 1000); console.log('up')`,
  )
  parent.kill('SIGINT')
  expect(await once(parent, 'close')).toEqual([130, null])
})

/**
 * Launches a piece of code as `npm start` launches the application, and says when it runs.
 * @param {string} code
 * @param {boolean} [throughNpm] with a shell between, as npm has it
 */
async function launched(code, throughNpm = false) {
  const start = pathToFileURL(join(ROOT, 'scripts/start.mjs')).href
  const program = `import { launch } from ${JSON.stringify(start)}
    const plan = { program: process.execPath, args: ['-e', ${JSON.stringify(code)}], env: process.env }
    process.exitCode = await launch(plan, { cwd: '.', log: ${JSON.stringify(join(folder, 'log'))} })`
  const args = ['--input-type=module', '-e', program]
  const parent = throughNpm
    ? spawn('/bin/sh', ['-c', '"$0" "$@"; true', process.execPath, ...args], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, npm_lifecycle_event: 'start' },
      })
    : spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  await once(parent.stdout, 'data')
  return parent
}

it.each([
  ['SIGTERM', 7],
  ['SIGINT', 8],
  ['SIGHUP', 9],
])('hands %s on, waits, and ends with the application’s exit code', async (signal, code) => {
  const parent = await launched(
    `process.on('${signal}', () => setTimeout(() => process.exit(${code}), 50));
     setInterval(() => {}, 1000); console.log('up')`,
  )
  parent.kill(/** @type {NodeJS.Signals} */ (signal))
  expect(await once(parent, 'close')).toEqual([code, null])
})

it('ends the application when npm was ended, whose shell hands no signal on', async () => {
  const parent = await launched(
    `process.on('SIGTERM', () => { console.log('ended in order'); process.exit() });
     setInterval(() => {}, 1000); console.log('up')`,
    true,
  )
  parent.kill('SIGTERM')
  const [text] = await once(/** @type {import('node:stream').Readable} */ (parent.stdout), 'data')
  expect(String(text)).toBe('ended in order\n')
})

it('ends as a shell says it where a signal ended the application', async () => {
  const parent = await launched(
    "console.log('up'); setTimeout(() => process.kill(process.pid, 'SIGTERM'), 10)",
  )
  expect(await once(parent, 'close')).toEqual([143, null])
})

const BUS = '[42:1129/101500.123456:ERROR:bus.cc(407)] Failed to connect to the bus'
/** @param {string[]} lines */
const prints = (...lines) =>
  `console.log('up'); console.error(${JSON.stringify(lines.join('\n'))});`

it('keeps what Chromium says about the system out of the terminal, and in a file', async () => {
  const parent = await launched(
    prints(BUS, 'A word of Ballet.', '(electron:42): Gtk-WARNING **: x'),
  )
  expect(await text(/** @type {any} */ (parent.stderr))).toBe('A word of Ballet.\n')
  expect(readFileSync(join(folder, 'log'), 'utf8')).toBe(
    `${BUS}\n(electron:42): Gtk-WARNING **: x\n`,
  )
})

it('shows what Chromium said where the application ends without a word', async () => {
  const parent = await launched(`${prints(BUS)} process.exitCode = 1`)
  const said = await text(/** @type {any} */ (parent.stderr))
  expect(said).toContain(`  ${BUS}\n`)
  expect(said).toContain(join(folder, 'log'))
})

it('leaves it at the application’s own word where there is one', async () => {
  const parent = await launched(`${prints(BUS, 'The folder is in use.')} process.exitCode = 1`)
  expect(await text(/** @type {any} */ (parent.stderr))).toBe('The folder is in use.\n')
})

it('shows at once what ends Chromium', async () => {
  const fatal = '[42:1129/101500.123456:FATAL:setuid_sandbox_host.cc(158)] The SUID sandbox helper'
  const parent = await launched(prints(fatal))
  expect(await text(/** @type {any} */ (parent.stderr))).toBe(`${fatal}\n`)
})
