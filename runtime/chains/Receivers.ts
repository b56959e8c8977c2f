/** Whom a transfer is for: the invoice that was given its address before it was mined, else only the wallet's merchant. */
import { Effect } from "effect"
import { type Environment, familyOf, type Network } from "../../schemas/Network.ts"
import { systemMerchant } from "../Commit.ts"
import { isOlderThanTarget, type Receiver } from "./Depth.ts"
import type { RingPoint, Rows } from "./Rows.ts"
import type { WalletAddresses } from "./WalletAddresses.ts"

/** A chain, and what is asked of it. */
export interface ReceiverPlace {
  readonly network: Network
  readonly environment: Environment
  /** The block of the transfers. */
  readonly point: RingPoint
}

/**
 * The receivers of transfers to `keys` in one block; a key of nobody is absent. Money on an address that was never given
 * out moves its wallet's counter past it: an invoice that no row remembers was given it.
 */
export const find = Effect.fnUntraced(function*(
  { addresses, rows }: { readonly rows: Rows; readonly addresses: WalletAddresses },
  { environment, network, point }: ReceiverPlace,
  keys: ReadonlyArray<string>
) {
  const receivers = new Map<string, Receiver>()
  if (keys.length === 0) return receivers
  const targets = yield* rows.targetsByKey(familyOf(network), environment, keys)
  for (const target of targets) receivers.set(target.matchKey, target)
  const early = targets.filter((target) => isOlderThanTarget(target, network, environment, point))
  const strange = keys.filter((key) => !receivers.has(key))
  const unused = strange.length === 0 ? [] : yield* rows.addressesByKey(strange)
  const unmatched = [...early, ...unused]
  if (unmatched.length === 0) return receivers
  const owners = yield* rows.walletOwners([...new Set(unmatched.map(({ fingerprint }) => fingerprint))])
  for (const [matchKey, those] of Map.groupBy(unmatched, (each) => each.matchKey)) {
    // Two lists may name one address: then nobody but the operator can tell whose money it is.
    const merchants = new Set(those.map(({ fingerprint }) => owners.get(fingerprint) ?? systemMerchant))
    receivers.set(matchKey, { merchantId: merchants.size === 1 ? [...merchants][0]! : systemMerchant, invoiceId: null })
  }
  for (const [fingerprint, those] of Map.groupBy(unused, (each) => each.fingerprint)) {
    yield* rows.moveCounter(fingerprint, Math.max(...those.map(({ walletIndex }) => walletIndex)) + 1)
    yield* addresses.lookAgain(fingerprint)
  }
  return receivers
})
