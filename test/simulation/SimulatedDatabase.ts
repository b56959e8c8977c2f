/**
 * A real PostgreSQL under a world: its statements are executed one at a time, when the world takes them, in the world's
 * time, and each connection may break before or after a statement was executed.
 *
 * Only one statement runs at a time, so this finds what instances do to each other between statements and nothing that
 * two statements do to each other: the benches of crashes and deliveries keep that. A transaction of several statements
 * is not divided by those of others.
 */
import { PgClient, PgConnection } from "@effect/sql-pg"
import { Context, Effect, Exit, Layer, Queue, Scope, Stream } from "effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import { SqlClient, SqlError } from "effect/sql"
import type * as SqlConnection from "effect/sql/SqlConnection"
import { sessionSettings } from "../../runtime/store/Sessions.ts"
import type { PlantedBug } from "./PlantedBug.ts"
import { epochMillis, type Instance, type World } from "./World.ts"

export interface DatabaseAddress {
  readonly host: string
  readonly port: number
  readonly username: string
  readonly password?: string
  readonly database: string
}

/**
 * Functions that stand before PostgreSQL's own of the same name: the time is the world's, and what is random there is
 * counted. Defaults of columns name PostgreSQL's own for good, so they are made anew.
 */
const install = [
  "create schema simulated",
  `create function simulated.now() returns timestamptz language sql stable
    as $$ select current_setting('simulated.now')::timestamptz $$`,
  `create function simulated.clock_timestamp() returns timestamptz language sql volatile
    as $$ select current_setting('simulated.now')::timestamptz $$`,
  // PostgreSQL's own snapshot holds the transactions of every database on the server, so those of other tests would
  // change a run. In the simulated database there is never another transaction under way.
  `create function simulated.pg_current_snapshot() returns pg_snapshot language sql stable as $$
    select format('%s:%s:', coalesce(pg_current_xact_id_if_assigned(), pg_snapshot_xmax(s)), pg_snapshot_xmax(s))::pg_snapshot
      from pg_catalog.pg_current_snapshot() s $$`,
  "create sequence simulated.uuids",
  `create function simulated.gen_random_uuid() returns uuid language sql volatile
    as $$ select md5('uuid ' || nextval('simulated.uuids'))::uuid $$`,
  `do $$ declare place record; begin
    for place in select a.attrelid::regclass as place_table, a.attname, pg_get_expr(d.adbin, d.adrelid) as expression
      from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
      join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'public' and pg_get_expr(d.adbin, d.adrelid) ~ '(now|gen_random_uuid|clock_timestamp)\\(\\)$'
    loop
      execute format('alter table %s alter column %I set default simulated.%s', place.place_table, place.attname,
        regexp_replace(place.expression, '^.*\\.', ''));
    end loop;
  end $$`,
  "alter table webhook_deliveries alter id set default delivery_id_v1(simulated.now())"
]

/** Removes every row that a run has made. */
const clearFunction = (tables: ReadonlyArray<string>) => `
create or replace function simulated.clear() returns void language plpgsql as $$ begin
  ${tables.map((table) => `if exists (select from ${table}) then delete from ${table}; end if;`).join("\n  ")}
  perform setval(c.oid, 1, false) from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'S' and n.nspname in ('public', 'simulated');
end $$`

/** Rows of these hold what an installation has before anybody uses it. */
const isKept = (table: string) => table.startsWith("migrations_") || table === "rollup_versions" || table === "tokens"

/**
 * Columns whose values PostgreSQL takes from a counter of its own that no run can set back. What is sealed is made with
 * a random number too, and shown in no run; so is the claim of a refund.
 */
const counters: ReadonlySet<string> = new Set([
  "horizon",
  "changed_by",
  "xid",
  "mark",
  "pid",
  "running",
  "server",
  "claim"
])

/** Runs after which what deleted rows have left is removed. */
const runsBetweenVacuums = 50

/** A connection of the real pool. */
interface Session {
  readonly connection: PgConnection.PgConnection
  /** What `simulated.now` was set to last. */
  time: string
  isOpen: boolean
}

type Outcome = Exit.Exit<PgConnection.Result, SqlError.SqlError>

export class SimulatedDatabase {
  private readonly scope: Scope.Closeable
  private readonly address: DatabaseAddress
  private readonly change: (statement: string) => string
  private readonly idle: Array<Session> = []
  private main: Session | undefined
  private runs = 0
  /** Open in the world that runs now. */
  private readonly leased = new Set<Session>()

  /** `change`: what a planted bug makes of the text of a statement. */
  private constructor(scope: Scope.Closeable, address: DatabaseAddress, change: (statement: string) => string) {
    this.scope = scope
    this.address = address
    this.change = change
  }

