/**
 * Which epochs of Sui's mainnet there can be at a time: a node that names a later one would have an export be valid for
 * years. Pure.
 */
import type { Environment } from "../../../schemas/Network.ts"

/**
 * An epoch of mainnet and its start in seconds since 1970, after which none takes less than a day. Source: mainnet
 * itself, `epoch(epochId: 1001) { startTimestamp }`
 * (https://docs.sui.io/references/sui-api/sui-graphql/reference/operations/queries/epoch).
 */
const referenceEpoch = { epoch: 1_001n, start: 1_767_807_788 }

/**
 * `epochDurationMs` of mainnet's parameters
 * (https://www.alchemy.com/docs/chains/sui/sui-api-endpoints/suix-get-latest-sui-system-state).
 */
const epochSeconds = 86_400

/** Seconds that a node's clock may be ahead of ours. */
const aheadSeconds = 600

/** The latest epoch of mainnet that can run at a time, in seconds since 1970. */
export const latestEpoch = (now: number): bigint =>
  referenceEpoch.epoch + BigInt(Math.max(0, Math.floor((now + aheadSeconds - referenceEpoch.start) / epochSeconds)))

/** A sentence about an epoch that a node names, and that cannot be; null: it can. */
export const epochFault = (environment: Environment, epoch: bigint, now: number): string | null =>
  environment === "devnet" || epoch <= latestEpoch(now)
    ? null
    : `it says that this is epoch ${epoch}, and mainnet cannot be past epoch ${latestEpoch(now)}`

/** The same of when the running epoch began and how long it takes at least. */
export const epochTimesFault = (
  environment: Environment,
  { durationSeconds, start }: { readonly start: number; readonly durationSeconds: number },
  now: number
): string | null => {
  if (start > now + aheadSeconds) return `it says that the epoch begins at ${start}, which is not yet`
  return environment === "devnet" || durationSeconds <= 2 * epochSeconds
    ? null
    : `it says that an epoch takes ${durationSeconds} seconds, and mainnet's take a day`
}
