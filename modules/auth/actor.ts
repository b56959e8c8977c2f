/** Merchants, their keys, and payment sessions: makes, checks, revokes. */
import { Clock, Context, Effect, Layer } from "effect"
import { createHmac, randomBytes, randomUUID, timingSafeEqual } from "node:crypto"
import { Commit, type Conflict, noCause, type Replayed, type Write } from "../../runtime/Commit.ts"
import { type DerivedKey, Secrets } from "../../runtime/Secrets.ts"
import { Settings } from "../../runtime/Settings.ts"
import type { KeyScope, Principal } from "../../schemas/Auth.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import { apiVersion } from "../../schemas/Event.ts"
import { InvoiceId, type MerchantId } from "../../schemas/Ids.ts"
import type { Environment } from "../../schemas/Network.ts"
import {
  formKey,
  isUsable,
  isWellFormedKey,
  type KeyState,
  type MerchantState,
  newMerchant,
  randomCharacters,
  revoke
} from "./machine.ts"
import * as Repo from "./repo.ts"

const hashUnder = ({ key: pepper }: DerivedKey, key: string): string => createHmac("sha256", pepper).update(key).digest("hex")

const nowSeconds = Effect.map(Clock.currentTimeMillis, (millis) => Math.floor(millis / 1000))

/** Random bytes that a key is drawn from; see `randomCharacters`. */
const keyEntropyBytes = 64

/** What a new key is for. */
export interface NewKey {
  readonly merchantId: number
  readonly name: string
  readonly scope: KeyScope
  readonly environment: Environment
  readonly expiresAt: number | null
}

/** A key and, this once, its text. */
export interface MadeKey {
  readonly key: string
  readonly state: KeyState
}

/** A commit of rows that nobody else writes: losing a race here is a bug, except where the caller says otherwise. */
const settled = <A>(
  commit: Effect.Effect<A, Conflict | Replayed | PublicError>
): Effect.Effect<A, PublicError> =>
  Effect.catchTags(commit, { Conflict: (error) => Effect.die(error), Replayed: (error) => Effect.die(error) })

/** Milliseconds for which a merchant's name and address are not read again. */
const merchantCacheMillis = 2_000

/** Merchants remembered at once; the oldest is forgotten first. */
const merchantCacheCapacity = 10_000

