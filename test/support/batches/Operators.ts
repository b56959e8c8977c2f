/**
 * A merchant of a history of batches: two who act in its name, a person and a program; its wallet; and all that was
 * ever given to that wallet to sign. Known from what was asked and answered over HTTP, and from nothing else.
 */
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts"
import { askOnce, askUntilAnswered, newKey, type Roll, rollOf } from "../money/Shop.ts"
import type { TestResponse } from "../Service.ts"
import type { BatchDeployment } from "./Instances.ts"
import type { ListedLine, PaidToken, PayingChain } from "./PayingChain.ts"

/** Something that is to be paid once. */
export interface Obligation extends ListedLine {
  /** Null: a payout of the merchant's own. */
  readonly refundId: string | null
  readonly decimals: number
}

export interface KnownBatch {
  readonly id: string
  readonly kind: "payouts" | "refunds"
  readonly lines: ReadonlyArray<Obligation>
}

/** An export that somebody was answered. */
export interface GivenExport {
  readonly batch: KnownBatch
  readonly format: string
  readonly payload: string
  readonly validUntil: number | null
}

/** A merchant, what it did, and what was wrong with the answers. */
export interface BatchShop {
  readonly seed: number
  readonly id: number
  readonly person: Readonly<Record<string, string>>
  readonly program: Readonly<Record<string, string>>
  /** The person's own wallet, which signs what the person approves. */
  readonly account: PrivateKeyAccount
  readonly wallet: string
  readonly thief: string
  readonly tokenIds: ReadonlyMap<string, number>
  readonly obligations: Array<Obligation>
  readonly batches: Array<KnownBatch>
  readonly given: Array<GivenExport>
  /** What reached the merchant on addresses of its invoices, by token. */
  readonly received: Map<string, bigint>
  /** Transactions whose second transfer was told while it could still leave the chain. */
  readonly told: Set<string>
  readonly steps: Array<string>
  readonly faults: Array<string>
  readonly answers: Map<string, number>
  kills: number
}

/** What a step works with. */
export interface StepContext {
  readonly deployment: BatchDeployment
  readonly chain: PayingChain
  readonly shop: BatchShop
  readonly roll: Roll
}

export type Credential = "person" | "program"

/** Every refusal that no client can have caused is a fault. */
const count = (shop: BatchShop, path: string, { json, status, text }: TestResponse): void => {
  const code = status === 200 ? "done" : json?.error?.code ?? String(status)
  const what = `${path.replace(/\/[^/]*[0-9a-f]{8}-[^/]*/g, "/…").replace(/\?.*/, "")} ${code}`
  shop.answers.set(what, (shop.answers.get(what) ?? 0) + 1)
  if (status >= 500 && code !== "NETWORK_DEGRADED") shop.faults.push(`${path}: ${status} ${text}`)
}

/** Pause before something is asked again that got no answer, and how often; a network that is away is no fault. */
const againMillis = 100
const tries = 200
const triesOfNetwork = 3

/** A call that is asked again with the same key until somebody answers. */
export const write = Effect.fnUntraced(function*(
  { deployment, roll, shop }: Pick<StepContext, "deployment" | "roll" | "shop">,
  path: string,
  body: unknown,
  by: Credential
): Effect.fn.Return<TestResponse> {
  const key = newKey(roll)
  for (let tried = 1; tried <= tries; tried++) {
    const answer = yield* askOnce(deployment, roll, shop[by], path, { method: "POST", body, idempotencyKey: key })
    const code = answer?.json?.error?.code
    const isWaiting = code === "IDEMPOTENCY_REQUEST_IN_PROGRESS" || (answer?.status === 503 && tried < triesOfNetwork)
    if (answer !== undefined && !isWaiting) {
      count(shop, path, answer)
      return answer
    }
    yield* Effect.sleep(againMillis)
  }
  return yield* Effect.die(new Error(`${path} was not answered in ${tries} tries`))
})

export const read = ({ deployment, roll, shop }: Pick<StepContext, "deployment" | "roll" | "shop">, path: string) =>
  Effect.flatMap(
    askUntilAnswered(deployment, roll, shop.person, path),
    (answer) =>
      answer.status === 200
        ? Effect.succeed(answer.json?.data ?? answer.json)
        : Effect.die(new Error(`${path}: ${answer.status} ${answer.text}`))
  )

/** Approves what is at a path: a person by its signature of what it is asked to sign, a program without one, in vain. */
export const approveAt = Effect.fnUntraced(
  function*(context: Pick<StepContext, "deployment" | "roll" | "shop">, path: string, by: Credential) {
    if (by === "program") return yield* write(context, `${path}/approve`, {}, by)
    const asked = yield* write(context, `${path}/approve/challenge`, {}, by)
    if (asked.status !== 200) return asked
    const { id, text } = asked.json.data
    const { account } = context.shop
    const signature = yield* Effect.promise(() => account.signMessage({ message: text }))
    const proof = { id, wallet: { family: "evm", address: account.address, signature } }
    return yield* write(context, `${path}/approve`, { proof }, by)
  }
)

/** Base units of so many thousandths of a dollar. */
export const unitsOf = ({ decimals, dollars }: PaidToken, millis: number): bigint =>
  BigInt(millis) * 10n ** BigInt(decimals) / (1_000n * dollars)

export const decimalOf = (units: bigint, decimals: number): string => {
  const text = units.toString().padStart(decimals + 1, "0")
  return `${text.slice(0, -decimals)}.${text.slice(-decimals)}`
}

/** Refunds of a history, and what they come to of an invoice of so many dollars. */
const refundCount = 3
const invoiceDollars = 300

const confirmingBlocks = 12
const paymentMillis = 60_000
const lookPauseMillis = 200

