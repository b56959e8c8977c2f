/**
 * Which networks and tokens new payments may use: an operator disables one, and enables it again. What was promised
 * before holds: payments to addresses that were given out are followed, valued and credited as ever.
 */
import { Context, Effect, Layer, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type PublicError, publicError } from "../schemas/Errors.ts"
import type { Environment, Network } from "../schemas/Network.ts"
import type { Token } from "../schemas/Token.ts"
import { AuditLog } from "./AuditLog.ts"
import { nowSeconds } from "./Clock.ts"
import { Commit, noCause, retryConflicts, systemMerchant } from "./Commit.ts"
import { type CurrentOperator, operatorWrites } from "./OperatorRoutes.ts"
import { databaseMessage } from "./store/StoreError.ts"

/** Milliseconds until an instance knows what was changed by another one. */
export const followMillis = 1_000

/** Lost races in a row before a change gives up. */
const conflictRetries = 10

/** Characters of the reason that an operator gives. */
const maximumReasonLength = 200

const reasonMessage = `write why, in 1 to ${maximumReasonLength} characters`
/** Why something is disabled, for the next operator. */
export const AvailabilityReason = Schema.String.annotate({ message: reasonMessage }).check(
  Schema.isPattern(/\S/u, { message: reasonMessage }),
  Schema.isMaxLength(maximumReasonLength, { message: reasonMessage })
)

/** A network, or a token by its id. */
export type Offer =
  | { readonly kind: "network"; readonly network: Network; readonly environment: Environment }
  | { readonly kind: "token"; readonly tokenId: number; readonly environment: Environment }

/** Whether new payments may use a network or a token, and since when. */
export interface AvailabilityState {
  readonly isEnabled: boolean
  /** Of whoever disabled it. */
  readonly reason: string | null
  /** Epoch seconds; null: it was never disabled. */
  readonly changedAt: number | null
}

export class Availability extends Context.Service<Availability, {
  /** From memory. A token is what it is itself: its network is asked for by another call. */
  readonly stateOf: (offer: Offer) => AvailabilityState
  /**
   * Why no new payment may be begun with a token now: `UNSUPPORTED_NETWORK` where its network is disabled,
   * `TOKEN_NOT_ACCEPTED` where it is itself; null: it may.
   */
  readonly objectionTo: (token: Pick<Token, "environment" | "id" | "network">) => PublicError | null
  /** Whether new payments may use a network. */
  readonly isNetworkEnabled: (network: Network, environment: Environment) => boolean
  /**
   * Enables or disables, for every instance, until it is changed again. Setting what is set already changes nothing.
   * Errors: `SERVICE_UNAVAILABLE`.
   */
  readonly set: (
    offer: Offer,
    wanted: { readonly isEnabled: boolean; readonly reason: string | null }
  ) => Effect.Effect<AvailabilityState, PublicError, CurrentOperator>
}>()("tillwire/runtime/Availability") {}

interface StoredState extends AvailabilityState {
  readonly version: number
}

const neverChanged: StoredState = { isEnabled: true, reason: null, changedAt: null, version: 0 }

const idOf = (offer: Offer): string =>
  offer.kind === "network" ? `network:${offer.environment}:${offer.network}` : `token:${offer.tokenId}`

/** What the API calls the subject of a change, and its id. */
const subjectOf = (offer: Offer) =>
  offer.kind === "network"
    ? { object: "network", id: offer.network }
    : { object: "token", id: String(offer.tokenId) }

const networkDisabled = publicError("UNSUPPORTED_NETWORK", {
  message: "The operator has disabled this network for new payments: choose another one",
  param: "network"
})

const tokenDisabled = publicError("TOKEN_NOT_ACCEPTED", {
  message: "The operator has disabled this token for new payments: choose another one",
  param: "token_id"
})

interface Row {
  readonly id: string
  readonly version: bigint
  readonly is_enabled: boolean
  readonly reason: string | null
  readonly changed_at: bigint
}

const stateOfRow = (row: Row): StoredState => ({
  isEnabled: row.is_enabled,
  reason: row.reason,
  changedAt: Number(row.changed_at),
  version: Number(row.version)
})

export const layer: Layer.Layer<Availability, never, AuditLog | Commit | SqlClient.SqlClient> = Layer.effect(
  Availability,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const commit = yield* Commit
    const auditLog = yield* AuditLog
    const states = new Map<string, StoredState>()

    const current = (offer: Offer): StoredState => states.get(idOf(offer)) ?? neverChanged

    /** A look that began before a change of this instance may end after it: the newer version holds. */
    const note = (id: string, state: StoredState): void => {
      if (state.version > (states.get(id)?.version ?? 0)) states.set(id, state)
    }

    const refresh = Effect.map(
      sql<Row>`SELECT id, version, is_enabled, reason, changed_at FROM availability`,
      (rows) => rows.forEach((row) => note(row.id, stateOfRow(row)))
    )

    const isNetworkEnabled = (network: Network, environment: Environment): boolean =>
      current({ kind: "network", network, environment }).isEnabled

    const write = Effect.fnUntraced(function*(
      offer: Offer,
      { isEnabled, reason }: { readonly isEnabled: boolean; readonly reason: string | null }
    ) {
      yield* Effect.orDie(refresh)
      const before = current(offer)
      const keptReason = isEnabled ? null : reason
      if (before.isEnabled === isEnabled && before.reason === keptReason) return before
      const after: StoredState = {
        isEnabled,
        reason: keptReason,
        changedAt: yield* nowSeconds,
        version: before.version + 1
      }
      const audit = yield* operatorWrites(auditLog, {
        merchantId: systemMerchant,
        environment: offer.environment,
        action: `${offer.kind}.${isEnabled ? "enable" : "disable"}`,
        subject: subjectOf(offer),
        before: { is_enabled: before.isEnabled, reason: before.reason },
        after: { is_enabled: after.isEnabled, reason: after.reason }
      })
      const row = {
        id: idOf(offer),
        merchant_id: systemMerchant,
        version: after.version,
        environment: offer.environment,
        is_enabled: after.isEnabled,
        reason: after.reason,
        changed_at: after.changedAt
      }
      yield* commit.append({
        merchantId: systemMerchant,
        environment: offer.environment,
        cause: noCause,
        writes: [{ table: "availability", row }, ...audit],
        events: []
      })
      note(idOf(offer), after)
      yield* Effect.logWarning(`an operator has ${isEnabled ? "enabled" : "disabled"} a ${offer.kind}`, {
        ...subjectOf(offer),
        environment: offer.environment,
        reason: after.reason
      })
      return after
    })

    yield* Effect.orDie(refresh)
    yield* refresh.pipe(
      Effect.catchCause((cause) => Effect.logWarning("disabled networks and tokens could not be read again", cause)),
      Effect.repeat(Schedule.spaced(followMillis)),
      Effect.forkScoped
    )

    return Availability.of({
      stateOf: current,
      isNetworkEnabled,
      objectionTo: ({ environment, id, network }) => {
        if (!isNetworkEnabled(network, environment)) return networkDisabled
        return current({ kind: "token", tokenId: id, environment }).isEnabled ? null : tokenDisabled
      },
      set: (offer, wanted) =>
        retryConflicts(conflictRetries)(write(offer, wanted)).pipe(
          Effect.mapError((error) =>
            publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1, reason: databaseMessage(error) })
          )
        )
    })
  })
)
