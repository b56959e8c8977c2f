/**
 * The service on mainnet rules between two endpoints that fail in every way, its customers, and its operator;
 * afterwards a judge who reads the chain itself says what is wrong. One seed decides everything but the interleaving.
 */
import { Effect, Fiber, Redacted, Schema, type Scope } from "effect"
import { Rpc, RpcClient, RpcGroup } from "effect/rpc"
import { HDKey } from "@scure/bip32"
import { randomUUID } from "node:crypto"
import { AuthRpc } from "../../../modules/auth/rpc.ts"
import * as InternalRpc from "../../../runtime/rpc/Client.ts"
import { PublicError } from "../../../schemas/Errors.ts"
import { seededRandom } from "../Crash.ts"
import { makeRestartable } from "../Restartable.ts"
import { configOf, masterKey, rpcToken, type Service, type TestRequest, until } from "../Service.ts"
import {
  type Branches,
  inactiveToken,
  makeTestChain,
  type Payment,
  strangeToken,
  type TestChain,
  usdc
} from "./TestChain.ts"
import {
  type AddressFact,
  checkHistory,
  type CheckResult,
  etherDollars,
  type EventFact,
  type FinalFact,
  type History,
  type InvoiceFact
} from "./Checker.ts"
import { type Fault, makeNodeProxy, type NodeProxy } from "./NodeProxy.ts"

/** How the harness starts the service, and reaches the server of its database. */
export interface ChaosRun {
  /** A new process on the same data and ports, as {@link chaosDeployment} says. */
  readonly start: (endpoints: Endpoints, place: number) => Effect.Effect<Service, never, Scope.Scope>
  /** Instances that serve at once, each with a place from 0 on. Default 1. */
  readonly instances?: number
  /** Name of its database. */
  readonly database: string
  /** Runs a statement on a database of the server. */
  readonly query: (database: string, text: string) => Effect.Effect<ReadonlyArray<Record<string, any>>>
  readonly seed: number
  readonly progress: (line: string) => void
  /** What is done to the service, in order of a shuffle: {@link acts}. */
  readonly acts: ReadonlyArray<ActName>
  /** Every act at least once, then again from the start until so much time has passed. */
  readonly chaosMillis: number
  /** How much of its usual time an act takes. */
  readonly pace: number
  /** Between two blocks; afterwards, when all is well again. */
  readonly blockMillis: number
  readonly calmBlockMillis: number
  /** Between two customers. */
  readonly customerMillis: number
  /** Seconds an invoice lives; below the shortest life that the API takes, the row is changed. */
  readonly lifeSeconds: number
  /** What customers do, each as often as it stands here. */
  readonly habits: ReadonlyArray<Habit>
  /** Logs of one flood. */
  readonly floodLogs: number
  /** How long the service may take to be right when all is well again. */
  readonly patienceMillis: number
}

export interface ChaosReport extends CheckResult {
  readonly seed: number
  readonly invoices: number
  readonly sent: number
  readonly events: number
  readonly acts: number
  readonly kills: number
  readonly restores: number
  /** Until the final state was right, or the patience over. */
  readonly calmMillis: number
  /** What the operator asked for and was refused, by name. */
  readonly refused: ReadonlyMap<string, string>
  readonly history: History
}

/** The shortest life that the API takes. */
const shortestLifeSeconds = 60

/** How long an expiry may wait for another look after an outage. */
const outageRecheckSeconds = 75

/** Between two looks at the state of everything, when all is well again. */
const verdictMillis = 1_000

/** Before something is asked again that was not answered. */
const againMillis = 150

/** Of the receiving account; nobody pays from it. */
const receivingSeed = new Uint8Array(32).fill(0x3c)

/** Addresses lost at once that a service must find by itself, without being told of a restore. */
const unaided = 15

const etherPerMilli = 10n ** 18n / (etherDollars * 1000n)

/** What a deployment of this harness is told of the chain. */
export interface Endpoints {
  readonly rpc: readonly [string, string]
  readonly xpub: string
  readonly pollMillis: number
}

