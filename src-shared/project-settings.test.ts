import { expect, it } from 'vitest'
import { ProjectSettings } from './records.ts'

const messages = (settings: Record<string, unknown>) =>
  ProjectSettings.safeParse({ name: 'Shop', repo: '/shop', ...settings }).error?.issues.map(
    ({ message }) => message,
  ) ?? []

it.each(['0s', 'now', '0m'])('a set-up cannot take %s', (setupLimit) => {
  expect(messages({ setupLimit })).toEqual(['a set-up needs at least 1s; never is no limit'])
})

it.each(['1s', '10m', 'never'])('a set-up may take %s', (setupLimit) => {
  expect(messages({ setupLimit })).toEqual([])
})

it.each(['../secrets', 'docs/../../x', '/etc/../root', '..', ' '])(
  'the source %j is refused with its name',
  (source) => {
    expect(messages({ sources: ['docs/a..b.md', source] })).toEqual([
      expect.stringContaining(`the source ${JSON.stringify(source.trim())}`),
    ])
  },
)
