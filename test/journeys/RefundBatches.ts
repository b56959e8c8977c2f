/**
 * What a batch of refunds does on every family whose wallets sign transactions of their own: each promise below becomes
 * a test of the network. The service is the whole process; the wallet is given nothing but what was exported over HTTP.
 */
import { assert, type Vitest } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import type { Network } from "../../schemas/Network.ts"
import { linkWallet } from "../support/Merchants.ts"
import type { Deployment } from "../support/Service.ts"
import { until } from "../support/Service.ts"
import { assertStatus } from "./Shop.ts"
import { openTown, type Town } from "./Town.ts"

type Credential = Readonly<Record<string, string>>

/** A deployment, and a merchant who is signed in and has a wallet of the family. */
export interface RefundTown extends Town {
  readonly person: Credential
}

/** A network on which refunds are paid back. */
export interface RefundNetwork<R> {
  /** As the API names it; its own format is named so too. */
  readonly name: string
  readonly town: Effect.Effect<RefundTown, never, R>
  /** The token that invoices are paid in. */
  readonly symbol: string
  /** So many thousandths of a US dollar in base units of that token. */
  readonly unitsOf: (usdMillis: bigint) => bigint
  /** The merchant's wallet: invoices are paid to it, and refunds leave it. */
  readonly from: string
  /** Pays what the payor was shown, so much of it. */
  readonly pay: (shown: any, units: bigint) => Effect.Effect<unknown, never, R>
  /** An address that nothing was ever sent to. */
  readonly newReceiver: Effect.Effect<string>
  /**
   * Signs what was exported as the family's own wallets do, and sends it. Answers the transaction as the API names it;
   * null where the network refuses it.
   */
  readonly sign: (payload: string) => Effect.Effect<string | null, never, R>
  /** Base units of the token that an address holds. */
  readonly heldBy: (address: string) => Effect.Effect<bigint, never, R>
  /** Whether the network executes an export a second time while it is valid. */
  readonly isExecutedTwice: boolean
  /** Whether a part is seen before it is final, when a wallet's page has just told of it. */
  readonly isSeenFirst: boolean
  /** Lets the chain come to a final block at which an export of this moment can no longer be executed. */
  readonly passValidity: Effect.Effect<void, never, R>
}

/** Each run is a call of its own, with a key of its own. */
const send = ({ service }: Town, by: Credential, path: string, body?: object, method?: string) =>
  Effect.suspend(() =>
    service.call(path, {
      headers: { ...by, "idempotency-key": randomUUID() },
      ...(body === undefined ? {} : { body }),
      ...(method === undefined ? {} : { method })
    })
  )

const ask = (town: Town, by: Credential, path: string, body?: object, method?: string) =>
  Effect.map(send(town, by, path, body, method), (answer) => {
    const json = assertStatus(200, answer)
    return json.data ?? json
  })

/** Starts the service, signs a merchant in, and gives the merchant's wallet to it. */
export const openRefundTown = (
  deployment: Omit<Deployment, "database" | "receivers">,
  network: Network,
  /** `linked`: the account of it that the merchant has shown to be its own. */
  { linked, ...wallet }: { readonly kind: string; readonly value: string; readonly linked?: string }
): Effect.Effect<RefundTown, never, Scope.Scope> =>
  Effect.gen(function*() {
    const town = yield* openTown(deployment)
    const account = privateKeyToAccount(generatePrivateKey())
    const { message } = yield* ask(town, {}, "/api/v1/auth/nonce", { address: account.address, network: "base" })
    const signature = yield* Effect.promise(() => account.signMessage({ message }))
    const session = yield* ask(town, {}, "/api/v1/auth/verify", { message, signature })
    const person = { authorization: `Bearer ${session.access_token}` }
    yield* ask(town, person, `/api/v1/merchant/wallets/${network}`, wallet, "PUT")
    if (linked !== undefined) yield* linkWallet(town.service, session.merchant.id, network, linked)
    return { ...town, person }
  })

