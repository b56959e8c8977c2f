/** Names of unlisted tokens: what their contracts say they are, read beside the handling of transfers. */
import { Effect, Semaphore } from "effect"
import { Chains, type ContractToken, type JournalEntry } from "../../../runtime/Chains.ts"
import { noCause } from "../../../runtime/Commit.ts"
import type { Aggregate, Command, Invoices } from "../../invoices/plugin.ts"
import { paymentIdOf } from "./Credit.ts"

/** Contracts of unlisted tokens asked at once, and waiting to be asked; what is over that keeps no name. */
const nameReadConcurrency = 4
const maximumNameReads = 100

/** Time a node has to answer for a contract. */
const nameReadTimeout = "5 seconds"

/**
 * Asks the contract of an unlisted token what it is, beside the handling of transfers, which never waits for it:
 * whoever made the contract chooses how long it takes and what it says. A payment whose contract gives no answer keeps
 * its address.
 */
export const makeNameToken = Effect.fnUntraced(function*(invoices: Invoices["Service"]) {
  const chains = yield* Chains
  const scope = yield* Effect.scope
  const semaphore = yield* Semaphore.make(nameReadConcurrency)
  let readsUnderWay = 0

  const name = Effect.fnUntraced(
    function*(invoiceId: string, paymentId: string, read: Effect.Effect<ContractToken, unknown>) {
      const token = yield* Effect.timeout(read, nameReadTimeout)
      const command: Command = { _tag: "NameToken", paymentId, ...token }
      yield* invoices.change(invoiceId, noCause, () => Effect.succeed({ commands: [command] }))
    }
  )

  return Effect.fnUntraced(function*(entry: JournalEntry, { invoice, payments }: Aggregate) {
    const paymentId = paymentIdOf(entry)
    const token = payments.find(({ id }) => id === paymentId)?.metadata.token ?? null
    const readToken = chains.driver(entry.network, entry.environment)?.readToken ?? null
    const isUnnamed = token !== null && token.id === null && token.symbol === null && token.decimals === null
    if (!isUnnamed || token.address === null || readToken === null || readsUnderWay >= maximumNameReads) return
    readsUnderWay += 1
    yield* semaphore.withPermits(1)(name(invoice.id, paymentId, readToken(token.address))).pipe(
      Effect.catchCause((cause) => Effect.logDebug("the contract of an unlisted token could not be read", cause)),
      Effect.ensuring(Effect.sync(() => {
        readsUnderWay -= 1
      })),
      Effect.forkIn(scope)
    )
  })
})
