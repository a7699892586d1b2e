import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newMarker } from '../../process-tree/testing/new-marker.ts'
import type { DriverSpec } from '../driver.ts'
import { readRepositoryNotes } from '../repository-notes.ts'
import { configFolder, launchEnvironment, prepareLaunch } from './launch.ts'
import { messageText } from './message.ts'
import { slugOf } from './transcript.ts'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'ballet-launch-'))
})
afterEach(() => rm(root, { recursive: true }))

const spec = (): DriverSpec => ({
  cwd: root,
  executable: 'claude',
  model: 'a-model',
  args: ['--max-turns', '3'],
  env: {},
  marker: newMarker(),
  permission: 'full',
  grants: [],
  prompt: 'Be good.',
  mcpServers: [],
  scratchDir: join(root, 'scratch'),
})

describe('the command line', () => {
  const launch = (over: Partial<DriverSpec> = {}, resume = false) =>
    prepareLaunch({ spec: { ...spec(), ...over }, conversation: 'c-1', resume })

  it('lets only the user configure the runtime, and ends with the arguments of the project', async () => {
    const args = await launch()
    expect(args.join(' ')).toContain('--setting-sources user --strict-mcp-config --mcp-config ')
    expect(args.join(' ')).toContain('--permission-mode bypassPermissions --session-id c-1')
    expect(args.slice(-4)).toEqual(['--model', 'a-model', '--max-turns', '3'])
    expect(args[args.indexOf('--disallowedTools') + 1]).toContain('AskUserQuestion,EnterPlanMode')
  })

  it('asks on the pipe where it may not do everything', async () => {
    for (const [permission, mode] of [
      ['ask', 'default'],
      ['edits', 'acceptEdits'],
    ] as const) {
      const args = (await launch({ permission })).join(' ')
      expect(args).toContain(`--permission-mode ${mode} --permission-prompt-tool stdio`)
    }
  })

  it('resumes, without a model when none is chosen', async () => {
    const args = await launch({ model: null, args: [] }, true)
    expect(args.slice(-2)).toEqual(['--resume', 'c-1'])
  })

  it('keeps prompt and servers in files that only the user can read', async () => {
    const args = await launch()
    const prompt = args[args.indexOf('--append-system-prompt-file') + 1] ?? ''
    const servers = args[args.indexOf('--mcp-config') + 1] ?? ''
    expect(await readFile(prompt, 'utf8')).toBe('Be good.')
    expect(JSON.parse(await readFile(servers, 'utf8'))).toEqual({ mcpServers: {} })
    if (process.platform !== 'win32') expect((await stat(servers)).mode & 0o777).toBe(0o600)
  })
})

describe('the environment', () => {
  it('takes what is given, without what a surrounding Claude Code left', () => {
    const env = launchEnvironment({ A: '1', CLAUDECODE: '1', CLAUDE_CODE_ENTRYPOINT: 'cli' }, false)
    expect(env).toMatchObject({ A: '1', CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1' })
    expect(env).not.toHaveProperty('CLAUDECODE')
    expect(env).not.toHaveProperty('CLAUDE_CODE_ENTRYPOINT')
    expect(env).not.toHaveProperty('IS_SANDBOX')
    expect(launchEnvironment({}, true)).toMatchObject({ IS_SANDBOX: '1' })
  })

  it('says where the runtime keeps its things', () => {
    expect(configFolder({ CLAUDE_CONFIG_DIR: '/c', HOME: '/h' })).toBe('/c')
    expect(configFolder({ HOME: '/h' })).toBe(join('/h', '.claude'))
    expect(slugOf('/a/B.c_d')).toBe('-a-B-c-d')
  })
})

describe('the notes of the repository', () => {
  it('are CLAUDE.md, else AGENTS.md, else nothing', async () => {
    expect(await readRepositoryNotes(root)).toBeNull()
    await writeFile(join(root, 'AGENTS.md'), 'for agents')
    expect(await readRepositoryNotes(root)).toContain('(AGENTS.md)\n\nfor agents')
    await writeFile(join(root, 'CLAUDE.md'), 'for claude')
    expect(await readRepositoryNotes(root)).toContain('(CLAUDE.md)\n\nfor claude')
  })

  it('may be a link inside the workspace, but do not lead out of it', async () => {
    await writeFile(join(root, 'AGENTS.md'), 'inside')
    await symlink('AGENTS.md', join(root, 'CLAUDE.md'))
    expect(await readRepositoryNotes(root)).toContain('inside')
    await rm(join(root, 'CLAUDE.md'))
    await rm(join(root, 'AGENTS.md'))
    await symlink('/etc/passwd', join(root, 'CLAUDE.md'))
    expect(await readRepositoryNotes(root)).toBeNull()
  })

  it.skipIf(process.platform === 'win32')(
    'are none where something else has their name',
    async () => {
      const pipe = join(root, 'CLAUDE.md')
      execFileSync('mkfifo', [pipe])
      const late = setTimeout(2_000, 'still waiting')
      const notes = await Promise.race([readRepositoryNotes(root), late])
      // Lets go of what waits for the other end, so that the test can end.
      if (notes !== null) execFileSync('sh', ['-c', `: <> '${pipe}'`])
      expect(notes).toBeNull()
    },
  )

  it('are cut when they are too long', async () => {
    await writeFile(join(root, 'CLAUDE.md'), 'ä'.repeat(100_000))
    const notes = await readRepositoryNotes(root)
    expect(notes?.length).toBeLessThan(70_000)
    expect(notes).toContain('CLAUDE.md is longer')
    expect(notes).not.toContain('\uFFFD')
  })
})

describe('a message', () => {
  it('is never taken for a command', () => {
    expect(messageText({ text: '/clear' })).toBe('\n/clear')
    expect(messageText({ text: 'say /clear' })).toBe('say /clear')
    expect(messageText({ text: '/clear', preface: 'First:' })).toBe('First:\n\n/clear')
  })
})
