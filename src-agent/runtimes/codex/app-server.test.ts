import { tmpdir } from 'node:os'
import { expect, it } from 'vitest'
import { endTree } from '../../process-tree/index.ts'
import { newMarker } from '../../process-tree/testing/new-marker.ts'
import { SecretMask } from '../mask-secrets.ts'
import { AppServer } from './app-server.ts'

it('limits a request and an answer to a server that does not read what is written to it', async () => {
  const marker = newMarker()
  const server = await AppServer.start({
    ...{ executable: '/bin/sleep', args: ['60'], cwd: tmpdir(), env: {} },
    ...{ marker, mask: new SecretMask({}) },
  })
  try {
    const long = { input: 'long '.repeat(200_000) }
    await expect(server.request('turn/start', long, 200)).rejects.toThrow(
      'no answer to turn/start in 200 ms',
    )
    await expect(server.respond(1, long, 200)).rejects.toThrow('did not read what was written')
  } finally {
    await endTree([marker], { limitMs: 5_000 })
  }
  await expect(server.request('turn/start', {}, 5_000)).rejects.toThrow()
})