/** Config and environment of the service on mainnet rules: where money is real, secrets stand in no file. */
export const chaosDeployment = (database: string, { pollMillis, rpc, xpub }: Endpoints) => {
  const { modules, ...config } = configOf({ database, chains: [] })
  const absent = /retail|commerce|storefront|simulat/
  return {
    config: {
      ...config,
      environments: ["mainnet"],
      http: { publicUrl: "https://till.test" },
      rpc: { token: "${env:RPC_TOKEN}" },
      secrets: { master: ["${env:MASTER_KEY}"] },
      store: { use: "postgres", options: { url: "${env:DATABASE_URL}" } },
      chains: [{
        use: "evm",
        options: {
          network: "base",
          environment: "mainnet",
          rpc: ["${env:BASE_RPC_1}", "${env:BASE_RPC_2}"],
          xpub: "${env:EVM_XPUB}",
          startIndex: 0,
          pollMillis
        }
      }],
      prices: [{
        use: new URL("../../fixtures/plugins/steady-prices.ts", import.meta.url).pathname,
        options: { prices: { "usd-coin": "1", ethereum: String(etherDollars) } }
      }],
      pricing: { quorum: 1 },
      webhooks: {},
      telemetry: { logs: "json", level: "info" },
      modules: [
        ...modules.filter(({ use }) => !absent.test(use)),
        ...modules.some(({ use }) => use === "settlement") ? [{ use: "settlement/direct" }] : []
      ]
    },
    environment: {
      RPC_TOKEN: rpcToken,
      MASTER_KEY: masterKey,
      DATABASE_URL: database,
      BASE_RPC_1: rpc[0],
      BASE_RPC_2: rpc[1],
      EVM_XPUB: xpub
    }
  }
}

/** What an operator can ask for, loosely typed: a service that does not know it refuses it. */
const Loose = Schema.Record(Schema.String, Schema.Json)
const loose = <const Name extends string>(name: Name) =>
  Rpc.make(name, { payload: Loose, success: Schema.Unknown, error: PublicError })
class OperatorRpc extends RpcGroup.make(loose("chains.report"), loose("chains.restored"), loose("chains.rescan")) {}
type OperatorCall = "chains.report" | "chains.restored" | "chains.rescan"

/** A merchant's policy, as far as the judge must know it. */
interface Shop {
  readonly key: string
  readonly requiredDepth: number
  readonly lateNeedsPerson: boolean
}

/** Depths of the policies `fast` and `standard` on Base, as the reference states them. */
const policies = [
  { confirmation_policy: "fast", late_payment_policy: "spot_rate", requiredDepth: 1, lateNeedsPerson: false },
  { confirmation_policy: "standard", late_payment_policy: "spot_rate", requiredDepth: 10, lateNeedsPerson: false },
  { confirmation_policy: "fast", late_payment_policy: "manual", requiredDepth: 1, lateNeedsPerson: true }
] as const

/** An invoice while its customer is at it. */
interface Order {
  readonly id: string
  readonly shop: Shop
  readonly amount: number
  readonly expiresAt: number
  readonly session: Readonly<Record<string, string>>
  address: string | null
  lost: boolean
  lostUnannounced: boolean
}

/** What a customer does. */
type Habit =
  | "exact"
  | "ether"
  | "part"
  | "over"
  | "never"
  | "late"
  | "lastMoment"
  | "wrongToken"
  | "internal"
  | "together"
  | "large"
  | "dust"

export const everyHabit: ReadonlyArray<Habit> = [
  "exact",
  "exact",
  "exact",
  "ether",
  "ether",
  "part",
  "part",
  "over",
  "never",
  "late",
  "late",
  "lastMoment",
  "lastMoment",
  "lastMoment",
  "wrongToken",
  "internal",
  "together",
  "together",
  "large",
  "dust"
]

/** One kind of trouble. The endpoints are in the order of the config. */
export const everyAct = [
  "frozen",
  "frozenLong",
  "lagging",
  "forked",
  "forkedWithBlip",
  "hiddenLogs",
  "hiddenTransactions",
  "doubledLogs",
  "foreignReceipts",
  "oversized",
  "garbage",
  "wrongChain",
  "errors",
  "slow",
  "silent",
  "blip",
  "bothDown",
  "reorg",
  "kill",
  "backup",
  "restore",
  "restoreUndeclared",
  "report",
  "falseReport",
  "rescan",
  "flood",
  "forgedHeader"
] as const
export type ActName = typeof everyAct[number]
const shuffled = <A>(all: ReadonlyArray<A>, random: () => number): ReadonlyArray<A> =>
  all.map((one) => ({ one, place: random() })).toSorted((a, b) => a.place - b.place).map(({ one }) => one)

const lookAgain = Effect.sleep(againMillis)

