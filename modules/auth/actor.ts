/** Merchants, their keys, and payment sessions: makes, checks, revokes. */
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { createHmac, randomBytes, randomUUID, timingSafeEqual } from "node:crypto"
import { nowSeconds } from "../../runtime/Clock.ts"
import { Actors } from "../../runtime/Actors.ts"
import {
  Commit,
  type CommitCause,
  type Conflict,
  noCause,
  type ReplyWrite,
  retryConflicts,
  type Write
} from "../../runtime/Commit.ts"
import { inRanges, isAddressRange } from "../../runtime/http/Addresses.ts"
import { dieOnReplay, type Grant, type IdempotentCall } from "../../runtime/Http.ts"
import { type DerivedKey, Secrets } from "../../runtime/Secrets.ts"
import { Settings } from "../../runtime/Settings.ts"
import type { KeyScope } from "../../schemas/Auth.ts"
import { PublicError, publicError } from "../../schemas/Errors.ts"
import { invalidParameter } from "../../schemas/InvalidInput.ts"
import { InvoiceId, type MerchantId } from "../../schemas/Ids.ts"
import type { Environment } from "../../schemas/Network.ts"
import { newestVersion } from "../../schemas/Version.ts"
import {
  changeKey,
  type ChildKeys,
  formTaggedKey,
  hasTag,
  isUsable,
  isWellFormedKey,
  type KeyChange,
  type KeyState,
  maximumKeys,
  type MerchantState,
  newMerchant,
  objectionToChange,
  randomCharacters,
  revoke,
  rotateKey
} from "./rules.ts"
import * as Repo from "./repo.ts"

const hashUnder = ({ key: pepper }: DerivedKey, key: string): string =>
  createHmac("sha256", pepper).update(key).digest("hex")

/** What a key's tag is made by. The label keeps it apart from the hash that keys are stored as. */
const tagUnder = ({ key: pepper }: DerivedKey) => (text: string): Buffer =>
  createHmac("sha256", pepper).update(`key tag\n${text}`).digest()

/** Random bytes that a key is drawn from; see `randomCharacters`. */
const keyEntropyBytes = 64

/** What a new key is for. */
export interface KeyRequest {
  readonly merchantId: number
  readonly name: string
  readonly scope: KeyScope
  readonly environment: Environment
  readonly expiresAt: number | null
  /** Absent: none, so it may be used from anywhere. */
  readonly ipAllowlist?: ReadonlyArray<string>
  /** The key whose caller creates it; absent or null: a wallet or the operator does. */
  readonly createdBy?: string | null
}

/** A key and, this once, its text. */
export interface KeyWithSecret {
  readonly key: string
  readonly state: KeyState
}

/** A key of a merchant; `environment` null: whichever it is in. A key elsewhere is as unknown. */
export interface KeyName {
  readonly merchantId: number
  readonly environment: Environment | null
  readonly id: string
}

/** An order that nobody will repeat. */
const callWithoutKey: IdempotentCall<unknown> = { cause: noCause, reply: () => undefined }

/** What a rotation asks for. */
export interface RotationRequest {
  /** For how long the old key may still be used; 0: it ends at once. */
  readonly overlapSeconds: number
  /** As in {@link KeyRequest}. */
  readonly createdBy: string | null
}

/**
 * A revoked key, and the keys created with it, directly or indirectly, that were in use: newest first, after the call.
 */
export interface RevokedKey {
  readonly state: KeyState
  readonly children: ReadonlyArray<KeyState>
}

/** A new key and the one it takes the place of. */
export interface RotatedKey extends KeyWithSecret {
  readonly previous: KeyState
}

/** How often a decision is made anew when another commit was faster. */
const conflictRetries = 3

/**
 * Seconds between two notes of what was used, and keys noted at once; a note more is lost, and made at the next use.
 */
const recordSeconds = 60
const maximumPendingUses = 10_000

