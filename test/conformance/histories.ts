/**
 * Goal: whatever happens on a chain and to the processes that follow it, the journal ends up as the chain is: each
 * payment once, and none that is not there.
 * Method: a seeded random history of payments, reorganisations, dropped transactions, failing nodes, restarts, a second
 * instance and instances that lose their database, against the real journal and PostgreSQL; a model keeps what is on
 * the chain.
 */
import { assert } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { type AllocatedTarget, Chains } from "../../runtime/Chains.ts"
import type { PublicError } from "../../schemas/Errors.ts"
import { familyOf } from "../../schemas/Network.ts"
import { tokenAddress } from "../../schemas/Token.ts"
import { token, usdcListing } from "../fixtures/tokens.ts"
import { connect, type TestDatabase } from "../support/Database.ts"
import { type DatabaseProxy, makeDatabaseProxy } from "../support/DatabaseProxy.ts"
import {
  eventually,
  follow,
  instance,
  type InstanceServices,
  invoiceId,
  markHandled
} from "../runtime/chains/ChainsInstance.ts"
import type { TestedChain } from "./chains.ts"

/** A payment of the history. */
interface Payment {
  readonly txHash: string
  /** Null: it names no invoice. */
  readonly invoice: number | null
  readonly tokenAddress: string | null
  readonly amount: bigint
}

/** What is on the chain: of the newest block last, each with the payment in it. */
type Blocks = ReadonlyArray<Payment | null>

/** Invoices of a history, and blocks that one reorganisation replaces, at most. */
const invoiceCount = 6
const deepestRollback = 3

/** Milliseconds after which a journal that is not as the chain is counts as wrong. */
const settleMillis = 20_000

/** Mulberry32: numbers from 0 to 1, the same for the same seed. */
const randomOf = (seed: number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

type Step =
  | "pay"
  | "payToken"
  | "payWithoutMemo"
  | "mine"
  | "drop"
  | "reinclude"
  | "dropTransaction"
  | "disturb"
  | "calm"
  | "restart"
  | "second"
  | "isolate"
  | "wait"

/** How often each step comes, for what the chain can do. */
const stepsOf = (rig: TestedChain): ReadonlyArray<readonly [Step, number]> => [
  ["pay", 6],
  ["payToken", rig.token === null ? 0 : 3],
  ["payWithoutMemo", rig.shared === null ? 0 : 1],
  ["mine", 3],
  ["drop", rig.rollback === null ? 0 : 2],
  ["reinclude", rig.rollback === null ? 0 : 1],
  ["dropTransaction", rig.dropTransaction === null ? 0 : 1],
  ["disturb", rig.disturbances.length === 0 ? 0 : 2],
  ["calm", 1],
  ["restart", 1],
  ["second", 1],
  ["isolate", 1],
  ["wait", 3]
]

const chooseStep = (steps: ReadonlyArray<readonly [Step, number]>, random: () => number): Step => {
  let left = random() * steps.reduce((sum, [, weight]) => sum + weight, 0)
  for (const [step, weight] of steps) {
    left -= weight
    if (left < 0) return step
  }
  return "wait"
}

interface EntryRow {
  readonly tx_hash: string
  readonly invoice_id: string | null
  readonly token_address: string | null
  readonly amount: string
  readonly status: string
  readonly handled: string
}

/** One line for each payment, in order: what the journal and the model are compared by. */
const linesOf = (payments: ReadonlyArray<Payment>): ReadonlyArray<string> =>
  payments.map(({ amount, invoice, tokenAddress, txHash }) =>
    `${txHash} ${invoice === null ? "no invoice" : invoiceId(invoice)} ${tokenAddress} ${amount}`
  ).toSorted()

const journalLines = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<EntryRow>`SELECT tx_hash, invoice_id, token_address, amount::text, status, handled
    FROM transfers WHERE status <> 'reverted' OR handled <> 'reverted'`
  return rows.map((row) =>
    row.status === "confirmed" && row.handled === "confirmed"
      ? `${row.tx_hash} ${row.invoice_id ?? "no invoice"} ${row.token_address} ${row.amount}`
      : `${row.tx_hash} is ${row.status}, handled as ${row.handled}`
  ).toSorted()
})

/** Forgets everything of the history before. */
const clear = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`TRUNCATE transfers, chain_cursors, receive_targets, wallet_addresses, wallet_counters, wallet_batches, wallet_derivations,
    wallet_owners, target_balances, chain_repairs`
})

const expireLeases = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`UPDATE leases SET until = '-infinity'`)

/** A token as the chain spells it. */
const spellingOf = ({ driver: { network } }: TestedChain, address: string | null): string | null =>
  address === null ? null : tokenAddress(network, address) ?? address

/** The catalogue: the rig's token. */
const tokensOf = (rig: TestedChain) => {
  const { environment, network } = rig.driver
  return rig.token === null
    ? []
    : [token(1, { ...usdcListing, network, environment, address: spellingOf(rig, rig.token)! })]
}

