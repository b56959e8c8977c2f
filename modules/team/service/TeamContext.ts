/** What all acts of people share: the ports, the commit, tokens and their hashes, and the order of changes. */
import { Effect } from "effect"
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import { Actors } from "../../../runtime/Actors.ts"
import { type AuditAct, AuditLog } from "../../../runtime/AuditLog.ts"
import {
  Commit,
  type Conflict,
  decideAnew,
  dieOnReplay,
  type IdempotentCall,
  noCause,
  type ReplyWrite,
  type Write
} from "../../../runtime/Commit.ts"
import { Mail } from "../../../runtime/Mail.ts"
import { type DerivedKey, Secrets } from "../../../runtime/Secrets.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { KeysByMaker, Merchants, type MerchantState } from "../../auth/plugin.ts"
import { PersonWallets } from "../../identity/plugin.ts"
import { makeRepo, type Repo } from "../repo.ts"

export interface TeamContext {
  readonly actors: Actors["Service"]
  readonly auditLog: AuditLog["Service"]
  readonly commit: Commit["Service"]
  readonly keys: KeysByMaker["Service"]
  readonly mail: Mail["Service"]
  readonly merchants: Merchants["Service"]
  readonly settings: Settings["Service"]
  readonly wallets: PersonWallets["Service"]
  readonly repo: Repo
  /** The newest first: hashes under the others are still found. */
  readonly peppers: readonly [DerivedKey, ...ReadonlyArray<DerivedKey>]
}

export const makeTeamContext = Effect.gen(function*() {
  const context: TeamContext = {
    actors: yield* Actors,
    auditLog: yield* AuditLog,
    commit: yield* Commit,
    keys: yield* KeysByMaker,
    mail: yield* Mail,
    merchants: yield* Merchants,
    settings: yield* Settings,
    wallets: yield* PersonWallets,
    repo: yield* makeRepo,
    peppers: (yield* Secrets).keys("pepper")
  }
  return context
})

export const servesMainnet = ({ settings }: TeamContext): boolean => settings.environments.includes("mainnet")

/** What a hash is of: the same text is another hash for another purpose. */
export type HashPurpose = "act" | "challenge" | "email" | "invitation" | "link" | "read" | "recovery"

const hashUnder = (purpose: HashPurpose, text: string) => ({ key }: DerivedKey): string =>
  createHmac("sha256", key).update(`team ${purpose}\n${text}`).digest("hex")

/** The hash under the newest pepper, as it is stored. */
export const hashOf = ({ peppers }: TeamContext, purpose: HashPurpose, text: string): string =>
  hashUnder(purpose, text)(peppers[0])

/** The hashes under which it may be stored. */
export const hashesOf = ({ peppers }: TeamContext, purpose: HashPurpose, text: string): ReadonlyArray<string> =>
  peppers.map(hashUnder(purpose, text))

/** Whether a text has a hash, in constant time. */
export const hasHash = (context: TeamContext, purpose: HashPurpose, text: string, hash: string): boolean =>
  hashesOf(context, purpose, text).some((candidate) => timingSafeEqual(Buffer.from(candidate), Buffer.from(hash)))

const tokenBytes = 32

/** 256 random bits as base64url. */
export const newToken: Effect.Effect<string> = Effect.sync(() => randomBytes(tokenBytes).toString("base64url"))

const tokenPattern = /^[A-Za-z0-9_-]{43}$/

/** Whether a text can be a token of ours: others are not looked up. */
export const isToken = (text: string): boolean => tokenPattern.test(text)

/** A call that nobody will repeat. */
export const callWithoutKey: IdempotentCall<unknown> = { cause: noCause, reply: () => undefined }

/** Commits rows of a merchant's people; `reply` is what a repeat of the call is answered. */
export const append = (
  { commit, settings }: TeamContext,
  merchantId: number,
  writes: ReadonlyArray<Write>,
  cause: IdempotentCall<unknown>["cause"] = noCause,
  reply?: ReplyWrite
) => dieOnReplay(commit.append({ merchantId, environment: settings.environments[0], cause, writes, events: [], reply }))

/**
 * Decides anew while other commits are faster, one change of a thing at a time on this instance. `kind` and `id` name
 * the thing.
 */
export const decideInTurn = <A, E extends { readonly _tag: string }>(
  { actors }: TeamContext,
  kind: "merchant" | "person" | "token",
  id: string | number,
  attempt: Effect.Effect<A, E | Conflict>
) => decideAnew()(actors.send(`team-${kind}`, String(id), attempt))

export const requireMerchant = ({ merchants }: TeamContext, id: number): Effect.Effect<MerchantState, PublicError> =>
  Effect.flatMap(merchants.read(id), (merchant) =>
    merchant === undefined
      ? Effect.fail(publicError("NOT_FOUND", { message: "No such merchant" }))
      : Effect.succeed(merchant))

/** An act for the audit log, without the merchant and the actor. */
export type PersonAct = Pick<AuditAct, "action" | "subject" | "before" | "after" | "requestId">

/** The entries of what a person did for itself: in the log of every merchant that it is a member of. */
export const personActWrites = Effect.fnUntraced(
  function*(context: TeamContext, person: string, ...acts: ReadonlyArray<PersonAct>) {
    const memberships = yield* context.repo.membershipsOf(person)
    const entries = yield* Effect.forEach(
      acts.flatMap((act) => memberships.map(({ id, merchantId }) => ({ ...act, merchantId, actor: id }))),
      (act) => context.auditLog.writesOf({ ...act, environment: context.settings.environments[0] })
    )
    return entries.flat()
  }
)
