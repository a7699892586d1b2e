import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Commit {
  readonly hash: string
  readonly subject: string
  readonly body: string
  /** As in `Name <address>`. */
  readonly author: string
}

/** A bare repository in a folder, with the looks and the changes that a test needs. */
export interface GitRemote {
  readonly path: string
  /** `file://…`; the path works too. */
  readonly url: string
  branches(): Promise<string[]>
  /** Newest first. */
  log(branch: string): Promise<Commit[]>
  /** Undefined when the branch has no such file. */
  readFile(branch: string, path: string): Promise<string | undefined>
  listFiles(branch: string): Promise<string[]>
  /** A commit by somebody else, pushed to the branch, which is made from `from` when it is new. */
  commit(branch: string, message: string, files: RemoteFiles, from?: string): Promise<string>
  deleteBranch(branch: string): Promise<void>
  /** From now on every push is refused with this message. */
  refusePushes(message?: string): Promise<void>
  acceptPushes(): Promise<void>
}

/** Path to content; `null` deletes the file. */
export type RemoteFiles = Readonly<Record<string, string | null>>

export interface GitRemoteOptions {
  /** Name of the bare repository's folder; default `remote.git`. */
  readonly name?: string
  /** Default `main`. */
  readonly branch?: string
  /** The files of the first commit. */
  readonly files?: RemoteFiles
  /** A folder whose content is the first commit. */
  readonly copyOf?: string
  /** No commit at all. */
  readonly empty?: boolean
}

/** Makes a bare repository inside `folder`, by default with one commit on `main`. */
export async function makeGitRemote(
  folder: string,
  options: GitRemoteOptions = {},
): Promise<GitRemote> {
  const branch = options.branch ?? 'main'
  const path = join(folder, options.name ?? 'remote.git')
  await git(folder, 'init', '--quiet', '--bare', `--initial-branch=${branch}`, path)
  const remote = openGitRemote(path)
  if (options.empty) return remote
  const work = join(folder, `${options.name ?? 'remote.git'}-seed`)
  await mkdir(work)
  try {
    if (options.copyOf !== undefined) await cp(options.copyOf, work, { recursive: true })
    const files =
      options.files ?? (options.copyOf === undefined ? { 'README.md': '# Sample\n' } : {})
    await writeFiles(work, files)
    await git(work, 'init', '--quiet', `--initial-branch=${branch}`)
    await commitAll(work, 'First commit')
    await git(work, 'push', '--quiet', path, branch)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  return remote
}

/** A bare repository that is there already. */
export function openGitRemote(path: string): GitRemote {
  return {
    path,
    url: `file://${path}`,
    branches: async () =>
      lines(await git(path, 'for-each-ref', '--format=%(refname:short)', 'refs/heads')),
    log: async (branch) => {
      const text = await git(path, 'log', '--format=%H%x00%s%x00%b%x00%an <%ae>%x01', branch, '--')
      return text.split('\x01').flatMap((entry) => {
        const [hash, subject = '', body = '', author = ''] = entry.trim().split('\0')
        return hash ? [{ hash, subject, body: body.trim(), author }] : []
      })
    },
    readFile: async (branch, file) => {
      const listed = await git(path, 'ls-tree', '-z', '--name-only', branch, '--', file)
      return listed === '' ? undefined : git(path, 'show', `${branch}:${file}`)
    },
    listFiles: async (branch) =>
      (await git(path, 'ls-tree', '-r', '-z', '--name-only', branch)).split('\0').filter(Boolean),
    commit: async (branch, message, files, from = 'main') => {
      const work = `${path}-work-${process.hrtime.bigint()}`
      try {
        const known = lines(
          await git(path, 'for-each-ref', '--format=%(refname:short)', `refs/heads/${branch}`),
        )
        const base = known.length > 0 ? branch : from
        await git(dirname(path), 'clone', '--quiet', '--branch', base, path, work)
        if (base !== branch) await git(work, 'checkout', '--quiet', '-b', branch)
        await writeFiles(work, files)
        await commitAll(work, message)
        await git(work, 'push', '--quiet', 'origin', branch)
        return (await git(work, 'rev-parse', 'HEAD')).trim()
      } finally {
        await rm(work, { recursive: true, force: true })
      }
    },
    deleteBranch: async (branch) => {
      await git(path, 'update-ref', '-d', `refs/heads/${branch}`)
    },
    refusePushes: async (message = 'Pushes are refused here.') => {
      const hook = join(path, 'hooks', 'pre-receive')
      await mkdir(dirname(hook), { recursive: true })
      await writeFile(`${hook}.message`, `${message}\n`)
      await writeFile(hook, '#!/bin/sh\ncat "$0.message" >&2\nexit 1\n')
      await chmod(hook, 0o755)
    },
    acceptPushes: () => rm(join(path, 'hooks', 'pre-receive'), { force: true }),
  }
}

async function commitAll(work: string, message: string): Promise<void> {
  await git(work, 'add', '--all')
  await git(work, 'commit', '--quiet', '--allow-empty', `--message=${message}`)
}

async function writeFiles(folder: string, files: RemoteFiles): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const file = join(folder, name)
    if (content === null) {
      await rm(file, { force: true })
      continue
    }
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, content)
  }
}

/** Runs git without any configuration of the user or the machine, as the author of the sample. */
async function git(cwd: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(
    'git',
    ['-c', 'maintenance.auto=false', '-c', 'gc.auto=0', ...args],
    {
      cwd,
      timeout: 30_000,
      maxBuffer: 64 * 1024 * 1024,
      env: {
        PATH: process.env.PATH,
        HOME: cwd,
        LC_ALL: 'C',
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_TERMINAL_PROMPT: '0',
        GIT_AUTHOR_NAME: 'Sample Author',
        GIT_AUTHOR_EMAIL: 'author@example.org',
        GIT_COMMITTER_NAME: 'Sample Author',
        GIT_COMMITTER_EMAIL: 'author@example.org',
      },
    },
  )
  return stdout
}

function lines(text: string): string[] {
  return text.split('\n').filter(Boolean)
}
