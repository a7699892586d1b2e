import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { ProjectSettings } from '../../src-shared/records.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import type { Clock, Demo, Log } from '../ports.ts'
import type { DataFolder } from './data-folder.ts'
import { makeDemoRepository } from './demo-repository.ts'
import { type ModelProcess, type ModelProgram, startModel } from './model-process.ts'

/** Between the end of the model server and its next start. */
const RESTART_MS = 1_000
const RESTART_LIMIT = 5

const Ticket = z.object({ title: z.string(), body: z.string() })
const Kept = z.object({ port: z.int().min(1).max(65_535) })

export type DemoOptions = {
  folder: DataFolder
  /** `resources/demo`: `repo/`, `script.json` and `ticket.json`. */
  resources: string
  /** The built model server, and what runs it: Node's program, or Electron's, which `env` tells to be Node. */
  program: string
  execPath: string
  env: Readonly<Record<string, string>>
  clock: Clock
  log: Log
}

export type HostDemo = Demo & {
  /** Starts the model again where an earlier run of the host made the demo, for sessions that go on. */
  resume(): Promise<void>
  close(): Promise<void>
}

/** The sample repository, its ticket and the scripted model: no account and nothing of the person's own is used. */
export function createDemo(options: DemoOptions): HostDemo {
  const { folder, resources, execPath, env, log } = options
  const script = join(resources, 'script.json')
  const model = keepModel(
    { execPath, env, program: options.program, script },
    join(folder.demo, 'model.json'),
    options,
  )
  const target = join(folder.demo, 'sample.git')
  const claude = join(folder.demo, 'claude')
  let preparing: ReturnType<Demo['prepare']> | undefined

  async function prepare(): ReturnType<Demo['prepare']> {
    await mkdir(claude, { recursive: true, mode: 0o700 })
    const ticket = await readTicket(join(resources, 'ticket.json'))
    await makeDemoRepository({ sample: join(resources, 'repo'), target, env })
    const url = await model.url()
    const { name: _, ...project } = ProjectSettings.parse({
      name: 'Demo',
      repo: target,
      branch: 'main',
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: 'demo',
        CLAUDE_CONFIG_DIR: claude,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      },
    })
    return { project, ticket }
  }

  return {
    prepare: () => {
      preparing ??= prepare().finally(() => {
        preparing = undefined
      })
      return preparing
    },
    resume: async () => {
      if ((await model.keptPort()) === undefined) return
      try {
        await model.url()
      } catch (error) {
        log.error('the model of the demo could not be started again', { error })
      }
    },
    close: () => model.close(),
  }

  async function readTicket(file: string): Promise<z.infer<typeof Ticket>> {
    try {
      return Ticket.parse(JSON.parse(await readFile(file, 'utf8')))
    } catch (error) {
      throw new BalletError(
        {
          code: 'demo.incomplete',
          message: `The demo's ticket ${file} cannot be read: ${String(error)}.`,
          hint: 'Install Ballet again.',
        },
        { cause: error },
      )
    }
  }
}

/** One model server at a time, on one port for good, since sessions keep its address. */
function keepModel(
  program: ModelProgram,
  file: string,
  { clock, log }: { clock: Clock; log: Log },
) {
  let starting: Promise<ModelProcess> | undefined
  let stopWaiting = () => {}
  let isClosed = false
  let failures = 0

  const keptPort = async (): Promise<number | undefined> => {
    try {
      return Kept.parse(JSON.parse(await readFile(file, 'utf8'))).port
    } catch {
      // No demo yet, or half a file: then a free port is taken and kept.
      return undefined
    }
  }

  async function start(): Promise<ModelProcess> {
    const kept = await keptPort()
    const model = await startModel(program, kept ?? 0, { clock, log }).catch((error: unknown) => {
      if (kept === undefined) throw error
      log.warn('the port of the demo is taken: another one is used', { port: kept, error })
      return startModel(program, 0, { clock, log })
    })
    if (model.port !== kept) {
      await writeFile(`${file}.tmp`, `${JSON.stringify({ port: model.port })}\n`)
      await rename(`${file}.tmp`, file)
    }
    model.onExit((reason) => {
      starting = undefined
      failures += 1
      log.warn('the model of the demo ended', { reason, failures })
      if (isClosed || failures > RESTART_LIMIT) return
      stopWaiting = clock.after(RESTART_MS, () => {
        run().catch((error: unknown) => log.error('the model of the demo is gone', { error }))
      })
    })
    return model
  }

  function run(): Promise<ModelProcess> {
    if (isClosed) {
      return Promise.reject(
        new BalletError({ code: 'demo.closed', message: 'The host is about to end.' }),
      )
    }
    starting ??= start().catch((error: unknown) => {
      starting = undefined
      throw error
    })
    return starting
  }

  return {
    keptPort,
    url: async () => (await run()).url,
    close: async () => {
      isClosed = true
      stopWaiting()
      // One that could not be started has been told of where it was asked for.
      const model = await starting?.catch(() => undefined)
      await model?.close()
    },
  }
}
