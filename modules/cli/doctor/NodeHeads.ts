/** The nodes of every configured network: whether each answers, is on its chain, and how old its newest block is. */
import { Duration, Effect, Layer, Logger, Result, Stream } from "effect"
import { HttpClient } from "effect/http"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { type ChainDriver, type ChainEvent, Chains, type WatchSet } from "../../../runtime/Chains.ts"
import type { SelectedPlugin } from "../../../runtime/Config.ts"
import { descriptorOf, type Environment, type Network } from "../../../schemas/Network.ts"
import { fail, type Finding, ok, warn } from "./Findings.ts"

/** Milliseconds that a node has for its chain and its newest block. */
export const nodeTimeoutMillis = 10_000

/** Seconds that the newest block may be old at least, however fast the network: final blocks come later than new ones. */
export const minimumHeadAgeSeconds = 60

/** What a node showed: its newest block, or why there is none. */
export type NodeReading =
  | { readonly _tag: "Head"; readonly height: bigint; readonly time: number; readonly millis: number }
  | { readonly _tag: "Failure"; readonly reason: string; readonly isWrongChain: boolean }

/** One node of a network, and what it showed. */
export interface ExaminedNode {
  /** `rpc 1 of 2`. */
  readonly name: string
  /** Where it stands in the config: `chains[0].options.rpc[0]`. */
  readonly path: string
  readonly reading: NodeReading
}

/** Nobody is watched: only the newest block matters. */
const nothingWatched: WatchSet = {
  has: () => false,
  accounts: () => [],
  tokens: () => [],
  transfersAbove: () => Effect.succeed([]),
  refresh: Effect.void
}

/** The drivers that a plugin registers, without a service around it; no driver asks for more than this and HTTP. */
export const driversOf = (plugin: SelectedPlugin["plugin"], options: unknown) =>
  Effect.gen(function*() {
    const drivers: Array<ChainDriver> = []
    const register: Chains["Service"]["register"] = (driver) => Effect.sync(() => void drivers.push(driver))
    const layer = plugin.layer(options) as Layer.Layer<never, unknown, Chains | HttpClient.HttpClient>
    yield* Layer.build(Layer.provide(layer, Layer.succeed(Chains, { register } as unknown as Chains["Service"])))
    return drivers
  })

const isHead = (event: ChainEvent): boolean =>
  event._tag === "Forward" || (event._tag === "Condition" && event.condition !== "ok")

const reasonOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

/** The newest block of a driver of one node. */
const readHead = (driver: ChainDriver): Effect.Effect<NodeReading, unknown> =>
  Effect.timed(driver.follow([], nothingWatched).pipe(Stream.filter(isHead), Stream.take(1), Stream.runCollect)).pipe(
    Effect.map(([duration, [event]]): NodeReading =>
      event?._tag === "Forward"
        ? {
          _tag: "Head",
          height: event.point.height,
          time: event.time,
          millis: Math.round(Duration.toMillis(duration))
        }
        : { _tag: "Failure", reason: "its newest block does not move", isWrongChain: false }
    )
  )

/** Asks one node, by a driver that has no other. A driver that starts and then refuses is on the right chain. */
const readNode = (plugin: SelectedPlugin["plugin"], options: unknown) =>
  Effect.gen(function*() {
    const started = yield* Effect.result(driversOf(plugin, options))
    if (Result.isFailure(started)) {
      return { _tag: "Failure", reason: reasonOf(started.failure), isWrongChain: true } satisfies NodeReading
    }
    const [driver] = started.success
    if (driver === undefined) {
      return { _tag: "Failure", reason: "its driver serves no network", isWrongChain: true } satisfies NodeReading
    }
    return yield* readHead(driver)
  }).pipe(
    Effect.scoped,
    Effect.catch((error) =>
      Effect.succeed<NodeReading>({ _tag: "Failure", reason: reasonOf(error), isWrongChain: false })
    ),
    Effect.timeoutOrElse({
      duration: nodeTimeoutMillis,
      orElse: () =>
        Effect.succeed<NodeReading>({
          _tag: "Failure",
          reason: `no answer in ${nodeTimeoutMillis / 1000} s`,
          isWrongChain: false
        })
    })
  )

/** The option of a driver that lists its nodes. */
export const nodeListOf = (options: unknown): "rpc" | "api" | undefined =>
  (["rpc", "api"] as const).find((name) =>
    typeof options === "object" && options !== null && Array.isArray((options as Record<string, unknown>)[name])
  )