/** The deployment: its instances, asked in turn, its merchants, and what was said to them. */
const makeDeployment = Effect.fnUntraced(function*(run: ChaosRun, endpoints: Endpoints, random: () => number) {
  const places = Array.from({ length: run.instances ?? 1 }, (_, place) => place)
  const instances = yield* Effect.forEach(places, (place) => makeRestartable(run.start(endpoints, place)))
  let turn = 0
  /** One that runs; null between two processes. */
  const current = (): Service | null => {
    const running = instances.flatMap((each) => each.current() ?? [])
    return running.length === 0 ? null : running[turn++ % running.length]!
  }
  const boot = Effect.forEach(instances, (each) => each.boot, { concurrency: "unbounded", discard: true })
  const end = (signal: "SIGTERM" | "SIGKILL") =>
    Effect.forEach(instances, (each) => each.end(signal), { concurrency: "unbounded", discard: true })
  /** Kills one, and starts it again while the others serve. */
  const killOne = Effect.suspend(() => {
    const { boot, end } = instances[instances.length === 1 ? 0 : Math.floor(random() * instances.length)]!
    return Effect.andThen(end("SIGKILL"), boot)
  })
  let isShut = false
  const refused = new Map<string, string>()

  /** One request; undefined without an answer. */
  const ask = (path: string, sent: TestRequest = {}) =>
    Effect.suspend(() => {
      const service = current()
      return service === null || isShut
        ? Effect.as(lookAgain, undefined)
        : service.call(path, sent).pipe(
          Effect.timeout(10_000),
          Effect.catchCause(() => Effect.succeed(undefined))
        )
    })

  const operate = (call: OperatorCall, payload: Readonly<Record<string, Schema.Json>>) =>
    Effect.suspend(() => {
      const service = current()
      if (service === null) return Effect.void
      return Effect.scoped(Effect.gen(function*() {
        const client = yield* RpcClient.make(OperatorRpc)
        yield* client[call](payload)
      })).pipe(
        Effect.provide(InternalRpc.layer({ url: service.rpcUrl, token: Redacted.make(rpcToken) }), { local: true }),
        Effect.timeout(20_000),
        Effect.catchCause((cause) => Effect.sync(() => void refused.set(call, String(cause.reasons[0]).slice(0, 200))))
      )
    })

  /** Merchants as an operator makes them. */
  const openShops = Effect.suspend(() => {
    const service = current()!
    return Effect.scoped(Effect.gen(function*() {
      const client = yield* RpcClient.make(AuthRpc)
      return yield* Effect.forEach(
        policies,
        ({ lateNeedsPerson, requiredDepth, ...settings }, place) =>
          Effect.gen(function*() {
            const { id } = yield* client["auth.merchants.create"]({ name: `Merchant ${place}` })
            const { key } = yield* client["auth.keys.create"]({
              merchant_id: id,
              name: "chaos",
              scope: "merchant",
              environment: "mainnet"
            })
            const changed = yield* service.call("/api/v1/merchant/settings", {
              method: "PATCH",
              headers: { "x-api-key": key },
              body: settings
            })
            if (changed.status !== 200) return yield* Effect.die(new Error(changed.text))
            return { key, lateNeedsPerson, requiredDepth } satisfies Shop
          })
      )
    })).pipe(
      Effect.provide(InternalRpc.layer({ url: service.rpcUrl, token: Redacted.make(rpcToken) }), { local: true }),
      Effect.orDie
    )
  })

  const shut = (is: boolean): void => {
    isShut = is
  }

  return { ask, boot, end, killOne, openShops, operate, refused, shut }
})
type Deployment = Effect.Success<ReturnType<typeof makeDeployment>>

/** Reads every event of the shops as long as it runs; what a restore forgets was read before. */
const makeEventLog = (deployment: Deployment, shops: ReadonlyArray<Shop>) => {
  const events = new Map<string, EventFact>()
  const newest = new Map<string, number>()
  const millisOf = (id: string) => Number(/^evt_(\d+)-/.exec(id)![1])
  const readShop = Effect.fnUntraced(function*({ key }: Shop) {
    const known = newest.get(key) ?? 0
    let after = ""
    while (true) {
      const found = yield* deployment.ask(`/api/v1/events?limit=100${after}`, { headers: { "x-api-key": key } })
      if (found?.status !== 200) return
      const page: ReadonlyArray<any> = found.json.data.data
      for (const { data, id, type } of page) {
        newest.set(key, Math.max(newest.get(key) ?? 0, millisOf(id)))
        events.set(`${key}:${id}`, {
          at: millisOf(id),
          type,
          object: data.object,
          previous: data.previous_attributes
        })
      }
      const last = page.at(-1)
      if (last === undefined || !found.json.data.has_more || millisOf(last.id) < known - 5_000) return
      after = `&starting_after=${last.id}`
    }
  })
  return { events, read: Effect.forEach(shops, readShop, { discard: true }) }
}

