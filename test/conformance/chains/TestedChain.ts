/** What a driver's test gives the conformance suite: a chain to make things happen on. */
import type { Effect, Scope } from "effect"
import type { ChainDriver, ReceiveTarget } from "../../../runtime/Chains.ts"
import type { Disturbance } from "./Disturbances.ts"

/** A transaction that was mined. */
export interface MinedTransaction {
  readonly txHash: string
}

/** A chain to make things happen on. What is null its chain cannot do, and the suite leaves out what needs it. */
export interface TestedChain {
  readonly driver: ChainDriver
  /** A driver of the same chain, wallet and nodes, as another process has it. */
  readonly openDriver: Effect.Effect<ChainDriver, never, Scope.Scope>
  /** Where the n-th invoice of the rig's wallet is paid, n from 0 to 9; the same target for the same number. */
  readonly target: (invoice: number) => ReceiveTarget
  /** What the suite pays is a multiple of it: base units that the chain lets a new account have. */
  readonly unit: bigint
  /** A token that the driver reports, as the catalogue spells it; null: it reports the native coin only. */
  readonly token: string | null
  /** Whether the driver tells what addresses hold of the native coin; absent: where it tells any balance, of it too. */
  readonly hasCoinBalances?: boolean
  /** Pays in the native coin (null) or the rig's token; mined at once, and in no other payment's block. */
  readonly pay: (to: ReceiveTarget, token: string | null, amount: bigint) => Effect.Effect<MinedTransaction>
  readonly mine: (blocks: number) => Effect.Effect<void>
  /** Pays several receivers in one transaction, in the token where there is one; the same receiver may come twice. */
  readonly payMany:
    | ((to: ReadonlyArray<ReceiveTarget>, amount: bigint) => Effect.Effect<MinedTransaction>)
    | null
  readonly rollback: {
    /** Replaces the newest blocks; transactions in them vanish. */
    readonly drop: (depth: number) => Effect.Effect<void>
    /** Replaces the newest blocks by others that hold the same payments again, each in a higher block. */
    readonly reinclude: (depth: number) => Effect.Effect<void>
  } | null
  /** One transaction that is not final leaves the chain, and the chain goes on until that is certain. */
  readonly dropTransaction: ((txHash: string) => Effect.Effect<void>) | null
  /** Pays the rig's shared wallet and names no invoice. */
  readonly shared: {
    readonly accountKey: string
    readonly payWithoutMemo: (token: string | null, amount: bigint) => Effect.Effect<MinedTransaction>
  } | null
  /** Pays in a token that keeps a fee: answers what arrives. */
  readonly payWithFee:
    | ((to: ReceiveTarget, amount: bigint) => Effect.Effect<MinedTransaction & { readonly arrives: bigint }>)
    | null
  /** Newest blocks whose transactions `dropTransaction` can drop: 1 where it is not said. */
  readonly droppableBlocks?: number
  /** Ways in which its node may misbehave for a while without harm. */
  readonly disturbances: ReadonlyArray<Disturbance>
  /** A payment that fails on the chain: the transaction is there and has moved nothing. */
  readonly payInVain: ((to: ReceiveTarget, amount: bigint) => Effect.Effect<MinedTransaction>) | null
}

/** A rig whose chain can do these things. */
export type With<Needs extends keyof TestedChain> =
  & TestedChain
  & { readonly [Need in Needs]: NonNullable<TestedChain[Need]> }

export const hasAll = <Needs extends keyof TestedChain>(
  rig: TestedChain,
  needs: ReadonlyArray<Needs>
): rig is With<Needs> => needs.every((need) => rig[need] !== null)
