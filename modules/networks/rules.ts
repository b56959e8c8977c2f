/** What anybody may read of a network: never the address or name of a node. Pure. */
import type { NetworkCondition, NetworkStatus } from "../../runtime/Chains.ts"
import type { NetworkState } from "./api.ts"

/** What a condition means for a payor. */
export const messages: Readonly<Record<NetworkCondition, string>> = {
  ok: "Payments are seen and confirmed as usual.",
  silent: "Payments are not seen at the moment. Payments sent meanwhile are found once the network can be read again.",
  frozen: "No new block arrives at the moment. Payments sent meanwhile are found in the next one.",
  disagreement: "Payments are seen, and confirmed once the network's nodes agree again.",
  no_common_block:
    "Payments are not seen at the moment. The operator must act; payments sent meanwhile are found after that."
}

/** A network's state on the wire. */
export const networkState = ({ condition, environment, head, headTime, network }: NetworkStatus): NetworkState => ({
  network,
  environment,
  healthy: condition === "ok",
  condition,
  message: messages[condition],
  head_height: head === null ? null : Number(head),
  head_time: headTime as NetworkState["head_time"]
})

/** In order of environment and name. */
export const networkStates = (statuses: ReadonlyArray<NetworkStatus>): ReadonlyArray<NetworkState> =>
  statuses.map(networkState).toSorted((a, b) =>
    a.environment.localeCompare(b.environment) || a.network.localeCompare(b.network)
  )
