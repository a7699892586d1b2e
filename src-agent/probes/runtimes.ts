import { access, constants } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import type { Probe, ProbeFinding, RuntimeReport } from '../../src-shared/agent-wire.ts'
import {
  ACP_PRESETS,
  type AcpAgent,
  acpAgentOf,
  OwnRuntime,
  RuntimeName,
} from '../../src-shared/runtimes.ts'
import type { Git } from '../git/run.ts'
import type { Driver } from '../runtimes/driver.ts'
import { type Drivers, driverOf } from '../runtimes/registry.ts'
import { sessionEnvironment } from '../session-loop/context.ts'

export type RuntimesToFind = {
  /** By runtime. */
  paths: Readonly<Record<string, string>>
  /** Those of the settings, by name. */
  acpAgents: Readonly<Record<string, AcpAgent>>
  cwd: string
  /** No other one is looked for. */
  only?: RuntimeName
  projects?: RuntimesProbe['projects']
}

type RuntimesProbe = Extract<Probe, { kind: 'runtimes' }>
type Env = Readonly<Record<string, string>>

/** git and every runtime of this machine, with what keeps one from working, for the projects too. */
export async function probeRuntimes(
  git: Git,
  drivers: Drivers,
  { paths, acpAgents, cwd, only, projects }: RuntimesToFind,
): Promise<ProbeFinding> {
  const looks = new Map<string, Promise<RuntimeReport>>()
  const look = (name: RuntimeName, own: Env) => {
    const key = JSON.stringify([name, Object.entries(own).sort()])
    const before = looks.get(key)
    if (before !== undefined) return before
    const driver = driverOf(drivers, name, acpAgentOf(name, acpAgents))
    const env = sessionEnvironment(git.env, own)
    const found = findRuntime(name, driver, paths[name] ?? null, env)
    looks.set(key, found)
    return found
  }
  const inProjects = async (name: RuntimeName): Promise<Pick<RuntimeReport, 'projects'>> => {
    if (projects === undefined) return {}
    const users = projects.filter(({ runtimes }) => runtimes.includes(name))
    const judged = users.map(async (project) => {
      const { loggedIn, login, problem } = await look(name, project.env)
      return { project: project.id, name: project.name, loggedIn, login, problem }
    })
    return { projects: await Promise.all(judged) }
  }
  const [found, ...runtimes] = await Promise.all([
    findGit(git, cwd),
    ...(only === undefined ? namesOf(acpAgents) : [only]).map(async (name) => {
      const [report, users] = await Promise.all([look(name, {}), inProjects(name)])
      return { ...report, ...users }
    }),
  ])
  return { kind: 'runtimes', git: found, runtimes }
}

async function findGit(git: Git, cwd: string) {
  const path = await findOnPath('git', git.env)
  try {
    const text = await git.text(['--version'], { cwd })
    return { path, version: /\d+(\.\d+)+/.exec(text)?.[0] ?? null }
  } catch {
    // Without a version it does not run; whoever asked says what that means.
    return { path, version: null }
  }
}

function namesOf(acpAgents: RuntimesToFind['acpAgents']): RuntimeName[] {
  const names = new Set([...Object.keys(ACP_PRESETS), ...Object.keys(acpAgents)])
  return [...OwnRuntime.options, ...[...names].map((name) => RuntimeName.parse(`acp:${name}`))]
}

async function findRuntime(
  name: RuntimeName,
  driver: Driver | undefined,
  path: string | null,
  env: Env,
): Promise<RuntimeReport> {
  if (driver !== undefined) return driver.find({ path, env })
  const problem = {
    code: 'runtime.no-driver',
    message: `This build of Ballet cannot drive ${name}.`,
    hint: 'Update Ballet, or choose another runtime.',
  }
  return {
    ...{ runtime: name, path: null, version: null, loggedIn: null, login: null },
    ...{ versions: { minimum: null, tested: [] }, problem, notice: null },
  }
}

async function findOnPath(program: string, env: Env): Promise<string | null> {
  const names = process.platform === 'win32' ? [`${program}.exe`, `${program}.cmd`] : [program]
  for (const folder of (env.PATH ?? env.Path ?? '').split(delimiter)) {
    if (!isAbsolute(folder)) continue
    for (const name of names) {
      const file = join(folder, name)
      const isThere = await access(file, constants.X_OK).then(
        () => true,
        () => false,
      )
      if (isThere) return file
    }
  }
  return null
}
