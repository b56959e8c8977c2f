/** What a driver says when it cannot reach or read its chain. */
import { Schema } from "effect"
import { ringSize } from "./Points.ts"

/**
 * `unanswered`: no answer came; `timeout`: it took the whole time limit of a call; `unavailable`: the node says that it
 * cannot answer now (HTTP 5xx); `rate_limited`: it asks for fewer calls, and is left alone for a while; `too_large`:
 * reading the answer stopped at its limit, or the node says that the answer would be too long; `not_found`: the node
 * does not have what was asked for (HTTP 404); `refused`: the node answered with another error of its own;
 * `contradiction`: its answers cannot all be true; `pruned`: the node does not have a block whole any more, and has a
 * later one of the same branch.
 */
export const DriverErrorKind = Schema.Literals([
  "unanswered",
  "timeout",
  "unavailable",
  "rate_limited",
  "too_large",
  "not_found",
  "refused",
  "contradiction",
  "pruned"
])
export type DriverErrorKind = typeof DriverErrorKind.Type

/** A driver could not reach or read its chain; the follower backs off and starts again from the cursor. */
export class DriverError extends Schema.TaggedError<DriverError>()("DriverError", {
  network: Schema.String,
  /** For operators: names the endpoint, and holds no URL, header or key. */
  reason: Schema.String,
  /**
   * `no_common_block`: none of the points that the driver was given is on the chain. Trying again does not help. An
   * operator must act, except where `mayReanchorAutomatically` in Repairs.ts holds. `block_pruned`: the block asked for
   * was there, and no endpoint has it any more, as all of them say. An endpoint may say so by mistake for a while.
   */
  condition: Schema.optionalKey(Schema.Literals(["no_common_block", "block_pruned"])),
  /** What kind of failure it is, where something depends on it. */
  kind: Schema.optionalKey(DriverErrorKind)
}) {
  override get message() {
    return `${this.network}: ${this.reason}`
  }
}

const outageKinds: ReadonlySet<DriverErrorKind | undefined> = new Set([
  "unanswered",
  "timeout",
  "unavailable",
  "rate_limited"
])

/** Whether a failure is one of the endpoint, which ends, and says nothing about what was asked for. */
export const isOutage = ({ kind }: Pick<DriverError, "kind">): boolean => outageKinds.has(kind)

/** None of the points that are stored, newest first, is on the chain any more. */
export const noStoredBlock = (network: string, stored: ReadonlyArray<{ readonly height: bigint }>): DriverError => {
  const [newest, oldest] = [stored[0]?.height, stored.at(-1)?.height]
  const blocks = stored.length === 1
    ? `the one block that is stored, ${newest}, is not`
    : `none of the ${stored.length} blocks that are stored, ${oldest} to ${newest}, is`
  return new DriverError({
    network,
    reason: `${blocks} on the chain any more. Following goes on by itself where fewer than ${ringSize} are stored, ` +
      "none was final and nothing was credited from them. Where the condition becomes `no_common_block` it does " +
      "not: make sure that the nodes are right, then call chains.reanchor on the rpc port",
    condition: "no_common_block"
  })
}
