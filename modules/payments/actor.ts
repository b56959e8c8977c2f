/** What payors enter about themselves, one change after the other for each invoice. */
import { Context, Effect, Layer } from "effect"
import { Actors } from "../../runtime/Actors.ts"
import { Chains } from "../../runtime/Chains.ts"
import { Commit, decideAnew, dieOnReplay, noCause, type Write } from "../../runtime/Commit.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { Screening } from "../../runtime/Screening.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import { type PublicError, publicError } from "../../schemas/Errors.ts"
import type { Network } from "../../schemas/Network.ts"
import { type InvoiceFact, Invoices, type InvoiceState, type PayorRecord, PayorRecords } from "../invoices/plugin.ts"
import { isMemo, isNetwork } from "./rules.ts"
import { makeReceipts } from "./service/Receipts.ts"
import { readRefundAddress } from "./service/RefundAddresses.ts"
import { contactWrite, destinationWrite, type InvoiceOwner, makeRepo, present, type RefundDestination } from "./repo.ts"

/** For the hooks of an invoice: its payor said where refunds on a network may go. */
export interface RefundAddressFact extends InvoiceFact {
  readonly _tag: "RefundAddress"
  readonly destination: RefundDestination
}

/** What payors enter about themselves: kept with the invoice, shown to its merchant alone, read by refunds. */
export class PayorDetails extends Context.Service<PayorDetails, {
  /** Keeps the payor's address; the last one holds. Where the invoice is paid, a receipt is sent there, once. */
  readonly saveEmail: (invoice: InvoiceState, email: string) => Effect.Effect<void, PublicError>
  /**
   * Keeps where refunds on a network may go, in a change of the invoice that tells its hooks so
   * ({@link RefundAddressFact}); the last one holds. Errors: `UNSUPPORTED_NETWORK`, `WALLET_ADDRESS_INVALID`
   * (also for a token's own contract, a token account and one that payments are received at), `NETWORK_DEGRADED`
   * where the chain has to be asked and does not answer, `VALIDATION_ERROR` for a memo where the network has none.
   */
  readonly saveRefundAddress: (
    invoice: InvoiceState,
    refundAddress: { readonly network: string; readonly address: string; readonly memo: string | null }
  ) => Effect.Effect<void, PublicError>
  /** The payor's e-mail address, if there is one. */
  readonly email: (owner: InvoiceOwner) => Effect.Effect<string | null>
  /** Where the payor wants refunds on a network, if that is known. */
  readonly refundDestination: (owner: InvoiceOwner, network: Network) => Effect.Effect<RefundDestination | null>
  /** The same on every network, in no order. */
  readonly refundDestinations: (owner: InvoiceOwner) => Effect.Effect<ReadonlyArray<RefundDestination>>
}>()("tillwire/modules/payments/PayorDetails") {
  static readonly layer = Layer.effect(
    PayorDetails,
    Effect.gen(function*() {
      const actors = yield* Actors
      const catalog = yield* TokenCatalog
      const chains = yield* Chains
      const clock = yield* MerchantClock
      const commit = yield* Commit
      const invoices = yield* Invoices
      const screening = yield* Screening
      const repo = yield* makeRepo

      const destinations = (owner: InvoiceOwner) => Effect.map(repo.storedDestinations(owner), present)

      /** Writes the row that `next` makes of the time, or nothing where it makes none. */
      const save = (
        { environment, id, merchantId }: InvoiceState,
        next: Effect.Effect<((updatedAt: number) => Write) | null>
      ) => {
        const once = Effect.gen(function*() {
          const write = yield* next
          if (write === null) return
          const updatedAt = yield* clock.nowSeconds(merchantId, environment)
          yield* commit.append({ merchantId, environment, cause: noCause, writes: [write(updatedAt)], events: [] })
        })
        return actors.send("payor-details", id, once).pipe(
          decideAnew(),
          dieOnReplay
        )
      }

      const receipts = yield* makeReceipts

      const saveEmail = (invoice: InvoiceState, email: string) => {
        const owner = { merchantId: invoice.merchantId, invoiceId: invoice.id }
        return save(
          invoice,
          Effect.map(repo.contact(owner), (current) =>
            current?.email === email
              ? null
              : (updatedAt) => contactWrite({ ...owner, email, version: (current?.version ?? 0) + 1 }, updatedAt))
        ).pipe(Effect.andThen(receipts.catchUp(owner)))
      }

      const saveRefundAddress = Effect.fnUntraced(function*(
        invoice: InvoiceState,
        { address: text, memo, network }: {
          readonly network: string
          readonly address: string
          readonly memo: string | null
        }
      ) {
        if (!isNetwork(network)) return yield* publicError("UNSUPPORTED_NETWORK", { param: "network" })
        const address = yield* readRefundAddress({ catalog, chains, screening }, network, invoice.environment, text)
        if (memo !== null && !isMemo(network, memo)) {
          return yield* publicError("VALIDATION_ERROR", { message: "memo: not a memo of this network", param: "memo" })
        }
        const owner = { merchantId: invoice.merchantId, invoiceId: invoice.id }
        yield* invoices.change(
          invoice.id,
          noCause,
          (_, updatedAt) =>
            Effect.map(repo.storedDestinations(owner), (all) => {
              const current = all.find((one) => one.network === network)
              if (current?.address === address && current.memo === memo) return { commands: [] }
              const destination = { ...owner, network, address, memo, version: (current?.version ?? 0) + 1 }
              const facts: ReadonlyArray<RefundAddressFact> = [{ _tag: "RefundAddress", destination }]
              return { commands: [], writes: [destinationWrite(destination, updatedAt)], facts }
            })
        ).pipe(dieOnReplay)
      })

      return PayorDetails.of({
        saveEmail,
        saveRefundAddress,
        email: (owner) => Effect.map(repo.contact(owner), (known) => known?.email ?? null),
        refundDestination: (owner, network) =>
          Effect.map(destinations(owner), (all) => all.find((one) => one.network === network) ?? null),
        refundDestinations: destinations
      })
    })
  )
}

/** Lets merchants read what payors entered. */
export const registerPayorRecords = Effect.gen(function*() {
  const repo = yield* makeRepo
  const records = yield* PayorRecords
  yield* records.register(Effect.fnUntraced(function*(merchantId: number, invoiceIds: ReadonlyArray<string>) {
    const [emails, destinations] = yield* Effect.all(
      [repo.emails(merchantId, invoiceIds), repo.destinationsOf(merchantId, invoiceIds)],
      { concurrency: 2 }
    )
    const byInvoice = Map.groupBy(destinations, ({ invoice_id }) => invoice_id)
    return new Map(invoiceIds.map((id): readonly [string, PayorRecord] => [id, {
      email: emails.get(id) ?? null,
      refundDestinations: (byInvoice.get(id) ?? []).map(({ address, memo, network }) => ({ network, address, memo }))
    }]))
  }))
})
