import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { AgentItem, SessionSpec } from '../../src-shared/agent-wire.ts'
import type { ParkedWork } from '../../src-shared/parking.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import type { SessionStateFiles } from '../runtimes/driver.ts'
import type { Sample } from '../workspace/sample-repository.ts'
import { LoopHarness, makeSpec } from './loop-harness.ts'
import type { ParkOrder } from './parking.ts'
import { RecordingDriver } from './recording-driver.ts'

// Sessions that are parked and resumed, over a driver whose conversations are files.

export const KEY = Buffer.alloc(32, 7).toString('base64')

/** Keeps each conversation in one file per working folder, below `folder`. */
export function stateFilesIn(folder: string): SessionStateFiles {
  const pathOf = (conversation: string, cwd: string) =>
    join(folder, basename(cwd), `${conversation}.jsonl`)
  return {
    capture: async (conversation, { cwd }) => {
      const path = pathOf(conversation, cwd)
      await readFile(path).catch(() => {
        throw new BalletError({ code: 'state.missing', message: `There is no ${path}.` })
      })
      return [{ path, name: `${conversation}.jsonl` }]
    },
    restore: async (conversation, files, { cwd }) => {
      const path = pathOf(conversation, cwd)
      await mkdir(dirname(path), { recursive: true })
      for (const file of files) await writeFile(path, await readFile(file.path))
      return files.map(({ name }) => ({ path, name }))
    },
    list: async () => [],
    remove: async () => 0,
  }
}

export class ParkedScene {
  readonly sample: Sample
  readonly keptDir: string

  constructor(sample: Sample) {
    this.sample = sample
    this.keptDir = join(sample.dataDir, 'kept', 'session')
  }

  order(changes: Partial<ParkOrder> = {}): ParkOrder {
    const { keptDir } = this
    return { saga: 'saga-1', key: KEY, keptDir, kept: [], fast: false, ...changes }
  }

  driver(folder = 'runtime'): RecordingDriver {
    const driver = new RecordingDriver()
    driver.state = stateFilesIn(join(this.sample.folder, folder))
    return driver
  }

  open(
    changes: Record<string, unknown> = {},
    options: Partial<ConstructorParameters<typeof LoopHarness>[1]> = {},
  ): LoopHarness {
    const spec: SessionSpec = makeSpec(this.sample, changes)
    return new LoopHarness(this.sample, { spec, driver: this.driver(), ...options })
  }

  /** What the runtime wrote of the conversation in the session's workspace. */
  async converse(text: string, workspaceDir = this.sample.plan().workspaceDir): Promise<void> {
    const file = this.conversationFile(workspaceDir)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }

  conversationFile(workspaceDir: string, folder = 'runtime'): string {
    return join(this.sample.folder, folder, basename(workspaceDir), 'conversation-1.jsonl')
  }

  /** The facts with which Core brings the session back. */
  resumed(work: ParkedWork, changes: Record<string, unknown> = {}): Record<string, unknown> {
    return {
      parked: { work, key: KEY, keptDir: this.keptDir, restored: false },
      pushedCommit: work.pushed ? work.commit : null,
      resume: {
        conversation: 'conversation-1',
        turn: 1,
        turnCut: false,
        recorded: true,
        openCalls: [],
        storedRefs: [],
        told: [],
        openDeliveries: [],
        costUsd: 0,
      },
      ...changes,
    }
  }
}

/** The steps that were told, as `name status`. */
export function stepsOf(items: readonly AgentItem[], kind: 'park.step' | 'resume.step'): string[] {
  return items.flatMap((item) =>
    item.type === 'event' && item.event.kind === kind
      ? [`${item.event.step} ${item.event.status}`]
      : [],
  )
}
