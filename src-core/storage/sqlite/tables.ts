import type { RowOf, TableName } from '../rows.ts'

/**
 * How a field is kept: `boolean` as 0 or 1, `json` as JSON text, the others as they are. A field may be null
 * where its type says so.
 */
export type ColumnKind = 'text' | 'integer' | 'real' | 'boolean' | 'json'

type Columns<T extends TableName> = { readonly [K in keyof RowOf<T>]-?: ColumnKind }

/** Every field of every row; a field that is missing here does not compile. */
const columns: { readonly [T in TableName]: Columns<T> } = {
  project: {
    id: 'text',
    key: 'text',
    name: 'text',
    repo: 'text',
    branch: 'text',
    runtime: 'text',
    permission: 'text',
    model: 'text',
    runtimeArgs: 'json',
    setup: 'text',
    setupLimit: 'text',
    stages: 'json',
    env: 'json',
    window: 'text',
    maxSessions: 'integer',
    sources: 'json',
    planner: 'boolean',
    skill: 'text',
    notify: 'json',
    nextNumber: 'integer',
    createdAt: 'text',
  },
  ticket: {
    id: 'text',
    projectId: 'text',
    key: 'text',
    title: 'text',
    body: 'text',
    status: 'text',
    stage: 'text',
    priority: 'integer',
    questions: 'integer',
    createdAt: 'text',
    updatedAt: 'text',
  },
  session: {
    id: 'text',
    ticketId: 'text',
    projectId: 'text',
    stage: 'text',
    runtime: 'text',
    runtimeVersion: 'text',
    model: 'text',
    chosenModel: 'text',
    permission: 'text',
    conversation: 'text',
    conversations: 'json',
    continueWith: 'json',
    state: 'text',
    stateSince: 'text',
    reason: 'text',
    hint: 'text',
    leaseId: 'text',
    agent: 'text',
    branch: 'text',
    baseCommit: 'text',
    pushedCommit: 'text',
    workspace: 'text',
    window: 'text',
    parkAt: 'text',
    parkFrom: 'text',
    saga: 'json',
    parked: 'json',
    wakes: 'boolean',
    turn: 'integer',
    turnStartedAt: 'text',
    turnCut: 'boolean',
    recorded: 'boolean',
    preface: 'text',
    pending: 'text',
    grants: 'json',
    progress: 'json',
    outcome: 'text',
    outcomeText: 'text',
    costUsd: 'real',
    usage: 'json',
    contextTokens: 'integer',
    contextWindow: 'integer',
    queuedAt: 'text',
    createdAt: 'text',
    updatedAt: 'text',
  },
  input: {
    id: 'text',
    sessionId: 'text',
    inputKind: 'text',
    state: 'text',
    text: 'text',
    images: 'json',
    author: 'text',
    steer: 'boolean',
    position: 'real',
    delivery: 'text',
    createdAt: 'text',
    updatedAt: 'text',
  },
  request: {
    id: 'text',
    sessionId: 'text',
    callId: 'text',
    name: 'text',
    toolKind: 'text',
    title: 'text',
    input: 'text',
    inputBlob: 'text',
    facts: 'json',
    state: 'text',
    phase: 'text',
    author: 'text',
    text: 'text',
    turn: 'integer',
    createdAt: 'text',
    answeredAt: 'text',
  },
  question: {
    id: 'text',
    sessionId: 'text',
    ticketId: 'text',
    projectId: 'text',
    key: 'text',
    question: 'text',
    context: 'text',
    options: 'json',
    multiple: 'boolean',
    urgency: 'text',
    state: 'text',
    heldBy: 'text',
    planner: 'text',
    nonce: 'text',
    draft: 'json',
    answer: 'json',
    undoUntil: 'text',
    held: 'json',
    inputId: 'text',
    overturned: 'json',
    withdrawn: 'text',
    turn: 'integer',
    createdAt: 'text',
    reachedPersonAt: 'text',
    answeredAt: 'text',
  },
  assumption: {
    id: 'text',
    sessionId: 'text',
    ticketId: 'text',
    projectId: 'text',
    assumption: 'text',
    reason: 'text',
    alternatives: 'json',
    reversibleBy: 'text',
    state: 'text',
    text: 'text',
    turn: 'integer',
    createdAt: 'text',
    reviewedAt: 'text',
  },
  lease: {
    id: 'text',
    sessionId: 'text',
    agent: 'text',
    token: 'integer',
    nonce: 'text',
    lastItem: 'integer',
    grantedAt: 'text',
    endedAt: 'text',
    endReason: 'text',
    reaped: 'boolean',
  },
}

