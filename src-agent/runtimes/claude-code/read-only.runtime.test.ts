import { existsSync } from 'node:fs'
import { readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { endTree, processesWith } from '../../process-tree/index.ts'
import type { ReadOnlyRun } from '../driver.ts'
import { createClaudeCodeDriver } from './index.ts'
import { Scene, scripted, startModel } from './testing/real-runtime.ts'

// Real programs on a busy machine: a limit against hanging, no measure of speed.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const driver = createClaudeCodeDriver()
const FAKE = fileURLToPath(new URL('./testing/fake-claude.mjs', import.meta.url))

describe('a read-only run of the real Claude Code', () => {
  let model: Awaited<ReturnType<typeof startModel>>
  let scene: Scene
  let aborter: AbortController
  let secret: string

  beforeAll(async () => {
    model = await startModel()
  })
  afterAll(() => model.close())
  beforeEach(async () => {
    aborter = new AbortController()
    scene = await Scene.make(model.url)
    secret = join(scene.root, 'secret.txt')
    await writeFile(secret, 'the secret of somebody\n')
    await writeFile(join(scene.cwd, 'source.md'), 'Use PostgreSQL.\n')
    await symlink(secret, join(scene.cwd, 'link.md'))
  })
  afterEach(() => scene.close())

  const run = (prompt: string, changes: Partial<ReadOnlyRun> = {}) => {
    const { cwd, executable, model: name, env, marker } = scene.spec
    if (driver.readOnlyRun === undefined) throw new Error('It has no read-only run.')
    return driver.readOnlyRun({
      ...{ cwd, executable, model: name, env, marker },
      settingsFile: join(scene.root, 'settings.json'),
      instructions: 'This is a read-only run.',
      costLimitUsd: 1,
      signal: aborter.signal,
      prompt,
      ...changes,
    })
  }
  /** Everything that the model got to see. */
  const shown = () => JSON.stringify(model.requests().map(({ messages }) => messages))
  const read = (path: string) => ({ tool: 'Read', input: { file_path: path } })

  it('answers with what the model said last, and what it cost', async () => {
    const steps = [read(join(scene.cwd, 'source.md')), { text: '{"answer":"PostgreSQL"}' }]
    const answer = await run(scripted('Which database?', steps))
    expect(answer).toEqual({ text: '{"answer":"PostgreSQL"}', costUsd: expect.any(Number) })
    expect(answer.costUsd).toBeGreaterThan(0)
    expect(shown()).toContain('Use PostgreSQL.')
    const last = model.requests().at(-1)
    expect(JSON.stringify(last?.system)).toContain('This is a read-only run.')
    expect(last?.tools).toContain('Grep')
    for (const tool of ['Bash', 'Write', 'Edit', 'WebFetch', 'Agent']) {
      expect(last?.tools).not.toContain(tool)
    }
    const kept = await readdir(scene.configDir, { recursive: true })
    expect(kept.filter((name) => name.endsWith('.jsonl'))).toEqual([])
  })

  it('reads nothing outside its folder, writes nothing and runs nothing, whatever it tries', async () => {
    const steps = [
      read(secret),
      read(join(scene.cwd, '../secret.txt')),
      read(join(scene.cwd, 'link.md')),
      { tool: 'Grep', input: { pattern: 'somebody', path: scene.root, output_mode: 'content' } },
      { tool: 'Grep', input: { pattern: 'somebody', path: 'link.md', output_mode: 'content' } },
      { tool: 'Glob', input: { pattern: `${scene.root}/*` } },
      { tool: 'Write', input: { file_path: join(scene.cwd, 'new.txt'), content: 'x' } },
      { tool: 'Bash', input: { command: `cat ${secret}` } },
      { text: 'I could not.' },
    ]
    expect(await run(scripted('Look around.', steps))).toMatchObject({ text: 'I could not.' })
    expect(shown()).not.toContain('the secret of somebody')
    expect(existsSync(join(scene.cwd, 'new.txt'))).toBe(false)
  })

  it('goes by no settings of the user but those by which a model is reached', async () => {
    const { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: url, ...env } = scene.spec.env
    const ran = join(scene.root, 'ran')
    const hook = { hooks: [{ type: 'command', command: `touch ${ran}` }] }
    const settings = {
      permissions: { allow: ['Read', 'Grep'], additionalDirectories: [scene.root] },
      hooks: { UserPromptSubmit: [hook], PreToolUse: [{ matcher: '*', ...hook }] },
      apiKeyHelper: `echo ${key}`,
      env: { ANTHROPIC_BASE_URL: url },
    }
    await writeFile(join(scene.configDir, 'settings.json'), JSON.stringify(settings))
    const steps = [
      read(secret),
      { tool: 'Grep', input: { pattern: 'somebody', path: scene.root, output_mode: 'content' } },
      { text: 'I could not.' },
    ]
    const answer = await run(scripted('Look around.', steps), { env })
    expect(answer).toMatchObject({ text: 'I could not.' })
    expect(shown()).not.toContain('the secret of somebody')
    expect(existsSync(ran)).toBe(false)
  })

  it('takes its prompt as it is: no file that it mentions is read, and no command is run', async () => {
    const prompt = `/clear @${secret} @../secret.txt`
    const answer = await run(scripted(prompt, [{ text: 'Fine.' }]))
    expect(answer.text).toBe('Fine.')
    expect(shown()).not.toContain('the secret of somebody')
  })

  it('ends at its cost limit and says so', async () => {
    const steps = [read(join(scene.cwd, 'source.md')), read(join(scene.cwd, 'source.md')), {}]
    await expect(run(scripted('Go.', steps), { costLimitUsd: 0.000_001 })).rejects.toMatchObject({
      code: 'runtime.failed',
      message: expect.stringMatching(/budget/i),
    })
  })

  it('gives the reason of a model that fails', async () => {
    const failing = scripted('Go.', [{ fail: [{ status: 400, message: 'No such thing.' }] }])
    await expect(run(failing)).rejects.toMatchObject({
      code: 'runtime.failed',
      message: expect.stringContaining('No such thing.'),
    })
  })

  it('is given up when a slow model is waited for no longer; its tree is then the caller’s', async () => {
    const slow = expect(
      run(scripted('Go slowly.', [{ wait: 60_000, text: 'Late.' }])),
    ).rejects.toMatchObject({ code: 'runtime.aborted' })
    await scene.waitFor('the request', () => shown().includes('Go slowly.'))
    aborter.abort()
    await slow
    await endTree([scene.spec.marker], { graceMs: 0, limitMs: 10_000 })
    expect(await processesWith([scene.spec.marker])).toEqual([])
  })

  it('says how a runtime ended that was killed', async () => {
    const slow = expect(
      run(scripted('Go on.', [{ wait: 60_000, text: 'Late.' }])),
    ).rejects.toMatchObject({
      code: 'runtime.failed',
      message: expect.stringContaining('SIGKILL'),
    })
    await scene.waitFor('the request', () => shown().includes('Go on.'))
    await endTree([scene.spec.marker], { graceMs: 0, limitMs: 10_000 })
    await slow
  })

  it('does not run a version of which nobody knows whether it stays inside, or none at all', async () => {
    const env = { ...scene.spec.env, FAKE_CLAUDE: 'older' }
    await expect(run('Go.', { executable: FAKE, env })).rejects.toMatchObject({
      code: 'runtime.too-old',
    })
    await expect(run('Go.', { executable: '/nowhere/claude' })).rejects.toMatchObject({
      code: 'runtime.failed',
      message: expect.stringContaining('ENOENT'),
    })
  })
})
