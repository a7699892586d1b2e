import { join } from 'node:path'
import { expect, it } from 'vitest'
import { launchPlan } from './start.mjs'

const usual = {
  root: join('/', 'clone'),
  args: ['--demo', '--data', '/d'],
  electron: '/clone/.runtime/electron/electron',
  env: { DISPLAY: ':0' },
  platform: /** @type {const} */ ('linux'),
  uid: 1000,
}

it('opens the window with the person’s arguments, the sandbox on', () => {
  expect(launchPlan(usual)).toEqual({
    program: usual.electron,
    args: [usual.root, '--demo', '--data', '/d'],
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
    'demo',
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
