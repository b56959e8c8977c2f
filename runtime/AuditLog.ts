/**
 * The audit log: who did what about money. An entry is a row in the commit of the change itself, so that there is no
 * change without its entry and no entry of a change that failed.
 */
import { Context, Effect, Layer, type Schema, type Scope } from "effect"
import type { Write } from "./Commit.ts"
import * as Registry from "./Registry.ts"
import type { Environment } from "../schemas/Network.ts"

/** One act of a person or a service. */
export interface AuditAct {
  readonly merchantId: number
  readonly environment: Environment
  /** The credential, as `Principal.credential` names it, or `service:<name>` of a caller of the internal port. */
  readonly actor: string
  /** The object and the verb: `exception.resolve`. */
  readonly action: string
  /** What was changed: the `object` of the API, and its id. */
  readonly subject: { readonly object: string; readonly id: string }
  /**
   * What the act changes of it, as it was, and as it is afterwards: no secret, and nothing personal. Empty:
   * it was not there, or is no more.
   */
  readonly before: Readonly<Record<string, Schema.Json>>
  readonly after: Readonly<Record<string, Schema.Json>>
  /** Null for a call that has none. */
  readonly requestId: string | null
}

/** Where acts of people and services are kept. */
export class AuditLog extends Context.Service<AuditLog, {
  /** The rows that keep the act, to be put into its commit; none where no module keeps the log. */
  readonly writesOf: (act: AuditAct) => Effect.Effect<ReadonlyArray<Write>>
  /** Keeps the log, for as long as the scope lives. */
  readonly register: (
    writesOf: (act: AuditAct) => Effect.Effect<ReadonlyArray<Write>>
  ) => Effect.Effect<void, never, Scope.Scope>
}>()("tillwire/runtime/AuditLog") {}

export const layer: Layer.Layer<AuditLog> = Layer.sync(AuditLog, () => {
  const { current, register } = Registry.single<(act: AuditAct) => Effect.Effect<ReadonlyArray<Write>>>(
    "two modules keep the audit log: name one of them in the config file"
  )
  return AuditLog.of({ register, writesOf: (act) => current()?.(act) ?? Effect.succeed([]) })
})
