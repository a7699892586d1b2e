import type { Command } from 'commander'
import type { RuntimeReport } from '../../src-shared/agent-wire.ts'
import { CONTRACT_VERSION, type DoctorReport } from '../../src-shared/contract.ts'
import type { MachineReport } from '../../src-shared/headless-host.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { loginText } from '../../src-shared/runtimes.ts'
import type { Context } from '../context.ts'
import { plainText } from '../plain-text.ts'
import type { CommandRunner } from '../program.ts'
import { counted } from '../quantities.ts'
import { type Column, fields, table } from '../table.ts'

/** Commands about the running host and this installation. */
export function addHostCommands(program: Command, run: CommandRunner): void {
  program
    .command('agents')
    .description('the fleet of the running host')
    .action(
      run.looking(async ({ ask, print }) => {
        const agents = await ask((client, limit) => client.agents.list(undefined, limit))
        print.list('agent', agents, 'The host has no agents.')
      }),
    )

  program
    .command('doctor')
    .description('check this machine: git, runtimes, data folder; exit 1 at a problem')
    .action(
      run.looking(async (context) => {
        const report = await lookAround(context)
        if (context.print.isJson) context.print.json(report)
        else for (const text of describeReport(report)) context.print.say(text)
        const [first, ...others] = report.problems
        if (first === undefined) return
        // People have read them all in the report.
        const message = `${counted(others.length + 1, 'problem')} found.`
        throw new BalletError(context.print.isJson ? first : { code: first.code, message })
      }),
    )

  program
    .command('version')
    .description('the version of Ballet, of its contract and of Node')
    .action(
      run.looking(async ({ print, world }: Context) => {
        const versions = {
          version: world.version,
          contract: CONTRACT_VERSION,
          node: process.versions.node,
        }
        if (print.isJson) print.json(versions)
        else
          print.say(
            `Ballet ${versions.version} (contract ${versions.contract}, Node ${versions.node})`,
          )
      }),
    )
}

/** What the host says of this machine; without one the machine is looked at from here. */
async function lookAround({ ask, world, dataDir }: Context): Promise<DoctorReport | MachineReport> {
  try {
    return await ask((client, limit) => client.host.doctor(undefined, limit))
  } catch (error) {
    if (!(error instanceof BalletError) || error.code !== 'host.not-running') throw error
    const { examineMachine } = await world.loadHost()
    return examineMachine({ dataDir })
  }
}

function describeReport(report: DoctorReport | MachineReport): string[] {
  const { host, git, runtimes, storage, problems, notes = [] } = report
  // Where nobody could look, nothing is known of either.
  const missing = runtimes.length === 0 ? 'not known' : 'not found'
  const inProjects = runtimes.flatMap(({ runtime, projects = [] }) =>
    projects.map((project) => ({ ...project, runtime })),
  )
  const dataDir = host === null ? report.dataDir : host.dataDir
  return [
    ...fields([
      ...describeHost(report),
      ['data folder', plainText(dataDir)],
      [
        'database',
        storage === null
          ? 'none yet'
          : `${plainText(storage.file)} (schema ${storage.schemaVersion}, ${binarySize(storage.bytes)})`,
      ],
      ...(storage === null ? [] : [['free there', describeFree(storage.freeBytes)] as const]),
      ['git', git.path === null ? missing : `${git.version ?? 'version not known'} (${git.path})`],
    ]),
    ...(runtimes.length === 0 ? [] : ['', ...table(runtimeColumns, runtimes, undefined)]),
    ...(inProjects.length === 0 ? [] : ['', ...table(projectColumns, inProjects, undefined)]),
    '',
    ...(problems.length === 0
      ? ['All is well.']
      : problems.map(
          ({ message, hint }) => `✗ ${plainText(hint ? `${message} ${hint}` : message)}`,
        )),
    ...notes.map(({ message, hint }) => `! ${plainText(hint ? `${message} ${hint}` : message)}`),
  ]
}

const runtimeColumns: readonly Column<RuntimeReport>[] = [
  { head: 'RUNTIME', cell: ({ runtime }) => runtime },
  {
    head: 'VERSION',
    cell: ({ path, version }) => (path === null ? 'not found' : (version ?? 'not known')),
  },
  { head: 'TESTED', cell: ({ versions }) => testedText(versions) },
  {
    head: 'LOGIN',
    cell: ({ path, loggedIn, login }) => (path === null ? '' : describeLogin(loggedIn, login)),
  },
  {
    head: 'WHERE',
    cell: ({ path, problem, notice }) =>
      path === null ? (problem?.hint ?? '') : [path, notice === null ? '' : '(!)'].join(' ').trim(),
  },
]

const projectColumns: readonly Column<InProject>[] = [
  { head: 'PROJECT', cell: ({ name }) => plainText(name) },
  { head: 'RUNS WITH', cell: ({ runtime }) => runtime },
  {
    head: 'LOGIN THERE',
    cell: ({ loggedIn, login, problem }) =>
      problem === null || loggedIn === false ? describeLogin(loggedIn, login) : problem.message,
  },
]

type InProject = NonNullable<RuntimeReport['projects']>[number] & Pick<RuntimeReport, 'runtime'>

/** The versions that the tests ran with, and the oldest that is tried. */
function testedText({ minimum, tested }: RuntimeReport['versions']): string {
  const known = tested.length === 0 ? 'none' : tested.join(', ')
  return minimum === null || tested[0] === minimum ? known : `${known} (from ${minimum})`
}

function describeHost(report: DoctorReport | MachineReport): (readonly [string, string])[] {
  const { host } = report
  if (host === null) return [['host', `none runs (this is Ballet ${report.version})`]]
  return [
    ['host', `Ballet ${host.version}, ${host.kind}, pid ${host.pid}, ${host.agents} agents`],
    ['since', host.startedAt],
  ]
}

function describeLogin(loggedIn: boolean | null, login: string | null): string {
  if (loggedIn === null) return 'login not known'
  if (!loggedIn) return 'not logged in'
  return login === null ? 'logged in' : `logged in by ${loginText(login)}`
}

const describeFree = (bytes: number | null) => (bytes === null ? 'not known' : binarySize(bytes))

function binarySize(bytes: number): string {
  return bytes < 2 ** 30
    ? `${(bytes / 2 ** 20).toFixed(1)} MiB`
    : `${(bytes / 2 ** 30).toFixed(1)} GiB`
}
