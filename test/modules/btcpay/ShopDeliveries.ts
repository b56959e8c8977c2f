/**
 * Two instances on one database send webhooks to shops, while the receivers fail in every way and the instances are
 * killed and started again. Afterwards every webhook that was sent is checked.
 */
import { Effect, Exit, Fiber, type Scope } from "effect"
import { createHash } from "node:crypto"
import type { ServerResponse } from "node:http"
import { expireLeases, seededRandom } from "../../support/Crash.ts"
import { makeMerchants } from "../../support/Merchants.ts"
import type { ReceivedRequest, Receiver } from "../../support/Receiver.ts"
import { makeRestartable } from "../../support/Restartable.ts"
import { exchange, type Service, type TestRequest, until } from "../../support/Service.ts"
import {
  checkShopDeliveries,
  type ExpectedInvoice,
  type ShopArrival,
  type ShopCheckResult,
  type ShopDeliveryRow,
  type ShopEndpoint,
  type ShopHistory,
  type ShopOutage
} from "./ShopDeliveryChecker.ts"

/** How a shop's receiver behaves. All but `exhausting` and `single` accept every delivery within its attempts. */
export const shopReceiverKinds = ["steady", "failing", "exhausting", "silent", "single"] as const
export type ShopReceiverKind = typeof shopReceiverKinds[number]

export interface ShopRunOptions {
  /** A new process of an instance: always the same ports and directory. */
  readonly start: (instance: 0 | 1) => Effect.Effect<Service, never, Scope.Scope>
  readonly query: (text: string) => Effect.Effect<ReadonlyArray<Record<string, any>>>
  readonly receiver: Receiver
  readonly kills: number
  /** Milliseconds between two kills, at least and at most. */
  readonly shortestLife: number
  readonly longestLife: number
  /** Shops' servers that order at once, and milliseconds between two orders of one. */
  readonly callers: number
  readonly betweenMillis: number
  /** The retry policy in the config of the service. */
  readonly retry: { readonly baseMillis: number; readonly factor: number }
  /**
   * A short run kills an instance while a receiver leaves its attempt unanswered, and expires the leases of killed
   * instances instead of waiting for them.
   */
  readonly isShortRun: boolean
  readonly seed: number
  readonly progress: (line: string) => void
}

export interface ShopReport extends ShopCheckResult {
  readonly seed: number
  readonly invoices: number
  readonly kills: number
  /** Attempts that were on their way when their sender was killed. */
  readonly interrupted: number
  /** What was checked. */
  readonly history: ShopHistory
}

/** The six webhooks that WooCommerce asks for. */
const wooCommerceTypes = [
  "InvoiceReceivedPayment",
  "InvoicePaymentSettled",
  "InvoiceProcessing",
  "InvoiceExpired",
  "InvoiceSettled",
  "InvoiceInvalid"
]

const typesOf: Readonly<Record<ShopReceiverKind, ReadonlyArray<string> | null>> = {
  steady: null,
  failing: wooCommerceTypes,
  exhausting: null,
  silent: wooCommerceTypes,
  single: ["InvoiceCreated", "InvoiceSettled", "InvoiceInvalid"]
}

/** Attempts of a delivery on devnet (modules/docs/reference/webhooks.md#retries). */
const attemptLimit = 4

/** Milliseconds before a client repeats a call that got no answer. */
const reaskMillis = 50

/** Milliseconds until the receiver sees that the sockets of a killed process are closed. */
const closeMillis = 500

/** Milliseconds for all retries to end, with circuit breakers and the leases of killed instances. */
const drainMillis = 300_000

const now = () => performance.timeOrigin + performance.now()

type Answer = number | "reset" | "silence"

