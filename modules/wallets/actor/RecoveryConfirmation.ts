/** An owner shows that the recovery document of a forwarder is kept elsewhere. */
import { Effect } from "effect"
import type { Actors } from "../../../runtime/Actors.ts"
import type { AuditLog } from "../../../runtime/AuditLog.ts"
import type { WalletOwner } from "../../../runtime/Chains.ts"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { type Commit, decideAnew, type IdempotentReplay } from "../../../runtime/Commit.ts"
import { sha256 } from "../../../runtime/http/CanonicalJson.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { ConfirmedForwarder } from "../../../schemas/Wallet.ts"
import type { WalletCall } from "./Calls.ts"
import { valueWrite } from "../repo.ts"
import { recoveryChecksum } from "../rules/Recovery.ts"
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
  for (const record of yield* services.repo.forwarders(owner)) {
    const forwarder = forwarderIn(yield* readValue(services, record))
    if (forwarder !== null && recoveryChecksum(forwarder, sha256) === checksum) return { forwarder, record }
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
  { by, cause, reply }: WalletCall<ConfirmedForwarder>
): Effect.Effect<ConfirmedForwarder, PublicError | IdempotentReplay> => {
  const { actors, auditLog, commit, evict } = services
  return actors.send(
    "wallets",
    `${owner.merchantId} ${owner.environment} ${owner.family}`,
    Effect.gen(function*() {
      const { forwarder, record } = yield* findByChecksum(services, owner, checksum)
      const confirmedAt = record.recoveryConfirmedAt ?? (yield* nowSeconds)
      const confirmed: ConfirmedForwarder = { payee: forwarder.payee, confirmed_at: confirmedAt }
      const entry = yield* auditLog.writesOf({
        merchantId: owner.merchantId,
        environment: owner.environment,
        actor: by.credential,
        action: "wallet.confirm_recovery",
        subject: { object: "receiving_wallet", id: owner.family },
        before: { payee: forwarder.payee, confirmed_at: record.recoveryConfirmedAt },
        after: { ...confirmed },
        requestId: cause.requestId
      })
      yield* commit.append({
        merchantId: owner.merchantId,
        environment: owner.environment,
        cause,
        writes: [
          valueWrite({ ...record, version: record.version + 1, recoveryConfirmedAt: confirmedAt }),
          ...entry
        ],
        events: [],
        reply: reply(confirmed)
      })
      yield* evict(record.fingerprint)
      return confirmed
    })
  ).pipe(decideAnew())
}
