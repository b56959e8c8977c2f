/** What sessions and wallets share: the ports, the commit, and the order of changes. */
import { Effect } from "effect"
import { Actors } from "../../../runtime/Actors.ts"
import { AuditLog } from "../../../runtime/AuditLog.ts"
import { Commit, type Conflict, decideAnew, noCause, type Write } from "../../../runtime/Commit.ts"
import { Members } from "../../../runtime/Members.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { SignIns } from "../../../runtime/SignIns.ts"
import { uuidOf } from "../../../runtime/Uuid.ts"
import { pageUrlOf } from "../../../schemas/Web.ts"
import { Merchants } from "../../auth/plugin.ts"
import * as Repo from "../repo.ts"
import { type Account, accountName } from "../rules.ts"

export interface IdentityContext {
  readonly actors: Actors["Service"]
  readonly auditLog: AuditLog["Service"]
  readonly commit: Commit["Service"]
  readonly members: Members["Service"]
  readonly merchants: Merchants["Service"]
  readonly signIns: SignIns["Service"]
  readonly settings: Settings["Service"]
  readonly repo: Effect.Success<typeof Repo.make>
  /** Where people open pages, and its host: whom a message is signed for, as passkeys and texts of approvals name it. */
  readonly uri: string
  readonly domain: string
}

export const makeContext = Effect.gen(function*() {
  const settings = yield* Settings
  const uri = pageUrlOf(settings.publicUrl)
  const context: IdentityContext = {
    actors: yield* Actors,
    auditLog: yield* AuditLog,
    commit: yield* Commit,
    members: yield* Members,
    merchants: yield* Merchants,
    signIns: yield* SignIns,
    settings,
    repo: yield* Repo.make,
    uri,
    domain: new URL(uri).host
  }
  return context
})

export const walletIdOf = (account: Account): string => `siw_${uuidOf(`sign-in ${accountName(account)}`)}`

/**
 * Decides anew while other commits are faster, one change of a wallet or of a merchant's wallets at a time on this
 * instance.
 */
export const decideInTurn = <A, E extends { readonly _tag: string }>(
  { actors }: IdentityContext,
  kind: "wallet" | "merchant",
  id: string | number,
  attempt: Effect.Effect<A, E | Conflict>
) => decideAnew()(actors.send(`identity-${kind}`, String(id), attempt))

export const append = ({ commit, settings }: IdentityContext, merchantId: number, writes: ReadonlyArray<Write>) =>
  Effect.catchTag(
    commit.append({ merchantId, environment: settings.environments[0], cause: noCause, writes, events: [] }),
    "IdempotentReplay",
    (error) => Effect.die(error)
  )
