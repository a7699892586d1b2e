import type { RecordChange, RecordFollow } from '../../src-shared/contract.ts'
import type { Assumption, Question } from '../../src-shared/questions.ts'
import type { Project, Request, Session } from '../../src-shared/records.ts'
import type { Settings } from '../../src-shared/settings.ts'

/** What notifications and the count are made of, as `records.follow` tells it, by id. */
export type Followed = {
  projects: ReadonlyMap<string, Project>
  sessions: ReadonlyMap<string, Session>
  questions: ReadonlyMap<string, Question>
  requests: ReadonlyMap<string, Request>
  assumptions: ReadonlyMap<string, Assumption>
  /** Undefined until they are known. */
  settings: Settings | undefined
}

export const NOTHING: Followed = {
  projects: new Map(),
  sessions: new Map(),
  questions: new Map(),
  requests: new Map(),
  assumptions: new Map(),
  settings: undefined,
}

/** The records after one answer of `records.follow`; a map in which nothing changed stays the same one. */
export function afterFollow(before: Followed, { snapshot, changes }: RecordFollow): Followed {
  const base = snapshot ? NOTHING : before
  return {
    projects: mapAfter(base.projects, changes, 'project'),
    sessions: mapAfter(base.sessions, changes, 'session'),
    questions: mapAfter(base.questions, changes, 'question'),
    requests: mapAfter(base.requests, changes, 'request'),
    assumptions: mapAfter(base.assumptions, changes, 'assumption'),
    settings: mapAfter(new Map(), changes, 'settings').get('settings') ?? base.settings,
  }
}

type Change<K extends RecordChange['record']> = Extract<RecordChange, { record: K }>
type Value<K extends RecordChange['record']> = NonNullable<Change<K>['value']>

function mapAfter<K extends RecordChange['record']>(
  before: ReadonlyMap<string, Value<K>>,
  changes: readonly RecordChange[],
  record: K,
): ReadonlyMap<string, Value<K>> {
  const own = changes.filter((change): change is Change<K> => change.record === record)
  if (own.length === 0) return before
  const after = new Map(before)
  for (const { id, value } of own) {
    if (value === null) after.delete(id)
    else after.set(id, value as Value<K>)
  }
  return after
}
