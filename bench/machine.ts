import { execFileSync } from 'node:child_process'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { electronRuntime } from '../e2e/electron-runtime.ts'
import { CLAUDE_PROGRAM } from '../e2e/support/bare-claude.ts'

/** What the figures depend on; nothing that names the machine. */
export type Machine = {
  readonly cpu: string
  readonly cores: number
  readonly memoryGb: number
  readonly system: string
  readonly node: string
  readonly electron: string
  readonly runtime: string
  /** Of the last minute before the run, over all cores. */
  readonly loadBefore: number
}

export function describeMachine(): Machine {
  const { kind, electron } = electronRuntime()
  const version = execFileSync(CLAUDE_PROGRAM, ['--version'], { encoding: 'utf8' }).trim()
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    system: `${process.platform} ${release().split('-')[0]} ${process.arch}`,
    node: process.version,
    electron: `${electron}${kind === 'fallback' ? ' (the fallback runtime, see docs/decisions/0004-electron-runtime.md)' : ''}`,
    runtime: `Claude Code ${version.split(' ')[0]}`,
    loadBefore: Number((loadavg()[0] ?? 0).toFixed(2)),
  }
}
