/**
 * Two instances on one database, killed, paused and stopped in turn under load, with receivers of every kind;
 * afterwards the deliveries are judged by what was committed, kept and received. Clients ask whichever instance they
 * like and repeat on the other what got no answer.
 */
import { Effect, Exit, Fiber, Scope, Semaphore } from "effect"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import type { Anvil } from "./Anvil.ts"
import {
  allEvents,
  type Ask,
  checkCommits,
  type CrashRunOptions,
  expireLeases,
  makeClients,
  orderingFaults,
  queueDrainMillis,
  seededRandom,
  type WireEvent
} from "./Crash.ts"
import {
  type Break,
  checkDeliveries,
  type CheckResult,
  type DeliveryRow,
  type Endpoint,
  type History
} from "./DeliveryChecker.ts"
import { receiverCertificate } from "./Receiver.ts"
import type { ReceiverKind, Receivers } from "./Receivers.ts"
import { exchange, type Service, until } from "./Service.ts"

export interface DeliveryRunOptions extends Pick<CrashRunOptions, "query" | "kills" | "seed" | "progress"> {
  /** A new process of an instance: always the same ports and directory. */
  readonly start: (instance: 0 | 1) => Effect.Effect<Service, never, Scope.Scope>
  readonly makeMerchants: (
    service: Service,
    count: number
  ) => Effect.Effect<ReadonlyArray<{ readonly id: number; readonly key: string }>>
  readonly receivers: Receivers
  /** The chain that all instances follow. */
  readonly node: Anvil
  /** Busy merchants, with a receiver of each kind; one more makes a few invoices only. */
  readonly merchants: number
  /** Callers of each busy merchant, and milliseconds between two requests of one. */
  readonly callers: number
  readonly betweenMillis: number
  /** Load before anything is broken, and between two breaks at least and at most, in milliseconds. */
  readonly calmMillis: number
  readonly shortestLife: number
  readonly longestLife: number
  /** How long an instance is stopped by SIGSTOP; a lease lasts 30 s. Absent: not at all. */
  readonly pauseMillis?: number
  /** As the service is configured. */
  readonly retry: { readonly baseMillis: number; readonly factor: number }
  /** Kinds of receivers that every merchant but the quiet one has. */
  readonly kinds: ReadonlyArray<ReceiverKind>
  /** Gives up for the dead what they had claimed, rather than wait for their leases. */
  readonly hurry: boolean
}

/** What the deployments of this harness have in common: the chain, the certificate, the retries. */
export const deliveryRunConfig = (
  { node, receivers, retry }: Pick<DeliveryRunOptions, "node" | "receivers" | "retry">
) => ({
  chains: [{
    use: "evm",
    // From index 10 on: the first addresses of this key are the node's own accounts, which do the paying.
    options: {
      network: "base",
      environment: "devnet",
      rpc: [node.url],
      xpub: devnetXpub,
      startIndex: 10,
      pollMillis: 100
    }
  }],
  transports: [{ use: "https", options: { ca: receiverCertificate } }],
  webhooks: { devnetReceivers: receivers.hosts, retryBaseSeconds: retry.baseMillis / 1_000, retryFactor: retry.factor }
})

export interface DeliveryReport extends CheckResult {
  readonly seed: number
  readonly invoices: number
  readonly payments: number
  readonly events: number
  readonly endpoints: number
  readonly breaks: number
  /** Requests of clients while instances were stopped one after the other, all of them answered. */
  readonly rolling: number
  /** What was judged. */
  readonly history: History
}

/** What the endpoints of a merchant want to hear of, in turn. */
const filterLists: ReadonlyArray<ReadonlyArray<string>> = [
  ["*"],
  ["invoice.*"],
  ["invoice.created", "invoice_payment.*"],
  ["invoice_payment.updated", "invoice.created", "invoice.paid"]
]

/** For receivers that take four deliveries in 5 s. */
const rareTypes = ["invoice.partial_payment"]

/** Few enough events for no breaker to open: what fails here is exhausted. */
const quietInvoices = 2
const quietKinds: ReadonlyArray<ReceiverKind> = ["healthy", "dead", "redirecting", "resetting", "huge", "failing"]

/** Base units that the payors have, together. */
const fortune = 10n ** 18n

/** What the judge of a calm looks for: who took deliveries, and how long before the first break. */
const calmPaths = ["/healthy/", "/slow/"]
const calmTakenMillis = 1_500

/** Before clients ask again what got no answer from any instance, and between two pages of the reader. */
const againMillis = 50

/** After a kill, until what it broke is over and a rolling restart may be held to its promise. */
const settleMillis = 1_500

/**
 * Connections that a rolling restart may reset, in a run of some hundred requests: whoever connects in the moment in
 * which a listener closes is reset by the system (runtime/boot/Listener.ts, `inShortTurn`), and repeats elsewhere.
 */
