/** What the parts of the service `Batches` (`../service.ts`) share. */
import { Effect } from "effect"
import type { Actors } from "../../../runtime/Actors.ts"
import type { AuditLog } from "../../../runtime/AuditLog.ts"
import type { Books } from "../../../runtime/Books.ts"
import type { Chains, DriverError } from "../../../runtime/Chains.ts"
import type { Commit } from "../../../runtime/Commit.ts"
import type { LinkedWallets } from "../../../runtime/LinkedWallets.ts"
import type { Members } from "../../../runtime/Members.ts"
import type { MerchantClock } from "../../../runtime/MerchantClock.ts"
import type { PayoutDriver } from "../../../runtime/Payouts.ts"
import type { Prices } from "../../../runtime/Prices.ts"
import type { Screening } from "../../../runtime/Screening.ts"
import type { SimulatedWallets } from "../../../runtime/SimulatedWallets.ts"
import type { Timers } from "../../../runtime/Timers.ts"
import type { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { Environment, Network } from "../../../schemas/Network.ts"
import type { Invoices } from "../../invoices/plugin.ts"
import type { Approvals, Refunds } from "../../refunds/plugin.ts"
import type { MerchantSettings } from "../../settings/plugin.ts"
import type { BatchState } from "../machine.ts"
import type { Repo } from "../repo.ts"

export interface BatchServices {
  readonly actors: Actors["Service"]
  readonly approvals: Approvals["Service"]
  readonly auditLog: AuditLog["Service"]
  readonly books: Books["Service"]
  readonly catalog: TokenCatalog["Service"]
  readonly chains: Chains["Service"]
  readonly clock: MerchantClock["Service"]
  readonly commit: Commit["Service"]
  readonly invoices: Invoices["Service"]
  readonly linkedWallets: LinkedWallets["Service"]
  readonly members: Members["Service"]
  readonly prices: Prices["Service"]
  readonly refunds: Refunds["Service"]
  readonly repo: Repo
  readonly screening: Screening["Service"]
  readonly settings: MerchantSettings["Service"]
  readonly simulatedWallets: SimulatedWallets["Service"]
  readonly timers: Timers["Service"]
}

/** Who makes and reads batches. */
export interface BatchOwner {
  readonly merchantId: number
  readonly environment: Environment
}

/** A batch of this owner. Errors: `BATCH_NOT_FOUND`. */
export const findBatch = (
  { find }: Pick<Repo, "find">,
  { environment, merchantId }: BatchOwner,
  id: string
): Effect.Effect<BatchState, PublicError> =>
  Effect.flatMap(
    find(merchantId, id),
    (batch) => batch?.environment === environment ? Effect.succeed(batch) : publicError("BATCH_NOT_FOUND")
  )

/**
 * Runs work that books money which a wallet of the merchant has sent, after all other such work of the merchant: what
 * it is worth is a share of what the books hold, so it must see what was booked before. Errors: `SERVICE_UNAVAILABLE`.
 */
export const serializeBookings = <A, E, R>(
  { actors }: Pick<BatchServices, "actors">,
  { environment, merchantId }: BatchOwner,
  work: Effect.Effect<A, E, R>
): Effect.Effect<A, E | PublicError, R> => actors.send("sent money", `${merchantId}/${environment}`, work)

/** Seconds after which a network that does not answer may be asked again. */
const retryAfterSeconds = 15

/** The driver that builds and finds payouts on a network. Errors: `UNSUPPORTED_NETWORK`. */
export const payoutDriver = (
  { chains }: Pick<BatchServices, "chains">,
  network: Network,
  environment: Environment
): Effect.Effect<PayoutDriver, PublicError> => {
  const driver = chains.driver(network, environment)
  if (driver?.payouts != null) return Effect.succeed(driver.payouts)
  return Effect.fail(publicError("UNSUPPORTED_NETWORK", {
    message: driver === undefined
      ? `network: ${network} is not followed here`
      : `network: the driver of ${network} here builds no batches. Pay from the wallet, and report it`,
    param: "network"
  }))
}

/** The error for a caller whose network does not answer. */
export const networkDegraded = (error: DriverError): Effect.Effect<never, PublicError> =>
  Effect.andThen(
    Effect.logWarning("a network could not be asked about a batch", { network: error.network, reason: error.reason }),
    publicError("NETWORK_DEGRADED", {
      message: `${error.network} does not answer, so nothing was done: try again`,
      retryAfterSeconds
    })
  )
