import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parseStat } from './linux.ts'
import type { ProcessRow } from './process-table.ts'
import { selectMarked } from './processes-with.ts'
import { parsePsLine, parsePsTime } from './ps.ts'
import { parseWindowsLine } from './windows.ts'

const mark = '0190c0de-0000-7000-8000-000000000001:0123456789abcdef'

describe('the table of Linux', () => {
  it('reads a name with spaces and parentheses', () => {
    const rest = `S 7 8 9 ${'0 '.repeat(15)}4711 0`
    expect(parseStat(`42 (a) b (c) ${rest}`)).toEqual({
      pid: 42,
      startTime: '4711',
      parent: 7,
      group: 8,
      session: 9,
    })
    expect(parseStat(`42 (x) ${rest.replace('S', 'Z')}`)).toBeNull()
  })
})

describe('the table by ps', () => {
  it('reads a line', () => {
    const line = `  42     7    42 Ss   Mon Nov 29 16:32:50 2027 /bin/sh -c x A=1 BALLET_SESSION=${mark} B=2`
    expect(parsePsLine(line)).toEqual({
      pid: 42,
      startTime: 'Mon Nov 29 16:32:50 2027',
      parent: 7,
      group: 42,
      session: 0,
      mark,
    })
    expect(parsePsLine(line.replace(' Ss ', ' Z  '))).toBeNull()
    expect(parsePsLine('nonsense')).toBeNull()
  })

  it('reads times', () => {
    expect(parsePsTime('0:01.50')).toBe(1_500)
    expect(parsePsTime('01:02:03')).toBe(3_723_000)
    expect(parsePsTime('2-00:00:01')).toBe(172_801_000)
  })

  it.skipIf(process.platform === 'win32')('reads what the real ps prints', async () => {
    const { stdout } = await promisify(execFile)(
      'ps',
      ['axeww', '-o', 'pid=,ppid=,pgid=,stat=,lstart=,command='],
      { env: { PATH: process.env.PATH, LC_ALL: 'C' }, maxBuffer: 64 * 1024 * 1024 },
    )
    const rows = stdout.split('\n').flatMap((line) => parsePsLine(line) ?? [])
    expect(rows.find((row) => row.pid === process.pid)?.parent).toBe(process.ppid)
  })
})

describe('the table of Windows', () => {
  it('reads a line', () => {
    expect(parseWindowsLine('"42","7","134000000000000000"\r')).toMatchObject({
      pid: 42,
      parent: 7,
      startTime: '134000000000000000',
    })
    expect(parseWindowsLine('"ProcessId","ParentProcessId","Start"')).toBeNull()
  })
})

describe('selecting', () => {
  const row = (pid: number, parent: number, over: Partial<ProcessRow> = {}): ProcessRow => ({
    pid: pid + 100_000_000,
    parent: parent + 100_000_000,
    startTime: String(pid),
    group: 0,
    session: 0,
    mark: null,
    ...over,
  })
  const pids = (rows: ProcessRow[]) => rows.map((found) => found.pid - 100_000_000)

  it('takes the marked ones, their descendants, and nobody else', () => {
    const rows = [
      row(1, 0),
      row(10, 1, { mark }),
      row(11, 10),
      row(12, 11),
      row(13, 1, { mark: `${mark}0` }),
    ]
    expect(pids(selectMarked(rows, [mark]))).toEqual([10, 11, 12])
    expect(selectMarked(rows, [])).toEqual([])
  })

  it('takes a process in the session of a marked leader', () => {
    const leader = row(20, 1, { mark, session: 100_000_020 })
    const orphan = row(21, 1, { session: leader.pid })
    expect(pids(selectMarked([leader, orphan], [mark]))).toEqual([20, 21])
  })

  it('leaves the child of an earlier process with the same number', () => {
    const rows = [row(30, 1, { mark, startTime: '500' }), row(31, 30, { startTime: '400' })]
    expect(pids(selectMarked(rows, [mark]))).toEqual([30])
  })
})
