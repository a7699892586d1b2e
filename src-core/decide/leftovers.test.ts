import { expect, test } from 'vitest'
import type { FoundThing } from '../../src-shared/moving.ts'
import { keptWork, newId, sessionRow, smallWorld } from '../storage/test-samples.ts'
import { type Known, whyLeftOver } from './leftovers.ts'

const { project, ticket } = smallWorld()
const thing = (parts: Partial<FoundThing>): FoundThing => ({
  ...{ kind: 'workspace', path: '/data/x', bytes: 1, ageMs: 0, owner: null, place: null },
  ...parts,
})

test('a thing is left over only when nothing that Ballet knows may need it', () => {
  const parked = sessionRow(ticket, { state: 'parked', parked: keptWork(), workspace: null })
  const working = sessionRow(ticket, { state: 'working', workspace: '/data/workspaces/W' })
  const finished = sessionRow(ticket, {
    ...{ state: 'finished', workspace: null, conversation: 'c-1', parked: null },
    conversations: [{ runtime: 'codex', conversation: 'c-0' }],
  })
  const known: Known = {
    projects: [project],
    sessions: [parked, working, finished],
    leases: [{ nonce: '0000000000000001' }],
    planned: [{ nonce: '0000000000000002' }],
    workspaces: new Set(['/data/workspaces/W']),
  }
  const [file] = parked.parked?.work.files ?? []
  const stays: Partial<FoundThing>[] = [
    { owner: working.id },
    { owner: parked.id },
    { kind: 'kept', owner: parked.id, path: `/data/kept/${parked.id}/${file?.name}` },
    { kind: 'scratch', owner: '0000000000000001' },
    { kind: 'scratch', owner: '0000000000000002' },
    { kind: 'scratch', ageMs: 60_000 },
    { kind: 'mirror', owner: project.id },
    { kind: 'state', owner: 'c-1', place: '/data/workspaces/gone' },
    { kind: 'state', owner: 'c-0', place: '/data/workspaces/gone' },
    { kind: 'state', owner: 'c-2', place: '/data/workspaces/W' },
    { kind: 'state', owner: 'c-2' },
  ]
  for (const each of stays) expect(whyLeftOver(thing(each), known), each.kind).toBeNull()
  const goes: Partial<FoundThing>[] = [
    { owner: newId() },
    { owner: finished.id },
    { kind: 'kept', owner: newId() },
    { kind: 'kept', owner: parked.id, path: `/data/kept/${parked.id}/other.sealed` },
    { kind: 'scratch', owner: '0000000000000003' },
    { kind: 'scratch', ageMs: 3 * 3_600_000 },
    { kind: 'mirror', owner: newId() },
    { kind: 'lock' },
    { kind: 'state', owner: 'c-2', place: '/data/workspaces/gone' },
  ]
  for (const each of goes) expect(whyLeftOver(thing(each), known), each.kind).not.toBeNull()
})

test('what a session keeps while it is being parked is not looked at', () => {
  const saga = { id: 'saga', seq: 1, why: 'window' as const, fast: false, resumes: false }
  const parking = sessionRow(ticket, { state: 'parking', saga, parked: null })
  const known: Known = {
    ...{ projects: [project], sessions: [parking], leases: [], planned: [] },
    workspaces: new Set(),
  }
  const kept = thing({ kind: 'kept', owner: parking.id, path: '/data/kept/x/state.sealed' })
  expect(whyLeftOver(kept, known)).toBeNull()
})
