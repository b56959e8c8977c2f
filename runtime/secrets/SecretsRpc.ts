/** What an operator may ask about the master key over the internal port: definitions only. */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { PublicError } from "../../schemas/Errors.ts"

const NamedKey = Schema.Struct({
  /** 8 hex digits, from which the key cannot be found. */
  name: Schema.String,
  kept_in: Schema.String,
  /** `YYYY-MM-DD`, UTC. */
  since: Schema.String,
  /** `YYYY-MM-DD`, UTC: nothing needs it since then. */
  retired: Schema.NullOr(Schema.String),
  /** Whether the instance that answers has it. */
  is_configured: Schema.Boolean,
  /** Running processes that make new values with it. */
  processes: Schema.Array(Schema.String)
})
export type NamedKey = typeof NamedKey.Type

const Keys = Schema.Struct({
  keys: Schema.Array(NamedKey),
  /** Sealed columns of modules that are not in the config: what they hold is not sealed anew. */
  unattended: Schema.Array(Schema.String)
})

const PagePosition = Schema.Struct({
  place: Schema.Number.annotate({ message: "write a whole number, 0 to 1000" }).check(
    Schema.isInt(),
    Schema.isBetween({ minimum: 0, maximum: 1_000 })
  ),
  after: Schema.NullOr(Schema.Array(Schema.String))
})
export type PagePosition = typeof PagePosition.Type

const PageAnswer = Schema.Struct({
  /** `table.column`. */
  column: Schema.String,
  rows: Schema.Int,
  resealed: Schema.Int,
  /** Still sealed under an older key. */
  older: Schema.Int,
  /** Sealed under a key that is not configured. */
  closed: Schema.Int,
  /** Null: that was the last page. */
  next: Schema.NullOr(PagePosition)
})

export class SecretsRpc extends RpcGroup.make(
  /** The master keys that the database was used with, the oldest first. */
  Rpc.make("secrets.keys", { success: Keys }),
  /** Seals a page of stored values anew, or only counts them. `position` absent: the first page. */
  Rpc.make("secrets.reseal", {
    payload: { position: Schema.optionalKey(PagePosition), only_count: Schema.optionalKey(Schema.Boolean) },
    success: PageAnswer,
    error: PublicError
  }),
  /**
   * Retires all master keys but the newest. `is_compromised`: an old one is known to others, so that what it signed is
   * refused. Errors: `INVALID_TRANSITION` says what stands against it.
   */
  Rpc.make("secrets.finish", {
    payload: { is_compromised: Schema.optionalKey(Schema.Boolean) },
    success: Keys,
    error: PublicError
  })
) {}