const resetsAllowed = 2

/** For breakers to open and queues to run dry, the leases of the dead included. */
const drainMillis = 240_000

const now = () => performance.timeOrigin + performance.now()

/** What the slowest start takes on the machine whose times the judge knows, while it has nothing else to do. */
const usualStartMillis = 2_000

interface Running {
  readonly service: Service
  readonly scope: Scope.Closeable
}

/** The instances, and a client's way to them. */
const makeInstances = Effect.fnUntraced(function*(run: DeliveryRunOptions) {
  const breaks: Array<Break> = []
  const faults: Array<string> = []
  const reachable = [true, true]
  const rolling = { strict: false, answered: 0, resets: 0 }

  const starts: Array<number> = []
  const boot = (instance: 0 | 1) =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const began = now()
      const service = yield* Scope.provide(run.start(instance), scope)
      starts.push(now() - began)
      return { service, scope } satisfies Running
    })
  const running = yield* Effect.acquireRelease(
    Effect.map(Effect.all([boot(0), boot(1)], { concurrency: 2 }), (all): Array<Running> => all),
    (all) => Effect.forEach(all, ({ scope }) => Scope.close(scope, Exit.void), { discard: true })
  )
  const urls = running.map(({ service }) => service.url)

  const end = (instance: 0 | 1, signal: "SIGTERM" | "SIGKILL") =>
    Effect.gen(function*() {
      const at = now()
      const { scope, service } = running[instance]!
      yield* service.stop(signal)
      yield* Scope.close(scope, Exit.void)
      breaks.push({ what: signal === "SIGKILL" ? "kill" : "stop", at, until: now() })
    })
  const again = (instance: 0 | 1) =>
    Effect.map(boot(instance), (next) => {
      running[instance] = next
    })

  const pause = (instance: 0 | 1, millis: number) =>
    Effect.gen(function*() {
      const { service: { pid } } = running[instance]!
      const at = now()
      reachable[instance] = false
      process.kill(pid, "SIGSTOP")
      yield* Effect.sleep(millis)
      process.kill(pid, "SIGCONT")
      reachable[instance] = true
      breaks.push({ what: "pause", at, until: now() })
    })

  /** As a proxy does: whoever refuses or resets the connection is passed over. */
  const ask = (random: () => number): Ask => (path, sent) =>
    Effect.gen(function*() {
      const first = random() < 0.5 ? 0 : 1
      for (const instance of [first, 1 - first].filter((one) => reachable[one])) {
        const exit = yield* Effect.exit(exchange(urls[instance]!, path, sent))
        const refused = Exit.isFailure(exit) && String(exit.cause).includes("ECONNREFUSED")
        if (refused) continue
        const reset = Exit.isFailure(exit) && String(exit.cause).includes("ECONNRESET")
        if (rolling.strict && reset && ++rolling.resets <= resetsAllowed) continue
        const answer = Exit.isSuccess(exit) ? exit.value : undefined
        if (!rolling.strict) return answer
        rolling.answered++
        if (answer === undefined) {
          faults.push(`restart ${path}: no answer during a rolling restart: ${JSON.stringify(exit)}`)
        } else if (answer.status >= 500) {
          faults.push(`restart ${path}: ${answer.status} during a rolling restart: ${answer.text}`)
        }
        return answer
      }
      if (rolling.strict) faults.push(`restart ${path}: no instance took it during a rolling restart`)
      return undefined
    })

  const slowness = () => Math.max(1, Math.max(...starts) / usualStartMillis)

  return {
    again,
    ask,
    breaks,
    end,
    faults,
    pause,
    rolling,
    slowness,
    service: (instance: 0 | 1) => running[instance]!.service
  }
})

type Instances = Effect.Success<ReturnType<typeof makeInstances>>

/** Reads on from the last event it knows, for ever: what it has read at the end must be the list, in its order. */
const follow = (ask: Ask, key: string, reading: () => boolean) =>
  Effect.gen(function*() {
    const read: Array<{ readonly id: string }> = []
    let more = true
    while (reading() || more) {
      const last = read.at(-1)?.id ?? "evt_1-1"
      const answer = yield* ask(`/api/v1/events?limit=100&ending_before=${last}`, { headers: { "x-api-key": key } })
      if (answer?.status === 200) {
        const page: ReadonlyArray<{ readonly id: string }> = answer.json.data.data
        read.push(...page.toReversed().map(({ id }) => ({ id })))
        more = page.length > 0
      } else more = true
      if (!more) yield* Effect.sleep(againMillis)
    }
    return read
  })

/** Base units of a stablecoin with six decimals for a thousandth of a dollar. */
const unitsPerMilli = 1_000n

