import { expect, it } from 'vitest'
import type { RuntimeReport } from '../../src-shared/agent-wire.ts'
import { ProjectId } from '../../src-shared/ids.ts'
import { judgeRuntimes } from './runtime-findings.ts'

const refusal = {
  code: 'runtime.not-logged-in',
  message: 'Codex is not logged in.',
  hint: 'Log in.',
}
const id = ProjectId.parse('01a22a69-d8ec-76e6-bc1f-ea9e49d3cf65')
const out = { project: id, name: 'Shop', loggedIn: false, login: null, problem: refusal }
const logged = { project: id, name: 'Blog', loggedIn: true, login: 'api_key', problem: null }
const report: RuntimeReport = {
  ...{ runtime: 'codex', path: '/opt/codex', version: '1.0.0', loggedIn: false, login: null },
  ...{ versions: { minimum: null, tested: [] }, problem: refusal, notice: null },
}

const problemsOf = (projects: RuntimeReport['projects']) =>
  judgeRuntimes([{ ...report, projects }], new Set(['codex'] as const), { acpAgents: {} }).problems

it('judges a login by the projects that need it, and names those that lack it', () => {
  expect(problemsOf(undefined)).toEqual([refusal])
  expect(problemsOf([])).toEqual([refusal])
  expect(problemsOf([logged])).toEqual([])
  expect(problemsOf([logged, out])).toEqual([
    { ...refusal, message: 'For the project "Shop": Codex is not logged in.' },
  ])
  expect(problemsOf([out, { ...out, name: 'Blog' }])).toEqual([refusal])
})
