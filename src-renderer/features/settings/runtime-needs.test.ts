import { expect, it } from 'vitest'
import { ProjectId } from '../../../src-shared/ids.ts'
import { Settings } from '../../../src-shared/settings.ts'
import type { RuntimeReport } from '../../stores/runtime-reports.ts'
import { needsPerson, runtimeLine, wantedRuntimes } from './runtime-needs.ts'

const here: RuntimeReport = {
  runtime: 'codex',
  path: '/opt/codex',
  version: '0.98.0',
  loggedIn: true,
  login: 'api_key',
  versions: { minimum: null, tested: [] },
  problem: null,
  notice: null,
}
const problem = (code: string) => ({ code, message: 'No.', hint: 'Do it.' })
const missing = { ...here, path: null, version: null, problem: problem('runtime.not-found') }
const loggedOut = { ...here, loggedIn: false, problem: problem('runtime.not-logged-in') }
const tooOld = { ...here, loggedIn: null, problem: problem('runtime.too-old') }

it('a runtime needs a person where something runs with it, or where it is here and broken', () => {
  expect([missing, loggedOut, tooOld].map((report) => needsPerson(report, true))).toEqual([
    ...[true, true, true],
  ])
  expect([missing, loggedOut, tooOld].map((report) => needsPerson(report, false))).toEqual([
    ...[false, false, true],
  ])
  expect(needsPerson(here, true)).toBe(false)
  expect(needsPerson(undefined, true)).toBe(false)
})

it('things run with the runtimes of projects, stages, the planner and added agents', () => {
  const stages = { review: { runtime: 'codex' as const }, plan: {} }
  const settings = Settings.parse({
    planner: { enabled: false },
    acpAgents: { mine: { title: 'Mine', command: 'mine' } },
  })
  const wanted = wantedRuntimes([{ runtime: 'opencode', stages }], settings)
  expect([...wanted].sort()).toEqual(['acp:mine', 'codex', 'opencode'])
  expect(wantedRuntimes([], Settings.parse({}))).toEqual(new Set(['claude-code']))
})

it('one line tells version, state and login', () => {
  expect(runtimeLine(here)).toBe('0.98.0 · logged in by an API key')
  expect(runtimeLine(missing)).toBe('not installed')
  expect(runtimeLine(loggedOut)).toBe('0.98.0 · not logged in')
  expect(runtimeLine(tooOld)).toBe('0.98.0 · No.')
  expect(runtimeLine(undefined)).toBe('')
})

it('a key that only a project has is its login there', () => {
  const id = ProjectId.parse('01a22a69-d8ec-76e6-bc1f-ea9e49d3cf65')
  const shop = { project: id, name: 'Shop', loggedIn: true, login: 'api_key', problem: null }
  const inShop = { ...loggedOut, projects: [shop] }
  expect(needsPerson(inShop, true)).toBe(false)
  expect(runtimeLine(inShop)).toBe('0.98.0 · logged in where it is used')
  const { problem: why } = loggedOut
  const blog = { ...shop, name: 'Blog', loggedIn: false, login: null, problem: why }
  const inBlog = { ...here, projects: [shop, blog] }
  expect(needsPerson(inBlog, true)).toBe(true)
  expect(runtimeLine(inBlog)).toBe('0.98.0 · logged in by an API key · Blog: No.')
})
