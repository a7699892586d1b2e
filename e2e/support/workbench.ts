import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test as base } from '@playwright/test'
import { type ModelServer, startModelServer } from '../model/server.ts'
import { CLAUDE_PROGRAM } from './bare-claude.ts'
import { type CommandResult, runBallet } from './command-line.ts'
import { type DesktopApp, startDesktop } from './desktop-app.ts'
import { type GitRemote, type GitRemoteOptions, makeGitRemote } from './git-remote.ts'
import { type HeadlessHost, startHeadlessHost } from './headless-host.ts'
import { endProcesses, type ProcessInfo, processesWithVariable } from './process-tree.ts'
import { makeTempFolder } from './temp-folder.ts'
import { waitFor } from './wait-for.ts'

/** What a test works with: a machine's user of its own, the scripted model, and hosts that end with the test. */
export type Workbench = {
  /** Removed at the end. */
  readonly folder: string
  readonly home: string
  readonly dataDir: string
  /** Claude Code's own folder of this user. */
  readonly claudeDir: string
  readonly model: ModelServer
  /** The whole environment of hosts and command lines; runtimes get their share of it from Ballet. */
  readonly env: Readonly<Record<string, string>>
  remote(options?: GitRemoteOptions): Promise<GitRemote>
  /** Starts a host on the data folder; it is stopped at the end. */
  host(options?: HostOptions): Promise<HeadlessHost>
  /** Starts the application on the data folder; it is ended at the end. */
  desktop(options?: {
    readonly args?: readonly string[]
    /** Added to the environment. */
    readonly env?: Readonly<Record<string, string>>
  }): Promise<DesktopApp>
  /** `ballet`, exactly with these arguments. */
  ballet(...args: string[]): Promise<CommandResult>
  /** Everything that runs on behalf of this user, whatever group or parent it has. */
  processes(): Promise<ProcessInfo[]>
  /** A running program of this user by its whole command line. */
  process(command: string): Promise<ProcessInfo>
  /** A new absolute path in the folder; nothing is made. */
  path(name: string): string
  /** Called before the folder is removed, the last one first. */
  atEnd(action: () => Promise<unknown>): void
}

export type HostOptions = {
  readonly agents?: number
  readonly dataDir?: string
  readonly program?: string
  /** Added to the environment; undefined takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

const GIT_CONFIG = `[user]
	name = Sample Person
	email = person@example.org
[init]
	defaultBranch = main
`

export const test = base.extend<{ bench: Workbench }>({
  bench: ({ browserName: _ }, use) => withWorkbench(use),
})

/** Runs `use` with a workbench; what it started is ended and what it made is removed afterwards. */
export async function withWorkbench(use: (bench: Workbench) => Promise<void>): Promise<void> {
  const { path: folder, remove } = await makeTempFolder('be-')
  const model = await startModelServer()
  const ends: (() => Promise<unknown>)[] = []
  const bench = await makeWorkbench(folder, model, ends)
  try {
    await use(bench)
  } finally {
    for (const end of ends.reverse()) await end()
    await endProcesses(await bench.processes())
    await model.close()
    await remove()
  }
}

async function makeWorkbench(
  folder: string,
  model: ModelServer,
  ends: (() => Promise<unknown>)[],
): Promise<Workbench> {
  const path = (name: string) => join(folder, name)
  const home = path('home')
  const dataDir = path('data')
  const claudeDir = path('claude')
  for (const name of ['home', 'claude', 'tmp', 'bin']) await mkdir(path(name))
  await mkdir(path('run'), { mode: 0o700 })
  await writeFile(join(home, '.gitconfig'), GIT_CONFIG)
  // A desktop start reads the PATH of the person's login shell.
  await writeFile(join(home, '.profile'), `export PATH='${path('bin')}':"$PATH"\n`)
  await symlink(CLAUDE_PROGRAM, join(path('bin'), 'claude'))
  const env = {
    PATH: `${path('bin')}:${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    HOME: home,
    USER: 'person',
    SHELL: '/bin/sh',
    LANG: 'C.UTF-8',
    TMPDIR: path('tmp'),
    XDG_RUNTIME_DIR: path('run'),
    CLAUDE_CONFIG_DIR: claudeDir,
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: 'sk-scripted-0000',
  }
  const processes = () => processesWithVariable('HOME', home)
  return {
    folder,
    home,
    dataDir,
    claudeDir,
    model,
    env,
    path,
    processes,
    process: (command) =>
      waitFor(`the process ${command}`, async () =>
        (await processes()).find((info) => info.command === command),
      ),
    remote: (options) => makeGitRemote(folder, options),
    host: async (options = {}) => {
      const host = await startHeadlessHost({ dataDir, ...options, env: joined(env, options.env) })
      ends.push(async () => {
        if (host.isRunning()) await host.stopFast()
      })
      return host
    },
    desktop: async (options = {}) => {
      const desktop = await startDesktop({ dataDir, ...options, env: joined(env, options.env) })
      ends.push(async () => {
        if (desktop.isRunning()) await desktop.end()
      })
      return desktop
    },
    ballet: (...args) => runBallet(args, { env }),
    atEnd: (action) => {
      ends.push(action)
    },
  }
}

function joined(
  env: Readonly<Record<string, string>>,
  more: HostOptions['env'] = {},
): Record<string, string> {
  const entries = Object.entries({ ...env, ...more })
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}
