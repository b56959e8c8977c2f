/**
 * Which addresses a merchant has proven to be its own: its people have signed in with them, or the operator has linked
 * them. The module that knows the wallets registers here; without one, nobody has proven any.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import * as Registry from "./Registry.ts"
import type { Network } from "../schemas/Network.ts"

export interface WalletDirectory {
  /** Those of the addresses of a network, in the form `readAddress` gives, whose wallet is linked to the merchant. */
  readonly linkedOf: (
    merchantId: number,
    network: Network,
    addresses: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlySet<string>>
  /**
   * The merchants to whom the wallet with this address of a network is linked. On Cardano there can be two, as one
   * address has two keys.
   */
  readonly merchantsOf: (network: Network, address: string) => Effect.Effect<ReadonlySet<number>>
}

export class LinkedWallets extends Context.Service<
  LinkedWallets,
  WalletDirectory & {
    /** Answers from now on, for as long as the scope lives. One per deployment. */
    readonly register: (directory: WalletDirectory) => Effect.Effect<void, never, Scope.Scope>
  }
>()("tillwire/runtime/LinkedWallets") {}

const nobody: WalletDirectory = {
  linkedOf: () => Effect.succeed(new Set()),
  merchantsOf: () => Effect.succeed(new Set())
}

export const layer: Layer.Layer<LinkedWallets> = Layer.sync(LinkedWallets, () => {
  const { current, register } = Registry.single<WalletDirectory>(
    "two modules know the wallets of merchants: name one of them in the config file"
  )
  return LinkedWallets.of({
    register,
    linkedOf: (...args) => Effect.suspend(() => (current() ?? nobody).linkedOf(...args)),
    merchantsOf: (...args) => Effect.suspend(() => (current() ?? nobody).merchantsOf(...args))
  })
})
