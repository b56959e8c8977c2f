/** Who a merchant is, and the sessions in which payors see the payment page of an invoice. */
import { Cache, Context, Effect, Layer } from "effect"
import { keepSuccess } from "../../runtime/Cache.ts"
import { nowSeconds } from "../../runtime/Clock.ts"
import { AuditLog } from "../../runtime/AuditLog.ts"
import type { Write } from "../../runtime/Commit.ts"
import { Secrets } from "../../runtime/Secrets.ts"
import { Settings } from "../../runtime/Settings.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { InvoiceId } from "../../schemas/Ids.ts"
import type { Environment } from "../../schemas/Network.ts"
import { type Role, withRoleLimit } from "../../schemas/Roles.ts"
import * as Repo from "./repo.ts"
import { type MerchantState, newMerchant } from "./rules.ts"
import { isViewOnly, mintSession, type PayorSession, readSession, sessionKey } from "./service/SessionTokens.ts"

export type { PayorSession } from "./service/SessionTokens.ts"

/** Milliseconds for which a merchant's name and address are not read again. */
const merchantCacheMillis = 2_000

/** Merchants remembered at once; the one that was not asked for the longest is forgotten first. */
const merchantCacheCapacity = 10_000

const viewOnly = publicError("CREDENTIAL_NOT_ALLOWED", {
  message:
    "This link of a shop may be with anybody, so it only shows and pays the invoice. Ask the shop for what you need"
})

/** Who a merchant is: for payment pages, and for anyone who needs a name to a number. */
export class Merchants extends Context.Service<Merchants, {
  /** Undefined when there is none. At most 2 s old, and the time of one look-up. */
  readonly get: (id: number) => Effect.Effect<MerchantState | undefined>
  /** The same, read now: for those who write it. */
  readonly read: (id: number) => Effect.Effect<MerchantState | undefined>
  /** The merchant's row with another default environment, for the commit of the caller. */
  readonly defaultEnvironmentWrite: (merchant: MerchantState, environment: Environment) => Write
  /** A merchant that is not there yet, and the row that makes it: for the commit of the caller. */
  readonly draft: (name: string) => Effect.Effect<{ readonly merchant: MerchantState; readonly write: Write }>
  /**
   * The merchant's row, changed in nothing but its version: of two commits that carry it only one is stored, so what
   * was counted of the merchant's things before still holds.
   */
  readonly touch: (merchant: MerchantState) => Write
}>()("tillwire/modules/auth/Merchants") {
  static readonly layer = Layer.effect(
    Merchants,
    Effect.gen(function*() {
      const repo = yield* Repo.make
      const { environments } = yield* Settings
      const cache = yield* Cache.makeWith(repo.merchant, {
        capacity: merchantCacheCapacity,
        timeToLive: keepSuccess(merchantCacheMillis, (merchant) => merchant !== undefined)
      })
      const touch = (merchant: MerchantState) => Repo.merchantWrite({ ...merchant, version: merchant.version + 1 })
      return Merchants.of({
        get: (id) => Cache.get(cache, id),
        read: repo.merchant,
        touch,
        defaultEnvironmentWrite: (merchant, defaultEnvironment) => touch({ ...merchant, defaultEnvironment }),
        draft: Effect.fnUntraced(function*(name) {
          const merchant = newMerchant(yield* repo.nextMerchantId, name, null, environments[0], yield* nowSeconds)
          return { merchant, write: Repo.merchantWrite(merchant) }
        })
      })
    })
  )
}

/** Whose keys become whose, as `Member.person` names people, and who the audit log says did it. */
export interface KeyReassignment {
  readonly merchantId: number
  readonly from: string
  /** The role that `from` had: the keys never exceed it. */
  readonly role: Role
  readonly to: string
  readonly actor: string
  readonly requestId: string | null
}