/** An invoice that is paid on the chain, and refunds of it that wait for a batch. */
const openRefunds = Effect.fnUntraced(function*(context: StepContext) {
  const { chain, roll, shop } = context
  const token = chain.tokens[0]!
  const ok = (path: string, body: unknown) =>
    Effect.flatMap(
      write(context, path, body, "person"),
      ({ json, status, text }) =>
        status === 200 ? Effect.succeed(json) : Effect.die(new Error(`${path}: ${status} ${text}`))
    )
  const invoice = yield* ok("/api/v1/invoices", { amount_usd: invoiceDollars, expires_in: 2_592_000_000 })
  const payor: Readonly<Record<string, string>> = invoice.payment_session_headers
  const body = { network: chain.network, token_id: shop.tokenIds.get(token.symbol)! }
  const end = Date.now() + paymentMillis
  let shown: TestResponse | undefined
  for (;;) {
    shown = yield* askOnce(context.deployment, roll, payor, "/api/v1/payments/payment-addresses", {
      method: "POST",
      body
    })
    if (shown?.status === 200) break
    if (Date.now() > end) return yield* Effect.die(new Error(`no address: ${shown?.text}`))
    // A network whose blocks have stopped takes no payment.
    yield* chain.mine(1)
    yield* Effect.sleep(lookPauseMillis)
  }
  const units = unitsOf(token, invoiceDollars * 1_000)
  const { memo = null, temp_address: to } = shown.json.data ?? shown.json
  yield* chain.receive(to, token, units, memo)
  shop.received.set(token.symbol, units)
  yield* chain.mine(Math.max(confirmingBlocks, chain.finality + 1))
  for (;;) {
    const { status } = yield* read(context, `/api/v1/invoices/${invoice.invoice_id}`)
    if (status === "paid") break
    if (Date.now() > end) return yield* Effect.die(new Error(`the invoice is ${status}`))
    yield* Effect.sleep(50)
  }
  for (let place = 0; place < refundCount; place++) {
    const to = chain.newReceiver(`${shop.seed} refund ${place}`)
    const amount = 1_000 + roll(50_000)
    const refund = yield* ok("/api/v1/refunds", {
      invoice_id: invoice.invoice_id,
      amount_mode: "custom",
      amount,
      reason: "requested_by_customer",
      fee_bearer: "merchant",
      destination: { network: chain.network, address: to }
    })
    const { id } = refund.refunds?.[0] ?? refund.data
    const approved = yield* approveAt(context, `/api/v1/refunds/${id}`, "person")
    if (approved.json?.data?.status !== "processing") {
      return yield* Effect.die(new Error(`the refund is not approved: ${approved.text}`))
    }
    shop.obligations.push({
      to,
      token: token.address,
      units: unitsOf(token, amount),
      decimals: token.decimals,
      refundId: id
    })
  }
})

/** A merchant of its own: signs in, makes a key, and owes refunds. */
export const openBatchShop = Effect.fnUntraced(function*(
  deployment: BatchDeployment,
  chain: PayingChain,
  { seed, withRefunds }: { readonly seed: number; readonly withRefunds: boolean }
) {
  const roll = rollOf(seed ^ 0xba7c4)
  const account = privateKeyToAccount(`0x${createHash("sha256").update(`batches ${seed} ${Date.now()}`).digest("hex")}`)
  const ok = (path: string, sent: { method?: string; body?: unknown }, credential = {}) =>
    Effect.flatMap(
      askUntilAnswered(deployment, roll, credential, path, { ...sent, idempotencyKey: newKey(roll) }),
      (answer) =>
        answer.status === 200
          ? Effect.succeed(answer.json.data ?? answer.json)
          : Effect.die(new Error(`${path}: ${answer.status} ${answer.text}`))
    )
  const { message } = yield* ok("/api/v1/auth/nonce", { body: { address: account.address, network: "base" } })
  const signature = yield* Effect.promise(() => account.signMessage({ message }))
  const session = yield* ok("/api/v1/auth/verify", { body: { message, signature } })
  const person = { authorization: `Bearer ${session.access_token}` }
  const { key } = yield* ok(
    "/api/v1/api-keys",
    { body: { name: "history", scope: "merchant", environment: chain.environment } },
    person
  )
  const { tokens } = yield* ok(`/api/v1/merchant/tokens?environment=${chain.environment}`, {}, { "x-api-key": key })
  const own = tokens.filter(({ network }: any) => network === chain.network)
  const wallet = yield* chain.newWallet(`${seed}`)
  // Its lists may leave it only when it is shown to be the merchant's own.
  const challenge = { address: wallet, network: chain.network }
  const { message: link } = yield* ok("/api/v1/auth/wallets/nonce", { body: challenge }, person)
  const proof = { message: link, ...yield* chain.proveWallet(wallet, link) }
  yield* ok("/api/v1/auth/wallets", { body: proof }, person)
  if (chain.receivingKind !== null) {
    yield* ok(`/api/v1/merchant/wallets/${chain.network}`, {
      method: "PUT",
      body: { kind: chain.receivingKind, value: wallet }
    }, person)
  }
  const shop: BatchShop = {
    seed,
    id: session.merchant.id,
    person,
    program: { "x-api-key": key },
    account,
    wallet,
    thief: chain.thief(`${seed}`),
    tokenIds: new Map(
      chain.tokens.map(({ symbol }) => [symbol, own.find((each: any) => each.token_symbol === symbol).id])
    ),
    obligations: [],
    batches: [],
    given: [],
    received: new Map(),
    told: new Set(),
    steps: [],
    faults: [],
    answers: new Map(),
    kills: 0
  }
  // No reorganisation takes what the wallet has.
  yield* chain.mine(chain.finality)
  if (withRefunds) yield* openRefunds({ deployment, chain, shop, roll })
  return shop
})