  /** On a database that was made from one of the templates and that nobody else uses. */
  static async open(
    address: DatabaseAddress,
    prepare: ReadonlyArray<string> = [],
    plant?: Pick<PlantedBug, "statement" | "function">
  ): Promise<SimulatedDatabase> {
    const change = plant?.statement ?? ((statement: string) => statement)
    const database = new SimulatedDatabase(await Effect.runPromise(Scope.make()), address, change)
    const session = await database.connect()
    const execute = (statement: string) =>
      Effect.runPromise(session.connection.query(statement, [], false)).then(({ rows }) => rows)
    for (const statement of prepare) await execute(statement)
    for (const statement of install) await execute(statement)
    if (plant?.function !== undefined) {
      const { from, name, to } = plant.function
      const [row] = await execute(`select pg_get_functiondef('${name}'::regproc) as text`)
      const text = String(row?.["text"])
      if (!text.includes(from)) throw new Error(`${name} has no "${from}" any more: plant the bug elsewhere`)
      await execute(text.replaceAll(from, to))
    }
    const tables = await execute(
      "select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1"
    )
    const names = tables.map(({ name }) => String(name)).filter((name) => !isKept(name))
    await execute(clearFunction(names.map((name) => `public."${name}"`)))
    database.main = session
    return database
  }

  private async connect(): Promise<Session> {
    const { address } = this
    const connection = await Effect.runPromise(
      PgConnection.make({
        ...address,
        password: undefined,
        startupParameters: {
          ...sessionSettings,
          search_path: "public, simulated, pg_catalog",
          "simulated.now": new Date(epochMillis).toISOString()
        }
      }).pipe(Scope.provide(this.scope))
    )
    return { connection, time: new Date(epochMillis).toISOString(), isOpen: true }
  }

  close(): Promise<void> {
    return Effect.runPromise(Scope.close(this.scope, Exit.void))
  }

  /** As before any run. */
  async clear(): Promise<void> {
    for (const session of this.leased) await this.giveBack(session)
    if (++this.runs % runsBetweenVacuums === 0) await this.read("vacuum")
    await this.read("select simulated.clear()")
  }

  /** For judges: not a part of the run. */
  async read<A extends object = Readonly<Record<string, any>>>(
    statement: string,
    values: ReadonlyArray<unknown> = []
  ): Promise<ReadonlyArray<A>> {
    const { rows } = await Effect.runPromise(this.main!.connection.query(statement, values))
    return rows as ReadonlyArray<A>
  }

  private async execute(
    world: World,
    session: Session,
    statement: string,
    values: ReadonlyArray<unknown>
  ): Promise<Outcome> {
    const time = new Date(epochMillis + Math.floor(world.now) + world.databaseOffsetMillis).toISOString()
    const setTime = session.time === time
      ? undefined
      : Effect.runPromise(session.connection.query("select set_config('simulated.now', $1, false)", [time]))
    session.time = time
    const answer = Effect.runPromiseExit(session.connection.query(this.change(statement), values))
    await setTime
    return answer
  }

  private async lease(): Promise<Session> {
    const session = this.idle.pop() ?? await this.connect()
    session.isOpen = true
    this.leased.add(session)
    return session
  }

  private async giveBack(session: Session): Promise<void> {
    if (!this.leased.delete(session)) return
    session.isOpen = false
    await Effect.runPromiseExit(session.connection.query("rollback", []))
    this.idle.push(session)
  }

  /** The database as an instance of `world` reaches it. */
  layer(world: World, instance: Instance): Layer.Layer<SqlClient.SqlClient | PgClient.PgClient> {
    const connectionOf = (session: () => Session, isOwn: boolean) => this.connectionOf(world, instance, session, isOwn)
    const nobody = {}
    const step = <A>(session: object, work: () => Promise<A>) =>
      Effect.callback<A>((resume) => {
        const perform = async () => {
          const done = await work()
          world.soon(instance, () => resume(Effect.succeed(done)))
        }
        world.addCall({ owner: instance, session, readyAt: 0, perform })
      })
    const transactionAcquirer = Effect.acquireRelease(
      Effect.map(step(nobody, () => this.lease()), (session) => {
        const end = () =>
          world.addCall({ owner: world.outside, session, readyAt: 0, perform: () => this.abandon(world, session) })
        instance.onEnd.add(end)
        return { session, end }
      }),
      ({ end, session }) =>
        Effect.map(step(session, () => this.abandon(world, session)), () => void instance.onEnd.delete(end))
    ).pipe(Effect.map(({ session }) => connectionOf(() => session, true)))
    const make = Effect.map(
      SqlClient.make({
        driver: "postgresql",
        acquirer: Effect.succeed(connectionOf(() => this.main!, false)),
        transactionAcquirer,
        compiler: PgClient.makeCompiler(),
        prepareTransactionControls: true,
        releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
        spanAttributes: []
      }),
      (client): PgClient.PgClient =>
        Object.assign(client, {
          [PgClient.TypeId]: PgClient.TypeId,
          config: {},
          json: () => {
            throw new Error("The service sends JSON as text")
          },
          // Nobody is notified: what a notification makes sooner must also come about without it.
          listen: () => Queue.unbounded<PgConnection.Notification, SqlError.SqlError>(),
          notify: () => Effect.void
        })
    )
    return Layer.effectContext(
      Effect.map(
        make,
        (client) => Context.make(PgClient.PgClient, client).pipe(Context.add(SqlClient.SqlClient, client))
      )
    ).pipe(Layer.provide(Reactivity.layer))
  }

