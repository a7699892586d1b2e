import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { z } from 'zod'
import type { Delivery } from '../../../../src-shared/agent-wire.ts'
import { DeliveryId, InputId } from '../../../../src-shared/ids.ts'
import { endTree, processesWith } from '../../../process-tree/index.ts'
import { newMarker } from '../../../process-tree/testing/new-marker.ts'
import type { DriverSignal, DriverSpec, ResumeFacts } from '../../driver.ts'
import { tell } from './replay.ts'

/** The Claude Code that is pinned as a development dependency, or the one that BALLET_TEST_CLAUDE names. */
export const CLAUDE =
  process.env.BALLET_TEST_CLAUDE ??
  fileURLToPath(new URL('../../../../node_modules/.bin/claude', import.meta.url))

/** A request that the scripted model got. */
export type ModelRequest = {
  messages: readonly unknown[]
  system: unknown
  tools: readonly string[]
}

type Model = {
  url: string
  requests(): ModelRequest[]
  release(gate: string): void
  close(): Promise<void>
}

/** The scripted model server; its script travels in the prompt. */
export async function startModel(): Promise<Model> {
  // It belongs to another room, whose sources this one does not compile.
  const source = new URL('../../../../e2e/model/server.ts', import.meta.url).href
  const { startModelServer } = (await import(source)) as { startModelServer(): Promise<Model> }
  return startModelServer()
}

/** A text with a script for the model. */
export function scripted(
  text: string,
  steps: readonly Readonly<Record<string, unknown>>[],
): string {
  return `${text} @@b64:${Buffer.from(JSON.stringify(steps)).toString('base64')}@@`
}

export function deliveryOf(text: string, preface?: string): z.infer<typeof Delivery> {
  return {
    id: DeliveryId.parse(randomUUID()),
    inputs: [InputId.parse(randomUUID())],
    text,
    ...(preface === undefined ? {} : { preface }),
  }
}

/** Folders, environment and marker of one session, and what its driver tells. */
export class Scene {
  readonly root: string
  readonly cwd: string
  readonly configDir: string
  readonly spec: DriverSpec
  readonly signals: DriverSignal[] = []
  readonly onSignal = (signal: DriverSignal) => {
    this.signals.push(signal)
  }

  private constructor(root: string, url: string) {
    this.root = root
    this.cwd = join(root, 'workspace')
    this.configDir = join(root, 'config')
    this.spec = {
      cwd: this.cwd,
      executable: CLAUDE,
      model: 'sonnet',
      args: [],
      env: {
        PATH: process.env.PATH ?? '/usr/bin:/bin',
        HOME: join(root, 'home'),
        CLAUDE_CONFIG_DIR: this.configDir,
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: 'scripted-key-4711',
      },
      marker: newMarker(),
      permission: 'full',
      grants: [],
      prompt: 'You work for Ballet.',
      mcpServers: [],
      scratchDir: join(root, 'scratch'),
    }
  }

  static async make(url: string): Promise<Scene> {
    const root = await mkdtemp(join(tmpdir(), 'ballet-driver-'))
    const scene = new Scene(root, url)
    for (const folder of [scene.cwd, scene.configDir, join(root, 'home')]) await mkdir(folder)
    return scene
  }

  told(): string[] {
    return tell(this.signals)
  }

  /** Of a turn that was cut the record may hold its message only a moment later. */
  toldOfTurns(): string[] {
    return this.told().filter((line) => !line.startsWith('delivered'))
  }

  lastTold(): string | undefined {
    return this.toldOfTurns().at(-1)
  }

  async waitFor<T>(
    what: string,
    look: () => T | undefined | null | false | Promise<T | undefined | null | false>,
    limitMs = 30_000,
  ): Promise<T> {
    const deadline = performance.now() + limitMs
    for (;;) {
      const value = await look()
      if (value !== undefined && value !== null && value !== false) return value
      if (performance.now() > deadline) {
        throw new Error(`waited in vain for ${what}; told:\n${this.told().join('\n')}`)
      }
      await sleep(10)
    }
  }

  waitForSignal<T extends DriverSignal['type']>(
    type: T,
    count = 1,
  ): Promise<Extract<DriverSignal, { type: T }>> {
    return this.waitFor(`signal ${type}`, () => {
      const found = this.signals.filter((signal) => signal.type === type)
      return found[count - 1] as Extract<DriverSignal, { type: T }> | undefined
    })
  }

  /** The processes of the session beside the runtime itself. */
  async tools(runtimePid: number): Promise<number[]> {
    const found = await processesWith([this.spec.marker])
    return found.map((identity) => identity.pid).filter((pid) => pid !== runtimePid)
  }

  facts(conversation: string, facts: Partial<ResumeFacts>): ResumeFacts {
    return {
      conversation,
      openDeliveries: [],
      openCalls: [],
      storedRefs: [],
      told: [],
      turnCut: false,
      recorded: facts.turn !== 0,
      turn: 1,
      ...facts,
    }
  }

  async close(): Promise<void> {
    await endTree([this.spec.marker], { graceMs: 0, limitMs: 10_000 })
    await rm(this.root, { recursive: true, force: true, maxRetries: 5 })
  }
}
