/**
 * A pool of sessions, and the client over it. A session goes back only as it was lent, in no transaction; any other is
 * closed, and the pool opens a new one. The driver's own client also lends a session again whose `ROLLBACK` failed:
 * PostgreSQL then refuses the statements of all who get it (25P02), until the process ends.
 */
import { PgClient, type PgConnection, PgPool } from "@effect/sql-pg"
import { Cause, Context, Effect, Exit, Layer, Option, Queue, type Scope, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError, Statement } from "effect/sql"
import { sqlStateOf } from "./StoreError.ts"

type Transform = Parameters<SqlConnection.Connection["execute"]>[2]
type Values = ReadonlyArray<unknown>

/** A statement that begins a transaction, and one that ends it: `ROLLBACK TO` a savepoint does not. */
const beginning = /^\s*(?:begin|start\s+transaction)\b/i
const ending = /^\s*(?:commit|end|abort|rollback(?!\s+(?:work\s+|transaction\s+)?to\b))\b/i

/**
 * SQLSTATE class 25, invalid transaction state. Source: PostgreSQL documentation, appendix A. 25006 is among them, of a
 * server that takes no writes: it is the primary no more.
 */
const isInvalidState = (error: SqlError.SqlError): boolean => sqlStateOf(error)?.startsWith("25") ?? false
const isReadOnly = (error: SqlError.SqlError): boolean => sqlStateOf(error) === "25006"

const endedError = (operation: string) => {
  const message = "The session was closed: a pooler had given it to several connections."
  return new SqlError.SqlError({
    reason: new SqlError.ConnectionError({ cause: new Error(message), message, operation })
  })
}

/** A session while it is lent. */
abstract class LentSession implements SqlConnection.Connection {
  readonly session: PgConnection.PgConnection
  constructor(session: PgConnection.PgConnection) {
    this.session = session
  }

  /** Whether it may not be lent again. */
  abstract readonly mustClose: boolean

  /** Runs one statement, and notes what came of it. */
  protected abstract run<A>(text: string, statement: Effect.Effect<A, SqlError.SqlError>): Effect.Effect<
    A,
    SqlError.SqlError
  >

  private rows(text: string, parameters: Values, transform: Transform, prepare: boolean) {
    return this.run(
      text,
      Effect.map(
        this.session.query(text, parameters, prepare),
        ({ rows }) => transform === undefined ? rows : transform(rows)
      )
    )
  }

  execute(text: string, parameters: Values, transform: Transform) {
    return this.rows(text, parameters, transform, true)
  }
  executeUnprepared(text: string, parameters: Values, transform: Transform) {
    return this.rows(text, parameters, transform, false)
  }
  executeRaw(text: string, parameters: Values) {
    return this.run(text, this.session.query(text, parameters))
  }
  executeValues(text: string, parameters: Values) {
    return this.run(text, this.session.queryValues(text, parameters))
  }
  executeValuesUnprepared(text: string, parameters: Values) {
    return this.run(text, this.session.queryValues(text, parameters, false))
  }
  executeStream(text: string, parameters: Values, transform: Transform) {
    const rows = this.session.stream(text, parameters)
    return transform === undefined
      ? rows
      : Stream.mapArray(rows, (some) => transform(some) as [PgConnection.Row, ...Array<PgConnection.Row>])
  }

  /** Ends a transaction. It is not prepared: a pooler may have put another session below, which does not know it. */
  get commit(): Effect.Effect<void, SqlError.SqlError> {
    return Effect.flatMap(
      this.run("COMMIT", this.session.query("COMMIT", [], false)),
      // PostgreSQL answers so where a statement of the transaction had failed.
      ({ command }) =>
        command === "ROLLBACK"
          ? Effect.fail(
            new SqlError.SqlError({
              reason: new SqlError.UnknownError({
                cause: new Error("COMMIT answered ROLLBACK"),
                message: "The transaction was rolled back: a statement in it had failed.",
                operation: "commit"
              })
            })
          )
          : Effect.void
    )
  }
}

/** For one statement. */
class BorrowedSession extends LentSession {
  mustClose = false
  protected run<A>(_text: string, statement: Effect.Effect<A, SqlError.SqlError>) {
    return Effect.tapError(statement, (error) =>
      Effect.sync(() => {
        if (isInvalidState(error)) this.mustClose = true
      }))
  }
}

/** For several statements: a transaction, or locks. */
class ReservedSession extends LentSession {
  /** From before a transaction is begun until its end was answered. */
  private isInTransaction = false
  private isFaulty = false
  private readonly isOutdated: () => boolean
  constructor(session: PgConnection.PgConnection, isOutdated: () => boolean) {
    super(session)
    this.isOutdated = isOutdated
  }

  get mustClose(): boolean {
    return this.isFaulty || this.isInTransaction || this.isOutdated()
  }

  protected run<A>(text: string, statement: Effect.Effect<A, SqlError.SqlError>) {
    return Effect.suspend((): Effect.Effect<A, SqlError.SqlError> => {
      if (!this.isInTransaction && this.isOutdated()) {
        return Effect.fail(endedError("query"))
      }
      if (beginning.test(text)) this.isInTransaction = true
      return Effect.onExit(statement, (exit) =>
        Effect.sync(() => {
          if (Exit.isSuccess(exit)) {
            if (ending.test(text)) this.isInTransaction = false
            return
          }
          const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
          // Within a transaction a refused statement says nothing of the session, which the end of it clears.
          if (error !== undefined && (this.isInTransaction ? isReadOnly(error) : isInvalidState(error))) {
            this.isFaulty = true
          }
        }))
    })
  }
}

