/**
 * What a driver asks its node for, for each family on its rig: from its start to the first payment, in a poll that
 * finds nothing new, for a payment, and to catch up on a day; each with one open invoice and with 10,000. Providers
 * bill and limit by the call, so each call in a batch of JSON-RPC counts. The rigs answer at once, so the seconds of a
 * catch-up are the driver's own.
 */
import { Effect, Fiber, type Scope, Stream } from "effect"
import { channel } from "node:diagnostics_channel"
import type { ChainEvent, ChainPoint, ReceiveTarget } from "../../runtime/Chains.ts"
import type { Network } from "../../schemas/Network.ts"
import { watchOf } from "../conformance/chains/Journal.ts"
import type { TestedChain } from "../conformance/chains.ts"
import { testedChains } from "../support/TestedChains.ts"
import { until } from "../support/Service.ts"
import type { Bench } from "./Bench.ts"
import type { ReportLine } from "./Report.ts"

const many = 10_000
const payments = 10
const idleMillis = 2_000
/** Blocks of a day, by the usual pace of each network's blocks: 2 s, 20 s, 0.4 s, 2.5 s and 0.25 s. */
const blocksPerDay: Partial<Record<Network, number>> = {
  base: 43_200,
  cardano: 4_320,
  solana: 216_000,
  ton: 34_560,
  sui: 345_600
}
/** A driver that has much to ask before its first look takes that long. */
const patienceMillis = 600_000
/** A rig whose blocks take long to make gives what it can: the figure says how many there were. */
const makingMillis = 30_000

/** The calls made since the counter was read, by kind: the method of JSON-RPC, or the path without its variable parts. */
type CallsByKind = Map<string, number>

const kindsOf = (path: string, body: unknown): ReadonlyArray<string> => {
  const text = typeof body === "string" ? body : body instanceof Uint8Array ? Buffer.from(body).toString("utf8") : ""
  if (!text.startsWith("{") && !text.startsWith("[")) {
    return [path.replace(/\?.*$/, "").replace(/\/[^/]*\d[^/]*/g, "/…")]
  }
  const calls = JSON.parse(text)
  return (Array.isArray(calls) ? calls : [calls]).map(({ method }) => method ?? path)
}

/** Counts what this process asks the node that the driver asked first. */
const countCalls = Effect.gen(function*() {
  let origin: string | null = null
  let counted: CallsByKind = new Map()
  const created = channel("undici:request:create")
  const count = (message: unknown) => {
    const { request } = message as { readonly request: { origin: string; path: string; body: unknown } }
    origin ??= String(request.origin)
    if (String(request.origin) !== origin) return
    for (const kind of kindsOf(request.path, request.body)) counted.set(kind, (counted.get(kind) ?? 0) + 1)
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => created.subscribe(count)),
    () => Effect.sync(() => created.unsubscribe(count))
  )
  return (): CallsByKind => {
    const read = counted
    counted = new Map()
    return read
  }
})

const totalOf = (calls: CallsByKind): number => [...calls.values()].reduce((sum, each) => sum + each, 0)

const shown = (calls: CallsByKind, share: number): string =>
  [...calls].map(([kind, count]) => `${kind} ${(count / share).toFixed(2)}`).join(", ")

/** Targets of invoices that nobody pays, spelled as the rig's own: digits of theirs take other digits' places. */
const unpaid = (rig: TestedChain, count: number): ReadonlyArray<ReceiveTarget> =>
  Array.from({ length: count - 1 }, (_, place) => {
    const { address, matchKey, memo } = rig.target(1)
    const own = (text: string) => `${text.slice(0, -6)}${String(place + 1).padStart(6, "0")}`
    return memo === null
      ? { address: own(address), matchKey: own(matchKey), memo }
      : { address, matchKey: own(matchKey), memo: own(memo) }
  })

