/** What a merchant, its payors and its chain do in a history of money: one step each, over HTTP. */
import { Effect } from "effect"
import {
  askOnce,
  askUntilAnswered,
  chooseOne,
  count,
  type MoneyDeployment,
  type MoneyShop,
  newKey,
  type PaidInvoice,
  read,
  type Roll,
  type SentTransfer,
  unitsOf,
  unlisted,
  write
} from "./Shop.ts"

/** What a step works with. */
export interface StepContext {
  readonly deployment: MoneyDeployment
  readonly shop: MoneyShop
  readonly roll: Roll
}

const wallet = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

const smallestInvoice = 1_000
const largestInvoice = 200_000

/** usd_millis, often a round sum and often a crooked one. */
const amountOf = (roll: Roll): number =>
  roll(2) === 0 ? 1_000 * (1 + roll(200)) : smallestInvoice + roll(largestInvoice)

export const createInvoice = Effect.fnUntraced(function*({ deployment, roll, shop }: StepContext) {
  const isPicky = roll(4) === 0
  const answer = yield* write(deployment, shop, roll, "/api/v1/invoices", {
    amount: amountOf(roll),
    customer_id: `customer ${roll(3)}`,
    ...(roll(3) === 0 ? { payment_tolerance_bps: 500 } : {}),
    ...(isPicky ? { accepted_networks: ["base"] } : {})
  })
  // A transfer on another network is worked out in the dollars of the first stablecoin.
  const token = isPicky ? shop.tokens.find(({ dollars }) => dollars === 1n)! : chooseOne(roll, shop.tokens)!
  if (answer.status !== 200) return void shop.faults.push(`an invoice was refused: ${answer.text}`)
  shop.invoices.push({ id: answer.json.invoice_id, token, sent: [], isUncertain: false })
})

/** What the simulator does to an invoice, by how often. */
const actions = [
  ...["pay", "pay", "pay", "pay", "partial", "partial", "overpay", "overpay", "duplicate", "duplicate"],
  ...["late", "wrong_token", "wrong_token", "wrong_network", "confirm", "confirm", "reorg", "drop", "expire"],
  ...["settle", "fail_settlement"]
] as const

const newestOf = ({ sent }: PaidInvoice, fits: (one: SentTransfer) => boolean) => sent.findLast(fits)

const transferOf = (shop: MoneyShop, { asset, units }: Pick<SentTransfer, "asset" | "units">): SentTransfer => ({
  order: shop.sentCount++,
  asset,
  units,
  isOnChain: true,
  isWaiting: false
})

/** What the chain has after an action that was answered with yes. */
const record = (
  shop: MoneyShop,
  invoice: PaidInvoice,
  action: string,
  request: { readonly amount: number; readonly confirmations?: number }
): void => {
  const { amount, confirmations } = request
  const { token } = invoice
  const append = (one: Pick<SentTransfer, "asset" | "units">) =>
    void invoice.sent.push({ ...transferOf(shop, one), isWaiting: confirmations === 0 })
  const newest = newestOf(invoice, ({ isOnChain }) => isOnChain)
  switch (action) {
    case "pay":
    case "partial":
    case "overpay":
    case "late":
      return append({ asset: token.asset, units: unitsOf(token, amount) })
    case "wrong_token":
      return append({ asset: unlisted.asset, units: unitsOf({ ...unlisted, dollars: token.dollars }, amount) })
    case "wrong_network":
      return append({ asset: usdcOnEthereum, units: unitsOf(token, amount) })
    case "duplicate":
      return append(newest!)
    case "confirm": {
      const waiting = newestOf(invoice, (one) => one.isOnChain && one.isWaiting)
      if (waiting !== undefined) waiting.isWaiting = false
      return
    }
    case "drop":
      if (newest !== undefined) newest.isOnChain = false
      return
    case "reorg":
      if (newest !== undefined) newest.isWaiting = confirmations === 0
      return
    default:
      return
  }
}

/** Circle's test USDC on Sepolia. */
const usdcOnEthereum = "ethereum:0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"

/** Actions that leave the transfers alone: nobody has to ask the chain after them. */
const isHarmless = (action: string): boolean => ["expire", "settle", "fail_settlement"].includes(action)

