/** Whose key a text is, and the keys of a merchant by the page. */
import { Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { Grant } from "../../../runtime/Http.ts"
import { keyWithAuthority } from "../../../runtime/Rights.ts"
import { inRanges } from "../../../runtime/http/Addresses.ts"
import { publicError } from "../../../schemas/Errors.ts"
import type { MerchantId } from "../../../schemas/Ids.ts"
import { invalidParameter } from "../../../schemas/InvalidInput.ts"
import type { Environment } from "../../../schemas/Network.ts"
import type { Role } from "../../../schemas/Roles.ts"
import { hasTag, isUsable, isWellFormedKey, type KeyState } from "../rules.ts"
import { type KeyContext, requireKey } from "./KeyContext.ts"
import { hashUnder, tagUnder } from "./KeyCreation.ts"

/** A page of a merchant's keys. */
export interface KeyPageQuery {
  readonly merchantId: number
  readonly environment: Environment
  readonly limit: number
  readonly startingAfter: string | undefined
  readonly endingBefore: string | undefined
}

/** A caller whose address nobody knows is in no range. */
const makeAddressCheck = (ranges: ReadonlyArray<string>) => {
  const isIn = inRanges(ranges)
  return (address: string | null): boolean => address !== null && isIn(address)
}

interface MakerOfKey {
  readonly person: string | null
  readonly role: Role
}

/**
 * Whose acts a key's are. One that nobody in particular made, as the operator's, has all rights of its permissions.
 * Null: its maker is no member any more.
 */
export const makerOf = (
  { members }: KeyContext,
  { makerPerson, merchantId }: KeyState
): Effect.Effect<MakerOfKey | null> =>
  makerPerson === null
    ? Effect.succeed({ person: null, role: "owner" } as const)
    : members.find(merchantId, makerPerson)

export const verifyKey = Effect.fnUntraced(function*(context: KeyContext, text: string) {
  const { peppers, recordUse, repo } = context
  if (!isWellFormedKey(text)) return null
  const key = yield* repo.keyByHash(peppers.map((pepper) => hashUnder(pepper, text)))
  const now = yield* nowSeconds
  if (key === undefined || !isUsable(key, now)) return null
  const maker = yield* makerOf(context, key)
  if (maker === null) return null
  recordUse(key, now)
  const grant: Grant = {
    merchantId: key.merchantId as MerchantId,
    environment: key.environment,
    scope: key.scope,
    kind: "key",
    credential: key.id,
    apiVersion: key.apiVersion,
    role: maker.role,
    permissions: key.permissions,
    person: maker.person,
    keyName: key.name,
    ...(key.use === null ? {} : { use: key.use }),
    ...(key.roleLimits.length === 0 ? {} : { roleLimits: key.roleLimits }),
    ...(key.expiresAt === null ? {} : { endsAtMillis: key.expiresAt * 1000 }),
    ...(key.ipAllowlist.length === 0 ? {} : { admits: makeAddressCheck(key.ipAllowlist) })
  }
  return grant
})

/** See `Keys.usable`. Each maker of keys with such ids is looked up once. */
export const usableKeys = Effect.fnUntraced(function*(context: KeyContext, ids: ReadonlyArray<string>) {
  const keyIdOf = (id: string) => id.split(" ", 1)[0]!
  const makerName = ({ makerPerson, merchantId }: KeyState) => `${merchantId} ${makerPerson}`
  const found = yield* context.repo.usable([...new Set(ids.map(keyIdOf))], yield* nowSeconds)
  const keys = new Map(found.map((key) => [key.id, key]))
  const keysWithAuthority = ids.flatMap((id) => id === keyIdOf(id) ? [] : keys.get(keyIdOf(id)) ?? [])
  const makers = new Map(
    yield* Effect.forEach(
      new Map(keysWithAuthority.map((key) => [makerName(key), key])),
      ([name, key]) => Effect.map(makerOf(context, key), (maker) => [name, maker] as const),
      { concurrency: 8 }
    )
  )
  return ids.filter((id) => {
    const key = keys.get(keyIdOf(id))
    if (key === undefined || id === key.id) return key !== undefined
    const maker = makers.get(makerName(key))
    return maker != null && id === keyWithAuthority(key.id, { ...key, role: maker.role })
  })
})

export const isOurs = ({ peppers }: KeyContext, text: string): boolean =>
  peppers.some((pepper) => hasTag(text, tagUnder(pepper)))

export const keyPage = Effect.fnUntraced(function*(
  keys: KeyContext,
  { endingBefore, environment, limit, merchantId, startingAfter }: KeyPageQuery
) {
  const cursorId = startingAfter ?? endingBefore
  if (startingAfter !== undefined && endingBefore !== undefined) {
    return yield* publicError("INVALID_CURSOR", {
      message: "Send starting_after or ending_before, not both",
      param: "ending_before"
    })
  }
  const direction = startingAfter === undefined ? "newer" : "older"
  const cursor = cursorId === undefined ? undefined : {
    direction,
    key: yield* Effect.mapError(
      requireKey(keys, { merchantId, environment, id: cursorId }),
      () =>
        invalidParameter(
          startingAfter === undefined ? "ending_before" : "starting_after",
          "the id of one of your keys, like key_550e8400-e29b-41d4-a716-446655440000",
          "INVALID_CURSOR"
        )
    )
  } as const
  const rows = yield* keys.repo.page({ merchantId, environment, limit, cursor })
  const page = rows.slice(0, limit)
  return { keys: cursor?.direction === "newer" ? page.toReversed() : page, hasMore: rows.length > limit }
})
