/**
 * Goal: a month says what came, what left and what is wrong with it; once it is closed nothing changes it.
 * Method: a whole devnet over HTTP; faults are put into the database by SQL, as a broken disk or hand would.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { HDKey } from "@scure/bip32"
import { createHash, randomBytes } from "node:crypto"
import { noCause } from "../../../runtime/Commit.ts"
import { Reconciliation } from "../../../modules/reconciliation/plugin.ts"
import { nextMonth, readMonth } from "../../../modules/reconciliation/rules/Periods.ts"
import { assertBalanced, balanceOf, call, newInvoice, send, simulate, transactionsOf } from "../ledger/Books.ts"
import { assertRefused, type DevnetMerchant, DevnetService, newDevnetMerchant } from "../simulator/DevnetService.ts"

const service = <I, S>(tag: Context.Key<I, S>) =>
  Effect.map(DevnetService, ({ services }) => Context.get(services as unknown as Context.Context<I>, tag))

const sqlOf = service(SqlClient.SqlClient)

const report = (player: DevnetMerchant, query = "") => call(player, `/api/v1/reconciliation?${query}`)

const causesOf = (player: DevnetMerchant, query = "") =>
  Effect.map(report(player, query), ({ differences }) => differences.map(({ cause }: any) => cause))

/** A paid invoice; answers its payment. */
const paidInvoice = Effect.fnUntraced(function*(player: DevnetMerchant, amountUsd = 50) {
  const id = yield* newInvoice(player, amountUsd)
  yield* simulate(player, id, "pay")
  const [payment] = yield* call(player, `/api/v1/invoices/${id}/payments`)
  return payment
})

const ownerOf = ({ id }: DevnetMerchant) => ({ merchantId: id, environment: "devnet" }) as const

const byPerson = { cause: noCause, reply: () => undefined }

const closeMonth = (player: DevnetMerchant, period: string) =>
  Effect.flatMap(service(Reconciliation), ({ close }) => close(ownerOf(player), period, "wallet_1", byPerson))

const adjust = (player: DevnetMerchant, request: object) =>
  Effect.flatMap(
    service(Reconciliation),
    ({ adjust }) =>
      adjust(ownerOf(player), { asset: "", token_amount: "", note: "counted", ...request }, "wallet_1", byPerson)
  )

/** The merchant's clock passes the end of the running month, and the hour before it may be closed. */
const passMonth = (player: DevnetMerchant) => call(player, "/api/v1/devnet/clock/advance", { seconds: 2_764_800 })

