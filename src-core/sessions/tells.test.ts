import { expect, test } from 'vitest'
import type { ToAgent } from '../../src-shared/agent-wire.ts'
import { BlobId, DeliveryId, InputId, LeaseId, SessionId } from '../../src-shared/ids.ts'
import type { Committed } from '../commit/committer.ts'
import { changeOf, type Tell } from '../decide/change.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { CorePorts } from '../ports.ts'
import { countingIds, type Logged, TEST_KEY } from '../testing/test-core.ts'
import { until } from '../testing/until.ts'
import { Tells } from './tells.ts'

const ids = countingIds()
const lease = LeaseId.parse(ids.uuid())

function tellOf(text: string, withImage: boolean): Tell {
  const delivery = {
    id: DeliveryId.parse(ids.uuid()),
    inputs: [InputId.parse(ids.uuid())],
    text,
  }
  const message: ToAgent = { type: 'input.deliver', lease, delivery }
  const image = { blob: BlobId.parse('a'.repeat(64)), mediaType: 'image/png' as const, bytes: 1 }
  const images = { session: SessionId.parse(ids.uuid()), list: [image] }
  return withImage ? { lease, message, images } : { lease, message }
}

test('a message that cannot be sent does not hold up those after it', async () => {
  const told: string[] = []
  const logged: Logged[] = []
  const keep = (level: string) => (message: string, fields?: unknown) => {
    logged.push({ level, message, fields })
  }
  const fleet = {
    tell: (_: LeaseId, message: ToAgent) => {
      if (message.type !== 'input.deliver') return
      if (message.delivery.text === 'bad') throw new Error('the channel broke')
      told.push(message.delivery.text)
    },
  }
  const tells = new Tells(
    {
      log: { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') },
      storage: { blob: async () => 'data' } as unknown as CorePorts['storage'],
      key: async () => TEST_KEY,
      paths: { kept: () => '/kept' } as unknown as CorePorts['paths'],
    },
    fleet as unknown as Fleet,
    async () => undefined,
  )
  const tell = [tellOf('bad', true), tellOf('second', true), tellOf('third', false)]
  tells.committed({ wanted: changeOf({ tell }) } as Committed)
  await until('the others', () => told.length === 2)
  expect(told).toEqual(['second', 'third'])
  expect(logged).toMatchObject([{ level: 'error', message: 'an agent could not be told' }])
})
