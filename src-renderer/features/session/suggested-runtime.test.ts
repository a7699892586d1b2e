import { expect, it } from 'vitest'
import type { RuntimeName } from '../../../src-shared/runtimes.ts'
import type { RuntimeReport } from '../../stores/runtime-reports.ts'
import { suggestedRuntime } from './suggested-runtime.ts'

const names: RuntimeName[] = ['claude-code', 'opencode', 'codex', 'acp:gemini']
const here = { path: '/opt/it', problem: null, loggedIn: true }
const problem = { code: 'runtime.too-old', message: 'Too old.' }

type Report = Pick<RuntimeReport, 'path' | 'problem' | 'loggedIn'>

it('another runtime is suggested that is installed and logged in, and none where there is none', () => {
  const suggest = (reports: Record<string, Report>) =>
    suggestedRuntime('claude-code', names, new Map(Object.entries(reports)))
  expect(suggest({})).toBeNull()
  expect(suggest({ 'claude-code': here })).toBeNull()
  const opencode = { ...here, loggedIn: null }
  expect(suggest({ 'claude-code': here, opencode, codex: here })).toBe('codex')
  expect(suggest({ opencode, codex: { ...here, loggedIn: false } })).toBe('opencode')
  expect(suggest({ opencode: { ...here, problem }, 'acp:gemini': here })).toBe('acp:gemini')
  expect(suggest({ opencode: { ...here, path: null } })).toBeNull()
})