/** The customers of the shops. */
const makeCustomers = (
  run: ChaosRun,
  world: TestChain,
  deployment: Deployment,
  shops: ReadonlyArray<Shop>,
  tokens: { readonly usdc: number; readonly ether: number },
  random: () => number
) => {
  const orders: Array<Order> = []
  const addresses: Array<AddressFact> = []
  const together: Array<string> = []
  const counts = { sent: 0 }

  const send = (payment: Payment, where: Branches = world.isForked() && random() < 0.5 ? "both" : "canonical") =>
    Effect.promise(async () => {
      counts.sent += 1
      return world.pay(payment, where)
    }).pipe(Effect.catchCause((cause) => Effect.sync(() => run.progress(`a payment was not sent: ${cause}`))))

  /** A new invoice, asked for until it is answered; null when the run's patience is over. */
  const order = Effect.fnUntraced(function*(shop: Shop, amount: number, lifeSeconds = run.lifeSeconds) {
    const key = randomUUID()
    const expiresIn = Math.max(lifeSeconds, shortestLifeSeconds) * 1000
    for (let tries = 0; tries < 200; tries++) {
      const made = yield* deployment.ask("/api/v1/invoices", {
        headers: { "x-api-key": shop.key, "idempotency-key": key },
        body: { amount, expires_in: expiresIn }
      })
      if (made?.status !== 200) {
        yield* lookAgain
        continue
      }
      const { invoice, invoice_id: id, payment_session_headers: session } = made.json
      const early = Math.max(0, shortestLifeSeconds - lifeSeconds)
      const expiresAt = invoice.expires_at - early
      if (early > 0) {
        yield* run.query(
          run.database,
          `update invoices set expires_at = ${expiresAt}, due_at = ${expiresAt} where id = '${id}'`
        )
      }
      const one: Order = { id, shop, amount, expiresAt, session, address: null, lost: false, lostUnannounced: false }
      orders.push(one)
      return one
    }
    return null
  })

  /** The address to pay to, asked for until it is given or the invoice has ended. */
  const addressOf = Effect.fnUntraced(function*(one: Order, tokenId: number) {
    while (Date.now() < one.expiresAt * 1000) {
      const shown = yield* deployment.ask("/api/v1/payments/payment-addresses", {
        headers: one.session,
        body: { network: "base", token_id: tokenId }
      })
      if (shown?.status === 200) {
        const address = String(shown.json.temp_address).toLowerCase()
        one.address = address
        addresses.push({ at: Date.now(), invoiceId: one.id, address })
        return address
      }
      if (shown?.status === 404 || shown?.status === 401) return null
      yield* lookAgain
    }
    return null
  })

  const usdcFor = (to: string, millis: number): Payment => ({
    _tag: "Token",
    token: usdc,
    to,
    amount: BigInt(millis) * 1000n
  })
  /** Rounded up, as the page shows it. */
  const etherFor = (to: string, millis: number, tag: "Native" | "Internal"): Payment => ({
    _tag: tag,
    to,
    amount: BigInt(millis) * (etherPerMilli + 1n)
  })

  const customer = Effect.fnUntraced(function*(habit: Habit, paysAfterMillis?: number) {
    // What a contract passes on is found late, and a person would have to accept it.
    const shop = shops[habit === "large" ? 1 : Math.floor(random() * (habit === "internal" ? 2 : 3))]!
    const amount = habit === "large"
      ? 1_500_000 + Math.floor(random() * 1_000_000)
      : habit === "together"
      ? 5_000
      : 1_000 + Math.floor(random() * 80_000)
    const one = yield* order(shop, amount)
    if (one === null) return
    const inEther = habit === "ether" || habit === "internal"
    const address = yield* addressOf(one, inEther ? tokens.ether : tokens.usdc)
    if (address === null) return
    const untilEnd = (seconds: number) => Effect.sleep(Math.max(0, (one.expiresAt - seconds) * 1000 - Date.now()))
    yield* habit === "lastMoment"
      ? untilEnd(Math.min(3, run.lifeSeconds / 2))
      : habit === "late"
      ? untilEnd(-3)
      : Effect.sleep(paysAfterMillis ?? random() * run.lifeSeconds * 400)
    switch (habit) {
      case "never":
        return
      case "ether":
        return yield* send(etherFor(address, amount, "Native"))
      case "internal":
        return yield* send(etherFor(address, amount, "Internal"))
      case "part": {
        const first = Math.floor(amount / 3)
        yield* send(usdcFor(address, first))
        yield* Effect.sleep(random() * 6_000)
        if (random() < 0.7) yield* send(usdcFor(address, amount - first))
        return
      }
      case "over":
        return yield* send(usdcFor(address, amount + 2_000))
      case "wrongToken": {
        const token = random() < 0.5 ? inactiveToken : strangeToken
        yield* send({ _tag: "Token", token, to: address, amount: BigInt(amount) * 1000n })
        if (random() < 0.5) yield* send(usdcFor(address, amount))
        return
      }
      case "together":
        together.push(address)
        if (together.length < 3) return
        return yield* send({ _tag: "Many", token: usdc, to: together.splice(0), amount: 5_000_000n })
      case "dust":
        return yield* send({ _tag: "Token", token: usdc, to: address, amount: 900n })
      default:
        return yield* send(usdcFor(address, amount))
    }
  })

  /**
   * Pays once and in time, on any machine: the invoice lives longer than those of the others. Ends when a block holds
   * the payment: a judge who looked before would find all right without it.
   */
  const payPlainly = Effect.gen(function*() {
    const amount = 7_000
    const one = yield* order(shops[0]!, amount, Math.max(run.lifeSeconds, shortestLifeSeconds))
    const address = one === null ? null : yield* addressOf(one, tokens.usdc)
    if (address === null) return
    yield* send(usdcFor(address, amount), "canonical")
    yield* until(
      "a block holds the plain payment",
      Effect.sync(() =>
        world.facts.some((fact) => fact._tag === "Block" && fact.transfers.some(({ to }) => to === address))
      ),
      (isMined) => isMined
    )
  })

  /** Pays an invoice on the minority branch alone. */
  const payOnFork = Effect.gen(function*() {
    const one = yield* order(shops[0]!, 2_000 + Math.floor(random() * 9_000))
    const address = one === null ? null : yield* addressOf(one, random() < 0.5 ? tokens.usdc : tokens.ether)
    if (one === null || address === null || !world.isForked()) return
    yield* send(random() < 0.6 ? usdcFor(address, one.amount) : etherFor(address, one.amount, "Native"), "fork")
  })

  return { addresses, counts, customer, order, addressOf, orders, payOnFork, payPlainly, send, shops, tokens, usdcFor }
}
type Customers = ReturnType<typeof makeCustomers>

