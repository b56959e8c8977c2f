/** The keys of merchants: made, checked, changed, revoked, one change of a merchant's keys at a time. */
import { Context, Effect, Layer } from "effect"
import { Actors } from "../../runtime/Actors.ts"
import { AuditLog } from "../../runtime/AuditLog.ts"
import { Commit, type IdempotentCall } from "../../runtime/Commit.ts"
import type { Grant } from "../../runtime/Http.ts"
import { Members } from "../../runtime/Members.ts"
import { Secrets } from "../../runtime/Secrets.ts"
import { Settings } from "../../runtime/Settings.ts"
import type { PublicError } from "../../schemas/Errors.ts"
import {
  changeKey,
  type ChangeRequest,
  revokeKey,
  type RotatedKey,
  rotateKey,
  type RotationRequest
} from "./actor/KeyChanges.ts"
import { type KeyContext, type KeyName, requireMerchant } from "./actor/KeyContext.ts"
import { createKey, createMerchant, createWithKeys, type KeyWithSecret } from "./actor/KeyCreation.ts"
import { isOurs, keyPage, type KeyPageQuery, usableKeys, verifyKey } from "./actor/KeyReads.ts"
import { makeUseRecorder } from "./actor/UseRecorder.ts"
import * as Repo from "./repo.ts"
import { maximumMerchantsListed } from "./rules.ts"
import type { ChildKeys, KeyRequest, KeyState, MerchantState, RevokedKey } from "./rules.ts"

/** Merchants and their keys. `actor`: who the audit log says it was; absent: a caller of the internal port. */
export class Keys extends Context.Service<Keys, {
  /** Oldest first, at most {@link maximumMerchantsListed} beyond the merchant `after`. */
  readonly merchants: (after: number) => Effect.Effect<ReadonlyArray<MerchantState>>
  readonly createMerchant: (name: string, email: string | null) => Effect.Effect<MerchantState, PublicError>
  /** A merchant and its first keys in one commit. */
  readonly createWithKeys: (
    name: string,
    keys: ReadonlyArray<Omit<KeyRequest, "merchantId">>,
    beforeCommit: (created: ReadonlyArray<KeyWithSecret>) => Effect.Effect<void, unknown>
  ) => Effect.Effect<ReadonlyArray<KeyWithSecret>, unknown>
  readonly anyMerchant: Effect.Effect<boolean>
  /**
   * Errors: `NOT_FOUND` without such a merchant, `*_NOT_ENABLED`, `VALIDATION_ERROR`; `API_KEY_LIMIT_REACHED`, exact
   * under any concurrency: every new key also writes the merchant's row; `API_KEY_INVALID` where `creatorKey` was
   * revoked meanwhile.
   */
  readonly create: (
    request: KeyRequest,
    call?: IdempotentCall<KeyWithSecret>,
    actor?: string
  ) => Effect.Effect<KeyWithSecret, PublicError>
  /** Newest first, at most 1,000, of both environments. */
  readonly list: (merchantId: number) => Effect.Effect<ReadonlyArray<KeyState>, PublicError>
  /** Newest first. Errors: `INVALID_CURSOR` for what is no key of the merchant there. */
  readonly page: (
    query: KeyPageQuery
  ) => Effect.Effect<{ readonly keys: ReadonlyArray<KeyState>; readonly hasMore: boolean }, PublicError>
  /**
   * Errors: `NOT_FOUND`; `VALIDATION_ERROR`; `INVALID_TRANSITION` for a key that is not active; `PERMISSION_DENIED` for
   * another end or other addresses of a key that may do more than who changes it.
   */
  readonly change: (
    name: KeyName,
    change: ChangeRequest,
    call?: IdempotentCall<KeyState>,
    actor?: string
  ) => Effect.Effect<KeyState, PublicError>
  /**
   * A new key of the same scope, pin, end and addresses, at once; the old one ends after the overlap. Errors:
   * `NOT_FOUND`; `PERMISSION_DENIED` for a key that may do more than who rotates it; `INVALID_TRANSITION` for a key that
   * is not active (a rotated one is not), and with an overlap for one whose predecessor is in use;
   * `API_KEY_LIMIT_REACHED` where both would exceed {@link maximumKeys} during the overlap; `API_KEY_INVALID` where
   * `creatorKey` was revoked meanwhile.
   */
  readonly rotate: (
    name: KeyName,
    request: RotationRequest,
    call?: IdempotentCall<RotatedKey>,
    actor?: string
  ) => Effect.Effect<RotatedKey, PublicError>
  /**
   * The key is refused everywhere within 5 s. Revoking twice is the same as once. Keys created with it are kept (the
   * default) or revoked in the same commit, even when the key itself was revoked before. A key that it creates at the
   * same time is either among them or refused, because both commits write the merchant's row. Errors: `NOT_FOUND`.
   */
  readonly revoke: (
    name: KeyName,
    childKeys?: ChildKeys,
    call?: IdempotentCall<RevokedKey>,
    actor?: string
  ) => Effect.Effect<RevokedKey, PublicError>
  /** Whose key this is; null for an unknown, revoked or expired one. */
  readonly verify: (key: string) => Effect.Effect<Grant | null>
  /** Whether a key proves by its tag that it was made here, whatever has become of it. No look-up. */
  readonly isOurs: (key: string) => boolean
  /**
   * Those of the keys with these ids that are neither revoked nor expired and, where `keyWithAuthority` made an id,
   * still may do just that.
   */
  readonly usable: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>>
}>()("tillwire/modules/auth/Keys") {
  static readonly layer = Layer.effect(
    Keys,
    Effect.gen(function*() {
      const keys: KeyContext = {
        actors: yield* Actors,
        auditLog: yield* AuditLog,
        commit: yield* Commit,
        members: yield* Members,
        repo: yield* Repo.make,
        environments: (yield* Settings).environments,
        peppers: (yield* Secrets).keys("pepper"),
        recordUse: yield* makeUseRecorder
      }
      const { repo } = keys
      return Keys.of({
        merchants: (after) => repo.merchants(after, maximumMerchantsListed),
        createMerchant: (name, email) => createMerchant(keys, name, email),
        createWithKeys: (name, requests, beforeCommit) => createWithKeys(keys, name, requests, beforeCommit),
        anyMerchant: repo.anyMerchant,
        create: (request, call, actor) => createKey(keys, request, call, actor),
        list: (merchantId) => Effect.andThen(requireMerchant(keys, merchantId), repo.keys(merchantId)),
        page: (query) => keyPage(keys, query),
        change: (name, change, call, actor) => changeKey(keys, name, change, call, actor),
        rotate: (name, request, call, actor) => rotateKey(keys, name, request, call, actor),
        revoke: (name, childKeys, call, actor) => revokeKey(keys, name, childKeys, call, actor),
        verify: (text) => verifyKey(keys, text),
        isOurs: (text) => isOurs(keys, text),
        usable: (ids) => usableKeys(keys, ids)
      })
    })
  )
}
