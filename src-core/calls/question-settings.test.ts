import { expect, test } from 'vitest'
import { startTestCore } from '../testing/test-core.ts'
import { starting } from '../testing/walks.ts'

test('of the planner only what is named changes; a null model takes it away', async () => {
  const { client } = await startTestCore()
  const { planner } = await client.settings.show()
  expect(planner).toEqual({
    enabled: true,
    runtime: 'claude-code',
    limitSeconds: 90,
    costLimitUsd: 0.5,
  })
  const edit = async (change: NonNullable<Parameters<typeof client.settings.edit>[0]['planner']>) =>
    (await client.settings.edit({ planner: change })).planner
  expect(await edit({ model: 'small', limitSeconds: 30 })).toEqual({
    ...planner,
    model: 'small',
    limitSeconds: 30,
  })
  expect(await edit({ enabled: false })).toMatchObject({ enabled: false, model: 'small' })
  expect(await edit({ model: null })).not.toHaveProperty('model')
  expect(
    await client.settings.edit({ notify: ['question', 'question'], answerUndo: false }),
  ).toMatchObject({ notify: ['question'], answerUndo: false, planner: { limitSeconds: 30 } })
})

test('a project says what the planner reads, and adds its own words to the skill', async () => {
  const core = await startTestCore()
  const { client } = core
  const added = await client.projects.add({ name: 'Shop', repo: '/srv/shop.git' })
  expect(added).toMatchObject({
    sources: ['README*', '*.md', 'docs/**/*.md'],
    planner: true,
    notify: ['question', 'request', 'ended'],
  })
  expect(added).not.toHaveProperty('skill')
  const change = { sources: ['guide/'], planner: false, skill: 'Never ask.', notify: [] }
  expect(await client.projects.edit({ ref: 'Shop', ...change })).toMatchObject(change)
  const { agent } = await starting(core)
  expect(agent.spec().prompt).toMatch(
    /^You work on one ticket[\s\S]*\n\nAsk well\.\n\n# What Shop adds\n\nNever ask\.$/,
  )
  expect(await client.projects.edit({ ref: 'Shop', skill: null })).not.toHaveProperty('skill')
})
