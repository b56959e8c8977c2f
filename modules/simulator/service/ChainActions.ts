/** Actions on a transfer that was sent: its block gets deep, leaves the chain, or is replaced by another one. */
import { Effect } from "effect"
import type { JournalEntry } from "../../../runtime/Chains.ts"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { CommitCause } from "../../../runtime/Commit.ts"
import { uuidV4 } from "../../../runtime/Uuid.ts"
import type { Aggregate } from "../../invoices/plugin.ts"
import { paymentIdOf } from "../../payments/plugin.ts"
import { confirmedEntry, entryAtDepth, reincludedEntry, revertedEntry } from "../rules.ts"
import { simulatedPayment } from "./SimulationFact.ts"
import type { Request, SimulatorContext } from "./SimulatorContext.ts"
import { chooseOnChain, chooseTransfer, send } from "./TransferActions.ts"
import { requiredBlocks, twoUuids } from "./Transfers.ts"

const isWaiting = ({ status }: JournalEntry) => status === "seen"

const noWaitingPayment = "No simulated payment waits for its depth: pay with confirmations 0 first"
const noStandingPayment = "No simulated payment stands: pay first"

export const confirm = (context: SimulatorContext, current: Aggregate, request: Request, cause: CommitCause) =>
  send(
    context,
    current,
    cause,
    (latest) =>
      Effect.map(chooseTransfer(context, latest, isWaiting, noWaitingPayment), (entry) =>
        confirmedEntry(entry, Math.max(request.confirmations ?? 0, requiredBlocks(latest.invoice, entry.network))))
  )

export const drop = (context: SimulatorContext, current: Aggregate, cause: CommitCause) =>
  send(
    context,
    current,
    cause,
    (latest) => Effect.map(chooseOnChain(context, latest, noStandingPayment), revertedEntry)
  )

/** Its block leaves the chain, and then another one has the transaction, as deep as is asked. */
export const reorg = Effect.fnUntraced(function*(
  context: SimulatorContext,
  current: Aggregate,
  request: Request,
  cause: CommitCause
) {
  const dropChange = yield* drop(context, current, cause)
  const block = yield* twoUuids(uuidV4)
  const now = yield* nowSeconds
  const reinclude = yield* send(
    context,
    current,
    cause,
    Effect.fnUntraced(function*(latest) {
      const journal = yield* context.chains.transfers(latest.invoice.id)
      const entry = journal.find((each) => paymentIdOf(each) === simulatedPayment([dropChange]))!
      const required = requiredBlocks(latest.invoice, entry.network)
      return entryAtDepth(reincludedEntry(entry, block, now), request.confirmations ?? required, required)
    })
  )
  return [dropChange, reinclude]
})