/** A commit of rows that nobody else writes: losing a race here is a bug. */
const dieOnConflict = <A>(commit: Effect.Effect<A, Conflict | PublicError>): Effect.Effect<A, PublicError> =>
  Effect.catchTag(commit, "Conflict", (error) => Effect.die(error))

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
      const cache = new Map<number, { readonly merchant: MerchantState; readonly until: number }>()
      const remember = (merchant: MerchantState, now: number): void => {
        cache.delete(merchant.id)
        if (cache.size >= merchantCacheCapacity) cache.delete(cache.keys().next().value!)
        cache.set(merchant.id, { merchant, until: now + merchantCacheMillis })
      }
      const get = Effect.fnUntraced(function*(id: number) {
        const now = yield* Clock.currentTimeMillis
        const hit = cache.get(id)
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

/** A caller whose address nobody knows is in no range. */
const makeAddressCheck = (ranges: ReadonlyArray<string>) => {
  const isIn = inRanges(ranges)
  return (address: string | null): boolean => address !== null && isIn(address)
}

/** What was used since the last note, told to the table at most once a minute: a stop loses a minute of it. */
const makeUseRecorder: Effect.Effect<
  (key: KeyState, at: number) => void,
  never,
  SqlClient.SqlClient | Settings | Scope.Scope
> = Effect.gen(function*() {
  const repo = yield* Repo.make
  const uses = new Map<string, Repo.KeyUse>()
  const flushUses = Effect.suspend(() => {
    const pending = [...uses.values()]
    uses.clear()
    return pending.length === 0 ? Effect.void : repo.recordUses(pending)
  })
  yield* flushUses.pipe(
    Effect.catchCause((cause) => Effect.logWarning("uses of keys were not noted", cause)),
    Effect.delay(`${recordSeconds} seconds`),
    Effect.forever,
    Effect.forkScoped
  )
  return ({ id, merchantId }, at) => {
    if (uses.size < maximumPendingUses || uses.has(id)) uses.set(id, { merchantId, keyId: id, at })
  }
})

/** Merchants and their keys. */
export class Keys extends Context.Service<Keys, {
  readonly createMerchant: (name: string, email: string | null) => Effect.Effect<MerchantState, PublicError>
  /** A merchant and its first keys in one commit. */
  readonly createWithKeys: (
    name: string,
    keys: ReadonlyArray<Omit<KeyRequest, "merchantId">>,
    beforeCommit: (made: ReadonlyArray<KeyWithSecret>) => Effect.Effect<void, unknown>
  ) => Effect.Effect<ReadonlyArray<KeyWithSecret>, unknown>
  readonly anyMerchant: Effect.Effect<boolean>
  /**
   * Errors: `NOT_FOUND` without such a merchant, `*_NOT_ENABLED`, `VALIDATION_ERROR`; `API_KEY_LIMIT_REACHED`, exact
   * under any concurrency: every new key also writes the merchant's row; `API_KEY_INVALID` where `createdBy` was
   * revoked meanwhile.
   */
  readonly create: (
    request: KeyRequest,
    order?: IdempotentCall<KeyWithSecret>
  ) => Effect.Effect<KeyWithSecret, PublicError>
  /** Newest first, at most 1,000, of both environments. */
  readonly list: (merchantId: number) => Effect.Effect<ReadonlyArray<KeyState>, PublicError>
  /** Newest first. Errors: `INVALID_CURSOR` for what is no key of the merchant there. */
  readonly page: (query: {
    readonly merchantId: number
    readonly environment: Environment
    readonly limit: number
    readonly startingAfter: string | undefined
    readonly endingBefore: string | undefined
  }) => Effect.Effect<{ readonly keys: ReadonlyArray<KeyState>; readonly hasMore: boolean }, PublicError>
  /** Errors: `NOT_FOUND`; `VALIDATION_ERROR`; `INVALID_TRANSITION` for a key that is not active. */
  readonly change: (
    name: KeyName,
    change: KeyChange,
    order?: IdempotentCall<KeyState>
  ) => Effect.Effect<KeyState, PublicError>
  /**
   * A new key of the same scope, pin, end and addresses, at once; the old one ends after the overlap. Errors:
   * `NOT_FOUND`; `INVALID_TRANSITION` for a key that is not active (a rotated one is not), and with an overlap for one
   * whose predecessor is in use; `API_KEY_LIMIT_REACHED` where both would exceed {@link maximumKeys} during the
   * overlap; `API_KEY_INVALID` where `createdBy` was revoked meanwhile.
   */
  readonly rotate: (
    name: KeyName,
    request: RotationRequest,
    order?: IdempotentCall<RotatedKey>
  ) => Effect.Effect<RotatedKey, PublicError>
  /**
   * The key is refused everywhere within 5 s. Revoking twice is the same as once. Keys created with it are kept (the
   * default) or revoked in the same commit, even when the key itself was revoked before. A key that it creates at the
   * same time is either among them or refused, because both commits write the merchant's row. Errors: `NOT_FOUND`.
   */
  readonly revoke: (
    name: KeyName,
    childKeys?: ChildKeys,
    order?: IdempotentCall<RevokedKey>
  ) => Effect.Effect<RevokedKey, PublicError>
  /** Whose key this is; null for an unknown, revoked or expired one. */
  readonly verify: (key: string) => Effect.Effect<Grant | null>
  /** Whether a key proves by its tag that it was made here, whatever has become of it. No look-up. */
  readonly isOurs: (key: string) => boolean
  /** Those of the keys with these ids that are neither revoked nor expired. */
  readonly usable: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
}>()("tillwire/modules/auth/Keys") {
  static readonly layer = Layer.effect(
    Keys,
    Effect.gen(function*() {
      const actors = yield* Actors
      const commit = yield* Commit
      const peppers = (yield* Secrets).keys("pepper")
      const { environments } = yield* Settings
      const repo = yield* Repo.make
      const recordUse = yield* makeUseRecorder

      const append = (
        merchantId: number,
        environment: Environment,
        writes: ReadonlyArray<Write>,
        cause: CommitCause = noCause,
        reply?: ReplyWrite
      ) =>
        dieOnReplay(commit.append({
          merchantId,
          environment,
          cause,
          writes,
          events: [],
          ...(reply === undefined ? {} : { reply })
        }))

      /** Loads and decides, one change of a merchant's keys at a time; anew while other instances are faster. */
      const decideInTurn = <A, E>(merchantId: number, attempt: Effect.Effect<A, E | Conflict>) =>
        actors.send("api-keys", String(merchantId), attempt).pipe(
          retryConflicts(conflictRetries),
          Effect.mapError((error) =>
            (error as Conflict)._tag === "Conflict"
              ? publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1 })
              : error as Exclude<E, Conflict>
          )
        )

      const make = (request: KeyRequest, pin: string, createdAt: number): KeyWithSecret => {
        const random = randomCharacters(randomBytes(keyEntropyBytes))
        const key = formTaggedKey(request.scope, request.environment, random, tagUnder(peppers[0]!))
        return {
          key,
          state: {
            ...request,
            id: `key_${randomUUID()}`,
            prefix: key.slice(0, 12),
            last4: key.slice(-4),
            hash: hashUnder(peppers[0]!, key),
            status: "active",
            ipAllowlist: request.ipAllowlist ?? [],
            apiVersion: pin,
            replacedBy: null,
            createdBy: request.createdBy ?? null,
            lastUsedAt: null,
            createdAt,
            version: 1
          }
        }
      }

      const createWithKeys = Effect.fnUntraced(function*(
        name: string,
        keys: ReadonlyArray<Omit<KeyRequest, "merchantId">>,
        beforeCommit: (made: ReadonlyArray<KeyWithSecret>) => Effect.Effect<void, unknown>
      ) {
        const createdAt = yield* nowSeconds
        const merchant = newMerchant(yield* repo.nextMerchantId, name, null, environments[0], createdAt)
        const made = keys.map((key) => make({ ...key, merchantId: merchant.id }, newestVersion, createdAt))
        yield* beforeCommit(made)
        const writes = [Repo.merchantWrite(merchant), ...made.map(({ state }) => Repo.keyWrite(state))]
        yield* dieOnConflict(append(merchant.id, environments[0], writes))
        return made
      })

      const requireMerchant = (id: number) =>
        Effect.flatMap(repo.merchant(id), (merchant) =>
          merchant === undefined
            ? Effect.fail(publicError("NOT_FOUND", { message: "No such merchant" }))
            : Effect.succeed(merchant))

      const touchMerchant = (merchant: MerchantState) =>
        Repo.merchantWrite({ ...merchant, version: merchant.version + 1 })

      /**
       * Reads the creator from the database again, because authentication may accept a revoked key from its cache for 5
       * s: a key created in that time would be missing from the revocation.
       */
      const checkCreator = Effect.fnUntraced(function*(merchantId: number, creator: string | null, now: number) {
        const key = creator === null ? undefined : yield* repo.key(merchantId, creator)
        if (creator !== null && (key === undefined || !isUsable(key, now))) return yield* publicError("API_KEY_INVALID")
      })

      const checkRanges = (ranges: ReadonlyArray<string>) => {
        const wrong = ranges.findIndex((range) => !isAddressRange(range))
        return wrong === -1 ? Effect.void : Effect.fail(invalidParameter(
          `ip_allowlist.${wrong}`,
          "an IP address or a range such as 203.0.113.0/24"
        ))
      }

      const create = Effect.fnUntraced(
        function*(request: KeyRequest, { cause, reply }: IdempotentCall<KeyWithSecret> = callWithoutKey) {
          const { createdBy = null, environment, expiresAt, ipAllowlist = [], merchantId } = request
          if (!environments.includes(environment)) {
            return yield* publicError(environment === "mainnet" ? "MAINNET_NOT_ENABLED" : "DEVNET_NOT_ENABLED")
          }
          const now = yield* nowSeconds
          const objection = objectionToChange({ expiresAt }, now)
          if (objection !== undefined) return yield* objection
          yield* checkRanges(ipAllowlist)
          const made = make(request, newestVersion, now)
          const kept = reply(made)
          return yield* decideInTurn(
            merchantId,
            Effect.gen(function*() {
              const merchant = yield* requireMerchant(merchantId)
              yield* checkCreator(merchantId, createdBy, now)
              if ((yield* repo.keysInUse(merchantId, now)) >= maximumKeys) {
                return yield* publicError("API_KEY_LIMIT_REACHED")
              }
              yield* append(merchantId, environment, [touchMerchant(merchant), Repo.keyWrite(made.state)], cause, kept)
              return made
            })
          )
        }
      )

      const find = ({ environment, id, merchantId }: KeyName) =>
        Effect.flatMap(
          repo.key(merchantId, id),
          (key) =>
            key === undefined || environment !== null && key.environment !== environment
              ? Effect.fail(publicError("NOT_FOUND", { message: "No such key" }))
              : Effect.succeed(key)
        )

      const change = Effect.fnUntraced(function*(
        name: KeyName,
        change: KeyChange,
        { cause, reply }: IdempotentCall<KeyState> = callWithoutKey
      ) {
        yield* checkRanges(change.ipAllowlist ?? [])
        return yield* decideInTurn(
          name.merchantId,
          Effect.gen(function*() {
            const changed = changeKey(yield* find(name), change, yield* nowSeconds)
            if (changed instanceof PublicError) return yield* changed
            yield* append(name.merchantId, changed.environment, [Repo.keyWrite(changed)], cause, reply(changed))
            return changed
          })
        )
      })

      const rotate = (
        name: KeyName,
        { createdBy, overlapSeconds }: RotationRequest,
        { cause, reply }: IdempotentCall<RotatedKey> = callWithoutKey
      ) =>
        decideInTurn(
          name.merchantId,
          Effect.gen(function*() {
            const key = yield* find(name)
            const merchant = yield* requireMerchant(name.merchantId)
            const now = yield* nowSeconds
            const { environment, expiresAt, ipAllowlist, merchantId, scope } = key
            yield* checkCreator(merchantId, createdBy, now)
            const made = make(
              { name: key.name, environment, expiresAt, ipAllowlist, merchantId, scope, createdBy },
              key.apiVersion,
              now
            )
            const previous = rotateKey(key, {
              replacedBy: made.state.id,
              overlapSeconds,
              predecessor: yield* repo.predecessor(merchantId, key.id, now),
              keysInUse: yield* repo.keysInUse(merchantId, now)
            }, now)
            if (previous instanceof PublicError) return yield* previous
            const rotated: RotatedKey = { ...made, previous }
            const writes = [touchMerchant(merchant), Repo.keyWrite(previous), Repo.keyWrite(made.state)]
            yield* append(merchantId, environment, writes, cause, reply(rotated))
            return rotated
          })
        )

      const revokeKey = (
        name: KeyName,
        childKeys: ChildKeys = "keep",
        { cause, reply }: IdempotentCall<RevokedKey> = callWithoutKey
      ) =>
        decideInTurn(
          name.merchantId,
          Effect.gen(function*() {
            const key = yield* find(name)
            const merchant = yield* requireMerchant(name.merchantId)
            const children = yield* repo.children(name.merchantId, key.id, yield* nowSeconds)
            const revoked: RevokedKey = {
              state: revoke(key),
              children: childKeys === "revoke" ? children.map(revoke) : children
            }
            const before = new Map([key, ...children].map((each) => [each.id, each.version]))
            const changed = [revoked.state, ...revoked.children].filter(({ id, version }) => before.get(id) !== version)
            if (changed.length === 0) return revoked
            const writes = [touchMerchant(merchant), ...changed.map(Repo.keyWrite)]
            yield* append(name.merchantId, key.environment, writes, cause, reply(revoked))
            return revoked
          })
        )

      const verify = Effect.fnUntraced(function*(text: string) {
        if (!isWellFormedKey(text)) return null
        const key = yield* repo.keyByHash(peppers.map((pepper) => hashUnder(pepper, text)))
        const now = yield* nowSeconds
        if (key === undefined || !isUsable(key, now)) return null
        recordUse(key, now)
        const grant: Grant = {
          merchantId: key.merchantId as MerchantId,
          environment: key.environment,
          scope: key.scope,
          kind: "key",
          credential: key.id,
          apiVersion: key.apiVersion,
          ...(key.expiresAt === null ? {} : { endsAtMillis: key.expiresAt * 1000 }),
          ...(key.ipAllowlist.length === 0 ? {} : { admits: makeAddressCheck(key.ipAllowlist) })
        }
        return grant
      })

      return Keys.of({
        createWithKeys,
        anyMerchant: repo.anyMerchant,
        createMerchant: Effect.fnUntraced(function*(name, email) {
          const createdAt = yield* nowSeconds
          const merchant = newMerchant(yield* repo.nextMerchantId, name, email, environments[0], createdAt)
          yield* dieOnConflict(append(merchant.id, environments[0], [Repo.merchantWrite(merchant)]))
          return merchant
        }),
        create,
        list: (merchantId) => Effect.andThen(requireMerchant(merchantId), repo.keys(merchantId)),
        page: Effect.fnUntraced(function*({ endingBefore, environment, limit, merchantId, startingAfter }) {
          const named = startingAfter ?? endingBefore
          if (startingAfter !== undefined && endingBefore !== undefined) {
            return yield* publicError("INVALID_CURSOR", {
              message: "Send starting_after or ending_before, not both",
              param: "ending_before"
            })
          }
          const direction = startingAfter === undefined ? "newer" : "older"
          const cursor = named === undefined ? undefined : {
            direction,
            key: yield* Effect.mapError(
              find({ merchantId, environment, id: named }),
              () =>
                invalidParameter(
                  startingAfter === undefined ? "ending_before" : "starting_after",
                  "the id of one of your keys, like key_550e8400-e29b-41d4-a716-446655440000",
                  "INVALID_CURSOR"
                )
            )
          } as const
          const found = yield* repo.page({ merchantId, environment, limit, cursor })
          const keys = found.slice(0, limit)
          return { keys: cursor?.direction === "newer" ? keys.toReversed() : keys, hasMore: found.length > limit }
        }),
        change,
        rotate,
        revoke: revokeKey,
        verify,
        isOurs: (text) => peppers.some((pepper) => hasTag(text, tagUnder(pepper))),
        usable: (ids) => Effect.flatMap(nowSeconds, (now) => repo.usable(ids, now))
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
  const payload = Buffer.concat([Buffer.of(key.id), Buffer.from(invoiceId.replaceAll("-", ""), "hex")])
  return `pst_${Buffer.concat([payload, hmac(key, payload).subarray(0, tokenMacBytes)]).toString("base64url")}`
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
  const isValid = keys.some((key) => {
    if (key.id !== bytes[0]) return false
    const tokenFits = equal(Buffer.from(sessionToken), Buffer.from(tokenUnder(key, invoiceId)))
    const expected = signatureUnder(key, sessionToken, invoiceId, millis)
    return equal(Buffer.from(signature), Buffer.from(expected)) && tokenFits
  })
  return isValid ? InvoiceId.make(invoiceId) : undefined
}

/**
 * Payment sessions: a token that names its invoice and a signature over both
 * (modules/docs/reference/payor-sessions.md#the-session).
 */
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
