/**
 * Goal: the books tell of every payment and exception where its money is, at every moment, and a merchant reads them.
 * Method: a whole devnet over HTTP; after each step the check compares balances with entries and with the objects.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { RpcClient } from "effect/rpc"
import { ExceptionsRpc } from "../../../modules/exceptions/rpc.ts"
import * as InternalRpc from "../../../runtime/rpc/Client.ts"
import { InvoiceId } from "../../../schemas/Ids.ts"
import { rpcToken, until } from "../../support/Service.ts"
import { assertRefused, DevnetService, newDevnetMerchant } from "../simulator/DevnetService.ts"
import { assertBalanced, balanceOf, call, ledger, newInvoice, send, simulate, transactionsOf } from "./Books.ts"

layer(DevnetService.layer, { excludeTestServices: true })("the books of a merchant", (it) => {
  it.effect("hold a payment pending until it is deep enough, then available, in one transaction", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const id = yield* newInvoice(player, 50)
      yield* simulate(player, id, "pay", { confirmations: 0 })
      yield* assertBalanced(player.id)
      const pending = yield* balanceOf(player)
      assert.deepStrictEqual([pending.pending, pending.available], [50_000, 0])
      const [seen] = yield* transactionsOf(player)
      assert.deepInclude(seen, { type: "payment", status: "pending", net: 50_000, available_at: null })

      yield* simulate(player, id, "confirm")
      yield* assertBalanced(player.id)
      const balance = yield* balanceOf(player)
      assert.deepInclude(balance, { available: 50_000, available_decimal: "50.000", pending: 0, suspense: 0 })
      const [{ available, chain }] = balance.assets
      assert.deepStrictEqual(available, chain)
      const [booked, ...others] = yield* transactionsOf(player)
      assert.deepStrictEqual(others, [])
      assert.deepInclude(booked, { id: seen.id, status: "available", source: seen.source })
      assert.deepStrictEqual(
        booked.entries.map(({ credit, kind }: any) => [kind, credit]),
        [["booked", "merchant_pending"], ["posted", "merchant_available"]]
      )
      const [payment] = yield* paymentsOf(player, id)
      assert.strictEqual(payment.balance_transaction_id, booked.id)
      assert.strictEqual(payment.id, booked.source.id)
      assert.deepStrictEqual(yield* call(player, `/api/v1/balance-transactions/${booked.id}`), booked)
    }))

  it.effect("void what leaves its chain before it was deep enough, and reverse what leaves it later", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const early = yield* newInvoice(player)
      yield* simulate(player, early, "pay", { confirmations: 0 })
      yield* simulate(player, early, "drop")
      yield* assertBalanced(player.id)
      const [voided] = yield* transactionsOf(player)
      assert.deepInclude(voided, { type: "payment", status: "voided" })

      const late = yield* newInvoice(player)
      yield* simulate(player, late, "pay")
      const [payment] = yield* transactionsOf(player)
      yield* simulate(player, late, "drop")
      yield* assertBalanced(player.id)
      const [reversal] = yield* transactionsOf(player, "type=payment_reversal")
      assert.deepInclude(reversal, { net: -50_000, reverses: payment.id, status: "available" })
      assert.deepInclude(yield* balanceOf(player), { available: 0, pending: 0, suspense: 0 })
      assert.isNull((yield* paymentsOf(player, late))[0].balance_transaction_id)
    }))

  it.effect("keep refused money in suspense until somebody decides, and then where the decision puts it", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const held = Effect.map(balanceOf(player), ({ assets }) => {
        const units = (name: string) =>
          assets.reduce((sum: bigint, asset: any) => sum + BigInt(asset[name].units), 0n) as bigint
        return { suspense: units("suspense"), available: units("available"), ignored: units("ignored") }
      })
      const cases = [
        ["wrong_token", "credit", "available"],
        ["wrong_token", "ignore", "ignored"],
        ["wrong_network", "accept", "available"]
      ] as const
      for (const [arrival, action, name] of cases) {
        const before = yield* held
        const accepted = arrival === "wrong_network" ? { accepted_networks: ["ethereum"] } : {}
        const { invoice_id: id } = yield* call(player, "/api/v1/invoices", { amount_usd: 50, ...accepted })
        yield* simulate(player, id, arrival)
        yield* assertBalanced(player.id)
        const waiting = yield* held
        const units = waiting.suspense - before.suspense
        assert.isAbove(Number(units), 0, arrival)
        const [exception] = (yield* call(player, `/api/v1/exceptions?status=open&invoice_id=${id}`)).data
        yield* call(player, `/api/v1/exceptions/${exception.id}/resolve`, { action })
        yield* assertBalanced(player.id)
        assert.deepStrictEqual(yield* held, { ...before, [name]: before[name] + units }, action)
        const booked = yield* transactionsOf(player, `source_id=${exception.invoice_payment_id}`)
        assert.sameMembers(booked.map(({ entries: [entry] }) => entry.credit), ["suspense", accountOf[name]])
        assert.isTrue(booked.some(({ entries: [entry] }) => entry.debit === "suspense"))
      }
    }))

  it.effect("keep money of no invoice in suspense, and follow it to the invoice that it is assigned to", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const id = yield* newInvoice(player)
      yield* simulate(player, id, "unmatched")
      yield* assertBalanced(null)
      // The wallet is the deployment's, so its money waits in the operator's books until it is somebody's.
      const operator = { merchantId: 0, environment: "devnet" } as const
      const suspense = Effect.map(
        Effect.flatMap(ledger, ({ balances }) => balances(operator)),
        (rows) =>
          rows.filter(({ account }) => account === "suspense").reduce((sum, { usdMillis }) => sum - usdMillis, 0n)
      )
      const waiting = yield* suspense
      assert.isAbove(Number(waiting), 0)
      const { internalUrl } = yield* DevnetService
      const exception = yield* Effect.gen(function*() {
        const client = yield* RpcClient.make(ExceptionsRpc)
        const { exceptions: [open] } = yield* client["exceptions.list"]({ environment: "devnet", status: "open" })
        const { id: exception_id } = open!
        const invoice_id = InvoiceId.make(id)
        return yield* client["exceptions.resolve"]({ exception_id, action: "assign", invoice_id, actor: "desk" })
      }).pipe(
        Effect.scoped,
        Effect.provide(InternalRpc.layer({ url: internalUrl, token: Redacted.make(rpcToken) })),
        Effect.orDie
      )
      yield* assertBalanced(null)
      assert.strictEqual(yield* suspense, waiting - BigInt(exception.amount))
      assert.deepInclude(yield* balanceOf(player), { suspense: 0, available: exception.amount })
      const [payment] = yield* transactionsOf(player)
      assert.deepInclude(payment, { type: "payment", net: exception.amount })
    }))

  it.effect("note a shortfall that is tolerated, in no balance", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const id = yield* newInvoice(player)
      yield* simulate(player, id, "partial", { amount: 30_000 })
      yield* simulate(player, id, "expire")
      yield* call(player, "/api/v1/devnet/clock/advance", { seconds: 604_800 })
      const open = `/api/v1/exceptions?status=open&type=underpaid_expired&invoice_id=${id}`
      const { data: [exception] } = yield* until("the exception", call(player, open), ({ data }) => data.length > 0)
      yield* call(player, `/api/v1/exceptions/${exception.id}/resolve`, { action: "accept" })
      yield* assertBalanced(player.id)
      const [memo] = yield* transactionsOf(player, "type=tolerance_writeoff")
      assert.deepInclude(memo, { amount: -20_000, net: 0, asset: null, entries: [], source: { object: "invoice", id } })
      assert.strictEqual((yield* balanceOf(player)).available, 30_000)
    }))

  it.effect("are read in pages, by filters, and by nobody else", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const other = yield* newDevnetMerchant
      for (let n = 0; n < 5; n++) yield* simulate(player, yield* newInvoice(player), "pay")
      const all = yield* transactionsOf(player)
      assert.lengthOf(all, 5)
      const first = yield* call(player, "/api/v1/balance-transactions?limit=2")
      assert.isTrue(first.has_more)
      const second = yield* call(player, `/api/v1/balance-transactions?limit=3&starting_after=${first.data[1].id}`)
      assert.isFalse(second.has_more)
      assert.deepStrictEqual([...first.data, ...second.data], all)
      const back = yield* call(player, `/api/v1/balance-transactions?limit=2&ending_before=${all[2].id}`)
      assert.deepStrictEqual(back.data, first.data)
      const { asset, id, source } = all[3]
      assert.deepStrictEqual(yield* transactionsOf(player, `source_id=${source.id}`), [all[3]])
      assert.lengthOf(yield* transactionsOf(player, `type=payment&asset=${asset}`), 5)
      assert.deepStrictEqual(yield* transactionsOf(player, "type=refund"), [])
      assertRefused(yield* send(other, `/api/v1/balance-transactions/${id}`), 404, "NOT_FOUND")
      assertRefused(yield* send(other, `/api/v1/balance-transactions?starting_after=${id}`), 400, "INVALID_CURSOR")
      assert.deepStrictEqual(yield* transactionsOf(other), [])
      assert.deepInclude(yield* balanceOf(other), { available: 0, assets: [] })
    }))

  it.effect("add up when many payments of one merchant come at once", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const ids = yield* Effect.all(Array.from({ length: 40 }, () => newInvoice(player)), { concurrency: 10 })
      yield* Effect.forEach(ids, (id) => simulate(player, id, "pay"), { concurrency: "unbounded", discard: true })
      yield* assertBalanced(player.id)
      assert.strictEqual((yield* balanceOf(player)).available, 40 * 50_000)
    }))
})

const accountOf = { available: "merchant_available", ignored: "suspense:ignored" } as const

/** The payments of an invoice, as the merchant sees them. */
const paymentsOf = (player: Parameters<typeof call>[0], invoiceId: string) =>
  Effect.map(
    call(player, `/api/v1/events?invoice_id=${invoiceId}&limit=100`),
    ({ data }): ReadonlyArray<any> =>
      data.filter(({ data: { object } }: any) => object.object === "invoice_payment").map((event: any) =>
        event.data.object
      )
  )
