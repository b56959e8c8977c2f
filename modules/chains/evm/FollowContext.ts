/** What the parts of following one chain share: its nodes, its clock and its state. */
import { type Clock, Effect, MutableRef } from "effect"
import { DriverError, type WatchSet } from "../../../runtime/Chains.ts"
import type { Environment, Network } from "../../../schemas/Network.ts"
import { readHeader } from "./Blocks.ts"
import type { BlockReaders } from "./Corroboration.ts"
import type { FollowState } from "./FollowState.ts"
import type { Endpoint, JsonRpc } from "./JsonRpc.ts"

export interface FollowOptions {
  readonly network: Network
  readonly environment: Environment
  readonly rpc: JsonRpc
  /** Learns which endpoint each block was read from. */
  readonly readers: BlockReaders
  readonly pollMillis: number
  /** Whether to ask for the node's finality mark. */
  readonly finalizedTag: boolean
}

export interface FollowContext extends FollowOptions {
  readonly watch: WatchSet
  readonly clock: Clock.Clock
  /** Changed by looks only, one after the other. */
  readonly state: MutableRef.MutableRef<FollowState>
}

export const stateOf = ({ state }: FollowContext): FollowState => MutableRef.get(state)

/** Replaces the state by what a rule of `FollowState.ts` makes of it, and answers what the rule says beside it. */
export const dispatch = <A>(
  { state }: FollowContext,
  rule: (state: FollowState) => readonly [FollowState, A]
): A => {
  const [next, result] = rule(MutableRef.get(state))
  MutableRef.set(state, next)
  return result
}

export const nowMillisOf = ({ clock }: FollowContext): number => clock.currentTimeMillisUnsafe()

/** Of a clock that nobody sets: for how long something has lasted. */
export const monotonicMillisOf = ({ clock }: Pick<FollowContext, "clock">): number =>
  Number(clock.monotonicTimeNanosUnsafe()) / 1e6

export const hasOtherEndpoints = ({ rpc }: FollowContext): boolean => rpc.endpoints.length > 1

/** An endpoint's newest block, which the pool learns of. */
export const readHead = Effect.fnUntraced(function*(context: FollowContext, endpoint: Endpoint) {
  const { network, rpc } = context
  const head = yield* readHeader(endpoint, "latest")
  if (head === null) return yield* new DriverError({ network, reason: "the node has no blocks" })
  rpc.observe({ _tag: "Head", place: endpoint.place, head, at: nowMillisOf(context) })
  return head
})
