import { chmodSync, readFileSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { RuntimeName } from '../../src-shared/runtimes.ts'
import { ROOT } from '../electron-runtime.ts'
import { CLAUDE_PROGRAM } from './bare-claude.ts'
import { garbledServer } from './garbled-server.ts'
import type { Workbench } from './workbench.ts'

/** A runtime that the conformance suite runs with, at a version that is installed. */
export type TestedRuntime = {
  /** In the titles of tests. */
  readonly title: string
  readonly runtime: RuntimeName
  /** What its package says. */
  readonly version: string
  readonly program: string
  /** An argument that only a call for a session has. */
  readonly session: string
  /** Writes a home of it that leads to the scripted model, and gives the variables that lead to the home. */
  readonly makeHome: (home: string, modelUrl: string) => Promise<Record<string, string>>
}

/** Newer versions beside the pinned ones, as `npm run runtimes:latest` installs them. */
const LATEST = process.env.BALLET_RUNTIMES_DIR

/** Where the runtimes beside the Claude Code of this clone are installed. */
const FOLDER = LATEST === undefined ? join(ROOT, 'e2e', 'runtimes') : resolve(LATEST)

const claudeHome = async (home: string): Promise<Record<string, string>> => {
  await mkdir(home, { recursive: true })
  return { CLAUDE_CONFIG_DIR: home }
}

const claude = { runtime: 'claude-code', session: 'stream-json', makeHome: claudeHome } as const
const opencode = { program: 'opencode', package: 'opencode-ai', makeHome: opencodeHome } as const

/** Every runtime of the suite, the ones of this clone first. */
export const TESTED: readonly TestedRuntime[] = [
  ...(LATEST === undefined
    ? [
        tested('claude-code', { ...claude, folder: ROOT }),
        tested('claude-code-oldest', { ...claude, package: 'claude-code-oldest' }),
      ]
    : [tested('claude-code', claude)]),
  tested('opencode', { ...opencode, runtime: 'opencode', session: 'serve' }),
  tested('codex', {
    ...{ runtime: 'codex', program: 'codex', package: '@openai/codex' },
    ...{ session: 'app-server', makeHome: codexHome },
  }),
  tested('acp-opencode', { ...opencode, runtime: 'acp:opencode', session: 'acp' }),
]

/** @throws Error when there is no such runtime */
export function testedRuntime(title: string): TestedRuntime {
  const found = TESTED.find((each) => each.title === title)
  if (found === undefined) throw new Error(`There is no ${title} among the tested runtimes.`)
  return found
}

/** What a host needs to run these, each with a home of its own below `name` in the bench's folder. */
export type RuntimesOfHost = {
  readonly env: Record<string, string>
  /** For the settings: where the programs are. */
  readonly paths: Record<string, string>
}

/** Makes the homes of these runtimes, and gives what leads a host to them; `program` stands in for the first one's. */
export async function makeRuntimes(
  bench: Workbench,
  runtimes: readonly TestedRuntime[],
  { name = 'homes', program }: { readonly name?: string; readonly program?: string } = {},
): Promise<RuntimesOfHost> {
  // Some search with it, and would load it from elsewhere: Claude Code's program is one under this name.
  await symlink(CLAUDE_PROGRAM, bench.path('bin/rg')).catch(ignoreThere)
  const env: Record<string, string> = {}
  const paths: Record<string, string> = {}
  for (const [index, runtime] of runtimes.entries()) {
    const home = bench.path(join(name, runtime.title))
    Object.assign(env, await runtime.makeHome(home, bench.model.url))
    paths[runtime.runtime] = index === 0 && program !== undefined ? program : runtime.program
  }
  return { env, paths }
}

/** Writes the settings with which hosts on the data folder find the programs. */
export async function useRuntimes(
  dataDir: string,
  { paths }: RuntimesOfHost,
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await mkdir(dataDir, { recursive: true })
  const settings = JSON.stringify({ runtimePaths: paths, ...more })
  await writeFile(join(dataDir, 'settings.json'), settings)
}

function ignoreThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

type Facts = {
  readonly runtime: RuntimeName
  readonly session: string
  readonly makeHome: TestedRuntime['makeHome']
  /** Default: the name of Claude Code's program. */
  readonly program?: string
  readonly package?: string
  readonly folder?: string
}

function tested(
  title: string,
  {
    runtime,
    session,
    makeHome,
    program = 'claude',
    package: name = '@anthropic-ai/claude-code',
    folder = FOLDER,
  }: Facts,
): TestedRuntime {
  const modules = join(folder, 'node_modules')
  return {
    ...{ title, runtime, session, makeHome },
    program: join(modules, '.bin', program),
    version: versionIn(join(modules, name, 'package.json')),
  }
}

function versionIn(file: string): string {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
  } catch (error) {
    throw new Error(
      `A runtime of the tests is not installed (${file}): npm test installs it, or npm ci in e2e/runtimes.`,
      { cause: error },
    )
  }
}

