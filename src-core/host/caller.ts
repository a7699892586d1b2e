import { execFile } from 'node:child_process'
import { readdir, readFile, readlink } from 'node:fs/promises'
import type { Socket } from 'node:net'

/** In the environment of everything that a session started. */
const MARK = 'BALLET_SESSION='

/** Of each part of it; a busy machine takes its time, and who is not known to be of a session may steer. */
const LIMIT_MS = 3_000

/** Processes that are looked at together: each takes two open files. */
const AT_ONCE = 64

/**
 * Whether a process that a session started is at the other end of a unix socket's connection; undefined where that
 * cannot be found out. Node does not tell who is there, but on Linux `ss` tells which socket it is, and /proc who
 * holds it. It keeps an agent from steering sessions by mistake or by habit; it is no security boundary, since a
 * program of the same user can leave its parents and its mark behind, and can read the database anyway.
 */
export async function isCalledFromSession(socket: Socket): Promise<boolean | undefined> {
  if (process.platform !== 'linux') return undefined
  try {
    const marked = await markedProcesses(performance.now() + LIMIT_MS)
    if (marked.length === 0) return false
    const inode = await inodeOf(socket)
    const peer = inode === undefined ? undefined : await peerOf(inode)
    if (peer === undefined) return undefined
    for (const pid of marked) if (await holds(pid, peer)) return true
    return false
  } catch {
    // Whatever this system does not tell, it does not tell.
    return undefined
  }
}

async function inodeOf(socket: Socket): Promise<string | undefined> {
  const handle = '_handle' in socket ? socket._handle : undefined
  if (typeof handle !== 'object' || handle === null || !('fd' in handle)) return undefined
  return inodeIn(await readlink(`/proc/self/fd/${String(handle.fd)}`))
}

const inodeIn = (link: string): string | undefined => /^socket:\[(\d+)\]$/.exec(link)?.[1]

/** The socket at the other end, from a line such as `u_str ESTAB 0 0 /run/x.sock 300 * 301`. */
async function peerOf(inode: string): Promise<string | undefined> {
  const table = await new Promise<string>((resolve, reject) => {
    execFile(
      'ss',
      ['-x', '-H'],
      { timeout: LIMIT_MS, maxBuffer: 16 * 1024 * 1024 },
      (error, stdout) => (error ? reject(error) : resolve(stdout)),
    )
  })
  for (const line of table.split('\n')) {
    const found = / (\d+) +\S+ (\d+) *$/.exec(line)
    if (found?.[1] === inode && found[2] !== '0') return found[2]
  }
  return undefined
}

/** Those with the mark, and those that one of them started without it. */
async function markedProcesses(deadline: number): Promise<string[]> {
  const marked = new Set<string>()
  const children = new Map<string, string[]>()
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const look = async (pid: string): Promise<void> => {
    if (performance.now() > deadline) throw new Error('there are too many processes')
    const [isMarked, parent] = await Promise.all([hasMark(pid), parentOf(pid)])
    if (isMarked) marked.add(pid)
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), pid])
  }
  for (let at = 0; at < pids.length; at += AT_ONCE) {
    await Promise.all(pids.slice(at, at + AT_ONCE).map(look))
  }
  // A set is walked through with what is added to it meanwhile.
  for (const pid of marked) for (const child of children.get(pid) ?? []) marked.add(child)
  return [...marked]
}

async function hasMark(pid: string): Promise<boolean> {
  const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
  return environment.split('\0').some((variable) => variable.startsWith(MARK))
}

/** From a line such as `4711 (a name) S 1 …`; the name may hold anything. */
async function parentOf(pid: string): Promise<string | undefined> {
  const line = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '')
  return /^ \S (\d+) /.exec(line.slice(line.lastIndexOf(')') + 1))?.[1]
}

async function holds(pid: string, inode: string): Promise<boolean> {
  const folder = `/proc/${pid}/fd`
  for (const fd of await readdir(folder).catch(() => [])) {
    if (inodeIn(await readlink(`${folder}/${fd}`).catch(() => '')) === inode) return true
  }
  return false
}
