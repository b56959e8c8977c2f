/** A new invoice: its body is read and checked, and its answer rendered. */
import { Effect, Result, Schema } from "effect"
import { Availability } from "../../../runtime/Availability.ts"
import { Chains } from "../../../runtime/Chains.ts"
import { amountError } from "../../../schemas/AmountError.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { validationError } from "../../../schemas/InvalidInput.ts"
import { metadataLimits } from "../../../schemas/Invoice.ts"
import { readInvoiceAmount } from "../../../schemas/Money.ts"
import { type Environment, familyOf, type Network } from "../../../schemas/Network.ts"
import { isLocalPage } from "../../../schemas/Web.ts"
import { Invoices, type NewInvoice } from "../actor.ts"
import { InvoiceFields } from "../api.ts"
import { makeCreationReply } from "./CreationReply.ts"

const decodeFields = Schema.decodeUnknownResult(InvoiceFields)

/** Who the invoice is for. */
interface Owner {
  readonly merchantId: number
  readonly environment: Environment
  readonly commerce: boolean
}

/**
 * Reads the body of a new invoice, in the documented order: amount format, amount range, the other fields. Unknown
 * fields are ignored.
 */
const readNewInvoice = (
  body: Readonly<Record<string, unknown>>,
  owner: Owner
): Result.Result<NewInvoice, PublicError> => {
  const amount = readInvoiceAmount(body)
  if (typeof amount === "string") return Result.fail(amountError(amount, body))
  const decoded = decodeFields(body)
  if (Result.isFailure(decoded)) return Result.fail(validationError(decoded.failure.issue))
  const fields = decoded.success
  const metadata = fields.metadata ?? {}
  const refusal = metadataRefusal(metadata) ??
    returnUrlRefusal(fields.payment_return_url ?? null, owner.environment)
  if (refusal !== undefined) return Result.fail(refusal)
  return Result.succeed({
    ...owner,
    amount,
    expiresInMillis: fields.expires_in ?? null,
    customerId: fields.customer_id ?? null,
    metadata,
    details: {
      description: fields.description ?? null,
      title: fields.invoice_title ?? null,
      footer: fields.invoice_footer ?? null,
      customerEmail: fields.customer_email ?? null,
      returnUrl: fields.payment_return_url_enabled === false ? null : fields.payment_return_url ?? null,
      locale: fields.locale ?? null
    },
    toleranceBasisPoints: fields.payment_tolerance_bps ?? null,
    acceptedNetworks: fields.accepted_networks ?? null
  })
}

/** A payor with real money never returns to a page without TLS: `VALIDATION_ERROR`. */
const returnUrlRefusal = (url: string | null, environment: Environment): PublicError | undefined =>
  url !== null && environment === "mainnet" && isLocalPage(url)
    ? publicError("VALIDATION_ERROR", {
      message: "payment_return_url must be an https URL: only devnet may return to http://localhost",
      param: "payment_return_url"
    })
    : undefined

/** `VALIDATION_ERROR` for metadata beyond {@link metadataLimits}. */
const metadataRefusal = (metadata: Readonly<Record<string, Schema.Json>>): PublicError | undefined => {
  const refuse = (message: string) => publicError("VALIDATION_ERROR", { message, param: "metadata" })
  const keys = Object.keys(metadata)
  if (keys.length > metadataLimits.keys) return refuse(`metadata may have at most ${metadataLimits.keys} keys`)
  if (keys.some((key) => key.length > metadataLimits.keyLength)) {
    return refuse(`a metadata key may have at most ${metadataLimits.keyLength} characters`)
  }
  return Buffer.byteLength(JSON.stringify(metadata)) > metadataLimits.bytes
    ? refuse(`metadata may have at most ${metadataLimits.bytes} bytes as JSON`)
    : undefined
}

/** Holds metadata to {@link metadataLimits}. Fails with `VALIDATION_ERROR`. */
export const checkMetadata = (metadata: Readonly<Record<string, Schema.Json>>): Effect.Effect<void, PublicError> => {
  const refusal = metadataRefusal(metadata)
  return refusal === undefined ? Effect.void : Effect.fail(refusal)
}

/**
 * Refuses an invoice whose networks are all without a driver or a wallet to receive on, or disabled by the operator:
 * nobody could pay it. Fails with
 * `UNSUPPORTED_NETWORK`.
 */
const makeNetworksCheck = Effect.gen(function*() {
  const availability = yield* Availability
  const chains = yield* Chains
  const check = Effect.fnUntraced(function*(
    acceptedNetworks: ReadonlyArray<Network>,
    { environment, merchantId }: NewInvoice
  ) {
    for (const network of acceptedNetworks) {
      if (chains.driver(network, environment) === undefined) continue
      if (!availability.isNetworkEnabled(network, environment)) continue
      const wallet = yield* chains.wallet({ merchantId, environment, family: familyOf(network) })
      if (wallet === null) continue
      const obstacle = yield* chains.obstacleTo(wallet, network, environment, false)
      // A network that only fails to answer now may be paid on later.
      if (obstacle === null || obstacle === "NETWORK_DEGRADED") return
    }
    const reason = acceptedNetworks.length === 0
      ? `it is empty. Leave it out to accept every network that has a wallet in ${environment}`
      : `nothing can be received on ${acceptedNetworks.join(", ")} in ${environment}`
    return yield* publicError("UNSUPPORTED_NETWORK", {
      message:
        `accepted_networks must name a network that can be paid on: ${reason}. GET /api/v1/networks/status lists those that are served, GET /api/v1/merchant/wallets your wallets`,
      param: "accepted_networks"
    })
  })
  return (invoice: NewInvoice): Effect.Effect<void, PublicError> =>
    invoice.acceptedNetworks === null ? Effect.void : check(invoice.acceptedNetworks, invoice)
})

/**
 * A draft of the invoice that a body asks for, and the text of the answer with the reference it is kept as: the invoice
 * and the session its payor opens it with. Nothing is written yet.
 */
export const makeDraft = Effect.gen(function*() {
  const invoices = yield* Invoices
  const checkNetworks = yield* makeNetworksCheck
  const replyTo = yield* makeCreationReply

  return Effect.fnUntraced(function*(body: Readonly<Record<string, unknown>>, owner: Owner) {
    const newInvoice = yield* Effect.fromResult(readNewInvoice(body, owner))
    yield* checkNetworks(newInvoice)
    const draft = yield* invoices.draft(newInvoice)
    return { draft, ...replyTo(draft.invoice, draft.objectText) }
  })
})
