/**
 * What the calls of {@link Keys} in actor.ts share: the ports, the order of changes, and what each has to find first.
 */
import { Effect } from "effect"
import type { Actors } from "../../../runtime/Actors.ts"
import type { AuditLog } from "../../../runtime/AuditLog.ts"
import {
  type Commit,
  type CommitCause,
  type Conflict,
  decideAnew,
  dieOnReplay,
  type IdempotentCall,
  noCause,
  type ReplyWrite,
  type Write
} from "../../../runtime/Commit.ts"
import { isAddressRange } from "../../../runtime/http/Addresses.ts"
import type { DerivedKey } from "../../../runtime/Secrets.ts"
import type { Members } from "../../../runtime/Members.ts"
import type { Settings } from "../../../runtime/Settings.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { invalidParameter } from "../../../schemas/InvalidInput.ts"
import type { Environment } from "../../../schemas/Network.ts"
import * as Repo from "../repo.ts"
import { isUsable, type KeyState, type MerchantState } from "../rules.ts"
import { type KeyAction, keyActOf } from "../rules/KeyActs.ts"

export interface KeyContext {
  readonly actors: Actors["Service"]
  readonly auditLog: AuditLog["Service"]
  readonly commit: Commit["Service"]
  readonly members: Members["Service"]
  readonly repo: Effect.Success<typeof Repo.make>
  readonly environments: Settings["Service"]["environments"]
  /** The newest first: new keys are made under it, and keys made under the others stay good. */
  readonly peppers: readonly [DerivedKey, ...ReadonlyArray<DerivedKey>]
  readonly recordUse: (key: KeyState, at: number) => void
}

/** A key of a merchant; `environment` null: whichever it is in. A key elsewhere is as unknown. */
export interface KeyName {
  readonly merchantId: number
  readonly environment: Environment | null
  readonly id: string
}

/** A call that nobody will repeat. */
export const callWithoutKey: IdempotentCall<unknown> = { cause: noCause, reply: () => undefined }

/** Who acts where a call of the internal port does not say. */
export const operator = "service:rpc"

export const append = (
  { commit }: KeyContext,
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
    reply
  }))

/** What becomes of a key in a commit; `before` null: it is new. */
export interface KeyStep {
  readonly action: KeyAction
  readonly before: KeyState | null
  readonly after: KeyState
}

/** The rows of keys with the entries that the audit log keeps of them. */
export const keyWrites = ({ auditLog }: KeyContext, steps: ReadonlyArray<KeyStep>, actor: string, cause: CommitCause) =>
  Effect.map(
    Effect.forEach(steps, ({ action, after, before }) =>
      Effect.map(
        auditLog.writesOf(keyActOf(action, before, after, actor, cause.requestId)),
        (entries) => [Repo.keyWrite(after), ...entries]
      )),
    (writes) => writes.flat()
  )

/** Loads and decides, one change of a merchant's keys at a time; anew while other instances are faster. */
export const decideInTurn = <A, E>(
  { actors }: KeyContext,
  merchantId: number,
  attempt: Effect.Effect<A, E | Conflict>
) => decideAnew()(actors.send("api-keys", String(merchantId), attempt))

export const requireMerchant = ({ repo }: KeyContext, id: number) =>
  Effect.flatMap(repo.merchant(id), (merchant) =>
    merchant === undefined
      ? Effect.fail(publicError("NOT_FOUND", { message: "No such merchant" }))
      : Effect.succeed(merchant))

/** Of two commits that carry the merchant's row only one is stored, so what was counted of its keys still holds. */
export const touchMerchant = (merchant: MerchantState): Write =>
  Repo.merchantWrite({ ...merchant, version: merchant.version + 1 })

export const requireKey = ({ repo }: KeyContext, { environment, id, merchantId }: KeyName) =>
  Effect.flatMap(
    repo.key(merchantId, id),
    (key) =>
      key === undefined || environment !== null && key.environment !== environment
        ? Effect.fail(publicError("NOT_FOUND", { message: "No such key" }))
        : Effect.succeed(key)
  )

/**
 * Reads the creator from the database again, because authentication may accept a revoked key from its cache for 5 s: a
 * key created in that time would be missing from the revocation.
 */
export const checkCreator = Effect.fnUntraced(function*(
  { repo }: KeyContext,
  merchantId: number,
  creator: string | null,
  now: number
) {
  const key = creator === null ? undefined : yield* repo.key(merchantId, creator)
  if (creator !== null && (key === undefined || !isUsable(key, now))) return yield* publicError("API_KEY_INVALID")
})

export const checkRanges = (ranges: ReadonlyArray<string>) => {
  const wrong = ranges.findIndex((range) => !isAddressRange(range))
  return wrong === -1 ? Effect.void : Effect.fail(invalidParameter(
    `ip_allowlist.${wrong}`,
    "an IP address or a range such as 203.0.113.0/24"
  ))
}
