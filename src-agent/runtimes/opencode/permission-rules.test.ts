import { describe, expect, it } from 'vitest'
import { configPermission, fits, Grants, requestFacts, rulesOf } from './permission-rules.ts'

const prompt = (permission: string, patterns: string[], always = patterns) => ({
  ...{ id: 'per_1', sessionID: 'ses_1', permission, patterns, always, metadata: {} },
})

/** As opencode decides: the last rule that fits. */
function decide(rules: ReturnType<typeof rulesOf>, permission: string, text: string) {
  return rules
    .filter((rule) => fits(rule.permission, permission) && fits(rule.pattern, text))
    .at(-1)?.action
}

describe('the rules of a mode', () => {
  it('ask about what acts, and never about what reads or belongs to Ballet', () => {
    const rules = rulesOf('ask', ['ballet'])
    expect(decide(rules, 'bash', 'ls')).toBe('ask')
    expect(decide(rules, 'edit', 'a.ts')).toBe('ask')
    expect(decide(rules, 'other_tool', '*')).toBe('ask')
    expect(decide(rules, 'read', 'a.ts')).toBe('allow')
    expect(decide(rules, 'read', 'config/.env')).toBe('ask')
    expect(decide(rules, 'external_directory', '/etc')).toBe('ask')
    expect(decide(rules, 'ballet_ask_question', '*')).toBe('allow')
    expect(decide(rules, 'question', '*')).toBe('deny')
  })

  it('let edits pass, or everything, and never the question tool', () => {
    expect(decide(rulesOf('edits', []), 'edit', 'a.ts')).toBe('allow')
    expect(decide(rulesOf('edits', []), 'bash', 'ls')).toBe('ask')
    expect(decide(rulesOf('full', []), 'bash', 'rm -rf x')).toBe('allow')
    expect(decide(rulesOf('full', []), 'question', '*')).toBe('deny')
  })

  it('ask about edits of what git goes by, however they are spelled, and of nothing like it', () => {
    const rules = rulesOf('edits', [])
    const paths = ['.git/config', '.GIT/hooks/pre-commit', 'sub/.git/config', '.git', 'sub/.git']
    for (const path of paths) expect(decide(rules, 'edit', path), path).toBe('ask')
    for (const path of ['.gitignore', '.github/workflows/a.yml', 'a.git/config', 'git/x']) {
      expect(decide(rules, 'edit', path), path).toBe('allow')
    }
    expect(decide(rulesOf('full', []), 'edit', '.git/config')).toBe('allow')
  })

  it('are written as opencode takes them in a file', () => {
    expect(configPermission(rulesOf('edits', ['ballet']))).toMatchObject({
      ...{ bash: 'ask', question: 'deny', 'ballet_*': 'allow' },
      edit: { '*': 'allow', '.git/*': 'ask', '*/.git/*': 'ask' },
      read: { '*': 'allow', '*.env': 'ask', '*.env.*': 'ask', '*.env.example': 'allow' },
    })
  })
})

describe('what was allowed for a session', () => {
  it('is what the prompt offered, for each part of the call', () => {
    const grants = new Grants([])
    expect(grants.allow(prompt('bash', ['git status']))).toBe(false)
    const call = { name: 'bash', input: { command: 'git status', description: 'x' } }
    const facts = requestFacts(prompt('bash', ['git status'], ['git status *']), call, (t) => t)
    expect(facts.ruleTexts).toEqual(['bash(git status *)'])
    grants.add(facts.rules)
    expect(grants.allow(prompt('bash', ['git status']))).toBe(true)
    expect(grants.allow(prompt('bash', ['git status --short']))).toBe(true)
    expect(grants.allow(prompt('bash', ['git status', 'rm x']))).toBe(false)
    expect(grants.allow(prompt('edit', ['git status']))).toBe(false)
    expect(grants.allow(prompt('bash', []))).toBe(false)
    const after = new Grants([{ digest: facts.digest, rules: facts.rules }])
    expect(after.allow(prompt('bash', ['git status']))).toBe(true)
  })

  it('is of what git goes by that very file, and no other edit brings it along', () => {
    const grants = new Grants([])
    const ofGit = prompt('edit', ['.git/config'], ['*'])
    const call = { name: 'write', input: { filePath: '/w/a.ts' } }
    grants.add(requestFacts(prompt('edit', ['a.ts'], ['*']), call, (t) => t).rules)
    expect(grants.allow(prompt('edit', ['b.ts']))).toBe(true)
    expect(grants.allow(ofGit)).toBe(false)
    const facts = requestFacts(ofGit, call, (t) => t)
    expect(facts.ruleTexts).toEqual(['edit(.git/config)'])
    grants.add(facts.rules)
    expect(grants.allow(ofGit)).toBe(true)
    expect(grants.allow(prompt('edit', ['.git/hooks/pre-commit'], ['*']))).toBe(false)
  })

  it('has the same digest for the identical call, whatever the order of its arguments', () => {
    const of = (input: object) =>
      requestFacts(prompt('bash', ['a']), { name: 'bash', input }, (t) => t).digest
    expect(of({ command: 'a', description: 'b' })).toBe(of({ description: 'b', command: 'a' }))
    expect(of({ command: 'a' })).not.toBe(of({ command: 'b' }))
  })

  it('matches like opencode', () => {
    expect(fits('git *', 'git')).toBe(true)
    expect(fits('git *', 'gitk')).toBe(false)
    expect(fits('*.env', 'a/b/.env')).toBe(true)
    expect(fits('a?c', 'abc')).toBe(true)
    expect(fits('a.c', 'abc')).toBe(false)
  })
})
