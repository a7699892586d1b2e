import { accept } from '../../src-shared/refusal.ts'
import type { Calls } from '../core.ts'
import type { CallContext } from './context.ts'
import { resolveSession } from './resolve.ts'

export function followCalls({
  committer,
  timelines,
  records,
}: CallContext): Pick<Calls, 'timeline' | 'records'> {
  return {
    timeline: {
      page: async ({ session: ref, ...range }) => {
        const found = await resolveSession(committer.cache, ref)
        return found.ok ? timelines.page(found.value.id, range) : found
      },
      follow: (input, signal) => timelines.follow(input, signal),
      blob: ({ session, blob, ...range }) => timelines.blob(session, blob, range),
    },
    records: { follow: async (input, signal) => accept(await records.follow(input, signal)) },
  }
}
