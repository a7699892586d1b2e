import { access, constants } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import type { ProbeFinding, RuntimeReport } from '../../src-shared/agent-wire.ts'
import { RuntimeName } from '../../src-shared/records.ts'
import type { Git } from '../git/run.ts'
import type { Drivers } from '../runtimes/registry.ts'

/** git and every runtime of this machine, with what keeps one from working. */
export async function probeRuntimes(
  git: Git,
  drivers: Drivers,
  { paths, cwd }: { paths: Readonly<Record<string, string>>; cwd: string },
): Promise<ProbeFinding> {
  const [found, ...runtimes] = await Promise.all([
    findGit(git, cwd),
    ...RuntimeName.options.map((name) => findRuntime(name, drivers, paths[name] ?? null, git.env)),
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

async function findRuntime(
  name: RuntimeName,
  drivers: Drivers,
  path: string | null,
  env: Readonly<Record<string, string>>,
): Promise<RuntimeReport> {
  const driver = drivers[name]
  if (driver !== undefined) return driver.find({ path, env })
  const problem = {
    code: 'runtime.no-driver',
    message: `This build of Ballet cannot drive ${name}.`,
  }
  return { runtime: name, path: null, version: null, loggedIn: null, login: null, problem }
}

async function findOnPath(
  program: string,
  env: Readonly<Record<string, string>>,
): Promise<string | null> {
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