export const simulate = Effect.fnUntraced(function*(
  { deployment, roll, shop }: StepContext,
  invoice: PaidInvoice,
  action: string = chooseOne(roll, actions)!
) {
  const sends = ["pay", "partial", "overpay", "late", "wrong_token", "wrong_network", "unmatched"].includes(action)
  const { token } = invoice
  const request = {
    action,
    ...(sends ? { amount: amountOf(roll) } : {}),
    ...(sends && action !== "wrong_network" ? { network: "base", token_id: token.id } : {}),
    ...(roll(3) === 0 && action !== "confirm" && action !== "unmatched" ? { confirmations: 0 } : {})
  }
  const path = `/api/v1/devnet/invoices/${invoice.id}/simulate`
  const answer = yield* askOnce(deployment, roll, shop.key, path, {
    method: "POST",
    body: request,
    idempotencyKey: newKey(roll)
  })
  if (answer === undefined || answer.status >= 500) {
    if (!isHarmless(action)) invoice.isUncertain = true
    if (answer !== undefined && answer.status !== 503) count(shop, path, answer)
    return
  }
  count(shop, `${path} ${action}`, answer)
  if (answer.status !== 200) return
  if (action !== "unmatched") return record(shop, invoice, action, { amount: 0, ...request })
  shop.unmatched.push(transferOf(shop, { asset: token.asset, units: unitsOf(token, request.amount!) }))
})

const refundReason = "requested_by_customer"

const destinationOf = (roll: Roll, network: string) =>
  roll(3) === 0 ? {} : { destination: { network, address: wallet } }

/** Keeps what a call opened: each refund, and the token of its claim link. */
const rememberRefunds = (shop: MoneyShop, refunds: ReadonlyArray<any>): void => {
  for (const { claim_url: url, id } of refunds) {
    shop.refunds.set(id, { id, claimToken: url?.split("#t=")[1] ?? null, isSent: false })
  }
}

/** usd_millis of a part of a refund. */
const partOf = (roll: Roll): number => 1 + roll(60_000)

export const openRefund = Effect.fnUntraced(function*({ deployment, roll, shop }: StepContext, invoice: PaidInvoice) {
  const mode = chooseOne(roll, ["full", "remaining", "overpaid", "custom", "custom", "custom"])!
  const payments: ReadonlyArray<any> = roll(2) === 0
    ? []
    : yield* read(deployment, shop, roll, `/api/v1/invoices/${invoice.id}/payments`)
  const payment = chooseOne(roll, payments)
  const part = mode !== "custom"
    ? {}
    : payment === undefined || roll(2) === 0
    ? { amount: partOf(roll) }
    : { token_amount: chooseOne(roll, ["0.000001", "0.5", "1.25", "7"]) }
  const answer = yield* write(deployment, shop, roll, "/api/v1/refunds", {
    invoice_id: invoice.id,
    amount_mode: mode,
    reason: refundReason,
    fee_bearer: chooseOne(roll, ["merchant", "payor"]),
    ...part,
    ...(payment === undefined ? {} : { invoice_payment_id: payment.id }),
    ...destinationOf(roll, payment?.network ?? "base"),
    ...(roll(3) === 0 ? { auto_approve: true } : {})
  }, chooseOne(roll, ["key", "jwt"]))
  if (answer.status === 200) rememberRefunds(shop, answer.json.refunds)
})

/** The payor says by the claim link where the refund goes. */
const claim = Effect.fnUntraced(function*({ deployment, roll }: StepContext, id: string, token: string) {
  yield* deployment.ask(roll(deployment.instances), `/claim/${id}`, {
    method: "POST",
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      origin: "null",
      "sec-fetch-site": "same-origin"
    },
    body: new URLSearchParams({ action: "claim", token, address: wallet }).toString()
  })
})

/** One of the merchant's refunds goes a step further, or is given up. */
export const moveRefund = Effect.fnUntraced(function*(context: StepContext) {
  const { deployment, roll, shop } = context
  const refund = chooseOne(roll, [...shop.refunds.values()])
  if (refund === undefined) return
  const path = `/api/v1/refunds/${refund.id}`
  const step = chooseOne(roll, [
    "approve",
    "approve",
    "cancel",
    "claim",
    "link",
    "succeeded",
    "succeeded",
    "failed",
    "retry"
  ])!
  switch (step) {
    case "approve":
      return yield* write(deployment, shop, roll, `${path}/approve`, {}, "jwt")
    case "claim":
      return refund.claimToken === null ? undefined : yield* claim(context, refund.id, refund.claimToken)
    case "link": {
      const { json, status } = yield* write(deployment, shop, roll, `${path}/claim-link`, {})
      if (status === 200) refund.claimToken = json.data.claim_url?.split("#t=")[1] ?? null
      return
    }
    case "cancel":
    case "retry":
      return yield* write(deployment, shop, roll, `${path}/${step}`, {})
    default:
      if (step === "succeeded") refund.isSent = true
      return yield* write(deployment, shop, roll, `/api/v1/devnet/refunds/${refund.id}/simulate`, { outcome: step })
  }
})

