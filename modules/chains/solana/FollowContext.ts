/** What the parts of following Solana share: its endpoints, its accounts and its state. */
import { MutableRef } from "effect"
import type { DriverCondition, WatchSet } from "../../../runtime/Chains.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import type { JsonRpcClient } from "../../../runtime/nodes/JsonRpc.ts"
import type { Environment, Network } from "../../../schemas/Network.ts"
import type { AccountBook } from "./AccountBook.ts"
import type { ReceivingAccounts } from "./Accounts.ts"
import type { FollowState, UnreadTransactions } from "./FollowState.ts"

export interface FollowOptions {
  readonly network: Network
  readonly environment: Environment
  readonly endpoints: Endpoints<JsonRpcClient>
  readonly pollMillis: number
  readonly book: AccountBook
  readonly receiving: ReceivingAccounts
  /** Transactions that no endpoint has shown; kept here while following begins anew. */
  readonly unread: MutableRef.MutableRef<UnreadTransactions>
  /** Remembers at which endpoint a transaction was read. */
  readonly onTransactionRead: (signature: string, place: number) => void
}

/** Accounts that were listed and whose transactions are not all read yet. */
export interface AccountListing {
  readonly key: string
  readonly head: bigint
  readonly hasNews: boolean
}

/** What one look leaves to the next. */
export interface LookState {
  /** How many looks there were. */
  readonly count: number
  /** The head at which the finalized slot was read last. */
  readonly finalityReadAt: bigint
  /** The endpoint that answered the last look. */
  readonly servingEndpoint: number | null
  readonly condition: DriverCondition | null
  /** The accounts of the last look: the first call of the next one asks for their balances. */
  readonly keys: ReadonlyArray<string>
  readonly listings: ReadonlyArray<AccountListing>
  /** Whether the last look emitted all there was, so that the next one waits. */
  readonly isIdle: boolean
}

export interface FollowContext extends FollowOptions {
  readonly watch: WatchSet
  readonly state: MutableRef.MutableRef<FollowState>
  readonly looks: MutableRef.MutableRef<LookState>
}

export const stateOf = ({ state }: FollowContext): FollowState => MutableRef.get(state)

export const update = ({ state }: FollowContext, change: (state: FollowState) => FollowState): void =>
  void MutableRef.update(state, change)
