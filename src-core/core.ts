import type {
  ContractProcedure,
  ErrorMap,
  InferContractRouterOutputs,
  InferSchemaOutput,
  Meta,
  Schema,
} from '@orpc/contract'
import type { Contract } from '../src-shared/contract.ts'
import type { Result } from '../src-shared/refusal.ts'

type InputOf<P> =
  P extends ContractProcedure<infer I extends Schema<unknown, unknown>, infer _, ErrorMap, Meta>
    ? InferSchemaOutput<I>
    : never

type Outputs = InferContractRouterOutputs<Contract>

/** One call of the contract: its decoded input, and a signal that ends a wait. Failures reject with `BalletError`. */
export type Call<I, O> = (input: I, signal?: AbortSignal) => Promise<Result<O>>

/** The decoded input of one call. */
export type CallInput<G extends keyof Contract, N extends keyof Contract[G]> = InputOf<
  Contract[G][N]
>

/** Every call of the contract by group and name. */
export type Calls = {
  readonly [G in keyof Contract]: {
    readonly [N in keyof Contract[G]]: Call<
      InputOf<Contract[G][N]>,
      N extends keyof Outputs[G] ? Outputs[G][N] : never
    >
  }
}

/** The product without a host. */
export type Core = {
  readonly calls: Calls
  /**
   * Reconciles every row with what really runs, then launches the fleet. Rejects with `BalletError`
   * when storage cannot be used; nothing is running then.
   */
  start(): Promise<void>
  /**
   * Lets the agents end their runtimes and hand over what is not stored yet, ends what does not
   * within `limitMs` (10,000 when not given), and settles every wait. Storage stays open: it is the host's to close.
   */
  stop(limitMs?: number): Promise<void>
}
