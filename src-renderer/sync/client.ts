import { ORPCError } from '@orpc/client'
import type { ContractRouterClient } from '@orpc/contract'
import { createContext, useContext } from 'react'
import type { Contract } from '../../src-shared/contract.ts'
import type { Refusal } from '../../src-shared/refusal.ts'

/** The one contract, as the window calls it. Every call may throw; `refusalOf` says what was thrown. */
export type Client = ContractRouterClient<Contract>

const Context = createContext<Client | null>(null)

export const ClientProvider = Context.Provider

export function useClient(): Client {
  const client = useContext(Context)
  if (client === null) throw new Error('no client was given to this part of the window')
  return client
}

const isRefusal = (value: unknown): value is Refusal =>
  typeof value === 'object' &&
  value !== null &&
  'code' in value &&
  typeof value.code === 'string' &&
  'message' in value &&
  typeof value.message === 'string'

/** Only these came from Core's own decision; all else means that the host could not be asked. */
export function isRefused(error: unknown): boolean {
  return error instanceof ORPCError && error.code === 'REFUSED' && isRefusal(error.data)
}

/** What the contract's schema found wrong with what was sent. */
function issuesOf(data: unknown): string | undefined {
  if (typeof data !== 'object' || data === null || !('issues' in data)) return undefined
  if (!Array.isArray(data.issues)) return undefined
  const found = data.issues.flatMap((issue: unknown) =>
    typeof issue === 'object' && issue !== null && 'message' in issue
      ? [String(issue.message)]
      : [],
  )
  return found.length === 0 ? undefined : found.join('; ')
}

/** What a failed call says to people: Core's refusal, or that the call itself failed and what to do. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof ORPCError && isRefusal(error.data)) return error.data
  if (error instanceof ORPCError && error.code === 'BAD_REQUEST') {
    return {
      code: 'input.invalid',
      message: `The host does not take this: ${issuesOf(error.data) ?? error.message}`,
    }
  }
  if (error instanceof ORPCError) {
    return {
      code: 'host.failed',
      message: `The host could not do this: ${error.message}`,
      hint: 'Try again. If it stays so, run the check (Ctrl+K, “Check this machine”) and look at the log in the data folder.',
    }
  }
  return {
    code: 'host.away',
    message: `The host does not answer: ${error instanceof Error ? error.message : String(error)}`,
    hint: 'Nothing typed here is lost. Try again when the window says that it is connected.',
  }
}
