/** What payors entered about themselves, read by late binding from the module that keeps it. */
import { Context, Effect, Layer, type Scope } from "effect"
import type { Network } from "../../../schemas/Network.ts"

/** What a payor entered about themselves. */
export interface PayorRecord {
  readonly email: string | null
  /** At most one for each network. */
  readonly refundDestinations: ReadonlyArray<{
    readonly network: Network
    readonly address: string
    readonly memo: string | null
  }>
}

/**
 * Reads what payors of these invoices of one merchant entered; an invoice whose payor entered nothing may be absent.
 */
export type ReadPayors = (
  merchantId: number,
  invoiceIds: ReadonlyArray<string>
) => Effect.Effect<ReadonlyMap<string, PayorRecord>>

/**
 * What payors entered, for their merchant. The module that keeps it registers; while there is none, nothing is known.
 */
export class PayorRecords extends Context.Service<PayorRecords, {
  /** For as long as the scope lives. */
  readonly register: (read: ReadPayors) => Effect.Effect<void, never, Scope.Scope>
  readonly read: ReadPayors
}>()("tillwire/modules/invoices/PayorRecords") {
  static readonly layer = Layer.sync(PayorRecords, () => {
    const none: ReadPayors = () => Effect.succeed(new Map())
    let current = none
    return PayorRecords.of({
      register: (read) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            current = read
          }),
          () =>
            Effect.sync(() => {
              current = none
            })
        ),
      read: (merchantId, ids) => current(merchantId, ids)
    })
  })
}
