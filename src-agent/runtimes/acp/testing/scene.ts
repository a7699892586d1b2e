import { fileURLToPath } from 'node:url'
import type { AcpAgent } from '../../../../src-shared/runtimes.ts'
import { Scene } from '../../claude-code/testing/real-runtime.ts'
import type { Driver, DriverSpec } from '../../driver.ts'
import { createAcpDriver } from '../index.ts'
import { LIMITS, type Limits } from '../limits.ts'

const FAKE = fileURLToPath(new URL('fake-agent.mjs', import.meta.url))

/** A session of the scripted agent. */
export class FakeScene {
  readonly scene: Scene
  readonly driver: Driver
  readonly spec: DriverSpec

  private constructor(scene: Scene, args: readonly string[], limits: Partial<Limits>) {
    const agent: AcpAgent = { title: 'The fake', command: process.execPath, args: [FAKE, ...args] }
    this.scene = scene
    this.driver = createAcpDriver('acp:fake', agent, { limits: { ...LIMITS, ...limits } })
    this.spec = { ...scene.spec, executable: process.execPath, model: null, permission: 'ask' }
  }

  static async make(
    args: readonly string[] = [],
    limits: Partial<Limits> = {},
  ): Promise<FakeScene> {
    return new FakeScene(await Scene.make('http://127.0.0.1:1'), args, limits)
  }
}

/** A prompt for the scripted agent. */
export function steps(...list: readonly Readonly<Record<string, unknown>>[]): string {
  return `Go.!!${JSON.stringify(list)}`
}

export const chunk = (text: string, messageId?: string) => ({
  update: {
    sessionUpdate: 'agent_message_chunk',
    content: { type: 'text', text },
    ...(messageId === undefined ? {} : { messageId }),
  },
})
