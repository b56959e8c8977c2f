/** Reads invoices of shops: each with the row that says what its shop asked for. */
import { Effect } from "effect"
import type { Principal } from "../../../schemas/Auth.ts"
import { isUuid } from "../../../schemas/Ids.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { type Aggregate, Invoices } from "../../invoices/plugin.ts"
import type { Repo, ShopInvoice, ShopInvoiceFilter } from "../repo.ts"

/** An invoice of a shop with what the shop asked of it. */
export interface FoundInvoice {
  readonly current: Aggregate
  readonly row: ShopInvoice
}

/** The merchant and the environment that a store stands for, and the credential that asks. */
export type Store = Pick<Principal, "credential" | "environment" | "merchantId">

/** Reads invoices of shops. No call fails. */
export interface FoundInvoices {
  /** Null: no shop made such an invoice in this store. */
  readonly get: (merchantId: number, environment: Environment, id: string) => Effect.Effect<FoundInvoice | null>
  /** By id alone, for links that shops give out. */
  readonly find: (id: string) => Effect.Effect<FoundInvoice | null>
  /** Newest first. */
  readonly list: (store: Store, filter: ShopInvoiceFilter) => Effect.Effect<ReadonlyArray<FoundInvoice>>
  /**
   * Finds the longest of these texts that is an order. Answers its invoices with a payment that came or is on its way:
   * at most `most`, the newest first.
   */
  readonly receivedOfOrder: (
    store: Store,
    orderIds: ReadonlyArray<string>,
    most: number
  ) => Effect.Effect<ReadonlyArray<FoundInvoice>>
}

export const makeFoundInvoices = Effect.fnUntraced(function*(repo: Repo) {
  const invoices = yield* Invoices

  const find: FoundInvoices["find"] = Effect.fnUntraced(function*(id) {
    const row = isUuid(id) ? yield* repo.find(id) : null
    const current = row === null ? null : yield* invoices.find(row.invoiceId)
    return row === null || current === null ? null : { current, row }
  })

  const withInvoices = Effect.fnUntraced(function*(merchantId: number, rows: ReadonlyArray<ShopInvoice>) {
    if (rows.length === 0) return []
    const found = new Map<string, Aggregate>(
      (yield* invoices.getAll(merchantId, rows.map(({ invoiceId }) => invoiceId)))
        .map((current) => [current.invoice.id, current])
    )
    return rows.flatMap((row) => {
      const current = found.get(row.invoiceId)
      return current === undefined ? [] : [{ current, row }]
    })
  })

  const foundInvoices: FoundInvoices = {
    find,
    get: (merchantId, environment, id) =>
      Effect.map(
        find(id),
        (found) => found?.row.merchantId === merchantId && found.row.environment === environment ? found : null
      ),
    list: ({ environment, merchantId }, filter) =>
      Effect.flatMap(repo.list(merchantId, environment, filter), (rows) => withInvoices(merchantId, rows)),
    receivedOfOrder: Effect.fnUntraced(function*({ environment, merchantId }, orderIds, most) {
      const orderId = yield* repo.longestOrder(merchantId, environment, orderIds)
      return orderId === null
        ? []
        : yield* withInvoices(merchantId, yield* repo.receivedOfOrder(merchantId, environment, orderId, most))
    })
  }
  return foundInvoices
})
