/**
 * Which epochs of Sui's mainnet there can be at a time: a node that names a later one would have an export be valid for
 * years. Pure.
 */
import type { Environment } from "../../../schemas/Network.ts"

/**
 * An epoch of mainnet and its start in epoch seconds, after which none takes less than a day. Source: the answer of
 * `suix_getLatestSuiSystemState` in docs.getblock.io (epoch 1001, 1767807788838 ms).
 */
const anchor = { epoch: 1_001n, start: 1_767_807_788 }

/** `epochDurationMs` of mainnet's parameters (docs.sui.io, "Epochs and Reconfiguration"). */
const epochSeconds = 86_400

/** Seconds that a node's clock may be ahead of ours. */
const aheadSeconds = 600

/** The latest epoch of mainnet that can run at a time, in epoch seconds. */
export const latestEpoch = (now: number): bigint =>
  anchor.epoch + BigInt(Math.max(0, Math.floor((now + aheadSeconds - anchor.start) / epochSeconds)))

/** A sentence about an epoch that a node names, and that cannot be; null: it can. */
export const impossibleEpoch = (environment: Environment, epoch: bigint, now: number): string | null =>
  environment === "devnet" || epoch <= latestEpoch(now)
    ? null
    : `it says that this is epoch ${epoch}, and mainnet cannot be past epoch ${latestEpoch(now)}`

/** The same of when the running epoch began and how long it takes at least. */
export const impossibleTimes = (
  environment: Environment,
  { durationSeconds, start }: { readonly start: number; readonly durationSeconds: number },
  now: number
): string | null => {
  if (start > now + aheadSeconds) return `it says that the epoch begins at ${start}, which is not yet`
  return environment === "devnet" || durationSeconds <= 2 * epochSeconds
    ? null
    : `it says that an epoch takes ${durationSeconds} seconds, and mainnet's take a day`
}
