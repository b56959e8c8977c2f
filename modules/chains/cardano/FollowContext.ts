/** What the parts of following the chain share: its servers, its clock and its state. */
import { type Clock, Effect, MutableRef } from "effect"
import type { Readers } from "../../../runtime/nodes/Corroboration.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import type { WatchSet } from "../../../runtime/Chains.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { type Api, readHead } from "./Api.ts"
import type { PaymentSources } from "./BlockTransfers.ts"
import type { FollowState } from "./FollowState.ts"

export interface FollowOptions {
  readonly environment: Environment
  readonly endpoints: Endpoints<Api>
  /** Learns which endpoint each block was read from, by its hash. */
  readonly readers: Readers<string>
  readonly pollMillis: number
  /** Blocks read in a second while catching up, at most. */
  readonly blocksPerSecond: number
}

export interface FollowContext extends FollowOptions {
  readonly watch: WatchSet
  readonly clock: Clock.Clock
  /** Changed by looks only, one after the other. */
  readonly state: MutableRef.MutableRef<FollowState>
  readonly sources: PaymentSources
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

export const hasOthers = ({ endpoints }: FollowContext): boolean => endpoints.endpoints.length > 1

/** An endpoint's newest block, which the pool learns of. */
export const observeHead = Effect.fnUntraced(function*(context: FollowContext, api: Api) {
  const head = yield* readHead(api)
  context.endpoints.observe({ _tag: "Head", place: api.place, head, at: nowMillisOf(context) })
  return head
})
