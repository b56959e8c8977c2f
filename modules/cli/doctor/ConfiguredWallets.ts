/** The wallets that the config names, with the addresses by which the operator knows them again. */
import { Effect, Logger } from "effect"
import type { HttpClient } from "effect/http"
import type { WalletRef } from "../../../runtime/Chains.ts"
import type { SelectedPlugin } from "../../../runtime/Config.ts"
import { NodeProof } from "../../../runtime/nodes/Endpoints.ts"
import { type Finding, ok } from "./Findings.ts"
import { driversOf, nodeListOf } from "./NodeHeads.ts"

/** Addresses by which a wallet is known again; the dashboard and the API show as many. */
const shownAddresses = 3

/** Its first addresses, fewer where it has fewer, whatever number invoices begin at; one where all invoices share it. */
const firstAddresses = (wallet: WalletRef): ReadonlyArray<string> =>
  wallet._tag === "SharedWallet"
    ? [wallet.address]
    : Array.from(
      { length: Math.min(shownAddresses, wallet.size ?? shownAddresses) },
      (_, index) => wallet.derive(index).address
    )

/** A wallet, and one of the networks that it receives on. */
export interface ConfiguredWallet {
  readonly network: string
  readonly wallet: WalletRef
}

/** One finding for each wallet, whatever number of networks shares it. Pure. */
export const walletFindings = (configured: ReadonlyArray<ConfiguredWallet>): ReadonlyArray<Finding> =>
  [...Map.groupBy(configured, ({ wallet }) => wallet.fingerprint).values()].map((group) => {
    const { wallet } = group[0]!
    const networks = [...new Set(group.map(({ network }) => network))].join(", ")
    const addresses = firstAddresses(wallet)
    return ok(
      `wallet of ${networks}`,
      wallet._tag === "SharedWallet"
        ? `Compare with what your wallet shows: every payment arrives at\n${addresses.join("\n")}`
        : [
          `Compare with what your wallet shows; the first invoice gets number ${wallet.startIndex}:`,
          ...addresses.map((address, index) => `${index}  ${address}`)
        ].join("\n")
    )
  })

/** The wallets of all networks of the config. A config that cannot be used for one of them names none of it. */
export const examineWallets = (
  plugins: ReadonlyArray<SelectedPlugin>
): Effect.Effect<ReadonlyArray<Finding>, never, HttpClient.HttpClient> =>
  Effect.forEach(
    // A chain that runs inside the service has play money alone, and asks for more of the service than its driver.
    plugins.filter(({ options, slot }) => slot === "chains" && nodeListOf(options) !== undefined),
    ({ options, plugin }) =>
      Effect.scoped(driversOf(plugin, options)).pipe(
        Effect.map((drivers) =>
          drivers.flatMap(({ network, wallet }): ReadonlyArray<ConfiguredWallet> =>
            wallet === null ? [] : [{ network, wallet }]
          )
        ),
        // Why a driver does not start is said where its nodes are.
        Effect.catch(() => Effect.succeed<ReadonlyArray<ConfiguredWallet>>([]))
      )
  ).pipe(
    Effect.map((wallets) => walletFindings(wallets.flat())),
    // Addresses come from the wallet alone, so they are there while no node answers.
    Effect.provideService(NodeProof, "skipped"),
    Effect.provide(Logger.layer([]))
  )
