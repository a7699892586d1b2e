import { execFile } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { startBareClaude } from '../support/bare-claude.ts'
import { makeGitRemote } from '../support/git-remote.ts'
import { withTempFolder } from '../support/temp-folder.ts'
import { buildAnswer, streamEvents } from './answer.ts'
import { parseScriptBook, type ScriptBook, type Step } from './script.ts'
import { startModelServer } from './server.ts'

const run = promisify(execFile)
const DEMO = fileURLToPath(new URL('../../resources/demo/', import.meta.url))

async function readBook(): Promise<ScriptBook> {
  return parseScriptBook(JSON.parse(await readFile(join(DEMO, 'script.json'), 'utf8')))
}

async function readPrompt(): Promise<string> {
  const ticket = JSON.parse(await readFile(join(DEMO, 'ticket.json'), 'utf8'))
  return `${ticket.title}\n\n${ticket.body}`
}

function streamMs(step: Step): number {
  const request = { model: '', stream: true, messages: [], system: '', tools: [], maxTokens: 1 }
  const events = [
    ...streamEvents(
      buildAnswer(request, step, () => ''),
      step.chunks,
    ),
  ]
  return events.filter((event) => event.pause).length * (step.delay ?? 0)
}

it('is seen streaming, and for less than 20 seconds', async () => {
  const book = await readBook()
  const total = (book.scripts?.[0]?.steps ?? []).reduce((sum, step) => sum + streamMs(step), 0)
  expect(total).toBeGreaterThan(5_000)
  expect(total).toBeLessThan(20_000)
})

it('makes the tests of the sample repository pass, in the real Claude Code', async () => {
  const book = await readBook()
  const quick = (steps: readonly Step[]): Step[] => steps.map((step) => ({ ...step, delay: 0 }))
  const scripts = (book.scripts ?? []).map((script) => ({ ...script, steps: quick(script.steps) }))
  await withTempFolder(async (folder) => {
    const remote = await makeGitRemote(folder, { copyOf: join(DEMO, 'repo') })
    const work = join(folder, 'work')
    await run('git', ['clone', '--quiet', remote.path, work])
    await mkdir(join(folder, 'config'))
    const server = await startModelServer({ book: { ...book, scripts } })
    const claude = startBareClaude({
      url: server.url,
      cwd: work,
      configDir: join(folder, 'config'),
      env: { CLAUDE_CODE_ENABLE_TODO_TOOLS: '1', CLAUDE_CODE_ENABLE_TASKS: '0' },
    })
    try {
      const result = await claude.turn(await readPrompt(), 40_000)
      expect(result).toMatchObject({ is_error: false, result: expect.stringMatching(/^## Done/u) })
      const results = claude.lines.filter((line) => line.tool_use_result !== undefined)
      const failed = results.filter((line) =>
        JSON.stringify(line.message).includes('is_error":true'),
      )
      // Only the first run of the tests fails.
      expect(failed.length).toBe(1)
      expect(JSON.stringify(failed)).toContain('# fail 2')
      expect(JSON.stringify(results)).toContain('newTodos')
      const tests = await run('node', ['--test'], { cwd: work, env: { PATH: process.env.PATH } })
      expect(tests.stdout).toMatch(/# pass 4\n# fail 0/u)
      const status = await run('git', ['status', '--short'], { cwd: work })
      expect(status.stdout.split('\n')).toEqual([
        ' M src/format-duration.js',
        '?? CHANGELOG.md',
        '',
      ])
      expect(await claude.turn('Thank you')).toMatchObject({
        result: expect.stringContaining('cannot answer “Thank you”'),
      })
    } finally {
      await claude.close()
      await server.close()
    }
  })
}, 60_000)
