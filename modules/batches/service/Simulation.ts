/** Executes an exported part by a wallet of a simulated network, so that a merchant can try its program on devnet. */
import { Effect } from "effect"
import { dieOnReplay, noCause } from "../../../runtime/Commit.ts"
import type { SimulatedOutcome } from "../../../runtime/SimulatedWallets.ts"
import { isPublicError, publicError } from "../../../schemas/Errors.ts"
import { linesOf, partOf } from "../machine.ts"
import { driverPart } from "../rules.ts"
import { hintTransaction } from "./BatchDecisions.ts"
import { type BatchOwner, type BatchServices, findBatch } from "./BatchServices.ts"

/** The hint comes from the service itself, so no caller can repeat it and there is no reply to keep. */
const withoutReply = { cause: noCause, reply: () => undefined }

/** `Batches.simulate`. */
export const simulatePart = (services: BatchServices) => {
  const hint = hintTransaction(services)
  return Effect.fn("Batches.simulate")(
    function*(
      owner: BatchOwner,
      id: string,
      { outcome, part: number }: { readonly part: number; readonly outcome: SimulatedOutcome }
    ) {
      const { repo, simulatedWallets } = services
      const batch = yield* findBatch(repo, owner, id)
      const part = partOf(batch, number)
      if (isPublicError(part)) return yield* part
      const wallets = simulatedWallets.find(batch.network, owner.environment)
      if (wallets === null) {
        return yield* publicError("UNSUPPORTED_NETWORK", {
          message: `${batch.network} is not simulated here: sign the export with a wallet`
        })
      }
      if (part.export === null) {
        return yield* publicError("INVALID_TRANSITION", { message: "The part was never given out: export it first" })
      }
      const txHash = yield* wallets.execute(driverPart(batch, number, linesOf(batch, number)), part.export, outcome)
      // With the hint the chain is checked at once, as after a page's own report.
      if (txHash !== null) yield* hint(owner, id, { part: number, txHash }, withoutReply)
      return txHash
    },
    dieOnReplay
  )
}
