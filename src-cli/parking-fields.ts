import type { ParkReason } from '../src-shared/parking.ts'
import type { Session } from '../src-shared/records.ts'
import { plainText } from './plain-text.ts'
import { bytesText } from './quantities.ts'

const whyWord: Record<ParkReason, string> = {
  window: 'nobody answered within its online window',
  person: 'by a person',
  drain: 'its agent was drained',
  quit: 'Ballet was quit',
  stop: 'and stopped by a person',
}

/** What people are told of a session's online window, and of what is kept while it is parked. */
export function parkingFields(session: Session): (readonly [string, string])[] {
  const { window, parkAt, parked } = session
  const online: (readonly [string, string])[] = [
    ['online window', window ?? 'the project’s'],
    ['parks at', parkAt ?? ''],
  ]
  if (parked === null) return online
  return [
    ...online,
    ['parked', `${parked.at}, ${whyWord[parked.why]}`],
    ['goes on', parked.wakes ? 'by itself at the next start' : ''],
    ['commit', parked.commit ?? 'none'],
    ['pushed', pushedText(parked)],
    ['state', stateText(parked)],
    ['kept here', bytesText(parked.keptBytes)],
    ...parked.aside.map(
      ({ name, why, bytes }) =>
        ['kept aside', plainText(`${name} (${why}, ${bytesText(bytes)})`)] as const,
    ),
    ['resuming reloads', reloadText(session) ?? ''],
  ]
}

type Parked = NonNullable<Session['parked']>

function pushedText({ pushed, notPushed, commit }: Parked): string {
  if (pushed) return 'yes'
  if (commit === null) return 'nothing to push'
  return notPushed === null ? 'not yet' : plainText(`not yet: ${notPushed.message}`)
}

function stateText({ stateBytes, runtimeVersion }: Parked): string {
  if (stateBytes === null) return 'none: resuming begins a new conversation'
  const version = runtimeVersion === null ? '' : `, runtime ${runtimeVersion}`
  return `${bytesText(stateBytes)}${version}`
}

/** What the model reads again when the session is brought back; null where that is not known. */
export function reloadText({ contextTokens }: Pick<Session, 'contextTokens'>): string | null {
  if (contextTokens === null || contextTokens === 0) return null
  return `${contextTokens.toLocaleString('en-US')} tokens`
}
