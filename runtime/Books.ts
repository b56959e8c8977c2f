/**
 * The books, for what moves money without an invoice: who keeps them registers here, and whoever moves it puts what is
 * to be booked into its own commit. Where nobody keeps books nothing is booked.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import type { BalanceDelta, Write } from "./Commit.ts"
import * as Registry from "./Registry.ts"
import type { EventDraft } from "../schemas/Event.ts"
import type { BaseUnits } from "../schemas/Money.ts"
import type { Environment, Network } from "../schemas/Network.ts"

/** Money of the merchant's own that a wallet has sent, as its network shows it. */
export interface BookedPayout {
  readonly merchantId: number
  readonly environment: Environment
  /** `<id of the batch>/<line>`: the same payout is booked once. */
  readonly id: string
  readonly network: Network
  /** In the one spelling of its family; null: the network's own coin. */
  readonly tokenAddress: string | null
  readonly units: BaseUnits
  /** Fingerprint of the receiving wallet that sent it; null: it was sent from none that is known. */
  readonly wallet: string | null
}

/** What goes into a commit. */
export interface BookEntries {
  readonly writes: ReadonlyArray<Write>
  readonly balances: ReadonlyArray<BalanceDelta>
  readonly events: ReadonlyArray<EventDraft>
}

export interface Bookkeeper {
  readonly payout: (payout: BookedPayout) => Effect.Effect<BookEntries>
}

export class Books extends Context.Service<Books, {
  /** What a payout is booked by; nothing where nobody keeps books. */
  readonly payout: Bookkeeper["payout"]
  /** Keeps the books, for as long as the scope lives. One per deployment. */
  readonly register: (bookkeeper: Bookkeeper) => Effect.Effect<void, never, Scope.Scope>
}>()("tillwire/runtime/Books") {}

const nothing: BookEntries = { writes: [], balances: [], events: [] }

export const layer: Layer.Layer<Books> = Layer.sync(Books, () => {
  const { current, register } = Registry.single<Bookkeeper>(
    "two modules keep the books: name one of them in the config file"
  )
  return Books.of({ register, payout: (payout) => current()?.payout(payout) ?? Effect.succeed(nothing) })
})