/** An invoice that is paid in full, of whole dollars. */
const paidInvoice = <R>({ name, pay, symbol, town: opened, unitsOf }: RefundNetwork<R>, dollars: number) =>
  Effect.gen(function*() {
    const town = yield* opened
    const invoice = yield* ask(town, town.person, "/api/v1/invoices", { amount_usd: dollars })
    const payor = invoice.payment_session_headers
    const tokens = yield* until(
      `${symbol} is offered on ${name}`,
      ask(town, payor, `/api/v1/payments/available-tokens?mode=network&network=${name}`),
      (found: ReadonlyArray<any>) => found.some(({ token_symbol }) => token_symbol === symbol)
    )
    const token = tokens.find(({ token_symbol }) => token_symbol === symbol)
    const shown = yield* ask(town, payor, "/api/v1/payments/payment-addresses", { network: name, token_id: token.id })
    yield* pay(shown, unitsOf(BigInt(dollars) * 1_000n))
    yield* until(
      "the invoice is paid",
      ask(town, town.person, `/api/v1/invoices/${invoice.invoice_id}`),
      ({ status }) => status === "paid"
    )
    return invoice.invoice_id as string
  })

const openRefund = <R>({ name, town: opened }: RefundNetwork<R>, invoice: string, dollars: number, address: string) =>
  Effect.gen(function*() {
    const town = yield* opened
    const refund = yield* ask(town, town.person, "/api/v1/refunds", {
      invoice_id: invoice,
      amount_mode: "custom",
      amount: dollars * 1_000,
      reason: "requested_by_customer",
      fee_bearer: "merchant",
      destination: { network: name, address },
      auto_approve: true
    })
    assert.strictEqual(refund.status, "processing")
    return refund.id as string
  })

/** A batch of refunds that was approved, and what can be asked of it. */
const openBatch = <R>({ from, name, town: opened }: RefundNetwork<R>, refunds: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const town = yield* opened
    const { person } = town
    const made = yield* ask(town, person, "/api/v1/batches", {
      kind: "refunds",
      network: name,
      from,
      refund_ids: refunds,
      valid_for_seconds: 300
    })
    const path = `/api/v1/batches/${made.id}`
    const premature = yield* send(town, person, `${path}/export`, { part: 1, format: name })
    assert.deepStrictEqual([premature.status, premature.json.error.code], [403, "APPROVAL_REQUIRED"])
    yield* ask(town, person, `${path}/approve`, {})
    return {
      id: made.id as string,
      giveOut: ask(town, person, `${path}/export`, { part: 1, format: name }),
      /** A wallet's page says where to look, which is only a hint. */
      tellSent: (txHash: string) => ask(town, person, `${path}/sent`, { part: 1, tx_hash: txHash }),
      read: ask(town, person, `${path}?expand=lines`)
    }
  })

const readRefund = <R>({ town }: RefundNetwork<R>, id: string) =>
  Effect.flatMap(town, (opened) => ask(opened, opened.person, `/api/v1/refunds/${id}`))

/** The books say what came to the wallet and what left it, and nothing is left to explain. */
const assertBooks = <R>({ symbol, town: opened }: RefundNetwork<R>, received: bigint, refunded: bigint) =>
  Effect.gen(function*() {
    if (!existsSync(new URL("../../modules/reconciliation", import.meta.url))) return
    const town = yield* opened
    const report = yield* ask(town, town.person, "/api/v1/reconciliation")
    const rows = report.wallets.filter((row: any) => row.symbol === symbol)
    assert.lengthOf(rows, 1, "what was paid back left the wallet that it had come to")
    const units = ["received", "refunded", "closing"].map((field) => BigInt(rows[0][field].units))
    assert.deepStrictEqual(units, [received, refunded, received - refunded])
    assert.deepStrictEqual(report.differences, [])
    assert.strictEqual(report.explained_ppm, 1_000_000)
    assert.strictEqual(report.ledger_trial_balance, 0)
  })

type It<R> = Pick<Vitest.MethodsNonLive<R>, "effect">

