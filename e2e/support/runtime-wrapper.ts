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
 * A filter for the runtime's output that lets every line through and puts `line` in front of the first assistant's
 * line, which is in the middle of a turn.
 */
export function injectMidTurn(file: string): string {
  return `"$claude" "$@" | awk -v file='${file}' '
    !done && /"type":"assistant"/ { while ((getline line < file) > 0) print line; done = 1 }
    { print; fflush() }'`
}