/** Follows in the background; says where it is and which transactions paid. */
const followed = Effect.fnUntraced(function*(
  rig: TestedChain,
  points: ReadonlyArray<ChainPoint>,
  invoices: number
) {
  const state = { points, blocks: 0, hashes: new Set<string>() }
  const see = (event: ChainEvent) =>
    Effect.sync(() => {
      if (event._tag !== "Forward") return
      state.points = [event.point, ...state.points].slice(0, 32)
      state.blocks++
      for (const { txHash } of event.transfers) state.hashes.add(txHash)
    })
  const watch = watchOf(rig, [rig.target(0), ...unpaid(rig, invoices)])
  const fiber = yield* Effect.forkScoped(Stream.runForEach(rig.driver.follow(points, watch), see))
  return { state, stop: Fiber.interrupt(fiber) }
})

const paid = Effect.fnUntraced(function*(rig: TestedChain, hashes: ReadonlySet<string>) {
  const { txHash } = yield* rig.pay(rig.target(0), rig.token, 3n * rig.unit)
  yield* until("the payment is seen", Effect.sync(() => hashes.has(txHash)), (isSeen) => isSeen, patienceMillis)
})

const measure = Effect.fnUntraced(function*(
  { progress }: Bench,
  name: string,
  chain: Effect.Effect<TestedChain, never, Scope.Scope>,
  invoices: number
) {
  const read = yield* countCalls
  const rig = yield* chain
  read()
  const started = performance.now()
  const following = yield* followed(rig, [], invoices)
  yield* until("the first head", Effect.sync(() => following.state.points.length), (length) => length > 0)
  yield* paid(rig, following.state.hashes)
  const beginSeconds = (performance.now() - started) / 1000
  const begin = read()
  progress(`${name} with ${invoices}: the first payment after ${beginSeconds.toFixed(1)} s: ${shown(begin, 1)}`)
  yield* Effect.sleep(idleMillis)
  const idle = read()
  // Every poll asks for the head once, and for nothing more often.
  const polls = Math.max(...idle.values())
  progress(`${name} with ${invoices}: ${polls} polls; in each ${shown(idle, polls)}`)

  for (let count = 0; count < payments; count++) yield* paid(rig, following.state.hashes)
  const withPayments = read()
  progress(`${name} with ${invoices}: ${payments} payments; for each with its polls ${shown(withPayments, payments)}`)

  yield* following.stop
  const { points } = following.state
  const wanted = blocksPerDay[rig.driver.network] ?? 0
  let blocks = 0
  for (const start = Date.now(); blocks < wanted && Date.now() - start < makingMillis; blocks += 1_000) {
    yield* rig.mine(Math.min(1_000, wanted - blocks))
  }
  read()
  const start = performance.now()
  const again = yield* followed(rig, points, invoices)
  yield* paid(rig, again.state.hashes)
  const seconds = (performance.now() - start) / 1000
  const catchUp = read()
  yield* again.stop
  const part = Math.min(blocks, wanted)
  progress(
    `${name} with ${invoices}: catch-up of ${part} of ${wanted} blocks in ${seconds.toFixed(1)} s: ${shown(catchUp, 1)}`
  )
  const what = `${name}, ${invoices.toLocaleString("en")} open: calls`
  return [
    {
      section: "calls",
      what: `${what} from a start to the first payment`,
      value: totalOf(begin),
      unit: "calls",
      note: `${beginSeconds.toFixed(1)} s`
    },
    { section: "calls", what: `${what} in a poll`, value: totalOf(idle) / polls, unit: "calls" },
    {
      section: "calls",
      what: `${what} for a payment, with the polls that find it`,
      value: totalOf(withPayments) / payments,
      unit: "calls"
    },
    {
      section: "calls",
      what: `${what} to catch up on a day`,
      value: totalOf(catchUp) * wanted / part,
      unit: "calls",
      note: `${part} of ${wanted} blocks, ${seconds.toFixed(1)} s`
    }
  ]
})

export const calls = (bench: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.forEach(
    Object.entries(testedChains).filter(([name]) =>
      bench.family === undefined ? !name.startsWith("simulated") : name === bench.family
    ),
    ([name, chain]) => Effect.forEach([1, many], (invoices) => Effect.scoped(measure(bench, name, chain, invoices)))
  ).pipe(Effect.map((all) => all.flat(2)))
