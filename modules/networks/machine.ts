/** What the public is told of a network: never an address or a name of a node. Pure. */
import type { NetworkCondition, NetworkStatus } from "../../runtime/Chains.ts"
import type { NetworkState } from "./api.ts"

/** What a condition means for whoever is about to pay, or has paid. */
export const messages: Readonly<Record<NetworkCondition, string>> = {
  ok: "Payments are seen and confirmed as usual.",
  silent: "Payments are not seen at the moment. What was sent is found as soon as the network can be read again.",
  frozen: "No new block arrives at the moment. What was sent is found as soon as there is one.",
  disagreement: "Payments are seen, and confirmed once the network's nodes agree again.",
  no_common_block: "Payments are not seen at the moment. The operator has to look; what was sent is found after that."
}

/** A network as the public is shown it. */
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
    a.environment.localeCompare(b.environment) || a.network.localeCompare(b.network))