type Plain = Record<string, unknown>

/** The SQL of one table and the way between its rows and its columns. */
export type Table = {
  readonly name: TableName
  /** Name of the column of a field; throws for a field that the table does not have. */
  column(field: string): string
  /** The value that SQLite gets for a field. */
  encode(field: string, value: unknown): unknown
  /** A stored row from a record of the selected columns. */
  decode(record: Plain): Plain
  /** The values of a whole row, in the order of `upsert`, without the change number that follows them. */
  values(row: Plain): unknown[]
  readonly select: string
  readonly upsert: string
}

/** `costUsd` is kept in `cost_usd`. */
const snake = (field: string) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const quoted = (name: string) => `"${name}"`

function tableOf(name: TableName): Table {
  const kinds: Readonly<Record<string, ColumnKind>> = columns[name]
  const fields = Object.entries(kinds).map(([field, kind]) => ({
    field,
    kind,
    column: snake(field),
  }))
  const kindOf = (field: string): ColumnKind => {
    const kind = Object.hasOwn(kinds, field) ? kinds[field] : undefined
    if (kind === undefined) throw new Error(`A ${name} has no field ${field}.`)
    return kind
  }
  const encode = (field: string, value: unknown): unknown => {
    if (value === undefined) throw new Error(`The field ${field} of a ${name} has no value.`)
    if (value === null) return null
    const kind = kindOf(field)
    if (kind === 'json') return JSON.stringify(value)
    return kind === 'boolean' ? Number(value) : value
  }
  const kept = [...fields.map(({ column }) => quoted(column)), 'version', 'change']
  if (name === 'session') kept.push('last_seq')
  // A lease's items are counted by what is stored, which a row that was loaded earlier may not know.
  const next = (column: string) =>
    name === 'lease' && column === 'last_item'
      ? `max(lease.last_item, excluded.last_item)`
      : `excluded.${quoted(column)}`
  const assignments = fields
    .filter(({ field }) => field !== 'id')
    .map(({ column }) => `${quoted(column)} = ${next(column)}`)

  return {
    name,
    column: (field) => {
      kindOf(field)
      return quoted(snake(field))
    },
    encode,
    decode: (record) => {
      const row: Plain = {}
      for (const { field, kind, column } of fields) {
        const value = record[column]
        if (value === null) row[field] = null
        else if (kind === 'json') row[field] = JSON.parse(String(value))
        else row[field] = kind === 'boolean' ? value === 1 : value
      }
      row.version = record.version
      row.change = record.change
      if (name === 'session') row.lastSeq = record.last_seq
      return row
    },
    values: (row) => fields.map(({ field }) => encode(field, row[field])),
    select: `SELECT ${kept.join(', ')} FROM ${name}`,
    upsert:
      `INSERT INTO ${name} (${fields.map(({ column }) => quoted(column)).join(', ')}, version, change) ` +
      `VALUES (${fields.map(() => '?').join(', ')}, 1, ?) ` +
      `ON CONFLICT (id) DO UPDATE SET ${assignments.join(', ')}, version = version + 1, change = excluded.change`,
  }
}

export const tables: { readonly [T in TableName]: Table } = {
  project: tableOf('project'),
  ticket: tableOf('ticket'),
  session: tableOf('session'),
  input: tableOf('input'),
  request: tableOf('request'),
  question: tableOf('question'),
  assumption: tableOf('assumption'),
  lease: tableOf('lease'),
}