layer(DevnetService.layer, { excludeTestServices: true })("the reconciliation", (it) => {
  it.effect("says what each wallet held, what came and what it holds, and that all three sources agree", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      yield* paidInvoice(player)
      yield* paidInvoice(player, 30)
      const found = yield* report(player)
      const [wallet, ...others] = found.wallets
      assert.deepStrictEqual(others, [])
      assert.deepInclude(wallet.opening, { amount: 0, units: "0" })
      assert.deepInclude(wallet.received, { amount: 80_000, amount_decimal: "80.000" })
      assert.deepStrictEqual(wallet.closing, wallet.received)
      assert.strictEqual(wallet.chain_balance, null)
      assert.deepStrictEqual(found.differences, [])
      assert.deepInclude(found, { explained_ppm: 1_000_000, ledger_trial_balance: 0, has_more_differences: false })
      const { chain, events, ledger } = found.sources
      assert.deepStrictEqual(chain, ledger)
      assert.strictEqual(chain[0].count, 2)
      assert.deepStrictEqual([events[0].count, events[0].amount], [2, 80_000])
      const later = yield* report(player, `from=${found.to}&to=${found.to + 86_400}`)
      assert.deepStrictEqual(later.wallets[0].opening, wallet.closing)
      assert.deepStrictEqual(later.wallets[0].received.amount, 0)
    }))

  it.effect("agrees with money that waits, was credited, was ignored, or left its chain again", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      for (const action of ["credit", "ignore", null]) {
        const id = yield* newInvoice(player)
        yield* simulate(player, id, "wrong_token")
        if (action === null) continue
        const [exception] = (yield* call(player, `/api/v1/exceptions?status=open&invoice_id=${id}`)).data
        yield* call(player, `/api/v1/exceptions/${exception.id}/resolve`, { action })
      }
      const dropped = yield* newInvoice(player)
      yield* simulate(player, dropped, "pay")
      yield* simulate(player, dropped, "drop")
      yield* assertBalanced(player.id)
      const found = yield* report(player)
      assert.deepStrictEqual(found.differences, [])
      const [, , , oldest] = found.suspense
      assert.deepStrictEqual([found.suspense[0].age, found.suspense[0].count], ["under_1_day", 2])
      assert.deepInclude(oldest, { age: "older", count: 0 })
      const unmatched = found.wallets.reduce((sum: bigint, each: any) => sum + BigInt(each.unmatched.units), 0n)
      assert.isAbove(Number(unmatched), 0)
    }))

  it.effect("names each fault by its cause: lost transfer, lost booking, doubled credit, wrong price, wrong amount", () =>
    Effect.gen(function*() {
      const sql = yield* sqlOf
      const faults = {
        lost_log: (id: string) =>
          sql`DELETE FROM transfers WHERE id = (SELECT t.id FROM transfers t JOIN invoice_payments p
            ON p.tx_hash = t.tx_hash AND p.merchant_id = t.merchant_id WHERE p.id = ${id}::uuid)`,
        lost_booking: (id: string) =>
          sql`DELETE FROM ledger_entries WHERE transaction_id = (
            SELECT balance_transaction_id FROM invoice_payments WHERE id = ${id}::uuid)`,
        doubled_credit: (id: string) =>
          sql`INSERT INTO ledger_entries SELECT merchant_id, transaction_id, step, line + 1, version, environment, kind,
            debit, credit, asset, units, usd_millis, created_at, payment_id FROM ledger_entries
            WHERE step = 1 AND transaction_id = (SELECT balance_transaction_id FROM invoice_payments
              WHERE id = ${id}::uuid)`,
        wrong_price: (id: string) => sql`UPDATE invoice_payments SET amount = amount - 1 WHERE id = ${id}::uuid`,
        wrong_amount: (id: string) =>
          sql`UPDATE transfers SET amount = amount + 1 WHERE tx_hash = (SELECT tx_hash FROM invoice_payments
            WHERE id = ${id}::uuid)`
      }
      const expected = {
        lost_log: "unmatched_ledger",
        lost_booking: "unmatched_chain",
        doubled_credit: "unmatched_ledger",
        wrong_price: "amount",
        wrong_amount: "amount"
      }
      for (const name of Object.keys(faults) as ReadonlyArray<keyof typeof faults>) {
        const player = yield* newDevnetMerchant
        yield* paidInvoice(player)
        const payment = yield* paidInvoice(player)
        yield* faults[name](payment.id)
        const { differences, explained_ppm: explained } = yield* report(player)
        assert.deepStrictEqual(
          differences.map((each: any) => [each.cause, each.payment_id, each.is_explained]),
          [[expected[name], payment.id, false]],
          name
        )
        assert.isBelow(explained, 1_000_000, name)
      }
    }))

  it.effect("knows money by its transfer, however long after it was booked or assigned", () =>
    Effect.gen(function*() {
      const sql = yield* sqlOf
      const player = yield* newDevnetMerchant
      const payment = yield* paidInvoice(player)
      yield* sql`UPDATE transfers SET block_time = block_time - 3456000 WHERE merchant_id = ${player.id}`
      const { differences: [found, ...others] } = yield* report(player)
      assert.deepStrictEqual([found.cause, found.payment_id, others], ["timing", payment.id, []])
      const [row] = yield* sql<{ first: bigint }>`SELECT min(block_time) AS first FROM transfers
        WHERE merchant_id = ${player.id}`
      const from = Number(row!.first)
      const earlier = yield* report(player, `from=${from}&to=${from + 86_400}`)
      assert.deepStrictEqual(earlier.differences.map((each: any) => [each.cause, each.payment_id]), [
        ["timing", payment.id]
      ])
    }))

  it.effect("knows money that was assigned to an invoice and left its chain: both of it was one transfer", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const value = HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'").publicExtendedKey
      const wallet = { kind: "xpub", value }
      const { call: ask } = yield* DevnetService
      const headers = { "x-api-key": player.merchant }
      yield* ask("/api/v1/merchant/wallets/evm", { method: "PUT", headers, body: wallet })
      const id = yield* newInvoice(player)
      yield* simulate(player, id, "unmatched")
      const { data: [exception] } = yield* call(player, "/api/v1/exceptions?status=open")
      yield* call(player, `/api/v1/exceptions/${exception.id}/resolve`, { action: "assign", invoice_id: id })
      assert.deepStrictEqual(yield* causesOf(player), [])
      yield* simulate(player, id, "drop")
      yield* assertBalanced(player.id)
      assert.deepStrictEqual(yield* causesOf(player), [])
    }))

  it.effect("knows money of an earlier month that leaves its chain, also where it was decided on since", () =>
    Effect.gen(function*() {
      for (const action of ["credit", "ignore", null]) {
        const player = yield* newDevnetMerchant
        const id = yield* newInvoice(player)
        yield* simulate(player, id, "wrong_token")
        yield* passMonth(player)
        const { data: [exception] } = yield* call(player, "/api/v1/exceptions?status=open")
        if (action !== null) yield* call(player, `/api/v1/exceptions/${exception.id}/resolve`, { action })
        yield* simulate(player, id, "drop")
        yield* assertBalanced(player.id)
        assert.deepStrictEqual(yield* causesOf(player), ["reorg"], String(action))
      }
    }))

  it.effect("knows money of an earlier month that left its chain and came back, in one month or in two", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const payment = yield* paidInvoice(player)
      yield* passMonth(player)
      yield* simulate(player, payment.invoice_id, "reorg")
      assert.deepStrictEqual(yield* causesOf(player), [])
      yield* passMonth(player)
      yield* simulate(player, payment.invoice_id, "reorg")
      assert.deepStrictEqual(yield* causesOf(player), [])
    }))

  it.effect("tells money that left its chain after the month's end in both months, hours or days later", () =>
    Effect.gen(function*() {
      for (const secondsLater of [259_200, 7_200]) {
        const player = yield* newDevnetMerchant
        const advance = (seconds: number) => call(player, "/api/v1/devnet/clock/advance", { seconds })
        // In the last hour of a month the next one is taken.
        const { now } = yield* advance(3_601)
        const { period, to } = yield* report(player)
        yield* advance(Math.max(1, to - 3_600 - now))
        const payment = yield* paidInvoice(player)
        assert.deepStrictEqual(yield* causesOf(player, `period=${period}`), [])
        yield* advance(secondsLater)
        yield* simulate(player, payment.invoice_id, "drop")
        yield* assertBalanced(player.id)
        for (const query of [`period=${period}`, ""]) {
          const { differences, explained_ppm: explained, wallets: [wallet] } = yield* report(player, query)
          assert.deepStrictEqual(
            differences.map((each: any) => [each.cause, each.payment_id, each.amount, each.is_explained]),
            [["reorg", payment.id, 50_000, true]],
            `${secondsLater} ${query}`
          )
          assert.strictEqual(explained, 1_000_000)
          // The first month closes with money that its chain never kept; the next one has both without it.
          const missing = query === "" ? "0" : `-${wallet.closing.units}`
          assert.strictEqual(differences[0].units, missing)
        }
        yield* advance(7_200)
        yield* closeMonth(player, period)
      }
    }))

  it.effect("takes coins that the owner spent for normal, and a shortfall without any sending for a fault", () =>
    Effect.gen(function*() {
      const sql = yield* sqlOf
      const player = yield* newDevnetMerchant
      yield* paidInvoice(player)
      const { period, wallets: [{ account, asset, closing }] } = yield* report(player)
      const read = (units: bigint, hasSent: boolean) =>
        sql`INSERT INTO chain_balance_readings (merchant_id, environment, period, account, asset, version, units,
            later_units, has_sent, height, block_hash, block_time, read_at)
          VALUES (${player.id}, 'devnet', ${period}, ${account}, ${asset}, 1, ${units}, 7, ${hasSent}, 5, 'hash', 1, 1)
          ON CONFLICT (merchant_id, environment, period, account, asset)
          DO UPDATE SET units = excluded.units, has_sent = excluded.has_sent`
      const held = BigInt(closing.units)
      yield* read(held + 7n, true)
      assert.deepStrictEqual(yield* causesOf(player), [])
      yield* read(held - 1_000_000n, true)
      assert.deepStrictEqual(yield* causesOf(player), ["external_spend"])
      yield* read(held - 1_000_000n, false)
      assert.deepStrictEqual(yield* causesOf(player), ["amount"])
      const found = yield* report(player)
      assert.deepStrictEqual(found.wallets[0].as_of, { height: "5", hash: "hash", time: 1 })
      assert.strictEqual(found.wallets[0].chain_balance.units, (held - 1_000_007n).toString())
    }))

  it.effect("closes a month once, by a person, and nothing changes it afterwards", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const payment = yield* paidInvoice(player)
      const { period } = yield* report(player)
      const early = yield* Effect.flip(closeMonth(player, period))
      const nextPeriod = Effect.map(call(player, "/api/v1/reconciliation/closed"), ({ next_period: next }) => next)
      assert.strictEqual(yield* nextPeriod, period, "the month of the first entry")
      assert.strictEqual(early.code, "INVALID_TRANSITION")
      assertRefused(
        yield* send(player, "/api/v1/reconciliation/close", { period }),
        403,
        "CREDENTIAL_NOT_ALLOWED"
      )
      yield* passMonth(player)
      const callers = yield* Effect.forEach(
        Array.from({ length: 20 }),
        () => Effect.result(closeMonth(player, period)),
        { concurrency: "unbounded" }
      )
      const hashes = new Set(callers.flatMap((each) => each._tag === "Success" ? [each.success.hash] : []))
      assert.strictEqual(hashes.size, 1)

      const before = yield* send(player, `/api/v1/reconciliation/closed/${period}`)
      const closed = before.json.data
      const bytes = before.text.slice(before.text.indexOf("\"report\":") + "\"report\":".length, -2)
      assert.strictEqual(
        createHash("sha256").update(`${closed.previous_hash}\n${bytes}`).digest("hex"),
        closed.hash,
        "anybody can check the hash with the bytes of the answer"
      )
      // A late fact: the payment leaves its chain after its month was closed.
      yield* simulate(player, payment.invoice_id, "drop")
      yield* assertBalanced(player.id)
      assert.strictEqual((yield* send(player, `/api/v1/reconciliation/closed/${period}`)).text, before.text)
      assert.deepStrictEqual(yield* report(player, `period=${period}`), closed.report)
      const { differences: [reorg, ...others], wallets: [wallet] } = yield* report(player)
      assert.deepStrictEqual([reorg.cause, reorg.payment_id, others], ["reorg", payment.id, []])
      assert.strictEqual(wallet.opening.amount, 50_000)
      assert.strictEqual(wallet.closing.amount, 0)

      const list = yield* call(player, "/api/v1/reconciliation/closed")
      assert.deepStrictEqual(list.data.map((each: any) => each.hash), [closed.hash])
      assert.strictEqual(yield* nextPeriod, nextMonth(readMonth(period)!).name)
      const csv = yield* send(player, `/api/v1/reconciliation/closed/${period}?format=csv`)
      // Nothing in this file needs quotes.
      const [names = [], cells = []] = csv.text.split("\r\n").map((line) => line.split(","))
      assert.deepInclude(Object.fromEntries(names.map((name, place) => [name, cells[place]])), {
        period,
        received_usd: "50.000",
        closing_usd: "50.000",
        hash: closed.hash
      })
      const next = yield* Effect.flip(closeMonth(player, "2020-01"))
      assert.include(next.message, "in order")
    }))

  it.effect("is not closed with a difference, until a person has accounted for it by an adjustment", () =>
    Effect.gen(function*() {
      const sql = yield* sqlOf
      const player = yield* newDevnetMerchant
      yield* paidInvoice(player)
      const { period, wallets: [{ account, asset, closing }] } = yield* report(player)
      yield* passMonth(player)
      yield* sql`INSERT INTO chain_balance_readings (merchant_id, environment, period, account, asset, version, units,
          later_units, has_sent, height, block_hash, block_time, read_at)
        VALUES (${player.id}, 'devnet', ${period}, ${account}, ${asset}, 1, ${BigInt(closing.units) / 2n}, 0, false, 5,
          'hash', 1, 1)`
      assert.include((yield* Effect.flip(closeMonth(player, period))).message, "1 differences")
      assertRefused(
        yield* send(player, "/api/v1/reconciliation/adjustments", { asset, token_amount: "-1", note: "x" }),
        403,
        "CREDENTIAL_NOT_ALLOWED"
      )
      const [{ token }] = (yield* balanceOf(player)).assets
      const amount = (BigInt(closing.units) / 2n).toString().padStart(token.decimals + 1, "0")
      const text = `-${amount.slice(0, -token.decimals)}.${amount.slice(-token.decimals)}`
      const made = yield* adjust(player, { asset, token_amount: text, period })
      yield* assertBalanced(player.id)
      assert.strictEqual((yield* balanceOf(player)).available, 25_000)
      const [transaction] = yield* transactionsOf(player, "type=adjustment")
      assert.deepInclude(transaction, { id: made.balanceTransactionId, net: -25_000 })
      assert.deepStrictEqual(transaction.source, { object: "adjustment", id: made.id })
      const closed = yield* closeMonth(player, period)
      const { differences, wallets: [wallet] } = JSON.parse(closed.report)
      assert.deepStrictEqual(differences, [])
      assert.strictEqual(wallet.closing.amount, 50_000, "the month stays as it was")
      const { wallets: [open] } = yield* report(player)
      assert.deepStrictEqual([open.opening.amount, open.other.amount, open.closing.amount], [50_000, -25_000, 25_000])
      const { data: entries } = yield* call(player, "/api/v1/audit-log")
      assert.deepStrictEqual(
        entries.map(({ action }: any) => action).filter((action: string) => action.startsWith("reconciliation")),
        ["reconciliation.close", "reconciliation.adjust"]
      )
    }))

  it.effect("takes a loss of ignored money from what was ignored, and leaves what is available", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      const wrongToken = Effect.fnUntraced(function*(action: string) {
        const id = yield* newInvoice(player)
        yield* simulate(player, id, "wrong_token")
        const [exception] = (yield* call(player, `/api/v1/exceptions?status=open&invoice_id=${id}`)).data
        yield* call(player, `/api/v1/exceptions/${exception.id}/resolve`, { action })
        const [payment] = yield* call(player, `/api/v1/invoices/${id}/payments`)
        return payment
      })
      const heldOf = (name: "available" | "ignored") =>
        Effect.map(balanceOf(player), ({ assets: [held] }) => BigInt(held[name].units))
      const ignored = yield* wrongToken("ignore")
      const { period, wallets: [{ asset, closing }] } = yield* report(player)
      // The token is in no list: whole base units.
      const half = BigInt(closing.units) / 2n
      yield* adjust(player, { asset, token_amount: `-${half}` })
      yield* assertBalanced(player.id)
      assert.strictEqual(yield* heldOf("available"), 0n, "nothing was available, and nothing is owed")
      yield* wrongToken("credit")
      const available = yield* heldOf("available")
      assert.isTrue(available > half)
      const rest = BigInt(closing.units) - half
      yield* adjust(player, { asset, token_amount: `-${rest}`, period, explains: ignored.id.toUpperCase() })
      yield* assertBalanced(player.id)
      assert.deepStrictEqual([yield* heldOf("available"), yield* heldOf("ignored")], [available, 0n])
      for (const { net, source } of yield* transactionsOf(player, "type=adjustment")) {
        assert.deepStrictEqual([source.object, net], ["adjustment", 0])
      }
      yield* adjust(player, { asset, token_amount: `-${half}`, period, explains: ignored.id })
      yield* assertBalanced(player.id)
      assert.strictEqual(yield* heldOf("available"), available - half, "what was ignored is gone")
    }))

  it.effect("books an adjustment of what is there once, whatever is asked for at the same time", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      yield* paidInvoice(player)
      const [{ asset, chain }] = (yield* balanceOf(player)).assets
      const results = yield* Effect.forEach(
        Array.from({ length: 8 }),
        () => Effect.result(adjust(player, { asset, token_amount: `-${chain.token_amount}` })),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter(({ _tag }) => _tag === "Success").length, 1)
      yield* assertBalanced(player.id)
      assert.deepInclude(yield* balanceOf(player), { available: 0, pending: 0 })
    }))

  it.effect("books twenty adjustments that are posted at once, one after the other", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      yield* paidInvoice(player)
      const [{ asset }] = (yield* balanceOf(player)).assets
      const results = yield* Effect.forEach(
        Array.from({ length: 20 }),
        () => Effect.result(adjust(player, { asset, token_amount: "-1" })),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(results.flatMap((each) => each._tag === "Failure" ? [each.failure.code] : []), [])
      yield* assertBalanced(player.id)
      assert.deepInclude(yield* balanceOf(player), { available: 30_000 })
    }))

  it.effect("knows no month before 1970, and books nothing for one that has not begun", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      yield* paidInvoice(player)
      for (const path of ["?period=0000-01", "?period=1969-12", "/closed/0000-01"]) {
        const error = assertRefused(yield* send(player, `/api/v1/reconciliation${path}`), 400, "VALIDATION_ERROR")
        assert.deepInclude(error, { param: "period" })
        assert.include(error.message, "from 1970-01 on")
      }
      const [{ asset }] = (yield* balanceOf(player)).assets
      const wish = { asset, token_amount: "-1", period: "2031-01" }
      const refusal = yield* Effect.flip(adjust(player, wish))
      assert.deepInclude({ ...refusal }, { code: "VALIDATION_ERROR", param: "period" })
      assert.include(refusal.message, "has not begun")
    }))

  it.effect("shows nothing of another merchant, nor of the other environment", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      yield* paidInvoice(player)
      const { period } = yield* report(player)
      yield* passMonth(player)
      yield* closeMonth(player, period)
      const other = yield* newDevnetMerchant
      assert.deepStrictEqual((yield* report(other)).wallets, [])
      assertRefused(yield* send(other, `/api/v1/reconciliation/closed/${period}`), 404, "NOT_FOUND")
      assert.deepInclude(yield* call(other, "/api/v1/reconciliation/closed"), { data: [], next_period: null })
    }))
})
