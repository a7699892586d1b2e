/** How far a transfer of git is: `Receiving objects: 45% (450/1000), 12.30 MiB | 3.10 MiB/s`. */
export type GitProgress = {
  phase: string
  /** 0 to 100; null where git only counts. */
  percent: number | null
  text: string
}

/** Reads one line of what git writes to stderr with `--progress`; null when it is no progress. */
export function parseGitProgress(line: string): GitProgress | null {
  const text = line.replace(/^remote: /, '').trim()
  const counted = /^([A-Z][A-Za-z ]+?): +(?:(\d{1,3})% )?\(?\d+/.exec(text)
  const phase = counted?.[1]
  if (phase === undefined) return null
  return { phase, percent: counted?.[2] === undefined ? null : Number(counted[2]), text }
}
