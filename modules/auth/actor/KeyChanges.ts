/** What becomes of a key: it is changed, replaced by a rotation, or revoked with the keys created with it. */
import type { IdempotentCall } from "../../../runtime/Commit.ts"
import { Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { PublicError } from "../../../schemas/Errors.ts"
import * as Rules from "../rules.ts"
import type { ChildKeys, KeyChange, KeyManager, KeyState, RevokedKey } from "../rules.ts"
import {
  append,
  callWithoutKey,
  checkCreator,
  checkRanges,
  decideInTurn,
  type KeyContext,
  type KeyName,
  keyWrites,
  operator,
  requireKey,
  requireMerchant,
  touchMerchant
} from "./KeyContext.ts"
import { drawKey, type KeyWithSecret } from "./KeyCreation.ts"
import { makerOf } from "./KeyReads.ts"

/** What a rotation asks for. */
export interface RotationRequest {
  /** For how long the old key may still be used; 0: it ends at once. */
  readonly overlapSeconds: number
  /** The key whose caller rotates; null: a wallet or the operator does. */
  readonly creatorKey: string | null
  /** Who rotates; null: the operator does, who may have any key. */
  readonly manager: KeyManager | null
}

/** Who changes a key, and how; `manager` null: the operator does, who may change any key. */
export interface ChangeRequest extends KeyChange {
  readonly manager: KeyManager | null
}

/** Fails with `PERMISSION_DENIED` where a key may do more than who wants to have it or to loosen it. */
const checkManager = Effect.fnUntraced(function*(keys: KeyContext, key: KeyState, manager: KeyManager | null) {
  if (manager === null) return
  const maker = yield* makerOf(keys, key)
  const objection = Rules.objectionToManager(manager, key, maker?.role ?? null)
  if (objection !== undefined) return yield* objection
})

/** A new key and the one it takes the place of. */
export interface RotatedKey extends KeyWithSecret {
  readonly previous: KeyState
}

export const changeKey = Effect.fnUntraced(function*(
  keys: KeyContext,
  name: KeyName,
  { manager, ...change }: ChangeRequest,
  { cause, reply }: IdempotentCall<KeyState> = callWithoutKey,
  actor: string = operator
) {
  yield* checkRanges(change.ipAllowlist ?? [])
  return yield* decideInTurn(
    keys,
    name.merchantId,
    Effect.gen(function*() {
      const before = yield* requireKey(keys, name)
      if (Rules.concernsAccess(change)) yield* checkManager(keys, before, manager)
      const key = Rules.changeKey(before, change, yield* nowSeconds)
      if (key instanceof PublicError) return yield* key
      const writes = yield* keyWrites(keys, [{ action: "key.update", before, after: key }], actor, cause)
      yield* append(keys, name.merchantId, key.environment, writes, cause, reply(key))
      return key
    })
  )
})

export const rotateKey = (
  keys: KeyContext,
  name: KeyName,
  { creatorKey, manager, overlapSeconds }: RotationRequest,
  { cause, reply }: IdempotentCall<RotatedKey> = callWithoutKey,
  actor: string = operator
) =>
  decideInTurn(
    keys,
    name.merchantId,
    Effect.gen(function*() {
      const key = yield* requireKey(keys, name)
      yield* checkManager(keys, key, manager)
      const merchant = yield* requireMerchant(keys, name.merchantId)
      const now = yield* nowSeconds
      const { environment, merchantId } = key
      yield* checkCreator(keys, merchantId, creatorKey, now)
      const successor = drawKey(keys, Rules.successorRequest(key, creatorKey, manager), key.apiVersion, now)
      const previous = Rules.rotateKey(key, {
        replacedBy: successor.state.id,
        overlapSeconds,
        predecessor: yield* keys.repo.predecessor(merchantId, key.id, now),
        keysInUse: yield* keys.repo.keysInUse(merchantId, now)
      }, now)
      if (previous instanceof PublicError) return yield* previous
      const rotated: RotatedKey = { ...successor, previous }
      const keyRows = yield* keyWrites(
        keys,
        [
          { action: "key.rotate", before: key, after: previous },
          { action: "key.create", before: null, after: successor.state }
        ],
        actor,
        cause
      )
      const writes = [touchMerchant(merchant), ...keyRows]
      yield* append(keys, merchantId, environment, writes, cause, reply(rotated))
      return rotated
    })
  )

export const revokeKey = (
  keys: KeyContext,
  name: KeyName,
  childKeys: ChildKeys = "keep",
  { cause, reply }: IdempotentCall<RevokedKey> = callWithoutKey,
  actor: string = operator
) =>
  decideInTurn(
    keys,
    name.merchantId,
    Effect.gen(function*() {
      const key = yield* requireKey(keys, name)
      const merchant = yield* requireMerchant(keys, name.merchantId)
      const children = yield* keys.repo.children(name.merchantId, key.id, yield* nowSeconds)
      const revoked = Rules.revokeWithChildren(key, children, childKeys)
      const changes = Rules.changedKeys([key, ...children], [revoked.state, ...revoked.children])
      if (changes.length === 0) return revoked
      const steps = changes.map((after) => ({
        action: "key.revoke" as const,
        before: [key, ...children].find(({ id }) => id === after.id) ?? null,
        after
      }))
      const writes = [touchMerchant(merchant), ...yield* keyWrites(keys, steps, actor, cause)]
      yield* append(keys, name.merchantId, key.environment, writes, cause, reply(revoked))
      return revoked
    })
  )
