import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { changeSettings, readSettings } from './settings-file.ts'

let base: string
let file: string
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'ballet-settings-'))
  file = join(base, 'settings.json')
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const defaults = {
  agents: 3,
  runtimePaths: {},
  acpAgents: {},
  passEnv: [],
  theme: 'system',
  planner: { enabled: true, runtime: 'claude-code', limitSeconds: 90, costLimitUsd: 0.5 },
  notify: ['question', 'request', 'ended'],
  drainGraceSeconds: 60,
  answerUndo: true,
}

describe('the settings', () => {
  it('are the defaults where there is no file', async () => {
    expect(await readSettings(file)).toEqual(defaults)
    expect(readdirSync(base)).toEqual([])
  })

  it('fill what a file leaves out', async () => {
    writeFileSync(file, '\ufeff{ "agents": 5 }')
    expect(await readSettings(file)).toEqual({ ...defaults, agents: 5 })
  })

  it.each([
    ['{\n  "agents": 5,\n}', /line 3, column 1/],
    ['{ "agents": 0 }', /agents: /],
    ['{ "runtimePaths": { "nobody": "/x" } }', /runtimePaths/],
    ['[]', /not an object/],
    ['', /settings\.json cannot be used/],
  ])('of %j are refused and stay as they are', async (text, message) => {
    writeFileSync(file, text)
    for (const work of [readSettings, () => changeSettings(file, { agents: 2 })]) {
      await expect(work(file)).rejects.toMatchObject({
        code: 'settings.malformed',
        message: expect.stringMatching(message),
      })
    }
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it('are changed one by one, and keep what is not known here', async () => {
    writeFileSync(file, '{ "passEnv": ["A"], "future": { "x": 1 } }')
    expect(await changeSettings(file, { agents: 4 })).toEqual({
      ...defaults,
      passEnv: ['A'],
      agents: 4,
    })
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      passEnv: ['A'],
      future: { x: 1 },
      agents: 4,
    })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(base)).toEqual(['settings.json'])
    await expect(changeSettings(file, { agents: 99 })).rejects.toMatchObject({
      code: 'settings.malformed',
    })
    expect((await readSettings(file)).agents).toBe(4)
  })

  it('say why they cannot be written', async () => {
    await expect(
      changeSettings(join(base, 'none', 'settings.json'), { agents: 2 }),
    ).rejects.toMatchObject({ code: 'settings.not-written' })
  })
})
