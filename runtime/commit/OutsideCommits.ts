/**
 * What a plugin from outside commits: rows of its own tables, the stored answer of its call, and entries of the audit
 * log. Events and balances are of objects that other modules own, so one that a plugin made up would be believed by
 * every receiver of webhooks. This finds mistakes: a plugin is code of this process, and the operator trusts it.
 */
import { Context, Effect, Layer } from "effect"
import { AuditLog } from "../AuditLog.ts"
import { type Append, Commit, type Write } from "../Commit.ts"

/** The plugin that commits. */
export interface OutsidePlugin {
  readonly name: string
  readonly tables?: ReadonlyArray<string>
}

/** Why a plugin must not write a commit; null: it may. `isAuditEntry` tells rows that the audit log gave out. Pure. */
export const objectionTo = (
  { name, tables = [] }: OutsidePlugin,
  { balances = [], events, messages = [], writes }: Pick<Append, "balances" | "events" | "messages" | "writes">,
  isAuditEntry: (write: Write) => boolean
): string | null => {
  if (events.length > 0) {
    return `"${name}" publishes ${events[0]!.type}: a plugin from outside has no event types of its own, so commit rows`
  }
  if (messages.length > 0) {
    return `"${name}" sends ${
      messages[0]!.type
    } to endpoints: messages tell of events, which a plugin from outside has not`
  }
  if (balances.length > 0) {
    return `"${name}" moves the balance of ${balances[0]!.account}: a plugin from outside has no books, so commit rows`
  }
  const foreign = writes.find((write) => !tables.includes(write.table) && !isAuditEntry(write))
  return foreign === undefined
    ? null
    : `"${name}" writes a row of ${foreign.table}, which is not its own: name the table in \`tables\` if it is`
}

/** {@link Commit} and {@link AuditLog} as a plugin from outside has them. A commit that it must not write is a defect. */
export const layer = (plugin: OutsidePlugin): Layer.Layer<Commit | AuditLog, never, Commit | AuditLog> =>
  Layer.effectContext(Effect.gen(function*() {
    const commit = yield* Commit
    const auditLog = yield* AuditLog
    const entries = new WeakSet<Write>()
    const append: Commit["Service"]["append"] = (draft) => {
      const objection = objectionTo(plugin, draft, (write) => entries.has(write))
      return objection === null ? commit.append(draft) : Effect.die(new Error(objection))
    }
    const writesOf: AuditLog["Service"]["writesOf"] = (act) =>
      Effect.tap(auditLog.writesOf(act), (writes) => Effect.sync(() => writes.forEach((write) => entries.add(write))))
    return Context.make(Commit, Commit.of({ append })).pipe(
      Context.add(AuditLog, AuditLog.of({ ...auditLog, writesOf }))
    )
  }))
