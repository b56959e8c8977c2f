/**
 * The ledger, for modules that move money without an invoice. A module that keeps a ledger registers here. A module
 * that moves money asks for the entries and writes them in its own commit, so that state and ledger never differ.
 * Without a registered ledger nothing is booked.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import type { BalanceDelta, Write } from "./Commit.ts"
import * as Registry from "./Registry.ts"
import type { EventDraft } from "../schemas/Event.ts"
import type { BaseUnits } from "../schemas/Money.ts"
import type { Environment, Network } from "../schemas/Network.ts"

/** A payout of the merchant's own money, final on its network. */
export interface BookedPayout {
  readonly merchantId: number
  readonly environment: Environment
  /** `<id of the batch>/<line>`: the same payout is booked once. */
  readonly id: string
  readonly network: Network
  /** In the one spelling of its family; null: the network's own coin. */
  readonly tokenAddress: string | null
  readonly units: BaseUnits
  /** Fingerprint of the receiving wallet that sent it; null: no registered wallet did. */
  readonly wallet: string | null
}

/** Ledger entries for a commit. */
export interface BookEntries {
  readonly writes: ReadonlyArray<Write>
  readonly balances: ReadonlyArray<BalanceDelta>
  readonly events: ReadonlyArray<EventDraft>
}

export interface Bookkeeper {
  /** Their commit conflicts where others have taken meanwhile the dollars that the payout takes: ask for them again. */
  readonly payout: (payout: BookedPayout) => Effect.Effect<BookEntries>
}

export class Books extends Context.Service<Books, {
  /** The entries of a payout; none where no module keeps a ledger. */
  readonly payout: Bookkeeper["payout"]
  /** Registers the ledger for as long as the scope lives. A deployment has at most one. */
  readonly register: (bookkeeper: Bookkeeper) => Effect.Effect<void, never, Scope.Scope>
}>()("tillwire/runtime/Books") {}

const noEntries: BookEntries = { writes: [], balances: [], events: [] }

export const layer: Layer.Layer<Books> = Layer.sync(Books, () => {
  const { current, register } = Registry.single<Bookkeeper>(
    "two modules keep a ledger: name only one of them in the config file"
  )
  return Books.of({ register, payout: (payout) => current()?.payout(payout) ?? Effect.succeed(noEntries) })
})
