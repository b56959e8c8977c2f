/** Leaves out of what a search found for a part what other parts are paid by. */
import { Effect } from "effect"
import type { PayoutSearch } from "../../../runtime/Payouts.ts"
import { isPublicError } from "../../../schemas/Errors.ts"
import {
  awaitedElsewhere,
  type BatchState,
  decide,
  isList,
  linesOf,
  namedRivals,
  type PartState,
  seenClaims,
  type TransferClaim,
  withoutOthers
} from "../machine.ts"
import { driverPart } from "../rules.ts"
import { type BatchServices, payoutDriver } from "./BatchServices.ts"

/** One look at the chain for an exported part, as the driver tells it. */
export const searchPart = Effect.fnUntraced(function*(services: BatchServices, batch: BatchState, part: PartState) {
  const { environment, network } = batch
  const driver = yield* payoutDriver(services, network, environment)
  const exported = part.export ?? (yield* Effect.die(new Error(`${batch.id}/${part.part} was never exported`)))
  return yield* driver.search({
    part: driverPart(batch, part.part, linesOf(batch, part.part)),
    export: exported,
    from: (part.searchedTo ?? exported.builtAt - 1n) + 1n,
    hint: part.hint
  })
})

/** Transfers by which parts with a name of their own are paid on the chain now. */
const claimsOfNamed = Effect.fnUntraced(function*(
  services: BatchServices,
  batches: ReadonlyArray<BatchState>,
  found: PayoutSearch
) {
  const searches = yield* Effect.forEach(
    namedRivals(batches, found),
    ({ batch, part }) => searchPart(services, batch, part),
    { concurrency: 2 }
  )
  return searches.flatMap(({ executions }) =>
    executions.flatMap(({ transfers, txHash }) =>
      transfers.map(({ index }): TransferClaim => ({ txHash, index, line: null }))
    )
  )
})

/**
 * What was found for a part, without what pays something else: by the proofs that are stored, and of a list also by
 * what other parts show as theirs, or are about to.
 */
export const ownSearch = Effect.fnUntraced(function*(
  services: BatchServices,
  batch: BatchState,
  part: PartState,
  found: PayoutSearch,
  now: number
) {
  if (batch.kind === "collect" || found.executions.length === 0) return found
  const { repo } = services
  const { id } = batch
  const lines = linesOf(batch, part.part)
  const proofs = yield* repo.proofs(batch, found.executions.map(({ txHash }) => txHash))
  const unclaimed = withoutOthers(id, lines, found, proofs)
  if (!isList(part) || unclaimed.executions.length === 0) return unclaimed
  const batches = yield* repo.openOf(batch)
  const claims = [...batches.flatMap(seenClaims), ...yield* claimsOfNamed(services, batches, unclaimed)]
  const own = withoutOthers(id, lines, unclaimed, claims)
  const decision = decide(batch, { _tag: "Observe", part: part.part, search: own }, now)
  return isPublicError(decision)
    ? own
    : withoutOthers(id, lines, own, awaitedElsewhere(id, part.part, batches, decision.unexpected, own))
})