/** Runs the acts, and judges. */
export const chaos = Effect.fnUntraced(function*(run: ChaosRun): Effect.fn.Return<ChaosReport, never, Scope.Scope> {
  const random = seededRandom(run.seed)
  const world = yield* makeTestChain
  const proxies = [yield* makeNodeProxy(world), yield* makeNodeProxy(world)] as const
  const xpub = HDKey.fromMasterSeed(receivingSeed).derive("m/44'/60'/0'").publicExtendedKey
  const deployment = yield* makeDeployment(run, {
    rpc: [proxies[0].url, proxies[1].url],
    xpub,
    pollMillis: Math.floor(run.blockMillis / 4)
  }, random)
  const shops = yield* deployment.openShops
  const tokens = yield* until(
    "both tokens are offered",
    deployment.ask("/api/v1/merchant/tokens", { headers: { "x-api-key": shops[0]!.key } }).pipe(
      Effect.map((found) => {
        const idOf = (symbol: string) =>
          found?.json?.tokens?.find((each: any) => each.network === "base" && each.token_symbol === symbol)?.id
        return { usdc: idOf("USDC") as number, ether: idOf("ETH") as number }
      })
    ),
    (found) => found.usdc !== undefined && found.ether !== undefined
  )
  const log = makeEventLog(deployment, shops)
  const customers = makeCustomers(run, world, deployment, shops, tokens, random)
  const counts = { acts: 0, kills: 0, restores: 0 }
  const stage = { isQuiet: false }
  let blockMillis = run.blockMillis
  const standstills: Array<History["standstills"][number]> = []
  const restores: Array<History["restores"][number]> = []
  let backup: Backup | null = null

  yield* Effect.forkScoped(Effect.forever(Effect.gen(function*() {
    const began = performance.now()
    yield* Effect.promise(() => world.mine())
    yield* Effect.sleep(Math.max(5, blockMillis - (performance.now() - began)))
  })))
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(log.read, Effect.sleep(1_000))))
  const crowd = yield* Effect.forkScoped(Effect.scoped(Effect.forever(Effect.gen(function*() {
    if (!stage.isQuiet) {
      yield* Effect.forkScoped(customers.customer(run.habits[Math.floor(random() * run.habits.length)]!))
    }
    yield* Effect.sleep(run.customerMillis * (0.5 + random()))
  }))))

  const acts = makeActs({
    run,
    world,
    proxies,
    deployment,
    customers,
    random,
    counts,
    stage,
    standstills,
    restores,
    log: log.read
  })
  yield* Effect.sleep(run.customerMillis * 2)
  const began = performance.now()
  const left = () => run.chaosMillis - (performance.now() - began)
  do {
    for (const name of shuffled(run.acts, random)) {
      if (left() < 0 && counts.acts >= run.acts.length) break
      const seconds = Math.floor((performance.now() - began) / 1000)
      run.progress(`${String(seconds).padStart(4)} s, block ${world.head()}: ${name}`)
      counts.acts += 1
      backup = yield* acts.perform(name, backup)
      for (const proxy of proxies) proxy.set({ _tag: "Honest" })
      world.closeFork()
      yield* Effect.sleep((500 + random() * 2_500) * run.pace)
    }
  } while (left() > 0)

  run.progress("all is well again")
  yield* Fiber.interrupt(crowd)
  blockMillis = run.calmBlockMillis
  const calmSince = performance.now()
  // Who spoils the history by hand needs a plain payment, and a busy machine may have made every other one late.
  yield* customers.payPlainly
  const readFinals = Effect.gen(function*() {
    const finals: Array<FinalFact> = []
    for (const { id, shop } of customers.orders) {
      const headers = { "x-api-key": shop.key }
      const invoice = yield* deployment.ask(`/api/v1/invoices/${id}`, { headers })
      if (invoice?.status !== 200) continue
      const payments = yield* deployment.ask(`/api/v1/invoices/${id}/payments`, { headers })
      finals.push({ invoice: invoice.json, payments: payments?.json?.payments ?? payments?.json?.data ?? [] })
    }
    return finals
  })
  const verdict = Effect.gen(function*() {
    // In this order: what the finals count was told before, and what was told before is on the chain's record.
    const finals = yield* readFinals
    yield* log.read
    const known = new Set((yield* run.query(run.database, "select id from invoices")).map(({ id }) => String(id)))
    const lastAddress = new Map(
      (yield* run.query(run.database, "select invoice_id, match_key from receive_targets where family = 'evm'"))
        .map((row) => [String(row["invoice_id"]), String(row["match_key"])])
    )
    const invoices = customers.orders.map(({ amount, expiresAt, id, lost, lostUnannounced, shop }): InvoiceFact => ({
      id,
      amount,
      expiresAt,
      lateNeedsPerson: shop.lateNeedsPerson,
      requiredDepth: shop.requiredDepth,
      address: lastAddress.get(id) ?? null,
      lost: lost && !known.has(id),
      lostUnannounced
    }))
    const exceptions = (yield* run.query(run.database, "select type, invoice_id, evidence::text from exceptions"))
      .map((row) => ({ type: row["type"], invoiceId: row["invoice_id"], evidence: row["evidence"] }))
    const history: History = {
      chain: [...world.facts],
      invoices,
      addresses: [...customers.addresses],
      events: [...log.events.values()].toSorted((a, b) => a.at - b.at),
      finals,
      exceptions,
      restores,
      standstills,
      endedAt: Date.now(),
      expirySlackSeconds: outageRecheckSeconds
    }
    return { history, ...checkHistory(history) }
  })
  const isFinal = ({ faults }: CheckResult) => !faults.some((fault) => /^(state|lost)/.test(fault))
  let last = yield* verdict
  while (!isFinal(last) && performance.now() - calmSince < run.patienceMillis) {
    yield* Effect.sleep(verdictMillis)
    last = yield* verdict
  }
  return {
    ...last,
    seed: run.seed,
    invoices: customers.orders.length,
    sent: customers.counts.sent,
    events: last.history.events.length,
    calmMillis: performance.now() - calmSince,
    refused: deployment.refused,
    ...counts
  }
})