/** Keys by who made them, for the module that knows people. */
export class KeysByMaker extends Context.Service<KeysByMaker, {
  /** The rows by which keys in use become another person's, with their entries of the audit log. */
  readonly reassignWrites: (reassignment: KeyReassignment) => Effect.Effect<ReadonlyArray<Write>>
  /** Ids of the keys that somebody made, in use or not any more. */
  readonly idsOf: (merchantId: number, person: string) => Effect.Effect<ReadonlyArray<string>>
}>()("tillwire/modules/auth/KeysByMaker") {
  static readonly layer = Layer.effect(
    KeysByMaker,
    Effect.gen(function*() {
      const repo = yield* Repo.make
      const auditLog = yield* AuditLog
      return KeysByMaker.of({
        idsOf: repo.keyIdsOfMaker,
        reassignWrites: Effect.fnUntraced(function*({ actor, from, merchantId, requestId, role, to }) {
          const keys = yield* repo.keysOfMaker(merchantId, from, yield* nowSeconds)
          const writes = yield* Effect.forEach(keys, (key) => {
            const roleLimits = withRoleLimit(key.roleLimits, role)
            return Effect.map(
              auditLog.writesOf({
                merchantId,
                environment: key.environment,
                actor,
                action: "key.reassign",
                subject: { object: "api_key", id: key.id },
                before: { maker_person: from, role_limits: [...key.roleLimits] },
                after: { maker_person: to, role_limits: [...roleLimits] },
                requestId
              }),
              (
                entries
              ) => [Repo.keyWrite({ ...key, makerPerson: to, roleLimits, version: key.version + 1 }), ...entries]
            )
          })
          return writes.flat()
        })
      })
    })
  )
}

/**
 * Payment sessions: a token that names its invoice and a signature over both
 * (modules/docs/reference/payor-sessions.md#the-session).
 */
export class PayorSessions extends Context.Service<PayorSessions, {
  /** The pair for an invoice. Pure but for the key: the same arguments give the same pair. */
  readonly mint: (invoiceId: string, nowMillis: number) => PayorSession
  /**
   * The same for a link that anybody may have: its session may view and pay, and fails with `CREDENTIAL_NOT_ALLOWED`
   * where a payor says who they are, or where a refund goes.
   */
  readonly mintViewOnly: (invoiceId: string, nowMillis: number) => PayorSession
  /** Fails with `CREDENTIAL_NOT_ALLOWED` where a session that {@link check} opened may only view and pay. */
  readonly requireFull: (signature: string) => Effect.Effect<void, PublicError>
  /** Which key {@link mint} takes. */
  readonly keyId: number
  /** The pair that {@link mint} gave while it took the key of this id; undefined once that is not configured. */
  readonly mintAgain: (keyId: number, invoiceId: string, nowMillis: number) => PayorSession | undefined
  /** The invoice a pair opens. Fails with `SESSION_INVALID`; when a session ends is for the caller to say. */
  readonly check: (sessionToken: string, signature: string) => Effect.Effect<InvoiceId, PublicError>
}>()("tillwire/modules/auth/PayorSessions") {
  static readonly layer = Layer.effect(
    PayorSessions,
    Effect.gen(function*() {
      const keys = (yield* Secrets).keys("session").map(sessionKey)
      const newest = keys[0]!
      return PayorSessions.of({
        mint: (invoiceId, nowMillis) => mintSession(newest, invoiceId, nowMillis),
        mintViewOnly: (invoiceId, nowMillis) => mintSession(newest, invoiceId, nowMillis, true),
        requireFull: (signature) => isViewOnly({ signature }) ? Effect.fail(viewOnly) : Effect.void,
        keyId: newest.id,
        mintAgain: (keyId, invoiceId, nowMillis) => {
          const key = keys.find(({ id }) => id === keyId)
          return key && mintSession(key, invoiceId, nowMillis)
        },
        check: (sessionToken, signature) => {
          const invoiceId = readSession(keys, { sessionToken, signature })
          return invoiceId === undefined ? Effect.fail(publicError("SESSION_INVALID")) : Effect.succeed(invoiceId)
        }
      })
    })
  )
}
