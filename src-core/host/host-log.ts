import { existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import type { Log } from '../ports.ts'
import { layOut } from './data-folder.ts'
import { makeFolder } from './make-folder.ts'
import { maskText, maskValue } from './mask.ts'

/** A log of this size is put aside. */
const ROTATE_BYTES = 5 * 1024 * 1024

/** What waits while the disk is full; more than this is not kept. */
const WAITING_BYTES = 1024 * 1024

const NAMES = ['host.log', 'host.1.log', 'host.2.log']

/**
 * The host's log, `<dataDir>/logs/host.log`, one JSON object a line, with secrets masked. The last three are kept.
 * Never throws: where it cannot be written, what matters goes to the standard error.
 */
export function createHostLog(dataDir: string): Log {
  const { logs } = layOut(dataDir)
  const logger = open(logs)
  const write =
    (level: keyof Log): Log[keyof Log] =>
    (message, fields = {}) =>
      logger[level](maskValue(fields), maskText(message))
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  }
}

function open(folder: string): pino.Logger {
  const options: pino.LoggerOptions = {
    level: 'debug',
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  }
  try {
    makeFolder(folder)
    rotate(folder)
    // Written at once: what a host says last, before it is killed, is what matters most.
    const file = pino.destination({
      dest: join(folder, 'host.log'),
      sync: true,
      mode: 0o600,
      maxLength: WAITING_BYTES,
    })
    let isTold = false
    file.on('error', (error: Error) => {
      if (!isTold) process.stderr.write(`Ballet cannot write its log: ${error.message}\n`)
      isTold = true
    })
    return pino(options, rotating(file, folder))
  } catch (error) {
    process.stderr.write(`Ballet cannot write its log in ${folder}: ${String(error)}\n`)
    return pino({ ...options, level: 'warn' }, pino.destination({ dest: 2, sync: true }))
  }
}

/** Writes to the file, and to a new one when it has grown large; where it cannot be put aside it grows on. */
function rotating(file: ReturnType<typeof pino.destination>, folder: string) {
  let bytes = sizeOf(join(folder, 'host.log'))
  return {
    write(line: string): void {
      file.write(line)
      bytes += Buffer.byteLength(line)
      if (bytes < ROTATE_BYTES) return
      try {
        rotate(folder)
        file.reopen(join(folder, 'host.log'))
      } catch (error) {
        process.stderr.write(`Ballet cannot put its log aside: ${String(error)}\n`)
      }
      bytes = 0
    },
  }
}

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

function rotate(folder: string): void {
  const files = NAMES.map((name) => join(folder, name))
  const [current, ...older] = files
  if (current === undefined || !existsSync(current) || statSync(current).size < ROTATE_BYTES) return
  const last = older.at(-1)
  if (last !== undefined) rmSync(last, { force: true })
  for (let index = files.length - 2; index >= 0; index -= 1) {
    const [from, to] = [files[index], files[index + 1]]
    if (from !== undefined && to !== undefined && existsSync(from)) renameSync(from, to)
  }
}
