/**
 * A deployment with one merchant, for journeys on networks whose money a test can move: the service as a process, a
 * webhook receiver, and the database beside it.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { connect, migratedDatabase } from "../support/Database.ts"
import { makeReceiver } from "../support/Receiver.ts"
import { configOf, type Deployment, type Service, startService, temporaryDirectory, until } from "../support/Service.ts"
import { asPayor, chooseToken, listen, newInvoice, openShop, type Shop } from "./Shop.ts"

export interface Town {
  readonly service: Service
  /** Where its config file is. */
  readonly directory: string
  readonly shop: Shop
  readonly sql: SqlClient.SqlClient
}

/** `more` is added to the config file, or replaces parts of it; `ports`: where its public address names one. */
export const openTown = (
  deployment: Omit<Deployment, "database" | "receivers">,
  more: object = {},
  ports?: Parameters<typeof startService>[0]["ports"]
): Effect.Effect<Town, never, Scope.Scope> =>
  Effect.gen(function*() {
    const database = yield* migratedDatabase
    const receiver = yield* makeReceiver()
    const directory = yield* temporaryDirectory
    const service = yield* startService({
      directory,
      ...(ports === undefined ? {} : { ports }),
      config: { ...configOf({ ...deployment, database: database.url, receivers: [receiver.host] }), ...more }
    })
    const sql = Context.get(yield* Effect.orDie(Layer.build(connect(database))), SqlClient.SqlClient)
    const shop = yield* openShop(service, receiver, (yield* service.keys).merchant_key)
    return { service, directory, shop, sql }
  })

/** An open invoice whose payor has chosen a token, with the payment page listening. */
export const openInvoice = Effect.fnUntraced(function*(
  { service, shop }: Town,
  network: string,
  symbol: string,
  fields: object
) {
  const invoice = yield* newInvoice(shop, { customer_id: "cust_7", metadata: { order_id: "ORD-1" }, ...fields })
  // A token is offered once its contract has said how many decimals it has.
  yield* until(
    `${symbol} is offered on ${network}`,
    asPayor(shop, invoice, `available-tokens?mode=network&network=${network}`),
    (tokens) => tokens.some((each: any) => each.token_symbol === symbol)
  )
  const shown = yield* chooseToken(shop, invoice, symbol, network)
  return { invoice, shown, listener: yield* listen(shown, service.url) }
})

/** Exceptions of an invoice, oldest first. */
export const exceptionsOf = ({ sql }: Town, invoiceId: string) =>
  Effect.orDie(
    sql<any>`SELECT type, status, amount::text FROM exceptions WHERE invoice_id = ${invoiceId} ORDER BY id`
  )

/** The same, once there is one. */
export const firstExceptionsOf = (town: Town, invoiceId: string) =>
  until("an exception", exceptionsOf(town, invoiceId), ({ length }) => length > 0)

/** Exceptions of money that names no invoice, once there is one. */
export const exceptionsWithoutInvoice = ({ sql }: Town) =>
  until(
    "the exception",
    Effect.orDie(sql<any>`SELECT type, status, evidence::text FROM exceptions WHERE invoice_id IS NULL ORDER BY id`),
    ({ length }) => length > 0
  )

/** What the journal has of a transaction, once it has it. */
export const journalOf = ({ sql }: Town, txHash: string) =>
  until(
    "the transfer is in the journal",
    Effect.orDie(sql<any>`SELECT invoice_id FROM transfers WHERE tx_hash = ${txHash}`),
    ({ length }) => length > 0
  )

/** Rows of an invoice's payments, oldest first. */
export const paymentsOf = ({ sql }: Town, invoiceId: string) =>
  Effect.orDie(sql<any>`SELECT * FROM invoice_payments WHERE invoice_id = ${invoiceId} ORDER BY created_at, id`)
