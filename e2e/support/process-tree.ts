import { readdir, readFile } from 'node:fs/promises'

/**
 * Processes of this machine, from /proc (Linux only). A process is its pid and its start time: a pid
 * alone may by now be another program.
 */
export interface ProcessIdentity {
  readonly pid: number
  /** Clock ticks since the start of the machine. */
  readonly startTime: number
}

export interface ProcessInfo extends ProcessIdentity {
  readonly parent: number
  readonly group: number
  readonly session: number
  readonly state: string
  /** The command line, arguments joined with spaces; empty for a zombie. */
  readonly command: string
}

/** Every process that runs; zombies count as ended and are left out. */
export async function listProcesses(): Promise<ProcessInfo[]> {
  const names = await readdir('/proc')
  const found = await Promise.all(
    names.filter((name) => /^\d+$/u.test(name)).map((name) => readProcess(Number(name))),
  )
  return found.filter((info) => info !== undefined)
}

/** The process with this pid now, or undefined when there is none. */
export async function processOf(pid: number): Promise<ProcessInfo | undefined> {
  return readProcess(pid)
}

export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  const info = await readProcess(identity.pid)
  return info?.startTime === identity.startTime
}

/** Children, their children and so on; without the process itself. */
export async function descendantsOf(pid: number): Promise<ProcessInfo[]> {
  const all = await listProcesses()
  const found: ProcessInfo[] = []
  const parents = new Set([pid])
  let grows = true
  while (grows) {
    grows = false
    for (const info of all) {
      if (parents.has(info.pid) || !parents.has(info.parent)) continue
      parents.add(info.pid)
      found.push(info)
      grows = true
    }
  }
  return found
}

/**
 * Processes whose environment at their start held this variable; with a value, exactly that one, or one that fits. It
 * finds also those that left their group and lost their parent.
 */
export async function processesWithVariable(
  name: string,
  value?: string | ((value: string) => boolean),
): Promise<ProcessInfo[]> {
  const fitting = typeof value === 'function' ? value : undefined
  const all = await listProcesses()
  const marked = await Promise.all(
    all.map(async (info) => {
      const environment = await readIfThere(`/proc/${info.pid}/environ`)
      const fits = (environment ?? '').split('\0').some((entry) => {
        if (!entry.startsWith(`${name}=`)) return false
        const given = entry.slice(name.length + 1)
        return fitting === undefined ? value === undefined || given === value : fitting(given)
      })
      return fits ? info : undefined
    }),
  )
  return marked.filter((info) => info !== undefined)
}

/** Processes that started at this time or later, for what a test may have left over. */
export async function processesSince(startTime: number): Promise<ProcessInfo[]> {
  return (await listProcesses()).filter((info) => info.startTime >= startTime)
}

/** Ends exactly these processes, at once; one that has ended already, or is another now, is left. */
export async function endProcesses(identities: readonly ProcessIdentity[]): Promise<void> {
  for (const identity of identities) {
    if (!(await isAlive(identity))) continue
    try {
      process.kill(identity.pid, 'SIGKILL')
    } catch (error) {
      if (!hasCode(error, 'ESRCH')) throw error
    }
  }
}

async function readProcess(pid: number): Promise<ProcessInfo | undefined> {
  const [stat, commandLine] = await Promise.all([
    readIfThere(`/proc/${pid}/stat`),
    readIfThere(`/proc/${pid}/cmdline`),
  ])
  if (stat === undefined) return undefined
  const info = parseStat(stat, commandLine ?? '')
  return info?.state === 'Z' || info?.state === 'X' ? undefined : info
}

/** Reads a line of /proc/PID/stat; a program's name may hold spaces and parentheses. */
export function parseStat(stat: string, commandLine: string): ProcessInfo | undefined {
  const fields = stat
    .slice(stat.lastIndexOf(')') + 1)
    .trim()
    .split(' ')
  const pid = Number.parseInt(stat, 10)
  const [state, parent, group, session] = fields
  const startTime = fields[19]
  if (state === undefined || startTime === undefined || Number.isNaN(pid)) return undefined
  return {
    pid,
    startTime: Number(startTime),
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    state,
    command: commandLine.split('\0').filter(Boolean).join(' '),
  }
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    // Gone since it was listed, or of another user.
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].some((code) => hasCode(error, code)))
      return undefined
    throw error
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
