/** The wallet of play money, which signs what it is told to: devnet, on simulated networks. */
import { Effect } from "effect"
import { dieOnReplay, noCause } from "../../../runtime/Commit.ts"
import type { PlayedExecution } from "../../../runtime/Payouts.ts"
import { isPublicError, publicError } from "../../../schemas/Errors.ts"
import { linesOf, partOf } from "../machine.ts"
import { driverPart } from "../rules.ts"
import { hintTransaction } from "./Acts.ts"
import { type BatchOwner, type BatchServices, payoutDriver } from "./BatchServices.ts"

/** Nobody asked for what the wallet says, so nobody repeats it. */
const unrepeated = { cause: noCause, reply: () => undefined }

/** `Batches.play`. */
export const playPart = (services: BatchServices) => {
  const hint = hintTransaction(services)
  return Effect.fn("Batches.play")(
    function*(
      owner: BatchOwner,
      id: string,
      { outcome, part: number }: { readonly part: number; readonly outcome: PlayedExecution }
    ) {
      const { repo } = services
      const batch = yield* repo.find(owner.merchantId, id)
      if (batch?.environment !== owner.environment) return yield* publicError("BATCH_NOT_FOUND")
      const part = partOf(batch, number)
      if (isPublicError(part)) return yield* part
      const { play } = yield* payoutDriver(services, batch.network, owner.environment)
      if (play === null) {
        return yield* publicError("UNSUPPORTED_NETWORK", {
          message: `${batch.network} is not simulated here: sign the export with a wallet`
        })
      }
      if (part.export === null) {
        return yield* publicError("INVALID_TRANSITION", { message: "The part was never given out: export it first" })
      }
      const txHash = yield* play(driverPart(batch, number, linesOf(batch, number)), part.export, outcome)
      // Where to look, as a page would say it: a look is due at once.
      if (txHash !== null) yield* hint(owner, id, { part: number, txHash }, unrepeated)
      return txHash
    },
    dieOnReplay
  )
}
