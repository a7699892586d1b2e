import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeOldDatabase } from '../../test-old-rows.ts'
import { smallWorld } from '../../test-samples.ts'
import { openSqliteDirect } from '../direct.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ballet-migration-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test.each([
  ['a message was told', 'conversation-1', 'delivered', true],
  ['nobody knows whether one was', 'conversation-1', 'unknown', true],
  ['nothing was told yet', 'conversation-1', 'sent', false],
  ['there is no conversation', null, 'delivered', false],
] as const)('version 6: where %s', async (_where, conversation, state, isRecorded) => {
  const file = join(folder, 'ballet.sqlite')
  const { project, ticket, session, input } = smallWorld()
  const told = { ...input, state }
  writeOldDatabase(file, 6, { project, ticket, session: { ...session, conversation }, input: told })
  const storage = await openSqliteDirect(file)
  expect(await storage.row('session', session.id)).toMatchObject({
    conversation,
    recorded: isRecorded,
  })
  await storage.close()
})
