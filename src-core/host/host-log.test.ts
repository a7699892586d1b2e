import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createHostLog } from './host-log.ts'

let base: string
let logs: string
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'ballet-log-'))
  logs = join(base, 'logs')
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const lines = () =>
  readFileSync(join(logs, 'host.log'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

describe("the host's log", () => {
  it('holds one object a line, at once', () => {
    const log = createHostLog(base)
    log.info('the host runs', { agents: 3 })
    log.error('a part failed', { error: new Error('why', { cause: new TypeError('deep') }) })
    const [first, second] = lines()
    expect(first).toMatchObject({
      level: 'info',
      msg: 'the host runs',
      agents: 3,
      pid: process.pid,
    })
    expect(second).toMatchObject({
      level: 'error',
      error: { name: 'Error', message: 'why', cause: { message: 'deep' } },
    })
  })

  it('holds no secrets', () => {
    const log = createHostLog(base)
    log.warn('git failed for https://me:hunter2@example.org/x.git', {
      token: 'tok-1',
      env: { ANTHROPIC_API_KEY: 'key-1', HOME: '/home/me' },
      nested: [{ apiKey: 'key-2', text: 'uses sk-ant-api03-abcdefghijklmnop' }],
      nonce: 'nonce-1',
      header: 'Bearer abcdefgh12345678',
      args: ['BALLET_SESSION=0123-4567:89abcdef01234567'],
      inputTokens: 12,
    })
    const text = readFileSync(join(logs, 'host.log'), 'utf8')
    for (const secret of [
      'hunter2',
      'tok-1',
      'key-1',
      'key-2',
      'abcdefghijklmnop',
      'nonce-1',
      'abcdefgh12345678',
      '89abcdef01234567',
    ]) {
      expect(text).not.toContain(secret)
    }
    expect(text).toContain('example.org/x.git')
    expect(lines()[0]).toMatchObject({ inputTokens: 12, env: { HOME: '***' } })
  })

  it('is put aside when it is large, and the last three are kept', () => {
    mkdirSync(logs)
    const large = (mark: string) => mark.repeat(5 * 1024 * 1024)
    for (const mark of ['a', 'b', 'c']) {
      writeFileSync(join(logs, 'host.log'), large(mark))
      createHostLog(base).info(mark)
    }
    expect(lines()).toHaveLength(1)
    expect(readFileSync(join(logs, 'host.1.log'), 'utf8')).toBe(large('c'))
    expect(readFileSync(join(logs, 'host.2.log'), 'utf8')).toBe(large('b'))
    expect(existsSync(join(logs, 'host.3.log'))).toBe(false)
    createHostLog(base).info('small')
    expect(lines()).toHaveLength(2)
  })

  it('is put aside while the host runs, too', () => {
    const log = createHostLog(base)
    for (let count = 0; count < 700; count += 1) log.info('x'.repeat(10_000), { count })
    const before = lines()
    expect(before.length).toBeLessThan(300)
    expect(before.at(-1)?.count).toBe(699)
    expect(readFileSync(join(logs, 'host.1.log'), 'utf8').length).toBeGreaterThan(5_000_000)
  })

  it('goes to the standard error where it cannot be written', () => {
    writeFileSync(logs, 'a file in the way')
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    try {
      createHostLog(base)
      expect(write).toHaveBeenCalledWith(expect.stringContaining('cannot write its log'))
    } finally {
      write.mockRestore()
    }
  })

  it.runIf(process.platform === 'linux')('keeps little in memory while the disk is full', () => {
    mkdirSync(logs)
    symlinkSync('/dev/full', join(logs, 'host.log'))
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    try {
      const log = createHostLog(base)
      const before = process.memoryUsage()
      for (let count = 0; count < 3_000; count += 1) log.warn('x'.repeat(10_000), { count })
      const after = process.memoryUsage()
      expect(after.heapUsed + after.external - before.heapUsed - before.external).toBeLessThan(
        15_000_000,
      )
      expect(write).toHaveBeenCalledTimes(1)
    } finally {
      write.mockRestore()
    }
  })
})