const json = Statement.custom<Statement.Custom<"PgJson", unknown>>("PgJson")

/** What is done to all sessions of a store at once. */
export class SessionRenewal extends Context.Service<SessionRenewal, {
  /** Closes every session that is open now, when it is in no transaction; whoever listens on one has to listen anew. */
  readonly renewSessions: Effect.Effect<void>
}>()("tillwire/runtime/store/SessionRenewal") {}

/**
 * The number by which the server names a session, as it was told to the connection. A pooler tells another one than the
 * session says itself.
 */
export const toldPid = (connection: SqlConnection.Connection): number | undefined =>
  connection instanceof LentSession ? connection.session.processId : undefined

/** A pool with the settings of `PgClient.make`. Opens no session until one is needed. */
export const makeSessionPool = Effect.fnUntraced(function*(
  config: PgClient.PgPoolConfig
): Effect.fn.Return<
  { readonly client: PgClient.PgClient; readonly renewSessions: Effect.Effect<void> },
  SqlError.SqlError,
  Scope.Scope | Reactivity.Reactivity
> {
  const pool = yield* PgPool.make(config)
  let renewals = 0
  /** How often sessions had been renewed when one was first lent. */
  const renewalsBefore = new WeakMap<PgConnection.PgConnection, number>()
  const listeners = new Set<Queue.Queue<PgConnection.Notification, SqlError.SqlError>>()

  const isOutdated = (session: PgConnection.PgConnection): boolean => {
    const before = renewalsBefore.get(session)
    if (before !== undefined) return before < renewals
    renewalsBefore.set(session, renewals)
    return false
  }
  const closeWhere = (mustClose: boolean, session: PgConnection.PgConnection) =>
    mustClose ? pool.invalidate(session) : Effect.void

  const borrower: SqlConnection.Borrower = (use) =>
    pool.use((session) => {
      const lent = new BorrowedSession(session)
      const isOld = isOutdated(session)
      return Effect.onExit(use(lent), () => closeWhere(isOld || lent.mustClose, session))
    })

  const acquirer = Effect.flatMap(pool.get, (session) => {
    const lent = new BorrowedSession(session)
    return Effect.as(Effect.addFinalizer(() => closeWhere(isOutdated(session) || lent.mustClose, session)), lent)
  })

  const reserve = Effect.flatMap(pool.get, (session) => {
    isOutdated(session)
    return Effect.flatMap(session.pin, (pinned) => {
      const lent = new ReservedSession(pinned, () => isOutdated(session))
      return Effect.as(Effect.addFinalizer(() => closeWhere(lent.mustClose, session)), lent)
    })
  })

  const client = yield* SqlClient.make({
    acquirer,
    borrower,
    transactionAcquirer: reserve,
    // As with `commit`: what ends a transaction has to work whatever session is below.
    prepareTransactionControls: false,
    commit: (connection) => (connection as LentSession).commit,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    compiler: PgClient.makeCompiler(),
    driver: "pg",
    spanAttributes: [
      ["db.system.name", "postgresql"],
      ["db.namespace", config.database ?? config.username ?? "postgres"],
      ["server.address", config.host ?? "localhost"],
      ["server.port", config.port ?? 5432]
    ]
  })

  return {
    client: Object.assign(client, {
      [PgClient.TypeId]: PgClient.TypeId as PgClient.TypeId,
      config,
      json: (value: unknown) => Statement.fragment([json(value, undefined, undefined)]),
      listen: (channel: string) =>
        Effect.flatMap(pool.reserve, (session) =>
          Effect.tap(session.listen(channel), (notifications) => {
            isOutdated(session)
            const queue = notifications as Queue.Queue<PgConnection.Notification, SqlError.SqlError>
            listeners.add(queue)
            return Effect.addFinalizer(() => {
              listeners.delete(queue)
              return closeWhere(isOutdated(session), session)
            })
          })),
      notify: (channel: string, payload: string) =>
        Effect.asVoid(
          Effect.scoped(
            Effect.flatMap(acquirer, (session) => session.executeRaw("SELECT pg_notify($1, $2)", [channel, payload]))
          )
        )
    }),
    renewSessions: Effect.suspend(() => {
      renewals++
      return Effect.forEach(
        listeners,
        (queue) => Queue.fail(queue, endedError("listen")),
        { discard: true }
      )
    })
  }
})

/** The client and the renewal of its sessions. */
export const layerOf = <E>(
  config: PgClient.PgPoolConfig,
  mapError: (error: SqlError.SqlError) => E
): Layer.Layer<SqlClient.SqlClient | PgClient.PgClient | SessionRenewal, E> =>
  Layer.effectContext(
    Effect.map(Effect.mapError(makeSessionPool(config), mapError), ({ client, renewSessions }) =>
      Context.make(PgClient.PgClient, client).pipe(
        Context.add(SqlClient.SqlClient, client),
        Context.add(SessionRenewal, { renewSessions })
      ))
  ).pipe(Layer.provide(Reactivity.layer))
