/**
 * An entry of the log for each change of a merchant's money, by the instance that stored it: the new status of a
 * payment, booking, batch or exception with the ids by which it is found, and no address, name or metadata of a
 * customer.
 */
import { Effect, Layer } from "effect"
import type { EventType } from "../../schemas/Event.ts"
import type { CommittedEvent } from "../Commit.ts"
import { CommitFeed } from "../commit/CommitFeed.ts"
import { Settings } from "../Settings.ts"
import { loggedId, makeLineWriter } from "./LineWriter.ts"

/** Types of events that tell of money. Other `invoice.*` events move none. */
const moneyTypes: ReadonlySet<string> = new Set<EventType>([
  "invoice.paid",
  "invoice_payment.created",
  "invoice_payment.updated",
  "invoice_payment.refunded",
  "exception.opened",
  "exception.resolved",
  "balance_transaction.created",
  "batch.paid",
  "batch.closed"
])

/** Fields of the objects that an entry has, where the object has them. */
const loggedFields = [
  "id",
  "object",
  "invoice_id",
  "invoice_payment_id",
  "type",
  "status",
  "network",
  "amount",
  "amount_paid",
  "payer_tx_hash"
] as const

/** The fields of an entry; null: the event tells of no money. Pure. */
export const paymentEntryOf = (
  { data, environment, id, merchantId, requestId, type }: CommittedEvent
): Readonly<Record<string, string | number | null>> | null => {
  if (!moneyTypes.has(type)) return null
  const { object } = JSON.parse(data) as { readonly object: Readonly<Record<string, string | number | null>> }
  const fields: Record<string, string | number | null> = {
    event: type,
    event_id: id,
    merchant_id: merchantId,
    environment,
    request_id: requestId === null ? null : loggedId(requestId)
  }
  for (const name of loggedFields) {
    const value = object[name]
    if (value !== undefined) fields[name === "id" || name === "type" ? `object_${name}` : name] = value
  }
  return fields
}

/** Writes the entries, unless `telemetry.payments` is false. */
export const layer: Layer.Layer<never, never, CommitFeed | Settings> = Layer.effectDiscard(Effect.gen(function*() {
  const { telemetry } = yield* Settings
  if (!telemetry.payments) return
  const write = yield* makeLineWriter(telemetry, process.stdout.isTTY)
  if (write === null) return
  const feed = yield* CommitFeed
  yield* feed.listen((batches) => {
    for (const { events } of batches) {
      for (const event of events) {
        const entry = paymentEntryOf(event)
        if (entry !== null) write("payment", entry)
      }
    }
  })
}))