/** As a person has it who uses one provider. */
async function opencodeHome(home: string, modelUrl: string): Promise<Record<string, string>> {
  const folder = (name: string) => join(home, name)
  await mkdir(join(folder('config'), 'opencode'), { recursive: true })
  for (const name of ['data', 'cache', 'state']) await mkdir(folder(name))
  const model = {
    ...{ name: 'Scripted', tool_call: true, attachment: true },
    modalities: { input: ['text', 'image'], output: ['text'] },
    limit: { context: 200_000, output: 8_192 },
    cost: { input: 3, output: 15, cache_read: 0.3 },
  }
  const provider = {
    ...{ npm: '@ai-sdk/anthropic', name: 'Scripted', models: { m1: model } },
    options: { baseURL: `${modelUrl}/v1`, apiKey: 'sk-scripted-0000' },
  }
  await writeFile(
    join(folder('config'), 'opencode', 'opencode.json'),
    JSON.stringify({
      ...{ model: 'scripted/m1', small_model: 'scripted/m1', enabled_providers: ['scripted'] },
      provider: { scripted: provider },
      // Its request would be one more that plays the script.
      agent: { title: { disable: true } },
    }),
  )
  return {
    XDG_CONFIG_HOME: folder('config'),
    XDG_DATA_HOME: folder('data'),
    XDG_CACHE_HOME: folder('cache'),
    XDG_STATE_HOME: folder('state'),
  }
}

/** As a person has it who uses a provider of their own. */
async function codexHome(home: string, modelUrl: string): Promise<Record<string, string>> {
  await mkdir(home, { recursive: true })
  const lines = [
    'model = "scripted-codex"',
    'model_provider = "scripted"',
    'check_for_update_on_startup = false',
    '[model_providers.scripted]',
    'name = "Scripted"',
    `base_url = "${modelUrl}/v1"`,
    'wire_api = "responses"',
    'env_key = "OPENAI_API_KEY"',
  ]
  await writeFile(join(home, 'config.toml'), `${lines.join('\n')}\n`)
  return { CODEX_HOME: home, OPENAI_API_KEY: 'sk-scripted-0000' }
}

/**
 * Writes a program that stands in a runtime's place and hands everything on, but what the real one tells of a session
 * comes in halves of lines, with a line that is no JSON and one of an unknown kind among the first ones. What is told
 * over a connection is cut once, too.
 */
export async function writeGarbler(folder: string, runtime: TestedRuntime): Promise<string> {
  const file = join(folder, `garbled-${runtime.title}.mjs`)
  const source = runtime.session === 'serve' ? garbledServer(runtime.program) : garbler(runtime)
  await writeFile(file, source)
  chmodSync(file, 0o755)
  return file
}

/** Lines of a session that come in two halves; then all is as usual, for the test's time. */
const HALVED_LINES = 40

function garbler({ program, session }: TestedRuntime): string {
  return `#!${process.execPath}
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
const args = process.argv.slice(2)
const isSession = args.includes(${JSON.stringify(session)})
const child = spawn(${JSON.stringify(program)}, args, {
  stdio: ['inherit', isSession ? 'pipe' : 'inherit', 'inherit'],
})
const exited = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? 128)))
let written = Promise.resolve()
if (isSession) {
  let count = 0
  const write = async (line) => {
    count += 1
    if (count === 2) process.stdout.write('garbage { that is no JSON\\n')
    if (count === 4) process.stdout.write('{"type":"brand_new","method":"brand/new","params":{}}\\n')
    const half = count > ${HALVED_LINES} ? 0 : Math.floor(line.length / 2)
    if (half > 0) {
      process.stdout.write(line.slice(0, half))
      await sleep(3)
    }
    process.stdout.write(line.slice(half) + '\\n')
  }
  createInterface({ input: child.stdout, crlfDelay: Infinity }).on('line', (line) => {
    written = written.then(() => write(line))
  })
}
const code = await exited
await written
process.exit(code)
`
}