/** Who a merchant is: for payment pages, and for anyone who needs a name to a number. */
export class Merchants extends Context.Service<Merchants, {
  /** Undefined when there is none. At most 2 s old. */
  readonly get: (id: number) => Effect.Effect<MerchantState | undefined>
  /** The same, read now: for those who write it. */
  readonly read: (id: number) => Effect.Effect<MerchantState | undefined>
  /** The merchant's row with another default environment, for the commit of the caller. */
  readonly defaultEnvironmentWrite: (merchant: MerchantState, environment: Environment) => Write
  /** A merchant that is not there yet, and the row that makes it: for the commit of the caller. */
  readonly draft: (name: string) => Effect.Effect<{ readonly merchant: MerchantState; readonly write: Write }>
  /**
   * The merchant's row, changed in nothing but its version: of two commits that carry it only one lands, so what was
   * counted of the merchant's things before still holds.
   */
  readonly touch: (merchant: MerchantState) => Write
}>()("tillwire/modules/auth/Merchants") {
  static readonly layer = Layer.effect(
    Merchants,
    Effect.gen(function*() {
      const repo = yield* Repo.make
      const { environments } = yield* Settings
      const known = new Map<number, { readonly merchant: MerchantState; readonly until: number }>()
      const remember = (merchant: MerchantState, now: number): void => {
        known.delete(merchant.id)
        if (known.size >= merchantCacheCapacity) known.delete(known.keys().next().value!)
        known.set(merchant.id, { merchant, until: now + merchantCacheMillis })
      }
      const get = Effect.fnUntraced(function*(id: number) {
        const now = yield* Clock.currentTimeMillis
        const hit = known.get(id)
        if (hit !== undefined && now < hit.until) return hit.merchant
        const merchant = yield* repo.merchant(id)
        if (merchant !== undefined) remember(merchant, now)
        return merchant
      })
      const touch = (merchant: MerchantState) => Repo.merchantWrite({ ...merchant, version: merchant.version + 1 })
      return Merchants.of({
        get,
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

/** Merchants and keys as the RPC handlers and the demo store make them. */
export class Keys extends Context.Service<Keys, {
  readonly createMerchant: (name: string, email: string | null) => Effect.Effect<MerchantState, PublicError>
  /** A merchant and its first keys in one commit. */
  readonly createWithKeys: (
    name: string,
    keys: ReadonlyArray<Omit<NewKey, "merchantId">>,
    beforeCommit: (made: ReadonlyArray<MadeKey>) => Effect.Effect<void, unknown>
  ) => Effect.Effect<ReadonlyArray<MadeKey>, unknown>
  readonly anyMerchant: Effect.Effect<boolean>
  readonly create: (request: NewKey) => Effect.Effect<MadeKey, PublicError>
  readonly list: (merchantId: number) => Effect.Effect<ReadonlyArray<KeyState>, PublicError>
  readonly revoke: (merchantId: number, id: string) => Effect.Effect<KeyState, PublicError>
  /** Whose key this is; null for an unknown, revoked or expired one. */
  readonly verify: (key: string) => Effect.Effect<Principal | null>
}>()("tillwire/modules/auth/Keys") {
  static readonly layer = Layer.effect(
    Keys,
    Effect.gen(function*() {
      const commit = yield* Commit
      const peppers = (yield* Secrets).keys("pepper")
      const { environments } = yield* Settings
      const repo = yield* Repo.make

      const append = (merchantId: number, environment: Environment, writes: ReadonlyArray<Write>) =>
        commit.append({ merchantId, environment, cause: noCause, writes, events: [] })

      const make = (request: NewKey, createdAt: number): MadeKey => {
        const key = formKey(request.scope, request.environment, randomCharacters(randomBytes(keyEntropyBytes)))
        return {
          key,
          state: {
            ...request,
            id: `key_${randomUUID()}`,
            prefix: key.slice(0, 12),
            last4: key.slice(-4),
            hash: hashUnder(peppers[0]!, key),
            status: "active",
            apiVersion,
            createdAt,
            version: 1
          }
        }
      }

      const createWithKeys = Effect.fnUntraced(function*(
        name: string,
        keys: ReadonlyArray<Omit<NewKey, "merchantId">>,
        beforeCommit: (made: ReadonlyArray<MadeKey>) => Effect.Effect<void, unknown>
      ) {
        const createdAt = yield* nowSeconds
        const merchant = newMerchant(yield* repo.nextMerchantId, name, null, environments[0], createdAt)
        const made = keys.map((key) => make({ ...key, merchantId: merchant.id }, createdAt))
        yield* beforeCommit(made)
        const writes = [Repo.merchantWrite(merchant), ...made.map(({ state }) => Repo.keyWrite(state))]
        yield* settled(append(merchant.id, environments[0], writes))
        return made
      })

      const requireMerchant = (id: number) =>
        Effect.flatMap(repo.merchant(id), (merchant) =>
          merchant === undefined
            ? Effect.fail(publicError("NOT_FOUND", { message: "No such merchant" }))
            : Effect.succeed(merchant))

      const revokeOnce = Effect.fnUntraced(function*(merchantId: number, id: string) {
        const key = yield* repo.key(merchantId, id)
        if (key === undefined) return yield* publicError("NOT_FOUND", { message: "No such key" })
        if (key.status === "revoked") return key
        const revoked = revoke(key)
        yield* append(merchantId, key.environment, [Repo.keyWrite(revoked)])
        return revoked
      })

      return Keys.of({
        createWithKeys,
        anyMerchant: repo.anyMerchant,
        createMerchant: Effect.fnUntraced(function*(name, email) {
          const createdAt = yield* nowSeconds
          const merchant = newMerchant(yield* repo.nextMerchantId, name, email, environments[0], createdAt)
          yield* settled(append(merchant.id, environments[0], [Repo.merchantWrite(merchant)]))
          return merchant
        }),
        create: Effect.fnUntraced(function*(request) {
          yield* requireMerchant(request.merchantId)
          if (!environments.includes(request.environment)) {
            return yield* publicError(request.environment === "mainnet" ? "MAINNET_NOT_ENABLED" : "DEVNET_NOT_ENABLED")
          }
          const made = make(request, yield* nowSeconds)
          yield* settled(append(request.merchantId, request.environment, [Repo.keyWrite(made.state)]))
          return made
        }),
        list: (merchantId) => Effect.andThen(requireMerchant(merchantId), repo.keys(merchantId)),
        // Two revocations at once: the loser of the race reads the winner's row.
        revoke: (merchantId, id) =>
          settled(Effect.retry(revokeOnce(merchantId, id), { times: 3, while: (error) => error._tag === "Conflict" })),
        verify: Effect.fnUntraced(function*(key) {
          if (!isWellFormedKey(key)) return null
          const found = yield* repo.keyByHash(peppers.map((pepper) => hashUnder(pepper, key)))
          if (found === undefined || !isUsable(found, yield* nowSeconds)) return null
          return {
            merchantId: found.merchantId as MerchantId,
            environment: found.environment,
            scope: found.scope,
            kind: "key",
            credential: found.id,
            apiVersion: found.apiVersion
          }
        })
      })
    })
  )
}

/** Bytes of the keyed hash in a session token: 128 bits. */
const tokenMacBytes = 16
const uuidBytes = 16

const tokenPattern = /^pst_[A-Za-z0-9_-]{44}$/
const signaturePattern = /^[0-9a-f]{64}\.\d{1,15}$/

const hmac = ({ key }: DerivedKey, data: Uint8Array | string): Buffer => createHmac("sha256", key).update(data).digest()

const equal = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)

const tokenUnder = (key: DerivedKey, invoiceId: string): string => {
  const named = Buffer.concat([Buffer.of(key.id), Buffer.from(invoiceId.replaceAll("-", ""), "hex")])
  return `pst_${Buffer.concat([named, hmac(key, named).subarray(0, tokenMacBytes)]).toString("base64url")}`
}

const signatureUnder = (key: DerivedKey, sessionToken: string, invoiceId: string, millis: string): string =>
  `${hmac(key, `${sessionToken}.${invoiceId}.${millis}`).toString("hex")}.${millis}`

const uuidOf = (bytes: Buffer): string => {
  const hex = bytes.toString("hex")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** The pair that opens an invoice's payment page. */
export interface PayorSession {
  readonly sessionToken: string
  readonly signature: string
}

/**
 * The invoice that a pair opens under one of `keys`; undefined for any other pair. Costs no look-up and, past the form,
 * the same time whatever differs.
 */
const readSession = (
  keys: ReadonlyArray<DerivedKey>,
  { sessionToken, signature }: PayorSession
): InvoiceId | undefined => {
  if (!tokenPattern.test(sessionToken) || !signaturePattern.test(signature)) return undefined
  const bytes = Buffer.from(sessionToken.slice(4), "base64url")
  const invoiceId = uuidOf(bytes.subarray(1, 1 + uuidBytes))
  const millis = signature.slice(signature.indexOf(".") + 1)
  const opened = keys.some((key) => {
    if (key.id !== bytes[0]) return false
    const tokenFits = equal(Buffer.from(sessionToken), Buffer.from(tokenUnder(key, invoiceId)))
    const signed = signatureUnder(key, sessionToken, invoiceId, millis)
    return equal(Buffer.from(signature), Buffer.from(signed)) && tokenFits
  })
  return opened ? InvoiceId.make(invoiceId) : undefined
}

/** Payment sessions: a token that names its invoice and a signature over both (API reference, "POST /api/v1/invoices"). */
export class PayorSessions extends Context.Service<PayorSessions, {
  /** The pair for an invoice. Pure but for the key: the same arguments give the same pair. */
  readonly mint: (invoiceId: string, nowMillis: number) => PayorSession
  /** The invoice a pair opens. Fails with `SESSION_INVALID`; when a session ends is for the caller to say. */
  readonly check: (sessionToken: string, signature: string) => Effect.Effect<InvoiceId, PublicError>
}>()("tillwire/modules/auth/PayorSessions") {
  static readonly layer = Layer.effect(
    PayorSessions,
    Effect.gen(function*() {
      const keys = (yield* Secrets).keys("session")
      const newest = keys[0]!
      return PayorSessions.of({
        mint: (invoiceId, nowMillis) => {
          const sessionToken = tokenUnder(newest, invoiceId)
          return { sessionToken, signature: signatureUnder(newest, sessionToken, invoiceId, String(nowMillis)) }
        },
        check: (sessionToken, signature) => {
          const invoiceId = readSession(keys, { sessionToken, signature })
          return invoiceId === undefined ? Effect.fail(publicError("SESSION_INVALID")) : Effect.succeed(invoiceId)
        }
      })
    })
  )
}
