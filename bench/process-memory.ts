import { readFile } from 'node:fs/promises'

/** The proportional set size of a process, in MB; 0 for one that has ended. Linux only. */
export async function pssOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '')
  return Number(/^Pss:\s+(\d+) kB/mu.exec(text)?.[1] ?? 0) / 1_024
}
