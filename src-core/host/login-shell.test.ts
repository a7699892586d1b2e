import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readLoginShellEnvironment, wasStartedByDesktop } from './login-shell.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'ballet-shell-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

/** A shell of the test's own, a script that gets the flags and the command. */
function shell(script: string): string {
  const file = join(home, 'a shell')
  writeFileSync(file, `#!/bin/sh\n${script}\n`)
  chmodSync(file, 0o755)
  return file
}

const ask = (SHELL: string, limitMs = 15_000) =>
  readLoginShellEnvironment({
    env: { HOME: home, PATH: '/usr/bin:/bin', SHELL },
    execPath: process.execPath,
    limitMs,
  })

describe("the login shell's environment", () => {
  it('is what a real shell sets up, whatever it prints', async () => {
    writeFileSync(
      join(home, '.bash_profile'),
      `echo "Welcome {}"; export FROM_PROFILE='a "b" \n c'; PATH="$PATH:/opt/own/bin"`,
    )
    const { env, problem } = await ask('/bin/bash')
    expect(problem).toBeUndefined()
    expect(env.FROM_PROFILE).toBe('a "b" \n c')
    expect(env.PATH).toContain('/opt/own/bin')
    expect(env).not.toHaveProperty('ELECTRON_RUN_AS_NODE')
  })

  it('is the own one where the shell fails, with the reason', async () => {
    for (const [SHELL, reason] of [
      [join(home, 'none'), /cannot be started/],
      [shell('exit 3'), /ended with 3 and told nothing/],
    ] as const) {
      const { env, problem } = await ask(SHELL)
      expect(problem).toMatch(reason)
      expect(env).toEqual({ HOME: home, PATH: '/usr/bin:/bin', SHELL })
    }
  })

  it('is not waited for longer than the limit, and nothing is left of the shell', async () => {
    const pidFile = join(home, 'pid')
    const { env, problem } = await ask(
      shell(`sleep 300 & echo $! > '${pidFile}.new' && mv '${pidFile}.new' '${pidFile}'; wait`),
      500,
    )
    expect(problem).toMatch(/did not answer within 0.5 s/)
    expect(env.HOME).toBe(home)
    expect(existsSync(pidFile)).toBe(true)
    const pid = Number(readFileSync(pidFile, 'utf8'))
    await expect.poll(() => isRunning(pid), { timeout: 5_000 }).toBe(false)
  })

  it('lets the shell tidy up, and kills what does not end', async () => {
    const bye = join(home, 'bye')
    const pidFile = join(home, 'pid')
    const wait = `while true; do sleep 0.02; done`
    await ask(
      shell(
        `sh -c 'trap "" TERM; ${wait}' & echo $! > '${pidFile}'\n` +
          `trap 'echo bye > "${bye}"; exit' TERM; ${wait}`,
      ),
      500,
    )
    await expect.poll(() => existsSync(bye), { timeout: 5_000 }).toBe(true)
    const pid = Number(readFileSync(pidFile, 'utf8'))
    await expect.poll(() => isRunning(pid), { timeout: 5_000 }).toBe(false)
  })

  it('is asked for only where a desktop started the application', () => {
    expect(wasStartedByDesktop({ PATH: '/bin' }, [{}])).toBe(true)
    expect(wasStartedByDesktop({ TERM: 'xterm' }, [{}])).toBe(false)
    expect(wasStartedByDesktop({}, [{}, { isTTY: true }])).toBe(false)
  })
})

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
