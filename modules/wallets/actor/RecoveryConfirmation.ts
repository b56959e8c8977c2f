/** An owner shows that the recovery document of a forwarder is kept elsewhere. */
import { Effect } from "effect"
import type { Actors } from "../../../runtime/Actors.ts"
import type { AuditLog } from "../../../runtime/AuditLog.ts"
import type { WalletOwner } from "../../../runtime/Chains.ts"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { type Commit, decideAnew, type IdempotentReplay } from "../../../runtime/Commit.ts"
import { sha256 } from "../../../runtime/http/CanonicalJson.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { ForwarderRecovery } from "../../../schemas/Wallet.ts"
import type { WalletCall } from "./Calls.ts"
import { valueWrite, type WalletValue } from "../repo.ts"
import { recoveryChecksum, recoveryDocument } from "../rules/Recovery.ts"
import { forwarderIn, type ForwarderServices, readValue } from "./Forwarders.ts"

export interface ConfirmationServices extends ForwarderServices {
  readonly actors: Actors["Service"]
  readonly auditLog: AuditLog["Service"]
  readonly commit: Commit["Service"]
  /** Has the wallet with the fingerprint read anew. */
  readonly evict: (fingerprint: string) => Effect.Effect<void>
}

/** The forwarder of an owner whose document has the checksum. */
const findByChecksum = Effect.fnUntraced(function*(
  services: ForwarderServices,
  owner: WalletOwner,
  checksum: string
) {
  for (const kept of yield* services.repo.forwarders(owner)) {
    const forwarder = forwarderIn(yield* readValue(services, kept))
    if (forwarder !== null && recoveryChecksum(forwarder, sha256) === checksum) return { forwarder, kept }
  }
  return yield* publicError("VALIDATION_ERROR", {
    message:
      "checksum: it is that of no forwarder of yours. It is the SHA-256, hex, of collector, payee and seed as the " +
      "document has them, each with a line feed behind it",
    param: "checksum"
  })
})

/** `Wallets.confirmRecovery`. */
export const confirmRecovery = (services: ConfirmationServices) =>
(
  owner: WalletOwner,
  checksum: string,
  { actor, cause, reply }: WalletCall<ForwarderRecovery>
): Effect.Effect<ForwarderRecovery, PublicError | IdempotentReplay> => {
  const { actors, auditLog, chains, commit, evict, repo } = services
  return actors.send(
    "wallets",
    `${owner.merchantId} ${owner.environment} ${owner.family}`,
    Effect.gen(function*() {
      const { forwarder, kept } = yield* findByChecksum(services, owner, checksum)
      const { wallet } = yield* repo.find(owner)
      const { nextIndex } = yield* chains.walletUse(kept.fingerprint)
      const confirmed: WalletValue = {
        ...kept,
        version: kept.version + 1,
        recoveryConfirmedAt: kept.recoveryConfirmedAt ?? (yield* nowSeconds)
      }
      const document = recoveryDocument({
        ...confirmed,
        forwarder,
        nextIndex: nextIndex ?? 0,
        isCurrent: wallet?.kind === "forwarder" && wallet.seed === kept.seed
      })
      const entry = yield* auditLog.writesOf({
        merchantId: owner.merchantId,
        environment: owner.environment,
        actor,
        action: "wallet.confirm_recovery",
        subject: { object: "receiving_wallet", id: owner.family },
        before: { payee: forwarder.payee, confirmed_at: kept.recoveryConfirmedAt },
        after: { payee: forwarder.payee, confirmed_at: confirmed.recoveryConfirmedAt },
        requestId: cause.requestId
      })
      yield* commit.append({
        merchantId: owner.merchantId,
        environment: owner.environment,
        cause,
        writes: [valueWrite(confirmed), ...entry],
        events: [],
        reply: reply(document)
      })
      yield* evict(kept.fingerprint)
      return document
    })
  ).pipe(decideAnew())
}