/** An instance that follows, its line to the database, and how to end it. */
const startInstance = Effect.fnUntraced(function*(rig: TestedChain, database: TestDatabase) {
  const scope = yield* Scope.make()
  const line = yield* Scope.provide(makeDatabaseProxy(database), scope)
  const near: TestDatabase = { ...database, host: "127.0.0.1", port: Number(new URL(line.url).port), url: line.url }
  const services = yield* Layer.build(instance(near, tokensOf(rig))).pipe(Scope.provide(scope))
  const driver = yield* Scope.provide(rig.openDriver, scope)
  yield* Effect.andThen(follow([driver]), markHandled).pipe(Effect.provideContext(services), Scope.provide(scope))
  return { services, line, stop: Scope.close(scope, Exit.void) }
})

/** What came before the first block that was followed is no part of a history. */
const firstHead = ({ driver: { environment, network } }: TestedChain) =>
  eventually(
    Effect.map(
      Chains,
      (chains) => chains.status(environment).find((each) => each.network === network)?.head ?? undefined
    )
  )

type RunningInstance = Effect.Success<ReturnType<typeof startInstance>>

/** What a history is in the middle of. */
interface HistoryState {
  readonly blocks: Blocks
  readonly instances: ReadonlyArray<RunningInstance>
  /** Those that still follow the chain and reach the database no more, as one whose process stands still. */
  readonly isolated: ReadonlyArray<RunningInstance>
}

const onFirst = <A, E>({ instances }: HistoryState, work: Effect.Effect<A, E, InstanceServices>) =>
  work.pipe(Effect.provideContext(instances[0]!.services))

/** Where an invoice is paid; null: nobody is told before the chain was read up to its end after a start. */
const allocateTo = (rig: TestedChain, invoice: number): Effect.Effect<AllocatedTarget | null, PublicError, Chains> =>
  Effect.flatMap(Chains, (chains) =>
    chains.allocate({
      merchantId: 1,
      invoiceId: invoiceId(invoice),
      environment: rig.driver.environment,
      family: familyOf(rig.driver.network)
    })).pipe(Effect.catchIf(({ code }) => code === "NETWORK_DEGRADED", () => Effect.succeed(null)))

const append = (state: HistoryState, ...blocks: Blocks): HistoryState => ({
  ...state,
  blocks: [...state.blocks, ...blocks]
})

const replaceNewest = (state: HistoryState, depth: number, ...blocks: Blocks): HistoryState => ({
  ...state,
  blocks: [...state.blocks.slice(0, -depth), ...Array.from({ length: depth }, () => null), ...blocks]
})

const pay = Effect.fnUntraced(function*(
  rig: TestedChain,
  state: HistoryState,
  random: () => number,
  tokenAddress: string | null
) {
  const invoice = Math.floor(random() * invoiceCount)
  const amount = BigInt(1 + Math.floor(random() * 9)) * rig.unit
  const target = yield* onFirst(state, allocateTo(rig, invoice))
  // Nobody can pay where no address is shown.
  if (target === null) return state
  const { txHash } = yield* rig.pay(target, tokenAddress, amount)
  return append(state, { txHash, invoice, tokenAddress: spellingOf(rig, tokenAddress), amount })
})

const payWithoutMemo = Effect.fnUntraced(function*(rig: TestedChain, state: HistoryState, random: () => number) {
  const amount = BigInt(1 + Math.floor(random() * 9)) * rig.unit
  const { txHash } = yield* rig.shared!.payWithoutMemo(null, amount)
  return append(state, { txHash, invoice: null, tokenAddress: null, amount })
})

/** Drops the newest payment that lies under no other: what depends on it would vanish too. */
const dropNewest = Effect.fnUntraced(function*(rig: TestedChain, state: HistoryState) {
  const place = state.blocks.findLastIndex((payment) => payment !== null)
  const payment = state.blocks[place]
  // Only a transaction that is not final yet can be dropped: the rig says how deep that is.
  if (payment == null || state.blocks.length - place > (rig.droppableBlocks ?? 1)) return state
  yield* rig.dropTransaction!(payment.txHash)
  return { ...state, blocks: state.blocks.map((each, at) => at === place ? null : each) }
})

const rollBack = Effect.fnUntraced(function*(rig: TestedChain, state: HistoryState, random: () => number) {
  const depth = Math.min(1 + Math.floor(random() * deepestRollback), state.blocks.length)
  if (depth === 0) return state
  yield* rig.rollback!.drop(depth)
  return replaceNewest(state, depth)
})

/** A payment in the newest block comes again in the block after it. */
const reinclude = Effect.fnUntraced(function*(rig: TestedChain, state: HistoryState) {
  const newest = state.blocks.at(-1)
  if (newest == null) return state
  yield* rig.rollback!.reinclude(1)
  return replaceNewest(state, 1, newest)
})

const setLines = (instances: ReadonlyArray<RunningInstance>, way: Parameters<DatabaseProxy["set"]>[0]) =>
  Effect.forEach(instances, ({ line }) => line.set(way), { discard: true })

/** Those who are away from the database come back, and know nothing of what the others have done since. */
const reconnect = (state: HistoryState) =>
  Effect.as(setLines(state.isolated, "through"), {
    ...state,
    instances: [...state.instances, ...state.isolated],
    isolated: []
  })

