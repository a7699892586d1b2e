import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { devNull } from 'node:os'
import { join } from 'node:path'
import { BalletError } from '../../src-shared/refusal.ts'

const GIT_LIMIT_MS = 30_000

/** Neither the person's name nor their hooks, signatures or templates have a part in the sample. */
const IDENTITY = { name: 'Ballet', email: 'ballet@localhost' }

/**
 * Makes a bare repository of the sample's files, to be used as the remote of the demo's project; an existing one
 * stays as it is. Rejects with `BalletError`, code `demo.git-missing` or `demo.not-made`.
 */
export async function makeDemoRepository(options: {
  /** The folder with the sample's files. */
  sample: string
  /** Where the bare repository goes; its folder exists. */
  target: string
  env: Readonly<Record<string, string>>
}): Promise<void> {
  const { sample, target, env } = options
  if (existsSync(target)) return
  const temporary = await mkdtemp(`${target}-`)
  const git = (cwd: string, ...args: string[]) => runGit(cwd, args, env)
  try {
    const work = join(temporary, 'work')
    await mkdir(work)
    await cp(sample, work, { recursive: true })
    await git(work, 'init', '--quiet', '--template=')
    await git(work, 'symbolic-ref', 'HEAD', 'refs/heads/main')
    await git(work, 'add', '--all', '--force')
    await git(work, 'commit', '--quiet', '--no-verify', '--message', 'A timer for roasts')
    const bare = join(temporary, 'bare.git')
    await git(temporary, 'clone', '--quiet', '--bare', '--template=', '--no-hardlinks', work, bare)
    await git(bare, 'remote', 'remove', 'origin')
    // Whole or not at all, whenever the host ends.
    await rename(bare, target)
  } catch (error) {
    if (error instanceof BalletError) throw error
    throw notMade(target, error)
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

function runGit(
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const settings = ['-c', 'core.autocrlf=false', '-c', 'commit.gpgSign=false']
    execFile(
      'git',
      [...settings, ...args],
      {
        cwd,
        timeout: GIT_LIMIT_MS,
        env: {
          ...env,
          GIT_CONFIG_GLOBAL: devNull,
          GIT_CONFIG_NOSYSTEM: '1',
          GIT_TERMINAL_PROMPT: '0',
          GIT_AUTHOR_NAME: IDENTITY.name,
          GIT_AUTHOR_EMAIL: IDENTITY.email,
          GIT_COMMITTER_NAME: IDENTITY.name,
          GIT_COMMITTER_EMAIL: IDENTITY.email,
        },
      },
      (error, _stdout, stderr) => {
        if (error === null) return resolve()
        if (error.code === 'ENOENT') return reject(gitMissing(error))
        reject(new Error(`git ${args[0]} failed: ${stderr.trim() || error.message}`))
      },
    )
  })
}

const gitMissing = (cause: unknown): BalletError =>
  new BalletError(
    {
      code: 'demo.git-missing',
      message: 'The demo needs git, and none was found on the PATH.',
      hint: 'Install git and start the demo again.',
    },
    { cause },
  )

const notMade = (target: string, error: unknown): BalletError =>
  new BalletError(
    {
      code: 'demo.not-made',
      message: `The demo's repository ${target} could not be made: ${error instanceof Error ? error.message : String(error)}.`,
      hint: 'Check that the disk is not full and the data folder can be written, then start the demo again.',
    },
    { cause: error },
  )
