/** New merchants and new keys: what is drawn for a key, and the commits that bring keys into being. */
import { Effect } from "effect"
import { createHmac, randomBytes, randomUUID } from "node:crypto"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { Conflict, IdempotentCall } from "../../../runtime/Commit.ts"
import type { DerivedKey } from "../../../runtime/Secrets.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import * as Repo from "../repo.ts"
import {
  formTaggedKey,
  type KeyRequest,
  type KeyState,
  maximumKeys,
  newKey,
  newMerchant,
  objectionToChange,
  randomCharacters
} from "../rules.ts"
import {
  append,
  callWithoutKey,
  checkCreator,
  checkRanges,
  decideInTurn,
  type KeyContext,
  keyWrites,
  operator,
  requireMerchant,
  touchMerchant
} from "./KeyContext.ts"

/** A key and, this once, its text. */
export interface KeyWithSecret {
  readonly key: string
  readonly state: KeyState
}

/** Random bytes that a key is drawn from; see `randomCharacters`. */
const keyEntropyBytes = 64

export const hashUnder = ({ key: pepper }: DerivedKey, key: string): string =>
  createHmac("sha256", pepper).update(key).digest("hex")

/** What a key's tag is made by. The label keeps it apart from the hash that keys are stored as. */
export const tagUnder = ({ key: pepper }: DerivedKey) => (text: string): Buffer =>
  createHmac("sha256", pepper).update(`key tag\n${text}`).digest()

/** Draws a key; it is stored nowhere yet. */
export const drawKey = (
  { peppers: [pepper] }: KeyContext,
  request: KeyRequest,
  apiVersion: string,
  createdAt: number
): KeyWithSecret => {
  const random = randomCharacters(randomBytes(keyEntropyBytes))
  const key = formTaggedKey(request.scope, request.environment, random, tagUnder(pepper))
  const identity = { id: `key_${randomUUID()}`, key, hash: hashUnder(pepper, key) }
  return { key, state: newKey(request, identity, apiVersion, createdAt) }
}

/** A commit of rows that nobody else writes: losing a race here is a bug. */
const dieOnConflict = <A>(commit: Effect.Effect<A, Conflict | PublicError>): Effect.Effect<A, PublicError> =>
  Effect.catchTag(commit, "Conflict", (error) => Effect.die(error))

export const createMerchant = Effect.fnUntraced(function*(keys: KeyContext, name: string, email: string | null) {
  const { environments, repo } = keys
  const createdAt = yield* nowSeconds
  const merchant = newMerchant(yield* repo.nextMerchantId, name, email, environments[0], createdAt)
  yield* dieOnConflict(append(keys, merchant.id, environments[0], [Repo.merchantWrite(merchant)]))
  return merchant
})

export const createWithKeys = Effect.fnUntraced(function*(
  keys: KeyContext,
  name: string,
  requests: ReadonlyArray<Omit<KeyRequest, "merchantId">>,
  beforeCommit: (created: ReadonlyArray<KeyWithSecret>) => Effect.Effect<void, unknown>
) {
  const { environments, repo } = keys
  const createdAt = yield* nowSeconds
  const merchant = newMerchant(yield* repo.nextMerchantId, name, null, environments[0], createdAt)
  const created = requests.map((request) =>
    drawKey(keys, { ...request, merchantId: merchant.id }, newestVersion, createdAt)
  )
  yield* beforeCommit(created)
  const writes = [Repo.merchantWrite(merchant), ...created.map(({ state }) => Repo.keyWrite(state))]
  yield* dieOnConflict(append(keys, merchant.id, environments[0], writes))
  return created
})

/** One commit of a new key; runs again after a lost race. */
const storeKey = Effect.fnUntraced(function*(
  keys: KeyContext,
  created: KeyWithSecret,
  cause: IdempotentCall<KeyWithSecret>["cause"],
  reply: ReturnType<IdempotentCall<KeyWithSecret>["reply"]>,
  actor: string
) {
  const { createdAt, creatorKey, environment, merchantId } = created.state
  const merchant = yield* requireMerchant(keys, merchantId)
  yield* checkCreator(keys, merchantId, creatorKey, createdAt)
  if ((yield* keys.repo.keysInUse(merchantId, createdAt)) >= maximumKeys) {
    return yield* publicError("API_KEY_LIMIT_REACHED")
  }
  const keyRows = yield* keyWrites(keys, [{ action: "key.create", before: null, after: created.state }], actor, cause)
  const writes = [touchMerchant(merchant), ...keyRows]
  yield* append(keys, merchantId, environment, writes, cause, reply)
  return created
})

export const createKey = Effect.fnUntraced(function*(
  keys: KeyContext,
  request: KeyRequest,
  { cause, reply }: IdempotentCall<KeyWithSecret> = callWithoutKey,
  actor: string = operator
) {
  const { environment, expiresAt, ipAllowlist = [], merchantId } = request
  if (!keys.environments.includes(environment)) {
    return yield* publicError(environment === "mainnet" ? "MAINNET_NOT_ENABLED" : "DEVNET_NOT_ENABLED")
  }
  const now = yield* nowSeconds
  const objection = objectionToChange({ expiresAt }, now)
  if (objection !== undefined) return yield* objection
  yield* checkRanges(ipAllowlist)
  const created = drawKey(keys, request, newestVersion, now)
  return yield* decideInTurn(keys, merchantId, storeKey(keys, created, cause, reply(created), actor))
})
