/** Every wallet that was ever set, by its fingerprint: money may come to an address of it at any time. */
import { Cache, Effect } from "effect"
import { keepSuccess } from "../../../runtime/Cache.ts"
import type { WalletRecord } from "../../../runtime/Chains.ts"
import type { WalletValue } from "../repo.ts"
import { type ForwarderServices, readValue } from "./Forwarders.ts"

/** Milliseconds for which a wallet is not read again: its owner may confirm its recovery document meanwhile. */
const cacheMillis = 2_000

/** Wallets remembered at once; the one that was not asked for the longest goes first. */
const cacheCapacity = 10_000

/** Where money is real, a forwarder gives out no address before its owner could do without this service. */
const mayReceive = ({ environment, kind, recoveryConfirmedAt }: WalletValue): boolean =>
  kind !== "forwarder" || environment === "devnet" || recoveryConfirmedAt !== null

/** `Chains.MerchantWallets.withFingerprint`. */
export const makeWalletRecords = Effect.fnUntraced(function*(services: Pick<ForwarderServices, "reader" | "repo">) {
  const cache = yield* Cache.makeWith(
    (fingerprint: string) =>
      Effect.flatMap(
        services.repo.value(fingerprint),
        (record) =>
          record === null ?
            Effect.succeed(null) :
            Effect.map(
              readValue(services, record),
              (wallet): WalletRecord | null =>
                wallet === null
                  ? null
                  : { wallet, isPayeeContract: record.isPayeeContract === true, mayReceive: mayReceive(record) }
            )
      ),
    { capacity: cacheCapacity, timeToLive: keepSuccess(cacheMillis) }
  )
  return {
    of: (fingerprint: string) => Cache.get(cache, fingerprint),
    evict: (fingerprint: string) => Cache.invalidate(cache, fingerprint)
  }
})