interface Stage {
  readonly run: ChaosRun
  readonly world: TestChain
  readonly proxies: readonly [NodeProxy, NodeProxy]
  readonly deployment: Deployment
  readonly customers: Customers
  readonly random: () => number
  readonly counts: { acts: number; kills: number; restores: number }
  /** Whether no customer comes by itself. */
  readonly stage: { isQuiet: boolean }
  readonly standstills: Array<History["standstills"][number]>
  readonly restores: Array<History["restores"][number]>
  readonly log: Effect.Effect<void>
}

/** A copy of the database; `at`: milliseconds of the epoch. */
interface Backup {
  readonly name: string
  readonly at: number
}

/** What each act does. `perform` answers the name of the backup there is. */
const makeActs = (setting: Stage) => {
  const { counts, customers, deployment, log, proxies, random, restores, run, stage, standstills, world } = setting
  const wait = (seconds: number) => Effect.sleep(seconds * 1000 * run.pace)
  const pick = <A>(all: ReadonlyArray<A>): A => all[Math.floor(random() * all.length)]!
  const between = (from: number, upTo: number) => from + random() * (upTo - from)
  const paying = (...wanted: ReadonlyArray<Habit>) =>
    Effect.forEach(wanted, (habit) => Effect.forkDetach(customers.customer(habit, 300)), { discard: true })
  const honest = (proxy: NodeProxy) => proxy.set({ _tag: "Honest" })

  const wrong = Effect.fnUntraced(function*(fault: Fault, seconds: number, place = random() < 0.7 ? 0 : 1) {
    const proxy = proxies[place]!
    const isOtherAway = random() < 0.3 && fault._tag !== "Silent"
    run.progress(`        endpoint ${place + 1}${isOtherAway ? ", and for a moment the other one is away" : ""}`)
    proxy.set(fault)
    yield* paying("exact", "ether", "exact")
    yield* wait(seconds / 2)
    // The other endpoint is away for a moment, too: whoever moves over must find back.
    if (isOtherAway) {
      proxies[1 - place]!.set({ _tag: "Refused" })
      yield* Effect.sleep(1_500)
      honest(proxies[1 - place]!)
    }
    yield* wait(seconds / 2)
    honest(proxy)
  })

  const blip = (proxy: NodeProxy) =>
    Effect.gen(function*() {
      const before = proxy.fault()
      proxy.set({ _tag: "Refused" })
      yield* Effect.sleep(1_500)
      proxy.set(before)
    })

  const fork = Effect.fnUntraced(function*(seconds: number, withBlip: boolean) {
    const place = random() < 0.5 ? 0 : 1
    yield* Effect.promise(() => world.openFork(Math.floor(random() * 3)))
    run.progress(`        endpoint ${place + 1}`)
    proxies[place]!.set({ _tag: "Forked" })
    yield* Effect.forEach([1, 2, 3], () => Effect.forkDetach(customers.payOnFork), { discard: true })
    yield* paying("exact", "large", "ether", "lastMoment")
    yield* wait(seconds / 2)
    if (withBlip) yield* blip(proxies[1 - place]!)
    yield* Effect.forkDetach(customers.payOnFork)
    yield* wait(seconds / 2)
    honest(proxies[place]!)
    world.closeFork()
  })

  const kill = Effect.gen(function*() {
    counts.kills += 1
    yield* deployment.killOne
  })

  const copy = (from: string, onto: string) =>
    Effect.gen(function*() {
      yield* run.query("postgres", `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${from}'`)
      yield* run.query("postgres", `drop database if exists ${onto} with (force)`)
      yield* run.query("postgres", `create database ${onto} template ${from}`)
    })

  const store = Effect.gen(function*() {
    const name = `${run.database}_backup`
    counts.kills += 1
    yield* deployment.end("SIGKILL")
    const at = Date.now()
    yield* copy(run.database, name)
    yield* deployment.boot
    return { name, at } satisfies Backup
  })

  const restore = Effect.fnUntraced(function*(backup: Backup, isDeclared: boolean) {
    yield* log
    counts.restores += 1
    yield* deployment.end("SIGKILL")
    yield* copy(backup.name, run.database)
    restores.push({ backupAt: backup.at, at: Date.now() })
    const known = new Set((yield* run.query(run.database, "select id from invoices")).map(({ id }) => String(id)))
    for (const order of customers.orders.filter(({ id, lost }) => !lost && !known.has(id))) {
      order.lost = true
      order.lostUnannounced = !isDeclared
    }
    const lost = customers.orders.filter((order) => order.lost && order.address !== null)
    // Their customers do not know: some pay while the service is down, some later.
    for (const order of lost.slice(-6)) {
      if (random() < 0.5) yield* customers.send(customers.usdcFor(order.address!, order.amount))
    }
    // Nobody is served before the operator has told of it.
    deployment.shut(isDeclared)
    yield* deployment.boot
    if (isDeclared) {
      const backup_time = Math.floor(backup.at / 1000)
      yield* deployment.operate("chains.restored", { environment: "mainnet", backup_time })
    }
    deployment.shut(false)
    yield* Effect.forEach(lost.slice(-6), (order) =>
      Effect.forkDetach(Effect.andThen(
        Effect.sleep(2_000 + random() * 4_000),
        Effect.suspend(() => {
          const isGivenAgain = customers.addresses.some(({ address, invoiceId }) =>
            address === order.address && invoiceId !== order.id
          )
          return isGivenAgain ? Effect.void : customers.send(customers.usdcFor(order.address!, order.amount))
        })
      )), { discard: true })
    yield* paying("exact", "exact", "ether")
    yield* wait(4)
  })

  /** A transfer to an invoice of ours that is on the chain, told as a watcher elsewhere would. */
  const report = Effect.gen(function*() {
    const owners = new Set(customers.orders.filter(({ lost }) => !lost).map(({ address }) => address))
    const found = world.facts.flatMap((fact) =>
      fact._tag === "Undone" ?
        [] :
        fact.transfers.filter(({ internal, to, token }) => owners.has(to) && !internal && token !== strangeToken)
          .map((transfer) => ({ fact, transfer }))
    )
    for (const { fact, transfer } of [found.at(-1), pick(found)].filter((one) => one !== undefined)) {
      yield* deployment.operate("chains.report", {
        network: "base",
        environment: "mainnet",
        tx_hash: transfer.tx,
        index: transfer.index,
        match_key: transfer.to,
        token_address: transfer.token === null ? null : asListed(transfer.token),
        amount: String(transfer.amount),
        from: null,
        height: String(fact.height),
        block_hash: fact.hash,
        block_time: fact.time
      })
    }
  })

  /** As the catalogue spells it. */
  const asListed = (token: string) =>
    [usdc, inactiveToken, strangeToken].find((one) => one.toLowerCase() === token) ?? token

  /** A transfer that nobody made, to an invoice that nobody paid. */
  const falseReport = Effect.gen(function*() {
    const order = yield* customers.order(customers.shops[0]!, 3_000)
    const address = order === null ? null : yield* customers.addressOf(order, customers.tokens.usdc)
    const block = world.facts.findLast((fact) => fact._tag === "Block")
    if (order === null || address === null || block?._tag !== "Block") return
    yield* deployment.operate("chains.report", {
      network: "base",
      environment: "mainnet",
      tx_hash: `0x${"d1".repeat(31)}${(counts.acts % 256).toString(16).padStart(2, "0")}`,
      index: 1,
      match_key: address,
      token_address: usdc,
      amount: "3000000",
      from: null,
      height: String(block.height - Math.floor(random() * 20)),
      block_hash: block.hash,
      block_time: block.time
    })
  })

  const flood = Effect.gen(function*() {
    const targets = customers.orders.filter(({ address, lost }) => address !== null && !lost).slice(-3)
      .map(({ address }) => address!)
    if (targets.length === 0) return
    const logs = Array.from({ length: run.floodLogs }, (_, place) => targets[place % targets.length]!)
    yield* customers.send({ _tag: "Many", token: strangeToken, to: logs, amount: 1n }, "canonical")
    yield* paying("exact")
    yield* wait(4)
  })

  const perform = Effect.fnUntraced(function*(act: ActName, backup: Backup | null) {
    switch (act) {
      case "frozen":
        yield* wrong({ _tag: "Frozen", height: world.head() }, between(5, 15))
        break
      case "frozenLong": {
        yield* paying("lastMoment", "exact")
        const from = Date.now()
        yield* wrong({ _tag: "Frozen", height: world.head() }, 90, 0)
        standstills.push({ from, until: Date.now() })
        break
      }
      case "lagging":
        yield* wrong({ _tag: "Lagging", blocks: 2 + Math.floor(random() * 6) }, between(6, 15))
        break
      case "forked":
        yield* fork(between(10, 28), false)
        break
      case "forkedWithBlip":
        yield* fork(between(8, 20), true)
        break
      case "hiddenLogs":
        yield* wrong({ _tag: "HiddenLogs", isBloomKept: true }, between(6, 14))
        break
      case "forgedHeader":
        yield* wrong({ _tag: "HiddenLogs", isBloomKept: false }, between(6, 14))
        break
      case "hiddenTransactions":
        yield* wrong({ _tag: "HiddenTransactions" }, between(6, 14))
        break
      case "doubledLogs":
        yield* wrong({ _tag: "DoubledLogs" }, between(5, 10))
        break
      case "foreignReceipts":
        yield* wrong({ _tag: "ForeignReceipts" }, between(5, 10))
        break
      case "oversized":
        yield* wrong({ _tag: "Oversized" }, 5)
        break
      case "garbage":
        yield* wrong({ _tag: "Garbage" }, between(4, 8))
        break
      case "wrongChain":
        yield* wrong({ _tag: "WrongChain" }, between(4, 8))
        break
      case "errors":
        yield* wrong({ _tag: "Errors" }, between(4, 10))
        break
      case "slow":
        yield* wrong({ _tag: "Slow", millis: between(400, 3_000) }, between(5, 12))
        break
      case "silent":
        yield* wrong({ _tag: "Silent" }, between(8, 25))
        break
      case "blip":
        yield* Effect.forEach(shuffled(proxies, random), blip, { discard: true })
        break
      case "bothDown":
        yield* paying("lastMoment", "lastMoment")
        for (const proxy of proxies) proxy.set({ _tag: random() < 0.5 ? "Silent" : "Refused" })
        yield* paying("exact", "exact")
        yield* wait(between(10, 45))
        break
      case "reorg":
        yield* paying("exact", "ether")
        yield* Effect.sleep(run.blockMillis * 2)
        yield* Effect.promise(() => world.reorganise(1 + Math.floor(random() * 8), random))
        yield* wait(2)
        break
      case "kill":
        yield* kill
        break
      case "backup":
        return yield* store
      case "restore":
        if (backup === null) {
          const own = yield* store
          yield* paying("exact", "exact", "ether", "late", "part", "never")
          yield* wait(between(8, 16))
          yield* restore(own, true)
        } else {
          yield* restore(backup, true)
        }
        return null
      case "restoreUndeclared": {
        const own = yield* store
        // Few enough for a service that was told nothing.
        stage.isQuiet = true
        yield* Effect.forEach(Array.from({ length: Math.ceil(unaided / 3) }), () => customers.customer("exact", 0), {
          concurrency: 3,
          discard: true
        })
        yield* restore(own, false)
        stage.isQuiet = false
        return null
      }
      case "report":
        yield* report
        break
      case "falseReport":
        yield* falseReport
        break
      case "rescan":
        yield* deployment.operate("chains.rescan", {
          network: "base",
          environment: "mainnet",
          from: String(Math.max(1, world.head() - 60)),
          to: String(world.head())
        })
        break
      case "flood":
        yield* flood
        break
    }
    return backup
  })

  return { perform }
}
