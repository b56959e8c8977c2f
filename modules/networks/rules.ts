/**
 * What anybody may read of a network: never the address or name of a node, nor why an operator disabled it. Pure.
 */
import type { NetworkStatus } from "../../runtime/Chains.ts"
import type { NetworkState } from "./api.ts"

/** What a condition means for a payor. */
export const messages: Readonly<Record<NetworkState["condition"], string>> = {
  ok: "Payments are seen and confirmed as usual.",
  silent: "Payments are not seen at the moment. Payments sent meanwhile are found once the network can be read again.",
  frozen: "No new block arrives at the moment. Payments sent meanwhile are found in the next one.",
  disagreement: "Payments are seen, and confirmed once the network's nodes agree again.",
  no_common_block:
    "Payments are not seen at the moment. The operator must act; payments sent meanwhile are found after that.",
  disabled: "No new payment can begin on this network at the moment. Payments under way are seen and confirmed."
}

/** Whether an operator lets new payments use a network. */
export type IsEnabled = (network: Pick<NetworkStatus, "environment" | "network">) => boolean

/** A network's state on the wire. */
export const networkState = (status: NetworkStatus, isEnabled: IsEnabled): NetworkState => {
  const { environment, head, headTime, network } = status
  // Where the chain is in trouble payments under way are in trouble too, which matters more to whoever has sent one.
  const condition = status.condition === "ok" && !isEnabled(status) ? "disabled" : status.condition
  return {
    network,
    environment,
    healthy: condition === "ok",
    condition,
    message: messages[condition],
    head_height: head === null ? null : Number(head),
    head_time: headTime as NetworkState["head_time"]
  }
}

/** In order of environment and name. */
export const networkStates = (
  statuses: ReadonlyArray<NetworkStatus>,
  isEnabled: IsEnabled
): ReadonlyArray<NetworkState> =>
  statuses.map((status) => networkState(status, isEnabled)).toSorted((a, b) =>
    a.environment.localeCompare(b.environment) || a.network.localeCompare(b.network)
  )
