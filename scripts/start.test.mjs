import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
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

it('opens the window with the person’s arguments, the sandbox on', () => {
  expect(launchPlan(usual)).toEqual({
    program: usual.electron,
    args: ['--disable-gpu', usual.root, '--demo', '--data', '/d'],
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
    process.exitCode = await launch(process.execPath, ['-e', ${JSON.stringify(code)}], '.')`
  const args = ['--input-type=module', '-e', program]
  const parent = throughNpm
    ? spawn('/bin/sh', ['-c', '"$0" "$@"; true', process.execPath, ...args], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, npm_lifecycle_event: 'start' },
      })
    : spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
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
