import { describe, expect, it } from 'vitest'
import { littleWorld } from '../../fixture/world.ts'
import {
  afterSave,
  checkProject,
  draftOfProject,
  emptyProject,
  nameOfRepo,
  parseEnv,
  projectChange,
  projectSettings,
} from './project-form.ts'

describe('the form of a new project', () => {
  it('takes the name from the repository', () => {
    expect(nameOfRepo('git@example.com:team/shop.git')).toBe('shop')
    expect(nameOfRepo('https://example.com/team/my repo/')).toBe('my repo')
    expect(nameOfRepo('/srv/git/api.git')).toBe('api')
    expect(nameOfRepo('C:\\work\\web')).toBe('web')
    expect(nameOfRepo('')).toBe('')
  })

  it('says what is wrong beside the field', () => {
    expect(checkProject(emptyProject)).toMatchObject({ repo: expect.any(String) })
    const draft = { ...emptyProject, repo: '/r', window: 'soon', env: '=1', maxSessions: '0' }
    expect(Object.keys(checkProject(draft)).sort()).toEqual(['env', 'maxSessions', 'window'])
    expect(checkProject({ ...emptyProject, repo: '/srv/r.git' })).toEqual({})
  })

  it('reads variables, also with signs in their values', () => {
    expect(parseEnv('A=1\n\nTOKEN=a=b c#d\n')).toEqual({ env: { A: '1', TOKEN: 'a=b c#d' } })
    expect(parseEnv('1A=x')).toEqual({ wrong: expect.stringContaining('1A=x') })
  })

  it('gives the host only what was filled in', () => {
    expect(projectSettings({ ...emptyProject, repo: ' /srv/shop.git ' })).toEqual({
      name: 'shop',
      repo: '/srv/shop.git',
      permission: 'full',
    })
    expect(
      projectSettings({
        ...emptyProject,
        name: 'S',
        repo: '/r',
        branch: 'dev',
        env: 'A=1',
        maxSessions: '2',
      }),
    ).toMatchObject({ name: 'S', branch: 'dev', env: { A: '1' }, maxSessions: 2 })
    const asking = { sources: '', planner: 'off' as const, skill: 'Ask.', notify: '' }
    expect(projectSettings({ ...emptyProject, repo: '/r', ...asking })).toMatchObject({
      sources: [],
      planner: false,
      skill: 'Ask.',
      notify: [],
    })
  })
})

describe('the form of a known project', () => {
  const [known] = littleWorld().projects
  if (known === undefined) throw new Error('no project')
  const project = { ...known, envNames: ['A', 'B'], model: 'opus' }

  it('changes what is said of questions as whole lists, and takes the skill away', () => {
    const known = { ...project, skill: 'Ask about money.' }
    const draft = {
      ...draftOfProject(known),
      sources: 'docs/**/*.md\n\n /srv/rules.md ',
      planner: 'off' as const,
      skill: ' ',
      notify: 'ended question',
    }
    expect(projectChange(known, draft, [])).toEqual({
      sources: ['docs/**/*.md', '/srv/rules.md'],
      planner: false,
      skill: null,
      notify: ['question', 'ended'],
    })
  })

  it('changes nothing that was left alone', () => {
    expect(projectChange(project, draftOfProject(project), [])).toEqual({})
  })

  it('takes away what was emptied, and gives only what was changed', () => {
    const draft = { ...draftOfProject(project), model: '', permission: 'ask', env: 'B=2\nC=3' }
    expect(
      projectChange(project, draft as typeof draft & { permission: 'ask' }, ['A', 'B']),
    ).toEqual({ model: null, permission: 'ask', env: { A: null, B: '2', C: '3' } })
    const more = {
      ...draftOfProject(project),
      runtimeArgs: '--a\n\n--b',
      maxSessions: '2',
      window: '',
    }
    expect(projectChange(project, more, [])).toEqual({
      runtimeArgs: ['--a', '--b'],
      maxSessions: 2,
      window: '10m',
    })
  })

  it('holds what was saved, and what was written meanwhile', () => {
    const before = draftOfProject(project)
    const submitted = { ...before, permission: 'ask' as const, env: 'B=2', window: '600s' }
    const saved = { ...draftOfProject({ ...project, permission: 'ask' }), window: '10m' }
    expect(afterSave(submitted, submitted, saved)).toEqual(saved)
    expect(projectChange({ ...project, permission: 'ask' }, saved, [])).toEqual({})
    const now = { ...submitted, model: 'sonnet' }
    expect(afterSave(now, submitted, saved)).toEqual({ ...saved, model: 'sonnet' })
  })
})
