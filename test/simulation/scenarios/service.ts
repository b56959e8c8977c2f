/**
 * Whole instances of the service over one database and one network: a merchant and its payors outside, nodes, price
 * sources and receivers as models. Nodes lie and fall behind, blocks are replaced, connections break, instances are
 * killed.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { Context, Effect, Layer } from "effect"
import type { HttpRouter } from "effect/http"
import { SqlClient } from "effect/sql"
import { Cluster } from "../Cluster.ts"
import { Chains } from "../../../runtime/Chains.ts"
import type { PlantedBug } from "../PlantedBug.ts"
import type { Scenario, Violation } from "../Simulation.ts"
import { blockSeconds } from "../service/Chain.ts"
import { environment, network, surround } from "../service/Deployment.ts"
import { judge, promises, tables } from "../service/Judge.ts"
import { Caller, type Shop } from "../service/Caller.ts"
import { merchantRows, trade } from "../service/Shop.ts"
import { heal, trouble } from "../service/Troubles.ts"
import { drawsOf } from "../Draws.ts"
import { epochMillis } from "../World.ts"

/** Until everything has come to its end when nothing goes wrong any more. */
const patienceMillis = 600_000

/**
 * Milliseconds before a run may be judged. Every 30 s the service reads balances again, and blocks that nodes showed
 * differently, and so finds the transfers that a node left out.
 */
const rereadMillis = 35_000

/** Milliseconds between two looks of the simulated operator at the status of the network. */
const operatorPollMillis = 20_000

/**
 * Counts the work that is left: blocks up to the height $1 that were not read or searched, payments that are not final,
 * due rows, deliveries.
 */
const unfinished = `
  select (select count(*) from chain_repairs where status in ('waiting', 'running'))
    + case when exists (select from chain_cursors where (recent -> 0 ->> 'height')::bigint >= $1 and searched >= $1)
      then 0 else 1 end
    + (select count(*) from transfers where status = 'seen' or handled <> status)
    + (select count(*) from invoice_payments where status in ('pending', 'manual_retry'))
    + (select count(*) from webhook_deliveries where due_at is not null)
    + (select count(*) from invoices where due_at is not null and due_at <= extract(epoch from now())) as n`

/** The simulated operator reanchors a network that reports `no_common_block`, as an operator of the service must. */
const runOperator = (cluster: Cluster<HttpRouter.HttpRouter>) => {
  const look = Effect.gen(function*() {
    const chains = yield* Chains
    for (const { condition } of chains.status(environment)) {
      if (condition === "no_common_block") yield* chains.reanchor(network, environment, null)
    }
  }) as Effect.Effect<void, unknown>
  return Effect.forever(
    Effect.andThen(
      Effect.sleep(operatorPollMillis),
      Effect.ignoreCause(Effect.timeoutOption(cluster.call(0, look), operatorPollMillis))
    )
  )
}

const runOf = (instances: number): Scenario["run"] => async (world, database) => {
  const surroundings = await surround(world, database)
  const { chain } = surroundings
  const outside = await world.complete(Effect.scoped(Layer.build(database.layer(world, world.outside))))
  const sql = Context.get(outside, SqlClient.SqlClient)
  const { key, writes } = await Effect.runPromise(merchantRows)
  for (const { row, table } of writes) {
    await database.read(`insert into ${table} select * from jsonb_populate_record(null::${table}, $1::jsonb)`, [
      JSON.stringify(row)
    ])
  }
  const shop: Shop = {
    key,
    invoices: [],
    endpoints: new Map(),
    decisions: new Map(),
    refunds: new Set(),
    surprises: []
  }
  world.onDisturbance = (number) =>
    trouble(world, surroundings, () => shop.invoices.flatMap(({ addresses }) => [...addresses]), number)
  const mining = Effect.forever(Effect.andThen(
    Effect.sleep(blockSeconds * 1_000),
    Effect.sync(() => chain.mine(Math.floor((epochMillis + world.now) / 1000)))
  ))
  world.fork(world.outside, mining)
  const cluster = new Cluster<HttpRouter.HttpRouter>(world, instances, surroundings.layer)
  world.fork(world.outside, runOperator(cluster))
  await world.complete(
    trade({ world, cluster, places: instances, surroundings, invoices: world.plan.seed === 0 ? 0 : 5, key }, shop)
  )
  await world.complete(Effect.andThen(cluster.recover, Effect.sync(() => heal(surroundings))))
  /** The height of the newest block with a payment. */
  const lastPaymentHeight = () => Math.max(0, ...chain.transfers().map(({ block }) => block.height))
  const isFinished = Effect.suspend(() =>
    Effect.orDie(Effect.map(
      sql.unsafe<{ n: bigint }>(unfinished, [lastPaymentHeight()]).pipe(Effect.retry({ times: 100 })),
      ([row]) => Number(row!.n) === 0
    ))
  )
  const isFinal = () =>
    chain.waitingHashes().length === 0 && chain.transfers().every(({ block }) => block.height <= chain.finalHeight)
  const wait = (patience: number): Effect.Effect<boolean> =>
    Effect.flatMap(
      isFinal() ? isFinished : Effect.succeed(false),
      (isOver) =>
        isOver || patience <= 0 ? Effect.succeed(isOver) : Effect.andThen(Effect.sleep(2_000), wait(patience - 2_000))
    )
  await world.complete(Effect.andThen(Effect.sleep(world.plan.seed === 0 ? 0 : rereadMillis), wait(patienceMillis)))
  const reader = new Caller("reader", cluster, instances, drawsOf(world.plan.seed, "reader"), shop.surprises)
  const answered = new Map<string, Readonly<Record<string, any>>>()
  for (const { ids } of shop.invoices) {
    for (const id of ids) {
      const answer = await world.complete(reader.ask({ path: `/api/v1/invoices/${id}`, headers: { "x-api-key": key } }))
      answered.set(id, answer.json)
    }
  }
  await world.complete(cluster.stop)
  const [
    transfers,
    payments,
    invoices,
    exceptions,
    targets,
    events,
    deliveries,
    balances,
    entries,
    refunds
  ] = await Promise.all(Object.values(tables).map((statement) => database.read(statement)))
  const violations: ReadonlyArray<Violation> = judge({
    chain,
    leftOut: new Set(surroundings.nodes.flatMap(({ leftOut }) => [...leftOut])),
    shop,
    arrivals: surroundings.arrivals,
    transfers: transfers!,
    payments: payments!,
    invoices: invoices!,
    exceptions: exceptions!,
    targets: targets!,
    events: events!,
    deliveries: deliveries!,
    balances: balances!,
    entries: entries!,
    refunds: refunds!,
    answered
  })
  return violations
}