/** The merchant's open exceptions, in an order that a seed gives again: ids are random. */
export const openExceptions = (
  { deployment, roll, shop }: StepContext
): Effect.Effect<ReadonlyArray<any>> => {
  const rank = ({ amount, invoice_id: invoice, type }: any) =>
    `${type} ${String(shop.invoices.findIndex(({ id }) => id === invoice) + 1).padStart(3, "0")} ${amount}`
  return Effect.map(
    read(deployment, shop, roll, "/api/v1/exceptions?status=open&limit=100"),
    ({ data }) => data.toSorted((one: any, other: any) => (rank(one) < rank(other) ? -1 : 1))
  )
}

const bodyOf = ({ roll }: StepContext, exception: any, action: string, invoice: PaidInvoice | undefined) => ({
  action,
  note: "decided by a history",
  ...(action === "assign" ? { invoice_id: invoice!.id } : {}),
  ...(action === "refund" && roll(2) === 0
    ? {
      refund: {
        fee_bearer: "merchant",
        ...destinationOf(roll, exception.network ?? "base"),
        ...(exception.type === "underpaid_expired" && roll(2) === 0 ? { amount: partOf(roll) } : {})
      }
    }
    : {})
})

const addressOf = (asset: string): string | null => {
  const address = asset.slice(asset.indexOf(":") + 1)
  return address === "native" ? null : address
}

/** The transfer that an exception of no invoice is about. */
const unmatchedOf = ({ tokens, unmatched }: MoneyShop, { token, token_amount: text }: any): SentTransfer | undefined =>
  unmatched.find(({ asset, units }) => {
    const { decimals } = tokens.find((each) => each.asset === asset)!
    const [whole = "0", fraction = ""] = text.split(".")
    return addressOf(asset) === (token?.address ?? null) && units === BigInt(whole + fraction.padEnd(decimals, "0"))
  })

/** Someone decides on one of the open exceptions that fit, by any action that it allows. */
const decideOn = Effect.fnUntraced(function*(context: StepContext, fits: (exception: any) => boolean) {
  const { deployment, roll, shop } = context
  const exception = chooseOne(roll, (yield* openExceptions(context)).filter(fits))
  if (exception === undefined) return
  const action: string = chooseOne(roll, exception.allowed_actions)!
  const invoice = chooseOne(roll, shop.invoices)
  const path = `/api/v1/exceptions/${exception.id}/resolve`
  const answer = yield* write(deployment, shop, roll, path, bodyOf(context, exception, action, invoice), "jwt")
  count(shop, `${exception.type} ${action}`, answer)
  if (answer.status !== 200) return
  shop.decisions.set(exception.id, action)
  rememberRefunds(shop, answer.json.refunds ?? [])
  if (action !== "assign") return
  const transfer = unmatchedOf(shop, exception)
  if (transfer === undefined) return void shop.faults.push(`nobody sent what ${exception.id} is about`)
  shop.unmatched.splice(shop.unmatched.indexOf(transfer), 1)
  invoice!.sent = [...invoice!.sent, transfer].toSorted((one, other) => one.order - other.order)
})

export const decide = (context: StepContext) => decideOn(context, ({ invoice_id: invoice }) => invoice !== null)

/** Of money that names no invoice. Nothing else happens to the invoice that it is assigned to meanwhile. */
export const decideUnmatched = (context: StepContext) =>
  decideOn(context, ({ invoice_id: invoice }) => invoice === null && context.shop.invoices.length > 0)

