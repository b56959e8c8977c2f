/**
 * Whom a transfer is for: the invoice that was given its address before it was mined, else only the wallet's merchant.
 */
import { Effect } from "effect"
import { type Environment, familyOf, type Network } from "../../schemas/Network.ts"
import { systemMerchant } from "../Commit.ts"
import { isOlderThanTarget, type Receiver } from "./Confirmations.ts"
import { accountIndex, type ChainsRepo, type RingPoint } from "./ChainsRepo.ts"
import type { WalletAddresses } from "./WalletAddresses.ts"

/** A chain, and what is asked of it. */
export interface BlockLocation {
  readonly network: Network
  readonly environment: Environment
  /** The block of the transfers. */
  readonly point: RingPoint
  /** The newest height that is followed, where it never falls but by a reanchor; else absent. */
  readonly newest?: bigint | null
}

/**
 * The merchants of the wallets that these are of, by match key. Two lists may name one address: then nobody but the
 * operator can tell whose money it is.
 */
export const findOwners = Effect.fnUntraced(function*(
  repo: ChainsRepo,
  receiving: ReadonlyArray<{ readonly fingerprint: string; readonly matchKey: string }>
) {
  const owners = yield* repo.walletOwners([...new Set(receiving.map(({ fingerprint }) => fingerprint))])
  return new Map(
    [...Map.groupBy(receiving, (each) => each.matchKey)].map(([matchKey, those]) => {
      const merchants = new Set(those.map(({ fingerprint }) => owners.get(fingerprint) ?? systemMerchant))
      return [matchKey, merchants.size === 1 ? [...merchants][0]! : systemMerchant]
    })
  )
})

/**
 * The receivers of transfers to `keys` in one block; a key of nobody is absent. Money on an address that was never
 * given out moves its wallet's counter past it: an invoice that no row remembers was given it.
 */
export const findReceivers = Effect.fnUntraced(function*(
  { addresses, repo }: { readonly repo: ChainsRepo; readonly addresses: WalletAddresses },
  { environment, network, newest, point }: BlockLocation,
  keys: ReadonlyArray<string>
) {
  const receivers = new Map<string, Receiver>()
  if (keys.length === 0) return receivers
  const targets = yield* repo.targetsByKey(familyOf(network), environment, keys)
  for (const target of targets) receivers.set(target.matchKey, target)
  const olderTargets = targets.filter((target) => isOlderThanTarget(target, network, environment, point, newest))
  const unknownKeys = keys.filter((key) => !receivers.has(key))
  const unusedAddresses = unknownKeys.length === 0 ? [] : yield* repo.addressesByKey(unknownKeys)
  const addressesWithoutInvoice = [...olderTargets, ...unusedAddresses]
  if (addressesWithoutInvoice.length === 0) return receivers
  for (const [matchKey, merchantId] of yield* findOwners(repo, addressesWithoutInvoice)) {
    receivers.set(matchKey, { merchantId, invoiceId: null })
  }
  const indexed = unusedAddresses.filter(({ walletIndex }) => walletIndex !== accountIndex)
  for (const [fingerprint, those] of Map.groupBy(indexed, (each) => each.fingerprint)) {
    yield* repo.moveCounter(fingerprint, Math.max(...those.map(({ walletIndex }) => walletIndex)) + 1)
    yield* addresses.refill(fingerprint)
  }
  return receivers
})
