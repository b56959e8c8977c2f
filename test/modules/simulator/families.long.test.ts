/**
 * Goal: everything that can go wrong with a payment goes wrong on each simulated family as it would on a real one, and
 * money that names no invoice is told to whom it belongs.
 * Method: the calls of the simulator on one network of each family over HTTP; the same accidents on the simulated
 * chains, which the real followers read.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { SimulatedChain } from "../../../modules/chains/simulated.ts"
import { Invoices } from "../../../modules/invoices/plugin.ts"
import { Payments } from "../../../modules/payments/plugin.ts"
import { Chains } from "../../../runtime/Chains.ts"
import { accountIndex } from "../../../runtime/chains/ChainsRepo.ts"
import { systemMerchant } from "../../../runtime/Commit.ts"
import { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { uuidV7 } from "../../../runtime/Uuid.ts"
import { readAddress } from "../../../schemas/Address.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { familyOf, type Network } from "../../../schemas/Network.ts"
import { unlistedPlayToken } from "../../../schemas/PlayMoney.ts"
import { until } from "../../support/Service.ts"
import { assertRefused, type DevnetMerchant, DevnetService, newDevnetMerchant, okData } from "./DevnetService.ts"

/** A network with what payors pay there, and how its transactions are named. */
interface TriedNetwork {
  readonly network: Network
  readonly symbol: string
  readonly hash: RegExp
  readonly hasMemo: boolean
}

/** One of each family. */
const tried: ReadonlyArray<TriedNetwork> = [
  { network: "base", symbol: "USDC", hash: /^0x[0-9a-f]{64}$/, hasMemo: false },
  { network: "solana", symbol: "USDC", hash: /^[1-9A-HJ-NP-Za-km-z]{86,88}$/, hasMemo: true },
  { network: "ton", symbol: "USDT", hash: /^[0-9a-f]{64}$/, hasMemo: true },
  { network: "sui", symbol: "USDC", hash: /^[1-9A-HJ-NP-Za-km-z]{43,44}$/, hasMemo: false },
  { network: "cardano", symbol: "ADA", hash: /^[0-9a-f]{64}$/, hasMemo: false }
]

const newInvoice = Effect.fnUntraced(function*(player: DevnetMerchant) {
  const { call } = yield* DevnetService
  const made = yield* call("/api/v1/invoices", {
    headers: { "x-api-key": player.merchant, "idempotency-key": yield* uuidV7 },
    body: { amount: 10_000 }
  })
  assert.strictEqual(made.status, 200, made.text)
  return made.json.invoice_id as string
})

const simulate = Effect.fnUntraced(function*(player: DevnetMerchant, invoiceId: string, body: object) {
  const { call } = yield* DevnetService
  return yield* call(`/api/v1/devnet/invoices/${invoiceId}/simulate`, {
    headers: { "x-api-key": player.merchant },
    body
  })
})

/** The invoice on its route there: target, token and what remains in base units. */
const routeOn = Effect.fnUntraced(function*(invoiceId: string, network: Network, symbol: string) {
  const { services } = yield* DevnetService
  const token = Context.get(services, TokenCatalog).list("devnet").find((one) =>
    one.network === network && one.symbol === symbol
  )!
  const current = yield* Context.get(services, Invoices).find(invoiceId)
  return yield* Effect.orDie(Context.get(services, Payments).route(current!, network, token.id))
})

/** The exceptions of money without an invoice on a network, oldest first. */
const exceptionsOn = Effect.fnUntraced(function*(network: Network) {
  const { services } = yield* DevnetService
  const sql = Context.get(services, SqlClient.SqlClient)
  return yield* Effect.orDie(sql<any>`SELECT merchant_id, type, status, invoice_id, invoice_payment_id, evidence
    FROM exceptions WHERE invoice_id IS NULL AND evidence->>'network' = ${network} ORDER BY created_at, id`)
})

const statusOf = Effect.fnUntraced(function*(player: DevnetMerchant, invoiceId: string) {
  const { call } = yield* DevnetService
  return (yield* call(`/api/v1/invoices/${invoiceId}`, { headers: { "x-api-key": player.merchant } })).json
})

