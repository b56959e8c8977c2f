/** Where a refund may go: the address in the form it is kept in, and the addresses the payor gave, in their order. */
import { Effect } from "effect"
import { readAddress } from "../../../schemas/Address.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { Environment } from "../../../schemas/Network.ts"
import type { Aggregate } from "../../invoices/plugin.ts"
import { isMemo, readRefundAddress } from "../../payments/plugin.ts"
import { type Destination, sortDestinations } from "../machine.ts"
import { defaultPayoutToken } from "../rules.ts"
import type { RefundServices } from "./RefundServices.ts"

export const parseAddress = ({ address, network }: Destination, environment: Environment) => {
  const parsed = readAddress(network, environment, address)
  return parsed === null
    ? Effect.fail(publicError("WALLET_ADDRESS_INVALID", { param: "address" }))
    : Effect.succeed(parsed)
}

/** A wallet of somebody else's, with the memo that its network takes, in the form that is kept. */
export const checkWallet = Effect.fnUntraced(function*(
  { catalog, chains, screening }: RefundServices,
  destination: Destination,
  environment: Environment
): Effect.fn.Return<Destination, PublicError> {
  const { memo, network } = destination
  const address = yield* readRefundAddress({ catalog, chains, screening }, network, environment, destination.address)
  if (memo !== null && !isMemo(network, memo)) {
    return yield* publicError("VALIDATION_ERROR", { message: "memo: not a memo of this network", param: "memo" })
  }
  return { network, address, memo }
})

/** The same, on a network where there is a token to pay out. */
export const checkDestination = Effect.fnUntraced(function*(
  services: RefundServices,
  destination: Destination,
  environment: Environment
): Effect.fn.Return<Destination, PublicError> {
  const checked = yield* checkWallet(services, destination, environment)
  if (defaultPayoutToken(services.catalog, checked.network, environment) === null) {
    return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
  }
  return checked
})

/**
 * Where the payor wants it, if that was said: on a network that was paid on before others, then where it costs least.
 */
export const payorDestinations = (
  { fees, payors }: RefundServices,
  { invoice, payments }: Aggregate
): Effect.Effect<ReadonlyArray<Destination>> =>
  Effect.map(
    payors.refundDestinations({ merchantId: invoice.merchantId, invoiceId: invoice.id }),
    (all) =>
      sortDestinations(
        all.map(({ address, memo, network }): Destination => ({ network, address, memo })),
        payments,
        fees
      )
  )
