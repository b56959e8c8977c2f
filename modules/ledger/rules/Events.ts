/** What the books tell of a booking (modules/docs/reference/ledger.md#events). Pure. */
import type { EventDraft } from "../../../schemas/Event.ts"
import type { Environment } from "../../../schemas/Network.ts"
import type { Postings } from "./Moves.ts"
import { type TokenOfAsset, transactionObject } from "./Wire.ts"

/** An event for each balance transaction of a booking, as the list shows it by the end of the commit. */
export const createdEvents = (
  environment: Environment,
  { groups, transactions }: Postings,
  createdAt: number,
  tokenOf: TokenOfAsset
): ReadonlyArray<EventDraft> =>
  transactions.map((transaction) => ({
    type: "balance_transaction.created",
    object: transactionObject({
      ...transaction,
      environment,
      createdAt,
      entries: groups.filter(({ transactionId }) => transactionId === transaction.id).flatMap((group) =>
        group.entries.map((entry) => ({ ...entry, kind: group.kind, createdAt: group.createdAt }))
      )
    }, tokenOf),
    previousAttributes: {}
  }))
