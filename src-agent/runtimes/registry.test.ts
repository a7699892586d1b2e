import { expect, it } from 'vitest'
import { ACP_CAPABILITIES, ACP_PRESETS, capabilitiesOf } from '../../src-shared/runtimes.ts'
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

it('knows an agent by its program, whatever the settings call it', () => {
  const opencode = { title: 'Mine', command: '/opt/bin/opencode', args: ['acp'] }
  const mine = driverOf(drivers, 'acp:mine', opencode)
  expect(mine?.capabilities).toEqual(drivers['acp:opencode']?.capabilities)
  expect(mine?.versions).toEqual(drivers['acp:opencode']?.versions)
  const other = { title: 'Other', command: 'other', args: [] }
  const hidden = driverOf(drivers, 'acp:opencode', other)
  expect(hidden?.capabilities).toEqual(ACP_CAPABILITIES)
  expect(hidden?.versions.tested).toEqual([])
  const told = new Map(Object.values(drivers).map((driver) => [driver.runtime as string, driver]))
  const own = { mine: opencode, opencode: other }
  expect(capabilitiesOf('acp:mine', told, own)).toEqual(mine?.capabilities)
  expect(capabilitiesOf('acp:opencode', told, own)).toEqual(ACP_CAPABILITIES)
  expect(capabilitiesOf('acp:opencode', told)).toEqual(mine?.capabilities)
})
