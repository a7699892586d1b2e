import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeOldDatabase } from '../../test-old-rows.ts'
import { commitOf, smallWorld } from '../../test-samples.ts'
import { openSqliteDirect } from '../direct.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ballet-migration-'))
  file = join(folder, 'ballet.sqlite')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('version 5 gets stages and sessions that change their runtime; what was there has neither', async () => {
  const { project, ticket, session } = smallWorld()
  writeOldDatabase(file, 5, { project, ticket, session })

  const storage = await openSqliteDirect(file)
  expect(await storage.row('project', project.id)).toMatchObject({ ...project, stages: {} })
  expect(await storage.row('session', session.id)).toEqual({
    ...session,
    chosenModel: null,
    conversations: [],
    continueWith: null,
    version: 1,
    change: 1,
    lastSeq: 7,
  })
  const staged = {
    ...project,
    stages: { review: { runtime: 'codex' as const, model: 'o9', skill: 'Look twice.' } },
  }
  const moving = {
    ...session,
    chosenModel: 'opus',
    conversations: [{ runtime: 'codex' as const, conversation: 'thread-1' }],
    continueWith: {
      runtime: 'acp:gemini' as const,
      model: 'pro',
      chosenModel: null,
      told: true,
    },
  }
  const puts = [
    { table: 'project' as const, row: staged },
    { table: 'session' as const, row: moving },
  ]
  await storage.commit(commitOf({ puts }))
  expect(await storage.row('project', project.id)).toMatchObject(staged)
  expect(await storage.row('session', session.id)).toMatchObject(moving)
  await storage.close()
})