const stopAll = (state: HistoryState) =>
  Effect.flatMap(reconnect(state), ({ instances }) => Effect.forEach(instances, ({ stop }) => stop, { discard: true }))

const restart = Effect.fnUntraced(function*(rig: TestedChain, state: HistoryState, database: TestDatabase) {
  yield* stopAll(state)
  return { ...state, instances: [yield* startInstance(rig, database)], isolated: [] }
})

/** The instances lose the database for longer than their leases last, and another one goes on in their place. */
const isolate = Effect.fnUntraced(function*(rig: TestedChain, state: HistoryState, database: TestDatabase) {
  if (state.isolated.length > 0) return state
  yield* setLines(state.instances, "cut")
  // What was on its way to the database is done there.
  yield* Effect.sleep(10)
  yield* expireLeases.pipe(Effect.provide(connect(database)))
  return { ...state, isolated: state.instances, instances: [yield* startInstance(rig, database)] }
})

const addSecond = Effect.fnUntraced(function*(rig: TestedChain, state: HistoryState, database: TestDatabase) {
  if (state.instances.length > 1) return state
  return { ...state, instances: [...state.instances, yield* startInstance(rig, database)] }
})

const take = (
  rig: TestedChain,
  state: HistoryState,
  step: Step,
  random: () => number,
  database: TestDatabase
): Effect.Effect<HistoryState, unknown> => {
  const { disturbances } = rig
  switch (step) {
    case "pay":
      return pay(rig, state, random, null)
    case "payToken":
      return pay(rig, state, random, rig.token)
    case "payWithoutMemo":
      return payWithoutMemo(rig, state, random)
    case "mine": {
      const count = 1 + Math.floor(random() * 3)
      return Effect.as(rig.mine(count), append(state, ...Array.from({ length: count }, () => null)))
    }
    case "drop":
      return rollBack(rig, state, random)
    case "reinclude":
      return reinclude(rig, state)
    case "dropTransaction":
      return dropNewest(rig, state)
    case "disturb":
      return Effect.as(disturbances[Math.floor(random() * disturbances.length)]!.begin, state)
    case "calm":
      return Effect.andThen(Effect.forEach(disturbances, ({ end }) => end), reconnect(state))
    case "restart":
      return restart(rig, state, database)
    case "second":
      return addSecond(rig, state, database)
    case "isolate":
      return isolate(rig, state, database)
    case "wait":
      return Effect.as(Effect.sleep(Math.floor(random() * 60)), state)
  }
}

/** Milliseconds between two looks at the journal, and looks for each block that comes meanwhile. */
const lookMillis = 25
const looksPerBlock = 4

/** Waits until the journal is as the chain is, which goes on. */
const awaitAgreement = Effect.fnUntraced(
  function*(rig: TestedChain, state: HistoryState, expected: ReadonlyArray<string>) {
    const deadline = Date.now() + settleMillis
    const look = onFirst(state, journalLines)
    let found = yield* look
    for (let looks = 1; found.join() !== expected.join() && Date.now() < deadline; looks++) {
      if (looks % looksPerBlock === 0) yield* rig.mine(1)
      yield* Effect.sleep(lookMillis)
      found = yield* look
    }
    assert.deepStrictEqual(found, expected)
  }
)

/** The journal is as the chain is, and again a few blocks later: the follower may have been behind at first. */
const compare = Effect.fnUntraced(function*(rig: TestedChain, state: HistoryState) {
  const expected = linesOf(state.blocks.flatMap((payment) => payment === null ? [] : [payment]))
  for (let round = 0; round < 3; round++) {
    yield* awaitAgreement(rig, state, expected)
    yield* rig.mine(1)
    yield* Effect.sleep(40)
  }
  yield* awaitAgreement(rig, state, expected)
})

/** Runs the history of a seed; dies where the journal is not as the chain is in the end. `steps`: how long it is. */
export const runHistory = (
  rig: TestedChain,
  database: TestDatabase,
  seed: number,
  steps = 30
): Effect.Effect<void> =>
  Effect.gen(function*() {
    const random = randomOf(seed)
    yield* clear.pipe(Effect.provide(connect(database)))
    let state: HistoryState = { blocks: [], instances: [yield* startInstance(rig, database)], isolated: [] }
    yield* onFirst(state, firstHead(rig))
    const taken: Array<Step> = []
    const run = Effect.gen(function*() {
      for (let done = 0; done < steps; done++) {
        const step = chooseStep(stepsOf(rig), random)
        taken.push(step)
        state = yield* take(rig, state, step, random, database)
      }
      yield* Effect.forEach(rig.disturbances, ({ end }) => end, { discard: true })
      state = yield* reconnect(state)
      yield* compare(rig, state)
    })
    yield* run.pipe(
      Effect.tapCause(() => Effect.logFatal("a history went wrong", { seed, taken: taken.join(" ") })),
      Effect.ensuring(Effect.suspend(() => stopAll(state)))
    )
  }).pipe(Effect.orDie)