/** So many callers decide on one exception at once: one of them does. */
export const decideAtOnce = Effect.fnUntraced(function*(context: StepContext, callers: number) {
  const { deployment, roll, shop } = context
  const exception = (yield* openExceptions(context)).find(({ allowed_actions: allowed }) => allowed.includes("credit"))
  if (exception === undefined) return
  const path = `/api/v1/exceptions/${exception.id}/resolve`
  const rolls = Array.from(
    { length: callers },
    (_, index) => ({ index, key: newKey(roll), instance: roll(deployment.instances) })
  )
  const answers = yield* Effect.forEach(rolls, ({ index, instance, key }) =>
    deployment.ask(instance, path, {
      method: "POST",
      headers: { ...(index % 2 === 0 ? shop.key : shop.jwt), "idempotency-key": key },
      body: { action: index % 3 === 0 ? "ignore" : "credit", note: `caller ${index}` }
    }), { concurrency: "unbounded" })
  const done = answers.flatMap((answer) => answer?.status === 200 ? [answer.json.data] : [])
  const refused = answers.filter((answer) => answer?.json?.error?.code === "EXCEPTION_ALREADY_RESOLVED")
  if (done.length !== 1 || done.length + refused.length !== callers) {
    const codes = answers.map((answer) => answer?.json?.error?.code ?? answer?.status ?? "no answer")
    shop.faults.push(`${callers} callers on one exception: ${[...new Set(codes)].join(", ")}, ${done.length} done`)
  }
  if (done.length > 0) shop.decisions.set(exception.id, done[0].resolution.action)
})

/** A person books what nothing else explains. */
export const adjust = Effect.fnUntraced(function*({ deployment, roll, shop }: StepContext) {
  const usdc = shop.tokens.find(({ dollars }) => dollars === 1n)!
  const millis = 1 + roll(3_000)
  const sign = roll(2) === 0 ? "" : "-"
  const text = `${sign}${Math.floor(millis / 1_000)}.${String(millis % 1_000).padStart(3, "0")}`
  const body = { asset: usdc.asset, token_amount: text, note: "counted by a history" }
  const { status } = yield* write(deployment, shop, roll, "/api/v1/reconciliation/adjustments", body, "jwt")
  if (status !== 200) return
  const units = unitsOf(usdc, millis) * (sign === "" ? 1n : -1n)
  shop.adjusted.set(usdc.asset, (shop.adjusted.get(usdc.asset) ?? 0n) + units)
})

/** The merchant's clock goes on. */
export const advance = Effect.fnUntraced(function*({ deployment, roll, shop }: StepContext, seconds: number) {
  const { json, status, text } = yield* write(deployment, shop, roll, "/api/v1/devnet/clock/advance", { seconds })
  if (status === 200) shop.aheadSeconds = json.data.ahead_seconds
  else shop.faults.push(`the clock did not go on: ${text}`)
})

const monthSeconds = 31 * 86_400

const monthOf = (seconds: number): string => new Date(seconds * 1_000).toISOString().slice(0, 7)

/** An instance that did not move the clock itself learns of it a little later. */
const clockTries = 50
const clockMillis = 200

/** A person closes a month; answers why it is refused, else null. */
const close = Effect.fnUntraced(function*({ deployment, roll, shop }: StepContext, period: string) {
  for (let tried = 1;; tried++) {
    const answer = yield* write(deployment, shop, roll, "/api/v1/reconciliation/close", { period }, "jwt")
    if (answer.status === 200) return null
    const message: string = answer.json?.error?.message ?? answer.text
    if (tried === clockTries || !message.includes("after its end")) return message
    yield* Effect.sleep(clockMillis)
  }
})

/** The month ends: all that waits for its depth is deep enough, time passes, and a person closes it. */
export const closeMonth = Effect.fnUntraced(function*(context: StepContext) {
  const { deployment, roll, shop } = context
  const month = monthOf(Math.floor(Date.now() / 1_000) + shop.aheadSeconds)
  for (const invoice of shop.invoices) {
    while (invoice.sent.some(({ isOnChain, isWaiting }) => isOnChain && isWaiting)) {
      const waiting = invoice.sent.filter(({ isOnChain, isWaiting }) => isOnChain && isWaiting).length
      yield* simulate(context, invoice, "confirm")
      if (invoice.sent.filter(({ isOnChain, isWaiting }) => isOnChain && isWaiting).length === waiting) break
    }
  }
  yield* advance(context, monthSeconds + 7_200)
  const message = yield* close(context, month)
  if (message !== null) {
    // Nothing was booked yet, or the month is closed: both are right.
    if (/Nothing was booked|next one is/.test(message)) return
    const { differences } = yield* read(deployment, shop, roll, `/api/v1/reconciliation?period=${month}`)
    const open = differences.filter(({ is_explained: isExplained }: any) => !isExplained)
    return void shop.faults.push(`${month} could not be closed: ${message} ${JSON.stringify(open)}`)
  }
  const closed = `/api/v1/reconciliation/closed/${month}`
  shop.closed.set(month, (yield* askUntilAnswered(deployment, roll, shop.key, closed)).text)
})
