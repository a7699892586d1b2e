/**
 * A name as the system has it, any bytes but zero: one letter a byte (Latin-1), with forward slashes. So a name that
 * is no UTF-8 comes through, and two of them compare as bytes.
 */
export type PathBytes = string

const MARK = 'bytes:'

/** The path below a folder, for calls of the system. */
export function absolutePath(folder: string, path: PathBytes): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(path, 'latin1')])
}

/** As text for people and JSON: the name itself, or its bytes in base64url when it is no UTF-8. */
export function nameOfPath(path: PathBytes): string {
  const bytes = Buffer.from(path, 'latin1')
  const text = bytes.toString('utf8')
  const isText = Buffer.from(text, 'utf8').equals(bytes) && !text.startsWith(MARK)
  return isText ? text : MARK + bytes.toString('base64url')
}

export function pathOfName(name: string): PathBytes {
  const bytes = name.startsWith(MARK)
    ? Buffer.from(name.slice(MARK.length), 'base64url')
    : Buffer.from(name, 'utf8')
  return bytes.toString('latin1')
}

/** The parts of a path that stays below its folder; null for any other. */
export function safeParts(path: PathBytes): string[] | null {
  const parts = path.split('/')
  const isSafe = parts.every(
    (part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\0'),
  )
  if (!isSafe) return null
  // A drive, a stream of a file, or another separator.
  return process.platform === 'win32' && /[\\:]/.test(path) ? null : parts
}

/** As a line of input for a git command that has no `-z`. */
export function quotedLine(path: PathBytes): string {
  const escaped = path.replace(/[^ !#-[\]-~]/g, (letter) => {
    return `\\${letter.charCodeAt(0).toString(8).padStart(3, '0')}`
  })
  return `"${escaped}"\n`
}

/** The entries of what git prints with `-z`. */
export function splitList(stdout: Buffer): PathBytes[] {
  const entries = stdout.toString('latin1').split('\0')
  entries.pop()
  return entries
}

/** Input for a git command with `-z`. */
export function joinList(entries: readonly string[]): Buffer {
  return Buffer.from(entries.map((entry) => `${entry}\0`).join(''), 'latin1')
}

export function comparePaths(a: PathBytes, b: PathBytes): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** The folders above a path, the nearest first. */
export function foldersAbove(path: PathBytes): PathBytes[] {
  const found: PathBytes[] = []
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
    found.push(path.slice(0, at))
  }
  return found
}
