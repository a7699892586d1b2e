import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CLAUDE_PROGRAM } from './bare-claude.ts'

/**
 * Writes a program that stands in the runtime's place. `session` is what it does when it is asked for a session (all
 * other calls, such as `--version`, go to the real one); `claude` in it runs the real one, with the arguments in `"$@"`.
 */
export async function writeRuntime(
  folder: string,
  session: string,
  other = 'exec "$claude" "$@"',
): Promise<string> {
  const file = join(folder, 'runtime.sh')
  await writeFile(
    file,
    `#!/bin/sh
claude='${CLAUDE_PROGRAM}'
case "$*" in
*stream-json*)
${session}
;;
*)
${other}
;;
esac
`,
  )
  await chmod(file, 0o755)
  return file
}

/** Makes hosts on the data folder use this program as Claude Code. */
export async function useRuntime(dataDir: string, path: string): Promise<void> {
  await mkdir(dataDir, { recursive: true })
  const settings = { runtimePaths: { 'claude-code': path } }
  await writeFile(join(dataDir, 'settings.json'), JSON.stringify(settings))
}

/**
 * What a runtime does whose output gets the content of `file` in front of the first assistant's line, which is in the
 * middle of a turn; every other line passes at once as it is.
 */
export async function injectMidTurn(folder: string, file: string): Promise<string> {
  const filter = join(folder, 'filter.mjs')
  await writeFile(
    filter,
    `import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
let done = false
createInterface({ input: process.stdin, crlfDelay: Infinity }).on('line', (line) => {
  if (!done && line.includes('"type":"assistant"')) {
    done = true
    process.stdout.write(readFileSync(${JSON.stringify(file)}))
  }
  process.stdout.write(line + '\\n')
})
`,
  )
  return `"$claude" "$@" | '${process.execPath}' '${filter}'`
}
