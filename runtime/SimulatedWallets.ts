/**
 * Wallets of simulated networks: they have no key, and execute what they are told to execute. The plugin that simulates
 * a network registers its wallets here. A network with real money registers none, so its driver has no such functions.
 */
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import type { BatchPart, PayoutExport } from "./Payouts.ts"
import type { Environment, Network } from "../schemas/Network.ts"

/**
 * What a simulated wallet does with an exported part. `once`: it executes the part. `twice`: it executes the part a
 * second time at once. `changed_destination`: it pays the first line to somebody else. `late`: it executes the part
 * after its validity. `frozen_recipient`: it executes the part although a receiver is frozen.
 */
export const SimulatedOutcome = Schema.Literals(["once", "twice", "changed_destination", "late", "frozen_recipient"])
export type SimulatedOutcome = typeof SimulatedOutcome.Type

/** The wallets of one simulated network. */
export interface NetworkWallets {
  /**
   * Executes an exported part. Answers the hash of the transaction; null: the network refuses it, as it refuses an
   * export whose validity is over and, in some families, a second execution.
   */
  readonly execute: (
    part: BatchPart,
    exported: Pick<PayoutExport, "validUntil">,
    outcome: SimulatedOutcome
  ) => Effect.Effect<string | null>
  /**
   * Base units that came to an address minus those that left it, in the blocks up to a height, since the process
   * started. Below zero where the address sent money that the simulated chain does not show: money from before the
   * start, or from a transfer that lies on no chain.
   */
  readonly balanceChange: (address: string, tokenAddress: string | null, height: bigint) => Effect.Effect<bigint>
}

export class SimulatedWallets extends Context.Service<SimulatedWallets, {
  /** The wallets of a network; null: it is not simulated. */
  readonly find: (network: Network, environment: Environment) => NetworkWallets | null
  /** Registers the wallets of a network for as long as the scope lives. */
  readonly register: (
    network: Network,
    environment: Environment,
    wallets: NetworkWallets
  ) => Effect.Effect<void, never, Scope.Scope>
}>()("tillwire/runtime/SimulatedWallets") {
  static readonly layer: Layer.Layer<SimulatedWallets> = Layer.sync(SimulatedWallets, () => {
    const registered = new Map<string, NetworkWallets>()
    const keyOf = (network: Network, environment: Environment) => `${network} ${environment}`
    return SimulatedWallets.of({
      find: (network, environment) => registered.get(keyOf(network, environment)) ?? null,
      register: (network, environment, wallets) =>
        Effect.asVoid(Effect.acquireRelease(
          Effect.sync(() => registered.set(keyOf(network, environment), wallets)),
          () => Effect.sync(() => registered.delete(keyOf(network, environment)))
        ))
    })
  })
}