/** Bugs of which each breaks one promise; those of the commit and of claims are in functions of the database. */
const plants: ReadonlyArray<PlantedBug> = [
  {
    name: "an invoice that is asked for again is made again",
    seed: 1,
    promise: promises.acknowledged,
    statement: (text) =>
      text.replaceAll(
        "r order by r.merchant_id, r.environment, r.scope;",
        "r order by r.merchant_id, r.environment, r.scope on conflict do nothing;"
      )
  },
  {
    name: "an invoice is shown the address of another one",
    seed: 1,
    promise: promises.address,
    function: {
      name: "allocate_targets_v1",
      from: "jsonb_agg(to_jsonb(t))",
      to: "jsonb_agg(to_jsonb(t) || jsonb_build_object('address', (SELECT min(o.address) FROM receive_targets o)))"
    },
    isLeftOut: true
  },
  {
    name: "coins are never handed over",
    seed: 1,
    promise: promises.credited,
    statement: (text) =>
      text.replaceAll("WHERE status <> handled AND", "WHERE status <> handled AND token_address IS NOT NULL AND"),
    isLeftOut: true
  },
  {
    name: "an invoice forgets what it has counted",
    seed: 2,
    promise: promises.sum,
    statement: (text) =>
      text.replaceAll(
        "p.merchant_id = i.merchant_id AND p.invoice_id = i.id)",
        "p.merchant_id = i.merchant_id AND p.invoice_id = i.id AND p.status = 'pending')"
      ),
    isLeftOut: true
  },
  {
    name: "a claim marks its deliveries as done",
    seed: 103,
    promise: promises.delivered,
    function: {
      name: "webhook_claim_v1",
      from: "UPDATE webhook_lanes l SET holder = p_holder,",
      to:
        "UPDATE webhook_deliveries d SET status = 'succeeded', due_at = NULL WHERE d.due_at < now() - interval '1 s'; "
        + "UPDATE webhook_lanes l SET holder = p_holder,"
    },
    isLeftOut: true
  },
  {
    name: "an endpoint in order gets what is due",
    seed: 103,
    promise: promises.order,
    function: {
      name: "webhook_claim_v1",
      from: "AND (v_target.ordered OR c.due_at <= now())",
      to: "AND c.due_at <= now()"
    },
    isLeftOut: true
  },
  {
    name: "a balance is set in place of moved",
    seed: 103,
    promise: promises.ledger,
    statement: (text) => text.replaceAll("set units = t.units + excluded.units", "set units = excluded.units"),
    isLeftOut: true
  },
  {
    name: "a reorganisation takes nothing back",
    seed: 32,
    promise: promises.real,
    statement: (text) =>
      text.replaceAll(
        "AND height > $3 AND status <> 'reverted' ORDER BY height DESC",
        "AND height > $3 AND status <> 'reverted' AND required_blocks > 1000 ORDER BY height DESC"
      ),
    isLeftOut: true
  },
  {
    name: "an invoice keeps the amount that it had",
    seed: 1,
    promise: promises.events,
    statement: (text) => text.replaceAll(/"?amount_paid"? = excluded\."?amount_paid"?/g, "amount_paid = t.amount_paid"),
    isLeftOut: true
  },
  {
    name: "a call that is repeated is taken for another one",
    seed: 1,
    promise: promises.answers,
    statement: (text) =>
      text.replace(
        "SELECT fingerprint, status, sealed_body",
        "SELECT 'of another body' AS fingerprint, status, sealed_body"
      ),
    isLeftOut: true
  },
  {
    name: "a refund that was answered is not stored",
    seed: 1,
    promise: promises.decided,
    statement: (text) =>
      text.replace(
        /(insert into "?refunds"? \([^)]*\)\s+select [\s\S]*?\) r) order by/,
        "$1 where r.version > 1 order by"
      ),
    isLeftOut: true
  }
]

const faults: Scenario["faults"] = {
  calls: 1_200,
  steps: 8_000,
  connectionsLost: 14,
  callsDelayed: 4,
  instancesKilled: 3,
  instancesStalled: 2,
  clocksStepped: 2,
  longestClockStep: 30_000,
  disturbances: 8
}

const scenarioOf = (name: string, instances: number, more: Pick<Scenario, "plants" | "seedsInTests">): Scenario => ({
  name,
  instances,
  template: "all",
  prepare: [],
  faults,
  run: runOf(instances),
  ...more
})

/** Two instances. */
export const service = scenarioOf("service", 2, { seedsInTests: 3, plants })

/** Three of them: too long for the tests. */
export const serviceOfThree = scenarioOf("service-of-three", 3, { seedsInTests: 0, plants: [] })