/** What a receiver answers to the attempt of its n-th delivery, from 1: few enough failures for no breaker to open. */
const answerTo = (kind: ShopReceiverKind, ordinal: number, attempt: number, isShortRun: boolean): Answer => {
  const place = ordinal % 6
  switch (kind) {
    case "steady":
      return 200
    case "failing":
      if (place === 1) return attempt === 1 ? 500 : 204
      if (place === 2) return [302, 429][attempt - 1] ?? 200
      return place === 4 && attempt === 1 ? "reset" : 200
    case "exhausting":
      return place === 2 ? 500 : 200
    case "silent":
      return attempt === 1 && (isShortRun ? ordinal === 2 : ordinal % 30 === 2) ? "silence" : 200
    case "single":
      return place === 3 ? 503 : 200
  }
}

/** Keeps what arrives at a path and answers it. */
const listen = (
  receiver: Receiver,
  { path }: Pick<ShopEndpoint, "path">,
  kind: ShopReceiverKind,
  isShortRun: boolean
): ReadonlyArray<() => ShopArrival> => {
  const kept: Array<() => ShopArrival> = []
  const ordinals = new Map<string, number>()
  receiver.script(path, (_, request: ReceivedRequest, response: ServerResponse) => {
    const { deliveryId, originalDeliveryId } = JSON.parse(String(request.body))
    const ordinal = ordinals.get(originalDeliveryId) ?? ordinals.size + 1
    ordinals.set(originalDeliveryId, ordinal)
    const attempt = Number(deliveryId.slice(originalDeliveryId.length + 1) || 1)
    const isFirst = !kept.some((each) => each().body.includes(`"deliveryId":"${deliveryId}"`))
    const planned = answerTo(kind, ordinal, attempt, isShortRun)
    // What was cut off by a kill comes again as the same attempt, and is answered then.
    const answer = planned === "silence" && !isFirst ? 200 : planned
    const answeredAt = answer === "silence" ? null : now()
    const retryAfterSeconds = answer === 429 && ordinal === 2 ? 1 : 0
    kept.push(() => ({
      path: request.path,
      body: request.body,
      headers: request.headers,
      startedAt: performance.timeOrigin + request.startedAt,
      answeredAt,
      endedAt: request.endedAt === null ? null : performance.timeOrigin + request.endedAt,
      status: typeof answer === "number" ? answer : null,
      retryAfterSeconds
    }))
    if (answer === "reset") return void response.socket?.destroy()
    if (answer === "silence") return
    response.writeHead(answer, {
      ...(answer === 302 ? { location: "/followed" } : {}),
      ...(retryAfterSeconds > 0 ? { "retry-after": String(retryAfterSeconds) } : {})
    }).end()
  })
  return kept
}

type Ask = (path: string, sent: TestRequest) => Effect.Effect<{ readonly status: number; readonly json: any }>

/** One order of a shop: made, its metadata replaced, then paid, marked invalid or left. Answers what the shop hears. */
const order = Effect.fnUntraced(function*(
  n: number,
  { native, shop, store }: { readonly native: Ask; readonly shop: Ask; readonly store: string }
) {
  const orderId = `order-${n}`
  const first = { orderId, posData: "{\"n\":1}" }
  const second = { orderId, note: "é✓ changed" }
  const created = yield* shop(`/stores/${store}/invoices`, {
    body: { amount: "12.34", currency: "USD", metadata: first }
  })
  const id = created.json.id as string
  yield* shop(`/invoices/${id}`, { method: "PUT", body: { metadata: second } })
  const status = Effect.map(shop(`/invoices/${id}`, {}), ({ json }) => json.status as string)
  const own = (type: string) => ({ type, metadata: second })
  const createdWebhook = [{ type: "InvoiceCreated", metadata: first }]
  /** Acts until the invoice has a status. A call without an answer may have acted already. */
  const reachStatus = (wanted: string, act: (status: string) => Effect.Effect<unknown>): Effect.Effect<void> =>
    Effect.flatMap(status, (is) => is === wanted ? Effect.void : Effect.andThen(act(is), reachStatus(wanted, act)))
  const simulate = (action: string) => native(`/api/v1/devnet/invoices/${id}/simulate`, { body: { action } })
  if (n % 3 === 0) {
    yield* reachStatus("Settled", (is) => simulate(is === "Processing" ? "confirm" : "pay"))
    const paid = ["InvoiceReceivedPayment", "InvoiceProcessing", "InvoicePaymentSettled", "InvoiceSettled"]
    return { invoiceId: id, webhooks: [...createdWebhook, ...paid.map(own)] }
  }
  if (n % 3 === 1) {
    yield* reachStatus("Invalid", () => shop(`/invoices/${id}/status`, { body: { status: "Invalid" } }))
    return { invoiceId: id, webhooks: [...createdWebhook, own("InvoiceInvalid")] }
  }
  return { invoiceId: id, webhooks: createdWebhook }
})