/** Pays on the chain, as a payor does: asks for an address, and sends there. All pay from one account, in turn. */
const payOn = (node: Anvil, ask: Ask, turn: Semaphore.Semaphore) => (answer: any, amount: number) =>
  Effect.gen(function*() {
    const headers = answer.payment_session_headers
    const tokens = yield* ask("/api/v1/payments/available-tokens?mode=network&network=base", { headers })
    const token = tokens?.status === 200 ? tokens.json.find((each: any) => each.token_symbol === "USDC") : undefined
    if (token === undefined) return
    const shown = yield* ask("/api/v1/payments/payment-addresses", {
      headers,
      body: { network: "base", token_id: token.id }
    })
    if (shown?.status !== 200) return
    yield* turn.withPermits(1)(node.token("transfer", [shown.json.temp_address, BigInt(amount) * unitsPerMilli]))
  })

const makeEndpoints = Effect.fnUntraced(function*(
  { hurry, receivers }: DeliveryRunOptions,
  service: Service,
  merchants: ReadonlyArray<{ readonly id: number; readonly key: string }>,
  first: number,
  chosen: ReadonlyArray<ReceiverKind>
) {
  return yield* Effect.forEach(
    merchants.flatMap((merchant) => chosen.map((kind) => ({ kind, merchant }))),
    ({ kind, merchant }, at) =>
      Effect.gen(function*() {
        const url = receivers.url(kind, first + at)
        const path = new URL(url).pathname
        const filters = kind === "slow" && !hurry ? rareTypes : filterLists[at % filterLists.length]!
        const { json, status, text } = yield* service.call("/api/v1/webhooks", {
          headers: { "x-api-key": merchant.key },
          body: { url, enabled_events: filters }
        })
        if (status !== 200) return yield* Effect.die(new Error(text))
        yield* receivers.trust(path, json.data.secret)
        return { id: json.data.id as string, merchantId: merchant.id, kind, path, filters }
      })
  )
})

const breakThings = Effect.fnUntraced(function*(run: DeliveryRunOptions, instances: Instances, random: () => number) {
  yield* Effect.sleep(run.calmMillis)
  // What is judged by the calm needs some of it, however late it begins.
  yield* until(
    "deliveries were taken before anything is broken",
    run.receivers.seen,
    ({ arrivals }) =>
      calmPaths.every((path) =>
        arrivals.some((one) =>
          one.path.startsWith(path) && one.endedAt !== null && one.startedAt < now() - calmTakenMillis
        )
      ),
    queueDrainMillis
  )
  for (let kill = 1; kill <= run.kills; kill++) {
    const victim = random() < 0.5 ? 0 : 1
    yield* Effect.sleep(run.shortestLife + random() * (run.longestLife - run.shortestLife))
    yield* instances.end(victim, "SIGKILL")
    yield* instances.again(victim)
    if (kill % 10 === 0) run.progress(`delivery: ${kill} kills`)
    if (run.pauseMillis !== undefined && kill === Math.ceil(run.kills / 2)) {
      run.progress(`delivery: an instance is paused for ${run.pauseMillis} ms`)
      yield* instances.pause(random() < 0.5 ? 0 : 1, run.pauseMillis)
    }
  }
  yield* Effect.sleep(settleMillis)
  instances.rolling.strict = true
  for (const instance of run.hurry ? [0] as const : [0, 1] as const) {
    yield* instances.end(instance, "SIGTERM")
    yield* instances.again(instance)
  }
  instances.rolling.strict = false
})

const behindBreaker =
  `exists (select from webhook_lanes l where l.merchant_id = d.merchant_id and l.endpoint_id = d.endpoint_id
    and l.open_until is not null)`

const observe = Effect.fnUntraced(function*(
  run: DeliveryRunOptions,
  endpoints: ReadonlyArray<Omit<Endpoint, "open">>,
  events: ReadonlyMap<number, ReadonlyArray<WireEvent>>,
  { breaks, slowness }: Pick<Instances, "breaks" | "slowness">
) {
  const rows = yield* run.query(`select 'whd_' || id as id, merchant_id as "merchantId", endpoint_id as "endpointId",
    'evt_' || event_ms || '-' || event_seq as "eventId", status, attempt from webhook_deliveries`)
  const open = yield* run.query("select endpoint_id as id from webhook_lanes where open_until is not null")
  const kept = yield* run.query(`select 'whd_' || delivery_id as id, array_agg(attempt order by attempt) as attempts
    from webhook_attempts group by delivery_id`)
  const opened = new Set(open.map(({ id }) => id))
  const history: History = {
    events,
    endpoints: endpoints.map((endpoint) => ({ ...endpoint, open: opened.has(endpoint.id) })),
    rows: rows as ReadonlyArray<DeliveryRow & Record<string, any>>,
    attempts: new Map(kept.map(({ attempts, id }) => [id, attempts])),
    seen: yield* run.receivers.seen,
    breaks,
    slowness: slowness(),
    ...run.retry
  }
  return history
})

