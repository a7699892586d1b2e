import { TicketKey } from '../../src-shared/ids.ts'
import { accept, type Result } from '../../src-shared/refusal.ts'
import type { Reader } from '../commit/committer.ts'
import { folded, idPrefix, pick } from '../decide/references.ts'
import type { StoredRow } from '../storage/rows.ts'

/** More rows than this that begin alike are not told apart. */
const SOME = 50

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** By id, key, name, or the beginning of an id. */
export async function resolveProject(
  read: Pick<Reader, 'rows'>,
  ref: string,
): Promise<Result<StoredRow<'project'>>> {
  const projects = await read.rows({ table: 'project' })
  const lower = ref.toLowerCase()
  const exact =
    projects.find(({ id }) => id === lower) ??
    projects.find(({ key }) => key === ref.toUpperCase()) ??
    projects.find(({ name }) => folded(name) === folded(ref))
  const prefix = idPrefix(ref)
  const alike = prefix === undefined ? [] : projects.filter(({ id }) => id.startsWith(prefix))
  return pick(
    'project',
    ref,
    exact,
    alike.map((value) => ({ value, id: value.id, label: value.name })),
    'ballet project list',
  )
}

/** By id, key, or the beginning of an id. */
export async function resolveTicket(
  read: Reader,
  ref: string,
): Promise<Result<StoredRow<'ticket'>>> {
  const exact = await ticketOf(read, ref)
  const prefix = idPrefix(ref)
  const alike =
    exact !== undefined || prefix === undefined
      ? []
      : await read.rows({ table: 'ticket', idPrefix: prefix, limit: SOME })
  return pick(
    'ticket',
    ref,
    exact,
    alike.map((value) => ({ value, id: value.id, label: value.key })),
    'ballet ticket list',
  )
}

async function ticketOf(read: Reader, ref: string): Promise<StoredRow<'ticket'> | undefined> {
  const lower = ref.toLowerCase()
  if (UUID.test(lower)) return read.row('ticket', lower)
  const key = TicketKey.safeParse(ref.toUpperCase())
  if (!key.success) return undefined
  const [ticket] = await read.rows({ table: 'ticket', where: { key: key.data } })
  return ticket
}

/** By id, the beginning of an id, or the key of its ticket, which stands for the newest session. */
export async function resolveSession(
  read: Reader,
  ref: string,
): Promise<Result<StoredRow<'session'>>> {
  const exact = await sessionOf(read, ref)
  if (exact !== undefined && !exact.ok) return exact
  const prefix = idPrefix(ref)
  const alike =
    exact !== undefined || prefix === undefined
      ? []
      : await read.rows({ table: 'session', idPrefix: prefix, limit: SOME })
  const candidates = await Promise.all(
    alike.map(async (value) => {
      const ticket = await read.row('ticket', value.ticketId)
      return { value, id: value.id, label: `${ticket?.key ?? '?'}, ${value.state}` }
    }),
  )
  return pick('session', ref, exact?.value, candidates, 'ballet session list')
}

async function sessionOf(
  read: Reader,
  ref: string,
): Promise<Result<StoredRow<'session'>> | undefined> {
  const lower = ref.toLowerCase()
  if (UUID.test(lower)) {
    const session = await read.row('session', lower)
    return session && accept(session)
  }
  const ticket = await ticketOf(read, ref)
  if (ticket === undefined) return undefined
  const newest = await newestSession(read, ticket.id)
  if (newest !== undefined) return accept(newest)
  return {
    ok: false,
    refusal: {
      code: 'session.not-found',
      message: `The ticket ${ticket.key} has no session yet.`,
      hint: `Start it with: ballet ticket start ${ticket.key}`,
    },
  }
}

/** By id, or the beginning of an id. */
export async function resolveRequest(
  read: Reader,
  ref: string,
): Promise<Result<StoredRow<'request'>>> {
  const lower = ref.toLowerCase()
  const exact = UUID.test(lower) ? await read.row('request', lower) : undefined
  const prefix = idPrefix(ref)
  const alike =
    exact !== undefined || prefix === undefined
      ? []
      : await read.rows({ table: 'request', idPrefix: prefix, limit: SOME })
  return pick(
    'request',
    ref,
    exact,
    alike.map((value) => ({ value, id: value.id, label: `${value.title}, ${value.state}` })),
    'ballet requests --all',
  )
}

const QUESTION_KEY = /^[A-Z][A-Z0-9]*-[1-9][0-9]*-Q[1-9][0-9]*$/

/** By id, key, or the beginning of an id. */
export async function resolveQuestion(
  read: Reader,
  ref: string,
): Promise<Result<StoredRow<'question'>>> {
  const exact = await questionOf(read, ref)
  const prefix = idPrefix(ref)
  const alike =
    exact !== undefined || prefix === undefined
      ? []
      : await read.rows({ table: 'question', idPrefix: prefix, limit: SOME })
  return pick(
    'question',
    ref,
    exact,
    alike.map((value) => ({ value, id: value.id, label: `${value.key}, ${value.state}` })),
    'ballet question list',
  )
}

async function questionOf(read: Reader, ref: string): Promise<StoredRow<'question'> | undefined> {
  const lower = ref.toLowerCase()
  if (UUID.test(lower)) return read.row('question', lower)
  const key = ref.toUpperCase()
  if (!QUESTION_KEY.test(key)) return undefined
  const [question] = await read.rows({ table: 'question', where: { key } })
  return question
}

/** By id, or the beginning of an id. */
export async function resolveAssumption(
  read: Reader,
  ref: string,
): Promise<Result<StoredRow<'assumption'>>> {
  const lower = ref.toLowerCase()
  const exact = UUID.test(lower) ? await read.row('assumption', lower) : undefined
  const prefix = idPrefix(ref)
  const alike =
    exact !== undefined || prefix === undefined
      ? []
      : await read.rows({ table: 'assumption', idPrefix: prefix, limit: SOME })
  return pick(
    'assumption',
    ref,
    exact,
    alike.map((value) => ({ value, id: value.id, label: `${value.assumption}, ${value.state}` })),
    'ballet assumptions',
  )
}

/** By id, or the beginning of an id. */
export async function resolveInput(read: Reader, ref: string): Promise<Result<StoredRow<'input'>>> {
  const lower = ref.toLowerCase()
  const exact = UUID.test(lower) ? await read.row('input', lower) : undefined
  const prefix = idPrefix(ref)
  const alike =
    exact !== undefined || prefix === undefined
      ? []
      : await read.rows({ table: 'input', idPrefix: prefix, limit: SOME })
  return pick(
    'input',
    ref,
    exact,
    alike.map((value) => ({ value, id: value.id, label: `${value.inputKind}, ${value.state}` })),
    'ballet inputs SESSION',
  )
}

export async function newestSession(
  read: Pick<Reader, 'rows'>,
  ticketId: StoredRow<'ticket'>['id'],
): Promise<StoredRow<'session'> | undefined> {
  return (await read.rows({ table: 'session', where: { ticketId } })).at(-1)
}