/** Invoices that were made by a call without an answer, so that the shop made a second one. */
const unanswered = Effect.fnUntraced(function*(
  orders: number,
  known: ReadonlyArray<ExpectedInvoice>,
  shop: Ask,
  store: string
) {
  const ids = new Set(known.map(({ invoiceId }) => invoiceId))
  const found: Array<ExpectedInvoice> = []
  for (let n = 0; n < orders; n++) {
    const { json } = yield* shop(`/stores/${store}/invoices?orderId=order-${n}`, {})
    for (const { id, metadata } of json) {
      if (!ids.has(id)) found.push({ invoiceId: id, webhooks: [{ type: "InvoiceCreated", metadata }] })
    }
  }
  return found
})

const readRows = (query: ShopRunOptions["query"]) =>
  Effect.map(
    query(`select 'whd_' || d.id as id, d.endpoint_id as "endpointId", d.status, d.attempt, m.data
      from webhook_deliveries d join webhook_messages m
        on m.merchant_id = d.merchant_id and m.ms = d.event_ms and m.seq = d.event_seq order by m.ms, m.seq`),
    (rows) => rows as ReadonlyArray<ShopDeliveryRow & Record<string, any>>
  )

/** Runs the shop, kills instances, waits until every delivery is over, and checks the history. */
export const runShopDeliveries = (run: ShopRunOptions): Effect.Effect<ShopReport> =>
  Effect.scoped(Effect.gen(function*() {
    run.progress(`shop webhooks: seed ${run.seed}`)
    const random = seededRandom(run.seed)
    const { isShortRun, query, receiver } = run
    const instances = yield* Effect.all([makeRestartable(run.start(0)), makeRestartable(run.start(1))], {
      concurrency: 2
    })
    const [merchant] = yield* makeMerchants(instances[0].current()!, 1)
    const store = `${merchant!.id}-devnet`

    /** On any instance, until one answers: the calls of an order may be repeated. */
    const ask = (prefix: string, headers: TestRequest["headers"]): Ask => (path, sent) =>
      Effect.suspend(() => {
        const service = instances[random() < 0.5 ? 0 : 1].current()
        return service === null ? Effect.succeed(null) : Effect.map(
          Effect.exit(exchange(service.url, `${prefix}${path}`, { ...sent, headers: { ...headers, ...sent.headers } })),
          (exit) => Exit.isSuccess(exit) && exit.value.status < 500 ? exit.value : null
        )
      }).pipe(
        Effect.tap((answer) => answer === null ? Effect.sleep(reaskMillis) : Effect.void),
        Effect.repeat({ while: (answer) => answer === null })
      ) as ReturnType<Ask>
    const native = ask("", { "x-api-key": merchant!.key })
    const key = yield* native("/api/v1/api-keys", {
      headers: { "idempotency-key": "shop" },
      body: { name: "Shop", scope: "merchant", use: "btcpay" }
    })
    const shop = ask("/btcpay/api/v1", { authorization: `token ${key.json.data.key}` })

    const kept: Array<ReadonlyArray<() => ShopArrival>> = []
    const endpoints = yield* Effect.forEach(shopReceiverKinds, (kind) =>
      Effect.gen(function*() {
        const path = `/${kind}`
        const types = typesOf[kind]
        const secret = `${kind}: the shop's own, no base64 ${createHash("sha256").update(path).digest("hex")}`
        kept.push(listen(receiver, { path }, kind, isShortRun))
        const { json } = yield* shop(`/stores/${store}/webhooks`, {
          body: {
            url: receiver.url(path),
            secret,
            automaticRedelivery: kind !== "single",
            authorizedEvents: { everything: types === null, specificEvents: types ?? [] }
          }
        })
        const limit = kind === "single" ? 1 : attemptLimit
        return { id: json.id as string, path, secret, types, attemptLimit: limit } satisfies ShopEndpoint
      }))
    const arrivals = () => kept.flatMap((each) => each.map((look) => look()))

    const known: Array<ExpectedInvoice> = []
    let orders = 0
    let isOpen = true
    const caller = Effect.gen(function*() {
      while (isOpen) {
        known.push(yield* order(orders++, { native, shop, store }))
        yield* Effect.sleep(run.betweenMillis * (0.5 + random()))
      }
    })
    const callers = yield* Effect.forkScoped(
      Effect.all(Array.from({ length: run.callers }, () => caller), { concurrency: "unbounded" })
    )

    const outages: Array<ShopOutage> = []
    let interrupted = 0
    const isUnderWay = ({ answeredAt, endedAt }: ShopArrival) => answeredAt === null && endedAt === null
    const kill = Effect.fnUntraced(function*(instance: 0 | 1, comesBack: boolean) {
      const at = now()
      const underWay = arrivals().filter(isUnderWay).length
      yield* instances[instance].end("SIGKILL")
      yield* Effect.sleep(closeMillis)
      // Where this process stood still for as long, it looks at its sockets only after its timers.
      yield* Effect.repeat(Effect.promise(() => new Promise((resolve) => setImmediate(resolve))), { times: 3 })
      interrupted += underWay - arrivals().filter(isUnderWay).length
      outages.push({ at, until: now() })
      if (isShortRun) yield* expireLeases({ query })
      yield* comesBack ? instances[instance].boot : Effect.sleep(run.longestLife)
    })
    for (let killed = 0; killed < run.kills; killed++) {
      if (isShortRun && killed === 0) {
        const looks = Effect.sync(() => arrivals().some(isUnderWay))
        yield* until("a receiver was asked and says nothing", looks, (is) => is)
      } else yield* Effect.sleep(run.shortestLife + random() * (run.longestLife - run.shortestLife))
      // A short run does not start the last one again: the other instance does all that is left.
      yield* kill(isShortRun ? killed % 2 === 0 ? 0 : 1 : random() < 0.5 ? 0 : 1, !isShortRun || killed + 1 < run.kills)
      run.progress(`shop webhooks: ${killed + 1} kills, ${orders} orders, ${arrivals().length} arrivals`)
    }
    isOpen = false
    yield* Fiber.join(callers)
    const waiting = Effect.map(
      query("select count(*)::integer as n from webhook_deliveries where due_at is not null"),
      ([row]) => row!["n"] as number
    )
    yield* until("every delivery is over", waiting, (n) => n === 0, drainMillis)

    const others = receiver.arrivals().filter(({ path }) => !endpoints.some((each) => each.path === path))
    const history: ShopHistory = {
      endpoints,
      invoices: [...known, ...yield* unanswered(orders, known, shop, store)],
      rows: yield* readRows(query),
      arrivals: [
        ...arrivals(),
        ...others.map((each) => ({ ...each, answeredAt: null, status: null, retryAfterSeconds: 0 }))
      ],
      outages,
      ...run.retry
    }
    return {
      ...checkShopDeliveries(history),
      seed: run.seed,
      invoices: history.invoices.length,
      kills: run.kills,
      interrupted,
      history
    }
  }))