layer(DevnetService.layer, { excludeTestServices: true })("on every family", (it) => {
  it.effect("each action makes of an invoice what its name says, and names senders and transactions as the network does", () =>
    Effect.gen(function*() {
      const player = yield* newDevnetMerchant
      for (const { hash, network } of tried) {
        const id = yield* newInvoice(player)
        const act = (action: string, more: object = {}) => Effect.map(simulate(player, id, { action, ...more }), okData)
        const seen = yield* act("pay", { network, confirmations: 0 })
        const { payer_tx_hash: txHash, payer_wallet_address: sender } = seen.invoice_payment
        assert.deepInclude(seen.invoice_payment, { status: "pending", network }, network)
        assert.match(txHash, hash, network)
        assert.strictEqual(readAddress(network, "devnet", sender), sender, network)
        assert.include((yield* act("confirm")).invoice, { status: "paid" }, network)
        assert.include((yield* act("drop")).invoice, { status: "unpaid", amount_paid: 0 }, network)
        assert.include((yield* act("partial")).invoice, { status: "underpaid" }, network)
        const wrong = yield* act("wrong_token", { amount: 1_000 })
        const { address, decimals, symbol } = unlistedPlayToken(network)!
        assert.deepStrictEqual(wrong.invoice_payment.metadata.token, { id: null, address, symbol, decimals }, network)
        assert.include((yield* act("reorg")).invoice_payment, { status: "rejected" }, network)
        assert.include((yield* act("pay")).invoice, { status: "paid" }, network)
        assert.isAbove((yield* act("duplicate")).invoice.amount_paid, 10_000, network)
        assert.include((yield* act("settle")).invoice_payment ?? {}, { settlement_status: "settled" }, network)
        const [late, over, ended] = [yield* newInvoice(player), yield* newInvoice(player), yield* newInvoice(player)]
        assert.include(okData(yield* simulate(player, over, { action: "overpay", network })).invoice, {
          status: "paid"
        })
        assert.isNotNull(okData(yield* simulate(player, late, { action: "late", network })).invoice_payment)
        yield* routeOn(ended, network, tried.find((each) => each.network === network)!.symbol)
        assert.include(okData(yield* simulate(player, ended, { action: "expire" })).invoice, { status: "expired" })
      }
    }))

  it.effect("money without an invoice opens an exception that names none, by the simulator and by the chain alike", () =>
    Effect.gen(function*() {
      const { services } = yield* DevnetService
      const chains = Context.get(services, Chains)
      const player = yield* newDevnetMerchant
      for (const { hasMemo, network, symbol } of tried) {
        const id = yield* newInvoice(player)
        const { target, token, tokenAmount } = yield* routeOn(id, network, symbol)
        assert.strictEqual(target.memo !== null, hasMemo, network)
        const before = yield* statusOf(player, id)

        assert.isNull(okData(yield* simulate(player, id, { action: "unmatched" })).invoice_payment)
        const missing = yield* simulate(player, id, { action: "missing_memo" })
        if (!hasMemo) {
          assert.include(assertRefused(missing, 400, "VALIDATION_ERROR").message, `${network} needs no memo`)
        } else {
          assert.deepInclude(okData(missing), { invoice_payment: null, event_ids: [] })
          const wallet = yield* chains.wallet({
            merchantId: player.id,
            environment: "devnet",
            family: familyOf(network)
          })
          assert(wallet?._tag === "SharedWallet")
          for (const to of [wallet.accountKey, `${wallet.accountKey}:0000TYP0MEM0`]) {
            yield* Context.get(services, SimulatedChain).transfer({
              network,
              to,
              tokenAddress: token.address,
              amount: tokenAmount!
            })
          }
        }
        const expected = hasMemo ? ["missing_memo", "missing_memo", "missing_memo", "unmatched_payment"] : [
          "unmatched_payment"
        ]
        const found = yield* until(
          `exceptions on ${network}`,
          exceptionsOn(network),
          ({ length }) => length >= expected.length
        )
        assert.deepStrictEqual(found.map(({ type }) => type).toSorted(), expected, network)
        const facts = found.filter(({ type }) => type === "missing_memo").map(({ evidence, ...row }) => ({
          ...row,
          evidence: { ...evidence, transfer_id: "", tx_hash: "" }
        }))
        for (const { evidence } of found) {
          assert.match(evidence.transfer_id, new RegExp(`^${network}:devnet:${evidence.tx_hash}:\\d+$`))
        }
        for (const each of facts) assert.deepStrictEqual(each, facts[0]!, `${network}: the simulator's as the chain's`)
        for (const row of found) {
          assert.include(row, { status: "open", merchant_id: systemMerchant, invoice_payment_id: null }, network)
          assert.notInclude(JSON.stringify(row), id, network)
        }
        if (hasMemo) assert.strictEqual(facts[0]!.evidence.address, target.address, network)
        assert.deepStrictEqual(yield* statusOf(player, id), before, `${network}: the invoice stays as it is`)
      }
    }))

  it.effect("money without a memo on a merchant's own wallet is told to that merchant", () =>
    Effect.gen(function*() {
      const { services } = yield* DevnetService
      const player = yield* newDevnetMerchant
      const value = "HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk"
      const chains = Context.get(services, Chains)
      const family = "solana"
      const wallet = yield* chains.readWallet({ environment: "devnet", family }, "address", value)
      assert(wallet !== null && typeof wallet !== "string" && wallet._tag === "SharedWallet")
      const sql = Context.get(services, SqlClient.SqlClient)
      yield* Effect.orDie(sql`INSERT INTO wallet_owners (fingerprint, merchant_id, version)
        VALUES (${wallet.fingerprint}, ${player.id}, 1)`)
      yield* chains.watchWallet(wallet, family)
      yield* until(
        "the account",
        chains.walletReceiver("solana", "devnet", wallet.accountKey),
        (found) => found !== null
      )
      assert.deepStrictEqual(yield* chains.walletReceiver("solana", "devnet", wallet.accountKey), {
        merchantId: player.id,
        isAccount: true,
        fingerprint: wallet.fingerprint,
        walletIndex: accountIndex
      })
      assert.isNull(yield* chains.walletReceiver("solana", "devnet", "nobody's"))
    }))

  it.effect("a transaction that Solana drops takes back its own payment alone, and Cardano rolls its blocks back", () =>
    Effect.gen(function*() {
      const { services } = yield* DevnetService
      const chain = Context.get(services, SimulatedChain)
      const player = yield* newDevnetMerchant
      const paidOnChain = Effect.fnUntraced(function*(network: Network, symbol: string) {
        const id = yield* newInvoice(player)
        const { target, token, tokenAmount } = yield* routeOn(id, network, symbol)
        const { txHash } = yield* chain.transfer({
          network,
          to: target.matchKey,
          tokenAddress: token.address,
          amount: baseUnits(tokenAmount!)
        })
        yield* until("paid", statusOf(player, id), ({ status }) => status === "paid")
        return { id, txHash }
      })
      const [dropped, beside] = [yield* paidOnChain("solana", "USDC"), yield* paidOnChain("solana", "USDC")]
      yield* chain.drop("solana", [dropped.txHash])
      yield* until("taken back", statusOf(player, dropped.id), ({ status }) => status === "unpaid")
      assert.strictEqual((yield* statusOf(player, beside.id)).status, "paid")

      const undone = yield* paidOnChain("cardano", "ADA")
      yield* chain.reorg("cardano", 1, { drop: "all" })
      yield* until("rolled back", statusOf(player, undone.id), ({ status }) => status === "unpaid")
    }))

  it.effect("a simulated payment waits for `confirm`, whatever the follower of its network looks for", () =>
    Effect.gen(function*() {
      const { services } = yield* DevnetService
      const chains = Context.get(services, Chains)
      const chain = Context.get(services, SimulatedChain)
      const player = yield* newDevnetMerchant
      const waitingOn = Effect.fnUntraced(function*({ network, symbol }: TriedNetwork) {
        const id = yield* newInvoice(player)
        const { target } = yield* routeOn(id, network, symbol)
        const { invoice_payment: payment } = okData(yield* simulate(player, id, { action: "pay", confirmations: 0 }))
        // A report of what is on no chain: its lookups end after those of everything that was reported before.
        const head = chains.status("devnet").find((each) => each.network === network)!.head!
        yield* Effect.orDie(chains.report({
          txHash: "reported",
          index: 0,
          kind: "direct",
          matchKey: target.matchKey,
          tokenAddress: null,
          amount: baseUnits(1n),
          from: null,
          network,
          environment: "devnet",
          point: { height: head, hash: "reported" },
          time: Math.floor(Date.now() / 1000)
        }))
        return { id, network, payment }
      })
      const waiting = yield* Effect.forEach(tried, waitingOn)
      yield* Effect.forEach(waiting, ({ id, network }) =>
        until(
          `the report on ${network} is given up`,
          Effect.andThen(chain.mine(network, 1), chains.transfers(id)),
          (entries) => entries.some(({ status, txHash }) => txHash === "reported" && status === "reverted")
        ), { concurrency: "unbounded" })
      for (const { id, network, payment } of waiting) {
        const entries = yield* chains.transfers(id)
        assert.strictEqual(entries.find(({ txHash }) => txHash === payment.payer_tx_hash)?.status, "seen", network)
        assert.include(okData(yield* simulate(player, id, { action: "confirm" })).invoice, { status: "paid" }, network)
      }
    }))
})