  private abandon(world: World, session: Session): Promise<void> {
    if (world.transaction === session) world.transaction = null
    return this.giveBack(session)
  }

  private connectionOf(
    world: World,
    instance: Instance,
    session: () => Session,
    isOwn: boolean
  ): SqlConnection.Connection {
    const query = (statement: string, values: ReadonlyArray<unknown>) =>
      this.call(world, instance, session(), isOwn, statement, values)
    const rows = (
      statement: string,
      values: ReadonlyArray<unknown>,
      transform: (<A extends object>(rows: ReadonlyArray<A>) => ReadonlyArray<A>) | undefined
    ) => Effect.map(query(statement, values), ({ rows }) => transform === undefined ? rows : transform(rows))
    const valuesOf = (statement: string, values: ReadonlyArray<unknown>) =>
      Effect.map(query(statement, values), ({ rows }) => rows.map((row) => Object.values(row)))
    return {
      execute: rows,
      executeUnprepared: rows,
      executeRaw: query,
      executeWithoutTransform: (statement: string, values: ReadonlyArray<unknown>) =>
        rows(statement, values, undefined),
      executeValues: valuesOf,
      executeValuesUnprepared: valuesOf,
      executeStream: (statement, values, transform) =>
        Stream.unwrap(Effect.map(rows(statement, values, transform), Stream.fromIterable))
    } as SqlConnection.Connection
  }

  /** One statement: it waits in the world's bag, and so does its answer. */
  private call(
    world: World,
    instance: Instance,
    session: Session,
    isOwn: boolean,
    statement: string,
    values: ReadonlyArray<unknown>
  ): Effect.Effect<PgConnection.Result, SqlError.SqlError> {
    return Effect.callback((resume) => {
      const fault = world.nextCallFault()
      const delay = fault?._tag === "CallDelayed" ? fault : undefined
      const loss = fault?._tag === "ConnectionLost" ? fault : undefined
      const answer = (outcome: Outcome) => {
        const tell = () => resume(outcome)
        if (delay?.ran === true) world.after(instance, delay.millis, tell)
        else world.soon(instance, tell)
      }
      const perform = async () => {
        if (isOwn && !session.isOpen || loss?.ran === false) {
          if (isOwn) await this.abandon(world, session)
          return answer(connectionLost)
        }
        const outcome = await this.execute(world, session, statement, values)
        world.note(`${instance.name} ${statement.slice(0, 60).replaceAll(/\s+/g, " ")} ${summaryOf(outcome)}`)
        if (isOwn) {
          if (/^begin/i.test(statement)) world.transaction = session
          else if (/^(?:commit|rollback)$/i.test(statement)) world.transaction = null
        }
        if (loss === undefined) return answer(outcome)
        if (isOwn) await this.abandon(world, session)
        answer(connectionLost)
      }
      return Effect.sync(
        world.addCall({
          owner: instance,
          session,
          readyAt: world.now + (delay?.ran === false ? delay.millis : 0),
          perform
        })
      )
    })
  }
}

const connectionLost: Outcome = Exit.fail(
  new SqlError.SqlError({
    reason: new SqlError.ConnectionError({
      cause: new Error("the connection was lost"),
      message: "the connection was lost",
      operation: "execute"
    })
  })
)

const plain = (key: string, value: unknown): unknown =>
  counters.has(key) || key.startsWith("sealed") ? null : typeof value === "bigint" ? String(value) : value

const summaryOf = (outcome: Outcome): string =>
  Exit.isSuccess(outcome)
    ? JSON.stringify(outcome.value.rows, plain)
    : `failed: ${String(outcome.cause).slice(0, 200)}`
