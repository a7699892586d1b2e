import { chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CAN_MOUNT, mountDisk } from '../parking/testing/small-disk.ts'
import { isRunning } from '../process-tree/index.ts'
import { gitEnvironment } from './environment.ts'
import { parseGitProgress } from './progress.ts'
import { withoutCredentials } from './redact.ts'
import { createGit, type Git } from './run.ts'

let folder: string
let env: Record<string, string>
let git: Git
let server: Server | undefined

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'ballet-git-')))
  env = { PATH: process.env.PATH ?? '', HOME: folder, GIT_CONFIG_NOSYSTEM: '1' }
  git = createGit({ env })
})
afterEach(async () => {
  server?.close()
  server = undefined
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

async function script(name: string, body: string): Promise<string> {
  const file = join(folder, name)
  await writeFile(file, `#!/bin/sh\n${body}\n`)
  await chmod(file, 0o755)
  return file
}

async function serve(status: number, headers: Record<string, string> = {}): Promise<string> {
  server = createServer((_, response) => response.writeHead(status, headers).end('no'))
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.git`
}

const lsRemote = (repo: string, given = git) =>
  given.text(['ls-remote', '--', repo], { cwd: folder, about: { repo } })

describe('what a remote says', () => {
  it.each([
    ['a folder that is not there', () => '/nowhere/at all', 'remote.not-a-repository'],
    ['a port where nobody listens', () => 'http://127.0.0.1:9/x.git', 'remote.unreachable'],
    ['ssh to such a port', () => 'ssh://git@127.0.0.1:9/x.git', 'remote.unreachable'],
    ['a host without a name', () => 'https://no-such-host.invalid/x.git', 'remote.unreachable'],
    [
      'a question for a password',
      () => serve(401, { 'www-authenticate': 'Basic' }),
      'remote.refused',
    ],
    ['no right', () => serve(403), 'remote.refused'],
    ['no such repository', () => serve(404), 'remote.not-a-repository'],
    ['a server in trouble', () => serve(503), 'remote.unreachable'],
    ['a transport that runs commands', () => 'ext::sh -c exit', 'remote.not-a-repository'],
    [
      'an option in place of an address',
      () => '--upload-pack=touch canary',
      'remote.not-a-repository',
    ],
  ])('%s', async (_, repo, code) => {
    const error = await lsRemote(await repo()).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code, hint: expect.any(String) })
    await expect(readFile(join(folder, 'canary'))).rejects.toThrow()
  })

  it.each([
    ['git@x: Permission denied (publickey).', 'remote.refused'],
    ['Host key verification failed.', 'remote.refused'],
    ['ssh: connect to host x port 22: No route to host', 'remote.unreachable'],
    ['ERROR: Repository not found.', 'remote.not-a-repository'],
    ['ssh: Could not resolve hostname x: Name or service not known', 'remote.unreachable'],
  ])('over ssh: %s', async (said, code) => {
    const ssh = await script('fake-ssh', `echo "${said}" >&2; exit 255`)
    const own = createGit({ env: { ...env, GIT_SSH_COMMAND: ssh, GIT_SSH_VARIANT: 'simple' } })
    const error = await lsRemote('git@x:y.git', own).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code })
    if (code === 'remote.refused') expect(error).toMatchObject({ hint: /never asks/ })
  })

  it('never shows a password of an address', async () => {
    const repo = (await serve(403)).replace('://', '://eva:hunter22@')
    const error = await lsRemote(repo).catch((reason: unknown) => reason)
    expect(JSON.stringify(error)).not.toContain('hunter22')
    expect(withoutCredentials('ssh://git@x/y https://t0ken@x/y')).toBe('ssh://git@x/y https://x/y')
  })
})

describe('a git that nobody watches', () => {
  it('asks nobody: no terminal, no helper program, ssh in batch mode', async () => {
    await script('asked', 'echo asked >> "$HOME/canary"; echo secret')
    const ssh = await script('ssh', 'echo "$@" > "$HOME/ssh-arguments"; exit 255')
    const asking = createGit({
      env: {
        ...env,
        PATH: `${folder}:${env.PATH}`,
        DISPLAY: ':0',
        SSH_ASKPASS: join(folder, 'asked'),
        GIT_ASKPASS: join(folder, 'asked'),
        GIT_TERMINAL_PROMPT: '1',
      },
    })
    await writeFile(join(folder, '.gitconfig'), `[core]\n askPass = ${join(folder, 'asked')}\n`)
    const url = await serve(401, { 'www-authenticate': 'Basic' })
    await expect(lsRemote(url, asking)).rejects.toMatchObject({ code: 'remote.refused' })
    await expect(lsRemote('git@x:y.git', asking)).rejects.toThrow()
    await expect(readFile(join(folder, 'canary'))).rejects.toThrow()
    expect(await readFile(`${ssh}-arguments`, 'utf8')).toContain('BatchMode=yes')
  })

  it('uses the credential helpers and the ssh command of the user', async () => {
    const helper = await script(
      'helper',
      'echo username=eva; echo password=x; echo "$1" >> "$HOME/used"',
    )
    const ssh = await script('my-ssh', 'echo mine > "$HOME/used-ssh"; exit 255')
    await writeFile(
      join(folder, '.gitconfig'),
      `[credential]\n helper = ${helper}\n[core]\n sshCommand = ${ssh}\n`,
    )
    const url = await serve(401, { 'www-authenticate': 'Basic' })
    await expect(lsRemote(url)).rejects.toMatchObject({ code: 'remote.refused' })
    expect(await readFile(join(folder, 'used'), 'utf8')).toContain('get')
    await expect(lsRemote('git@x:y.git')).rejects.toThrow()
    expect(await readFile(join(folder, 'used-ssh'), 'utf8')).toBe('mine\n')
  })

  it('works again after a time when it could not be asked for the ssh command', async () => {
    const remote = join(folder, 'remote.git')
    await git.text(['init', '--quiet', '--bare', remote], { cwd: folder })
    const later = createGit({ env })
    await expect(
      later.text(['ls-remote', '--', remote], { cwd: join(folder, 'gone') }),
    ).rejects.toMatchObject({ code: 'workspace.missing' })
    expect(await lsRemote(remote, later)).toBe('')
  })

  it('takes nothing of the surroundings but what it is given', async () => {
    const made = gitEnvironment({
      GIT_DIR: '/elsewhere',
      GIT_INDEX_FILE: 'x',
      GIT_CONFIG_KEY_0: 'core.pager',
      BALLET_SESSION: 'x',
      SSH_AUTH_SOCK: '/agent',
      GIT_SSH: '/my/ssh',
    })
    expect(Object.keys(made)).not.toContain('GIT_DIR')
    expect(Object.keys(made)).not.toContain('GIT_INDEX_FILE')
    expect(Object.keys(made)).not.toContain('GIT_CONFIG_KEY_0')
    expect(Object.keys(made)).not.toContain('BALLET_SESSION')
    expect(made).toMatchObject({ SSH_AUTH_SOCK: '/agent', GIT_SSH: '/my/ssh', LC_ALL: 'C' })
  })

  it('is missed with a word what to do', async () => {
    await mkdir(join(folder, 'empty'))
    const none = createGit({ env: { ...env, PATH: join(folder, 'empty') } })
    await expect(none.text(['status'], { cwd: folder })).rejects.toMatchObject({
      code: 'git.not-found',
      hint: expect.stringContaining('Install git'),
    })
    await expect(git.text(['status'], { cwd: join(folder, 'gone') })).rejects.toMatchObject({
      code: 'workspace.missing',
    })
  })

  it('reports other failures with the words of git', async () => {
    await expect(git.text(['rev-parse', 'HEAD'], { cwd: folder })).rejects.toMatchObject({
      message: expect.stringContaining('not a git repository'),
    })
    const full = await script(
      'full-git',
      'echo "fatal: write error: No space left on device" >&2; exit 128',
    )
    const failing = createGit({ env, program: full })
    await expect(failing.text(['add'], { cwd: folder })).rejects.toMatchObject({
      code: 'disk.full',
    })
  })
})

it.skipIf(!CAN_MOUNT)('says that the disk is full also where git does not', async () => {
  const place = join(folder, 'disk')
  const disk = await mountDisk(place, 4)
  try {
    const text = (...args: string[]) => git.text(args, { cwd: place })
    await text('init', '--quiet')
    await writeFile(join(place, 'x'), 'much of it, which packs well\n'.repeat(60_000))
    await text('add', 'x')
    await rm(join(place, 'x'))
    await disk.fill(200_000)
    // git itself: unable to write file x
    await expect(text('checkout-index', 'x')).rejects.toMatchObject({
      code: 'disk.full',
      message: expect.stringContaining(`the disk of ${place} is full`),
      hint: expect.stringContaining('Free some space'),
    })
    await disk.free()
    await text('checkout-index', '--force', 'x')
  } finally {
    await disk.remove()
  }
})

describe('a git that takes too long', () => {
  const slow = async () =>
    createGit({
      env,
      program: await script('slow-git', 'sleep 300 & echo $$ $! > "$HOME/pids"; sleep 300'),
    })

  async function pids(): Promise<number[]> {
    for (let tries = 0; tries < 200; tries += 1) {
      const text = await readFile(join(folder, 'pids'), 'utf8').catch(() => '')
      if (text.endsWith('\n')) return text.trim().split(' ').map(Number)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    throw new Error('git did not start')
  }

  async function isGone(pid: number): Promise<boolean> {
    for (let tries = 0; tries < 200; tries += 1) {
      try {
        process.kill(pid, 0)
      } catch {
        return true
      }
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    return !(await isRunning({ pid, startTime: '' }))
  }

  it('is ended with everything that it started, at its limit', async () => {
    const running = (await slow()).run(['rev-parse'], { cwd: folder, limitMs: 500 })
    const started = pids()
    await expect(running).rejects.toMatchObject({ code: 'git.time-limit' })
    for (const pid of await started) expect(await isGone(pid)).toBe(true)
  })

  it('is ended when it is cancelled', async () => {
    const aborter = new AbortController()
    const running = (await slow()).run(['rev-parse'], { cwd: folder, signal: aborter.signal })
    const rejected = expect(running).rejects.toMatchObject({ code: 'git.cancelled' })
    const started = await pids()
    aborter.abort()
    await rejected
    for (const pid of started) expect(await isGone(pid)).toBe(true)
    await expect(
      git.run(['rev-parse'], { cwd: folder, signal: aborter.signal }),
    ).rejects.toMatchObject({ code: 'git.cancelled' })
  })

  it('is not waited for when only a daemon of it holds the pipe', async () => {
    const leaving = createGit({
      env,
      program: await script('leaving-git', 'setsid sleep 300 & echo $! > "$HOME/pids"; echo done'),
    })
    const result = await leaving.run(['rev-parse'], { cwd: folder })
    expect(result.stdout.toString()).toBe('done\n')
    // It runs on: a process that is gone cannot be killed.
    for (const pid of await pids()) process.kill(pid, 'SIGKILL')
  })
})

it('reads progress', () => {
  expect(parseGitProgress('Receiving objects:  45% (450/1000), 12.30 MiB | 3.10 MiB/s')).toEqual({
    phase: 'Receiving objects',
    percent: 45,
    text: 'Receiving objects:  45% (450/1000), 12.30 MiB | 3.10 MiB/s',
  })
  expect(parseGitProgress('remote: Enumerating objects: 12, done.')).toMatchObject({
    phase: 'Enumerating objects',
    percent: null,
  })
  expect(parseGitProgress('fatal: no')).toBe(null)
})