/** Runs the load, breaks what there is to break, lets the queues run dry, and says what was held. */
export const runDelivery = (run: DeliveryRunOptions): Effect.Effect<DeliveryReport> =>
  Effect.scoped(Effect.gen(function*() {
    run.progress(`delivery: seed ${run.seed}`)
    const random = seededRandom(run.seed)
    yield* run.node.token("mint", [run.node.accounts[0]!, fortune])
    const instances = yield* makeInstances(run)
    const merchants = yield* run.makeMerchants(instances.service(0), run.merchants + 1)
    const [quiet, ...busy] = merchants
    const endpoints = [
      ...yield* makeEndpoints(run, instances.service(0), busy, 0, run.kinds),
      ...yield* makeEndpoints(run, instances.service(0), [quiet!], run.kinds.length * busy.length, quietKinds)
    ]
    const ask = instances.ask(random)
    const pay = payOn(run.node, ask, yield* Semaphore.make(1))
    const clients = busy.map((merchant, at) =>
      makeClients({
        merchant,
        ask,
        seed: run.seed + at,
        betweenMillis: run.betweenMillis,
        pay
      })
    )
    for (let n = 0; n < quietInvoices; n++) {
      yield* ask("/api/v1/invoices", {
        headers: { "x-api-key": quiet!.key, "idempotency-key": `quiet-${n}` },
        body: { amount: 1_000 }
      })
    }

    let running = true
    const load = yield* Effect.forkChild(
      Effect.forEach(
        clients,
        ({ caller }) =>
          Effect.forEach(Array.from({ length: run.callers }), (_, name) => caller(name, () => running), {
            concurrency: "unbounded",
            discard: true
          }),
        { concurrency: "unbounded", discard: true }
      )
    )
    const reader = yield* Effect.forkChild(follow(ask, busy[0]!.key, () => running))
    yield* breakThings(run, instances, random)
    running = false
    yield* Fiber.join(load)
    const read = yield* Fiber.join(reader)

    if (run.hurry) {
      yield* Effect.forEach([0, 1] as const, (one) => instances.end(one, "SIGKILL"), { concurrency: 2 })
      // Nobody else holds anything while both are dead.
      yield* expireLeases(run)
      yield* Effect.forEach([0, 1] as const, (one) => instances.again(one), { concurrency: 2 })
    }
    run.progress("delivery: the load is over, the queues run dry")
    const service = instances.service(0)
    const head = BigInt(yield* run.node.rpc("eth_blockNumber"))
    yield* until(
      "the chain is read to its end",
      run.query("select recent->0->>'height' as height from chain_cursors"),
      (rows) => rows.some(({ height }) => BigInt(height) >= head),
      queueDrainMillis
    )
    const faults = [...instances.faults]
    const events = new Map<number, ReadonlyArray<WireEvent>>()
    let payments = 0
    for (const each of clients) {
      const judged = yield* checkCommits(each, { callers: run.callers, query: run.query, service })
      payments += judged.payments
      events.set(each.merchant.id, judged.events)
      faults.push(...each.faults)
    }
    events.set(quiet!.id, yield* allEvents(service, { "x-api-key": quiet!.key }))
    const all = events.get(busy[0]!.id)!
    faults.push(...orderingFaults(read).map((fault) => `order a reader: ${fault}`))
    const ids = new Set(read.map(({ id }) => id))
    const last = read.at(-1)?.id
    const end = all.findIndex(({ id }) => id === last)
    const missed = all.slice(0, end + 1).filter(({ id }) => !ids.has(id))
    if (missed.length > 0) faults.push(`order a reader missed ${missed.length} events, ${missed[0]!.id} first`)

    yield* until(
      "every delivery is over, or waits behind an open breaker",
      run.query(`select w.url, d.status, count(*)::int as n from webhook_deliveries d
        join webhook_endpoints w on w.merchant_id = d.merchant_id and w.id = d.endpoint_id
        where d.finished_at is null and not ${behindBreaker} group by 1, 2`),
      (rows) => rows.length === 0,
      run.hurry ? queueDrainMillis : drainMillis
    ).pipe(Effect.catchDefect((defect) => Effect.sync(() => void faults.push(String(defect)))))

    const history = yield* observe(run, endpoints, events, instances)
    const verdict = checkDeliveries(history)
    return {
      ...verdict,
      faults: [...faults, ...verdict.faults],
      seed: run.seed,
      invoices: clients.reduce((sum, { asked }) => sum + asked.length, quietInvoices),
      payments,
      events: [...events.values()].flat().length,
      endpoints: endpoints.length,
      breaks: instances.breaks.length,
      rolling: instances.rolling.answered,
      history
    }
  }))
