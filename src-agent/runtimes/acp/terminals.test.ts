import { realpathSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { endTree, processesWith } from '../../process-tree/index.ts'
import { newMarker } from '../../process-tree/testing/new-marker.ts'
import { Terminals } from './terminals.ts'

const marker = newMarker()
const AT_ONCE = 40

let cwd = ''
let terminals: Terminals

beforeEach(async () => {
  cwd = realpathSync(await mkdtemp(join(tmpdir(), 'ballet-terminals-')))
  const env = { PATH: process.env.PATH ?? '' }
  const nothing = () => undefined
  terminals = new Terminals({ cwd, env, marker, onOutside: nothing, onOutput: nothing })
})
afterEach(async () => {
  await endTree([marker], { graceMs: 0, limitMs: 10_000 })
  await rm(cwd, { recursive: true, force: true })
})

const create = (command: string, ...args: readonly string[]) =>
  terminals.create({ command, args, env: [], cwd: null, outputLimitBytes: null })

it('holds its limit also for what is asked for at once, and ends all of it with the turn', async () => {
  const asked = Promise.allSettled(Array.from({ length: AT_ONCE }, () => create('sleep', '300')))
  await terminals.releaseAll()
  const made = await asked
  expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(32)
  expect(await processesWith([marker])).toEqual([])
})
