/** {@link OperatorNetworksApi} over {@link Chains} and {@link Availability}. */
import { Effect } from "effect"
import { publicError } from "../../schemas/Errors.ts"
import type { Environment, Network } from "../../schemas/Network.ts"
import { AuditLog } from "../AuditLog.ts"
import { Availability, type Offer } from "../Availability.ts"
import { Chains, type NetworkStatus, type RepairProgress } from "../Chains.ts"
import { systemMerchant } from "../Commit.ts"
import * as Operations from "../Operations.ts"
import { operatorWrites, requireServed } from "../OperatorRoutes.ts"
import { Settings } from "../Settings.ts"
import { heightText, repairBody } from "./ChainsRpcHandlers.ts"
import { OperatorNetworksApi } from "./OperatorApi.ts"

type NetworkRepairs = ReadonlyArray<RepairProgress & { readonly network: Network }>

const unfollowed = (network: Network, environment: Environment) =>
  publicError("UNSUPPORTED_NETWORK", {
    message: `No network ${network} is followed on ${environment}: add it to \`chains\` in the config`,
    param: "network"
  })

export const handlers = Operations.group(
  OperatorNetworksApi,
  "operatorNetworks",
  Effect.fn(function*(group) {
    const auditLog = yield* AuditLog
    const availability = yield* Availability
    const chains = yield* Chains
    const settings = yield* Settings

    const networkBody = (status: NetworkStatus, repairs: NetworkRepairs) => {
      const { environment, network } = status
      const state = availability.stateOf({ kind: "network", network, environment })
      return {
        object: "network" as const,
        network,
        environment,
        is_enabled: state.isEnabled,
        disabled_reason: state.reason,
        availability_changed_at: state.changedAt,
        healthy: status.healthy,
        condition: status.condition,
        head: heightText(status.head),
        head_time: status.headTime,
        cursor_time: status.cursorTime,
        repairs: repairs.filter((repair) => repair.network === network).map(repairBody)
      }
    }

    const networksOf = (environment: Environment) =>
      Effect.map(
        chains.repairs(environment),
        (repairs) =>
          chains.status(environment).toSorted((a, b) => a.network < b.network ? -1 : 1)
            .map((status) => networkBody(status, repairs))
      )

    const followed = Effect.fnUntraced(function*(network: Network, environment: Environment) {
      yield* requireServed(settings, environment)
      const found = chains.status(environment).find((status) => status.network === network)
      return found ?? (yield* unfollowed(network, environment))
    })

    /** Enables or disables a network that is followed, and answers it. */
    const setEnabled = Effect.fnUntraced(function*(
      { environment, network }: Extract<Offer, { readonly kind: "network" }>,
      wanted: { readonly isEnabled: boolean; readonly reason: string | null }
    ) {
      const status = yield* followed(network, environment)
      yield* availability.set({ kind: "network", network, environment }, wanted)
      return { success: true as const, data: networkBody(status, yield* chains.repairs(environment)) }
    })

    /** The rows that keep what an operator asks of a network. */
    const requestWrites = (
      { environment, network }: { readonly environment: Environment; readonly network: Network },
      verb: "reanchor" | "rescan",
      asked: Readonly<Record<string, string | null>>
    ) =>
      operatorWrites(auditLog, {
        merchantId: systemMerchant,
        environment,
        action: `network.${verb}`,
        subject: { object: "network", id: network },
        before: {},
        after: asked
      })

    const repairAnswer = (network: Network, environment: Environment, repair: RepairProgress) => ({
      success: true as const,
      data: { object: "repair" as const, network, environment, ...repairBody(repair) }
    })

    return group
      .handle(
        "list",
        Effect.fnUntraced(function*({ query: { environment } }) {
          if (environment !== undefined) yield* requireServed(settings, environment)
          const selected = environment === undefined ? [...settings.environments].sort() : [environment]
          const data = (yield* Effect.forEach(selected, networksOf)).flat()
          return { success: true as const, data: { object: "list" as const, data, has_more: false } }
        })
      )
      .handle(
        "rescan",
        Effect.fnUntraced(function*({ params: { network }, payload: { environment, from, to } }) {
          yield* requireServed(settings, environment)
          const writes = yield* requestWrites({ environment, network }, "rescan", { from, to })
          const repair = yield* chains.rescan(network, environment, BigInt(from), BigInt(to), writes)
          return repairAnswer(network, environment, repair)
        })
      )
      .handle(
        "reanchor",
        Effect.fnUntraced(function*({ params: { network }, payload: { environment, height = null } }) {
          yield* requireServed(settings, environment)
          const writes = yield* requestWrites({ environment, network }, "reanchor", { height })
          const repair = yield* chains.reanchor(network, environment, height === null ? null : BigInt(height), writes)
          return repairAnswer(network, environment, repair)
        })
      )
      .handle(
        "disable",
        ({ params: { network }, payload: { environment, reason } }) =>
          setEnabled({ kind: "network", network, environment }, { isEnabled: false, reason })
      )
      .handle(
        "enable",
        ({ params: { network }, payload: { environment } }) =>
          setEnabled({ kind: "network", network, environment }, { isEnabled: true, reason: null })
      )
  })
)