/** The options of a driver with one of its nodes; what needs two is left out. */
const withNode = (options: unknown, list: string, place: number): unknown => {
  const { agreementAboveUsd: _, ...rest } = options as Readonly<Record<string, unknown>>
  return { ...rest, [list]: [(rest[list] as ReadonlyArray<unknown>)[place]] }
}

/** Judges the nodes of one network by their answers. Pure. */
export const nodeFindings = (
  { environment, label, nodes, now, standstillSeconds, use }: {
    /** What findings call the network. */
    readonly label: string
    /** The driver, as the config names it. */
    readonly use: string
    readonly environment: Environment
    /** Seconds that the network's newest block may stand still. */
    readonly standstillSeconds: number
    readonly nodes: ReadonlyArray<ExaminedNode>
    readonly now: number
  }
): ReadonlyArray<Finding> => {
  const newest = Math.max(...nodes.map(({ reading }) => reading._tag === "Head" ? reading.time : 0))
  const allowedAge = Math.max(standstillSeconds, minimumHeadAgeSeconds)
  const findings = nodes.map(({ name, path, reading }): Finding => {
    const check = nodes.length === 1 ? label : `${label}, ${name}`
    if (reading._tag === "Failure") {
      const reason = reading.reason.replaceAll(/\b(rpc|api) 1 of 1\b/g, name)
      const fix = `Correct the options of "${use}" at ${path}, or ask whoever runs this node.`
      // One node of several that is away only costs the second opinion; one of another chain must not stay.
      return newest > 0 && !reading.isWrongChain ? warn(check, reason, fix) : fail(check, reason, fix)
    }
    const age = now - reading.time
    const head = `Block ${reading.height}, ${Math.max(0, age)} s old, answered in ${reading.millis} ms.`
    if (newest - reading.time > allowedAge) {
      return fail(
        check,
        `Its newest block is ${newest - reading.time} s older than that of another node (block ${reading.height}).`,
        `Let it catch up, or put another node in its place at ${path}.`
      )
    }
    if (age <= allowedAge) return ok(check, head)
    const finding = environment === "mainnet" ? fail : warn
    return finding(
      check,
      `Its newest block is ${age} s old (block ${reading.height}), so no payment after it is seen.`,
      `Ask whoever runs this node, or add another one to ${path.replace(/\[\d+\]$/, "")}.`
    )
  })
  return environment === "mainnet" && nodes.length === 1
    ? [
      ...findings,
      warn(
        label,
        "One node decides alone which payments there are.",
        `Add a node of another operator to ${nodes[0]!.path.replace(/\[\d+\]$/, "")}.`
      )
    ]
    : findings
}

const networkOf = (options: unknown, name: string): string =>
  typeof options === "object" && options !== null && "network" in options ? String(options.network) : name

const examineChain = Effect.fnUntraced(function*({ options, path, plugin, use }: SelectedPlugin, isTwice: boolean) {
  const list = nodeListOf(options)
  const network = networkOf(options, plugin.name)
  if (list === undefined) return [ok(`nodes of ${network}`, "It runs inside the service: there is no node to ask.")]
  const count = (options as Readonly<Record<string, ReadonlyArray<unknown>>>)[list]!.length
  const environment = (options as { readonly environment: Environment }).environment
  const nodes = yield* Effect.forEach(
    Array.from({ length: count }, (_, place) => place),
    (place) =>
      Effect.map(readNode(plugin, withNode(options, list, place)), (reading): ExaminedNode => ({
        name: `${list} ${place + 1} of ${count}`,
        path: `${path[0]}[${path[1]}].options.${list}[${place}]`,
        reading
      })),
    { concurrency: "unbounded" }
  )
  return nodeFindings({
    label: isTwice ? `nodes of ${network} (${environment})` : `nodes of ${network}`,
    use,
    environment,
    standstillSeconds: descriptorOf(network as Network).standstillSeconds,
    nodes,
    now: yield* nowSeconds
  })
})

/** Asks every node of every network, all at once. What drivers log meanwhile is in the findings. */
export const examineNodes = (
  plugins: ReadonlyArray<SelectedPlugin>
): Effect.Effect<ReadonlyArray<Finding>, never, HttpClient.HttpClient> => {
  const chains = plugins.filter(({ slot }) => slot === "chains")
  const nameOf = ({ options, plugin }: SelectedPlugin) => networkOf(options, plugin.name)
  return Effect.forEach(
    chains,
    (entry) => examineChain(entry, chains.filter((other) => nameOf(other) === nameOf(entry)).length > 1),
    { concurrency: "unbounded" }
  ).pipe(
    Effect.map((findings) => findings.flat()),
    Effect.provide(Logger.layer([]))
  )
}