const paidOnce = <R>(network: RefundNetwork<R>) =>
  Effect.gen(function*() {
    const { heldBy, isExecutedTwice, isSeenFirst, name, newReceiver, sign, unitsOf } = network
    const town = yield* network.town
    const invoice = yield* paidInvoice(network, 100)
    const receivers = [yield* newReceiver, yield* newReceiver] as const
    const amounts = [20, 70] as const
    const refunds = yield* Effect.forEach(
      receivers,
      (receiver, place) => openRefund(network, invoice, amounts[place]!, receiver)
    )
    const batch = yield* openBatch(network, refunds)
    const given = yield* batch.giveOut
    assert.deepStrictEqual([given.format, given.lines], [name, 2])
    assert.strictEqual((yield* batch.giveOut).payload, given.payload, "the same export is answered again as it was")

    const txHash = yield* sign(given.payload)
    assert.isNotNull(txHash)
    yield* batch.tellSent(txHash!)
    if (isSeenFirst) {
      const seen = yield* until("the part is seen", batch.read, ({ parts }: any) => parts[0].status !== "out")
      assert.deepStrictEqual([seen.parts[0].status, seen.lines.map(({ status }: any) => status)], [
        "seen",
        ["seen", "seen"]
      ])
      assert.strictEqual((yield* readRefund(network, refunds[0]!)).status, "processing")
    }
    const paid = yield* until("the batch is paid", batch.read, ({ status }: any) => status === "paid")
    assert.deepStrictEqual(paid.lines.map(({ status }: any) => status), ["paid", "paid"])
    for (const [place, id] of refunds.entries()) {
      const refund = yield* readRefund(network, id)
      assert.deepStrictEqual([refund.status, refund.tx_hash], ["succeeded", paid.lines[place].tx_hash])
      assert.strictEqual(yield* heldBy(receivers[place]!), unitsOf(BigInt(amounts[place]!) * 1_000n))
    }
    assert.include(paid.lines.map(({ tx_hash }: any) => tx_hash), txHash)
    yield* assertBooks(network, unitsOf(100_000n), unitsOf(90_000n))

    const again = yield* sign(given.payload)
    const duplicates = ask(town, town.person, "/api/v1/exceptions?type=duplicate_payout")
    if (isExecutedTwice) {
      assert.isNotNull(again)
      const found = yield* until("the duplicates", duplicates, (list: any) => (list.data ?? list).length === 2)
      assert.deepStrictEqual((found.data ?? found).map(({ status }: any) => status), ["open", "open"])
    } else {
      assert.isNull(again)
      assert.lengthOf(((found) => found.data ?? found)(yield* duplicates), 0)
      for (const [place, receiver] of receivers.entries()) {
        assert.strictEqual(yield* heldBy(receiver), unitsOf(BigInt(amounts[place]!) * 1_000n))
      }
    }
  })

const lapses = <R>(network: RefundNetwork<R>) =>
  Effect.gen(function*() {
    const { heldBy, newReceiver, passValidity, sign, unitsOf } = network
    const invoice = yield* paidInvoice(network, 50)
    const receiver = yield* newReceiver
    const refund = yield* openRefund(network, invoice, 40, receiver)
    const batch = yield* openBatch(network, [refund])
    const given = yield* batch.giveOut
    yield* passValidity
    const over = yield* until("the part is over", batch.read, ({ parts }: any) => parts[0].status === "lapsed")
    assert.deepStrictEqual(over.lines.map(({ status }: any) => status), ["pending"])
    assert.isNull(yield* sign(given.payload), "too late")
    assert.strictEqual(yield* heldBy(receiver), 0n)
    const anew = yield* batch.giveOut
    assert.notStrictEqual(anew.payload, given.payload)
    const txHash = yield* sign(anew.payload)
    assert.isNotNull(txHash)
    yield* batch.tellSent(txHash!)
    yield* until("the batch is paid", batch.read, ({ status }: any) => status === "paid")
    assert.strictEqual((yield* readRefund(network, refund)).status, "succeeded")
    assert.strictEqual(yield* heldBy(receiver), unitsOf(40_000n))
  })

/** The journeys of refunds from the invoice to the receiver's wallet. */
export const refundBatches = <R>(it: It<R>, network: RefundNetwork<R>): void => {
  const journey = (title: string, run: Effect.Effect<void, never, R | Scope.Scope>) => it.effect(title, () => run)
  journey(
    network.isExecutedTwice
      ? "refunds leave by one signature and are paid; a second signature is told at first sight"
      : "refunds leave by one signature and are paid; a second signature pays nobody",
    paidOnce(network)
  )
  journey("what nobody signed in time is over, pays nobody later, and is given out anew", lapses(network))
}
