import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { createGit, type Git } from '../git/run.ts'
import type { Report, WorkspacePlan } from './report.ts'

// What the tests of this room stand on: a data folder, a bare remote and a git without the user's configuration.

const run = promisify(execFile)

export type Told = { level: string; code: string; text: string }

export type Sample = {
  folder: string
  dataDir: string
  /** The bare repository's path. */
  remote: string
  env: Record<string, string>
  git: Git
  /** Runs git as somebody else would, and gives what it prints. */
  sh(cwd: string, ...args: string[]): Promise<string>
  /** Pushes a commit of somebody else to a branch of the remote, made from `from` when new; gives the commit. */
  commit(branch: string, files: Record<string, string | null>, from?: string): Promise<string>
  plan(changes?: Partial<WorkspacePlan>): WorkspacePlan
  told: Told[]
  steps: string[]
  report: Report
  remove(): Promise<void>
}

export type SampleOptions = { name?: string; empty?: boolean; gitConfig?: string }

export const never: AbortSignal = new AbortController().signal

export async function makeSample(options: SampleOptions = {}): Promise<Sample> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'ballet-agent-')))
  const home = join(folder, 'home')
  const dataDir = join(folder, 'data')
  const remote = join(folder, options.name ?? 'remote.git')
  for (const path of [home, dataDir]) await mkdir(path, { recursive: true })
  await writeFile(join(home, '.gitconfig'), options.gitConfig ?? '')
  const env = {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    HOME: home,
    GIT_CONFIG_NOSYSTEM: '1',
  }
  const sh = async (cwd: string, ...args: string[]) => {
    const { stdout } = await run('git', args, {
      cwd,
      maxBuffer: 64 * 1024 * 1024,
      env: {
        ...env,
        LC_ALL: 'C',
        GIT_AUTHOR_NAME: 'Somebody',
        GIT_AUTHOR_EMAIL: 'somebody@example.org',
        GIT_COMMITTER_NAME: 'Somebody',
        GIT_COMMITTER_EMAIL: 'somebody@example.org',
      },
    })
    return stdout.trim()
  }
  await sh(folder, 'init', '--quiet', '--bare', '--initial-branch=main', remote)
  const commit: Sample['commit'] = async (branch, files, from = 'main') => {
    const work = await mkdtemp(join(folder, 'work-'))
    await sh(work, 'init', '--quiet', '--initial-branch=work')
    const known = await sh(remote, 'for-each-ref', '--format=%(refname)', 'refs/heads')
    const base = [branch, from].find((name) => known.split('\n').includes(`refs/heads/${name}`))
    if (base !== undefined) await sh(work, 'pull', '--quiet', remote, base)
    await writeFiles(work, files)
    await sh(work, 'add', '--all')
    await sh(work, 'commit', '--quiet', '--allow-empty', `--message=Change ${branch}`)
    await sh(work, 'push', '--quiet', remote, `HEAD:refs/heads/${branch}`)
    const made = await sh(work, 'rev-parse', 'HEAD')
    await rm(work, { recursive: true })
    return made
  }
  // Processes are found by it on the whole machine, also those of another test.
  const session = randomUUID()
  const told: Told[] = []
  const steps: string[] = []
  const sample: Sample = {
    folder,
    dataDir,
    remote,
    env,
    git: createGit({ env }),
    sh,
    commit,
    plan: (changes) => ({
      dataDir,
      session,
      ticket: 'SHOP-1',
      repo: remote,
      baseBranch: 'main',
      branch: 'ballet/SHOP-1-c3d4e5',
      pushedCommit: null,
      mirrorDir: join(dataDir, 'mirrors', 'p.git'),
      workspaceDir: join(dataDir, 'workspaces', 'SHOP-1-00a1b2'),
      ...changes,
    }),
    told,
    steps,
    report: {
      step: (step, status) => steps.push(`${step} ${status}`),
      notice: (level, code, text) => told.push({ level, code, text }),
    },
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }),
  }
  if (!options.empty) await commit('main', { 'README.md': '# Sample\n', 'src/a.txt': 'a\n' })
  return sample
}

/** Path to content; null deletes, and `-> target` makes a symbolic link. */
export async function writeFiles(
  folder: string,
  files: Record<string, string | null>,
): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const file = join(folder, name)
    await mkdir(dirname(file), { recursive: true })
    await rm(file, { force: true })
    if (content === null) continue
    if (content.startsWith('-> ')) await symlink(content.slice(3), file)
    else await writeFile(file, content)
  }
}
