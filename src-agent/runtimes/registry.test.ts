import { expect, it } from 'vitest'
import { ACP_PRESETS } from '../../src-shared/runtimes.ts'
import { driverOf, drivers } from './registry.ts'

const env = { PATH: '/nowhere' }

it('has a driver for every preset of the Agent Client Protocol', () => {
  for (const name of Object.keys(ACP_PRESETS)) {
    const driver = driverOf(drivers, `acp:${name}`, ACP_PRESETS[name] ?? null)
    expect(driver).toBe(drivers[`acp:${name}`])
    expect(driver?.runtime).toBe(`acp:${name}`)
  }
})

it('makes one for an agent of the settings, also where that hides a preset', async () => {
  expect(driverOf(drivers, 'acp:mine', null)).toBeUndefined()
  for (const runtime of ['acp:mine', 'acp:gemini'] as const) {
    const agent = { title: 'My agent', command: 'my-agent', args: ['--acp'] }
    const driver = driverOf(drivers, runtime, agent)
    const report = await driver?.find({ path: null, env })
    expect(report).toMatchObject({
      runtime,
      problem: {
        code: 'runtime.not-found',
        message: expect.stringContaining('there is no `my-agent` on PATH'),
      },
    })
  }
})
