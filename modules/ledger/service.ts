/** The books: kept in the commits of invoices and exceptions, read for merchants, opened for what was there before. */
import { Clock, Context, Effect, Layer } from "effect"
import { type BalanceDelta, noCause, systemMerchant, type Write } from "../../runtime/Commit.ts"
import { Books } from "../../runtime/Books.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { readsOf } from "../../runtime/ReadReplica.ts"
import { Timers } from "../../runtime/Timers.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import { uuidOf } from "../../runtime/Uuid.ts"
import type { EventDraft } from "../../schemas/Event.ts"
import { type Environment, type Network, networks } from "../../schemas/Network.ts"
import { type HookInput, type HookResult, InvoiceHooks, Invoices, type UnmatchedChange } from "../invoices/plugin.ts"
import { bookingWrites, makeRepo, type Repo } from "./repo.ts"
import {
  type Adjustment,
  assetOf,
  type AssetToken,
  assignedIn,
  beforeRefunds,
  bookAdjustment,
  bookChange,
  type BookOwner,
  bookRefund,
  bookUnmatched,
  bookUnmatchedRefund,
  combine,
  createdEvents,
  deltasOf,
  hasIgnored,
  isAboutSentMoney,
  type NameTransaction,
  nothingBooked,
  openingFact,
  type Postings,
  readAsset,
  refundEntriesIn,
  refundsIn,
  takenFromHeld,
  takenOfPayments,
  transactionOfException
} from "./rules.ts"
import { bookSentMoney, payoutBooks, type SentServices } from "./service/Payouts.ts"
import { ledgerMetrics } from "./service/Metrics.ts"
import { makePreferences, type Preferences } from "./service/Preferences.ts"

/** The same id for the same cause, whoever books it and however often. */
const nameTransaction: NameTransaction = (type, sourceId, version) =>
  `bt_${uuidOf(`balance transaction:${type}:${sourceId}:${version}`)}`

/**
 * What a booking adds to a commit. `nowMillis`: when the change happens. `earlier`: what the books should have had
 * before, which is told to nobody.
 */
const additions = (
  { tokenOf }: LedgerServices,
  owner: BookOwner,
  nowMillis: number,
  booking: Postings,
  earlier = nothingBooked
) => {
  const { environment, merchantId } = owner
  const all = combine([earlier, booking])
  return {
    writes: bookingWrites(owner, all, nowMillis),
    balances: deltasOf(owner, all),
    // The operator's books have no merchant who could hear of them.
    events: merchantId === systemMerchant
      ? []
      : createdEvents(environment, booking, Math.floor(nowMillis / 1_000), (asset) => tokenOf(environment, asset))
  }
}

/** What the hooks take. */
interface LedgerServices {
  readonly repo: Repo
  readonly clock: MerchantClock["Service"]
  /** What is known of an asset's token now; null: it is in no list. */
  readonly tokenOf: (environment: Environment, asset: string) => AssetToken | null
  /** The asset of a token of the catalogue; null: it is not in it. */
  readonly assetOfToken: (network: Network, tokenId: number) => string | null
}

const sentServices = (services: LedgerServices): SentServices => ({
  ...services,
  nameTransaction,
  book: (owner, nowMillis, booking) => additions(services, owner, nowMillis, booking)
})

/** An adjustment as it is asked for; its transaction is named by its id. */
export type NewAdjustment = Omit<Adjustment, "transactionId">

export class Ledger extends Context.Service<Ledger, {
  /**
   * What an adjustment adds to a commit, and the id of its balance transaction. The commit conflicts where others have
   * taken meanwhile what a loss takes from the merchant's balances, so these are read and the loss is computed again.
   */
  readonly adjust: (owner: BookOwner, adjustment: NewAdjustment) => Effect.Effect<{
    readonly transactionId: string
    readonly writes: ReadonlyArray<Write>
    readonly balances: ReadonlyArray<BalanceDelta>
    readonly events: ReadonlyArray<EventDraft>
  }>
  readonly balances: Repo["balances"]
  /** Whether money of the asset that a payment or an exception brought is in `suspense:ignored`. */
  readonly isIgnored: (merchantId: number, sourceId: string, asset: string) => Effect.Effect<boolean>
  /** Balances that are not what their entries and the objects come to; of one merchant, or of all: null. */
  readonly check: Repo["check"]
  readonly find: Repo["find"]
  readonly list: Repo["list"]
  readonly ofInvoice: Repo["ofInvoice"]
  readonly findSettlement: Repo["findSettlement"]
  readonly listSettlements: Repo["listSettlements"]
  readonly preferences: Preferences
  readonly tokenOf: LedgerServices["tokenOf"]
}>()("tillwire/modules/ledger/Ledger") {
  static readonly layer = Layer.effect(
    Ledger,
    Effect.gen(function*() {
      const catalog = yield* TokenCatalog
      const repo = yield* makeRepo
      const reads = yield* readsOf(makeRepo)
      const services: LedgerServices = {
        repo,
        clock: yield* MerchantClock,
        tokenOf: (environment, asset) => {
          const { address, network } = readAsset(asset)
          const isNetwork = (text: string): text is Network => networks.some((each) => each === text)
          return isNetwork(network) ? catalog.find(network, environment, address) ?? null : null
        },
        assetOfToken: (network, tokenId) => {
          const token = catalog.get(tokenId)
          return token === undefined ? null : assetOf(network, token, tokenId)
        }
      }
      yield* (yield* InvoiceHooks).register({
        name: "ledger",
        isLast: true,
        run: onInvoiceChange(services),
        onUnmatched: onUnmatchedChange(services),
        nameRefund: (refundId, version) => nameTransaction("refund", refundId, version)
      })
      yield* (yield* Books).register(payoutBooks(sentServices(services)))
      yield* openBooks(repo)
      yield* ledgerMetrics(repo)

      return Ledger.of({
        adjust: (owner, adjustment) => {
          const transactionId = nameTransaction("adjustment", adjustment.id, 1)
          // The second is the caller's; the rest of the clock orders what is booked in one second.
          return Effect.map(services.clock.nowMillis(owner.merchantId, owner.environment), (millis) => {
            const entries = additions(
              services,
              owner,
              adjustment.now * 1_000 + millis % 1_000,
              bookAdjustment({ ...adjustment, transactionId })
            )
            return { ...entries, transactionId, balances: takenFromHeld(entries.balances, { units: true }) }
          })
        },
        balances: repo.balances,
        isIgnored: (merchantId, sourceId, asset) =>
          Effect.map(repo.ofSource(merchantId, sourceId), (stored) => hasIgnored(stored, asset)),
        check: repo.check,
        find: repo.find,
        list: (filter, page) => reads.page(page.cursor?.direction === "older", (from) => from.list(filter, page)),
        ofInvoice: repo.ofInvoice,
        findSettlement: repo.findSettlement,
        listSettlements: repo.listSettlements,
        preferences: yield* makePreferences(repo),
        tokenOf: services.tokenOf
      })
    })
  )
}

/** The transaction that the money of an exception is in, as it stands; null: the books do not know of it. */
const transactionOf = (repo: Repo, record: UnmatchedChange["after"] | null) =>
  record === null
    ? Effect.succeed(null)
    : Effect.map(
      repo.ofSource(record.merchantId, record.exception.id),
      (stored) => transactionOfException(record, stored)
    )

/** The groups of the refunds of invoices that a change tells of. */
const refundPostings = Effect.fnUntraced(function*({ assetOfToken, repo }: LedgerServices, input: HookInput) {
  const { before, decision, facts, now } = input
  const invoice = beforeRefunds(before, decision.next)
  const postings: Array<Postings> = []
  for (const { refund, sender } of refundsIn(facts)) {
    const { destination, merchantId, token } = refund
    const payoutAsset = destination === null || token?.id == null ? null : assetOfToken(destination.network, token.id)
    const stored = yield* repo.ofSource(merchantId, refund.id)
    // A refund of one payment is fixed in its units: only that of an order depends on the others.
    const taken = refund.terms !== null ? undefined : takenOfPayments(invoice, [
      ...yield* repo.ofOtherRefunds({ ...refund, invoiceId: invoice.invoice.id }, invoice.payments.map(({ id }) => id)),
      ...refundEntriesIn(combine(postings), refund.id)
    ])
    postings.push(bookRefund(refund, { stored, invoice, now, nameTransaction, taken, payoutAsset, sender }))
  }
  return combine(postings)
})

const onInvoiceChange = (services: LedgerServices) =>
  Effect.fnUntraced(function*(input: HookInput): Effect.fn.Return<HookResult> {
    const assigned = assignedIn(input.facts)
    const assignedTransactionId = yield* transactionOf(services.repo, assigned)
    const { assignedAway, booking, commands, earlier } = bookChange(input, nameTransaction, assignedTransactionId)
    const refunds = yield* refundPostings(services, input)
    const { balances, events, writes } = additions(
      services,
      input.before.invoice,
      input.nowMillis,
      combine([booking, refunds]),
      earlier
    )
    const away = assigned === null
      ? null
      : additions(services, assigned, input.nowMillis, assignedAway ?? nothingBooked)
    return {
      ...(commands.length === 0 ? {} : { commands }),
      writes: [...writes, ...away?.writes ?? []],
      balances: [...balances, ...away?.balances ?? []],
      events
    }
  })

/** Money on a wallet that several merchants share is in the operator's books, those of no merchant. */
const onUnmatchedChange = (services: LedgerServices) =>
  Effect.fnUntraced(function*(change: UnmatchedChange) {
    if (isAboutSentMoney(change.after.exception)) {
      return yield* bookSentMoney(sentServices(services), change)
    }
    const { repo } = services
    const { after, before, facts, now, nowMillis } = change
    const { booking, earlier } = bookUnmatched(change, yield* transactionOf(repo, before), nameTransaction)
    const refunds = yield* Effect.forEach(refundsIn(facts), ({ refund, sender }) =>
      Effect.map(
        repo.ofSource(refund.merchantId, refund.id),
        (stored) => bookUnmatchedRefund(refund, { stored, now, nameTransaction, sender, exception: after.exception })
      ))
    return additions(services, after, nowMillis, combine([booking, ...refunds]), earlier)
  })

/** The id before every other. */
const firstId = "00000000-0000-0000-0000-000000000000"

/** Payments that are taken into the books in one run. */
const openingBatch = 200

/**
 * Takes payments into the books that were there before them, or came while the module was left out: one change of each
 * invoice, which publishes nothing. What is booked already is not found, so a start goes on where the last one ended.
 */
const openBooks = Effect.fnUntraced(function*(repo: Repo) {
  const invoices = yield* Invoices
  let after = firstId

  const book = (invoiceId: string) =>
    invoices.change(invoiceId, noCause, () => Effect.succeed({ commands: [], facts: [openingFact] })).pipe(
      Effect.catchTags({
        IdempotentReplay: (bug) => Effect.die(bug),
        PublicError: (error) =>
          Effect.logWarning(
            "A payment from before the ledger is not in the books yet: it is tried again at the next start",
            { invoiceId },
            error
          )
      })
    )

  const run = Effect.fnUntraced(function*(_now: number, limit: number) {
    const found = yield* repo.unbooked(after, limit)
    yield* Effect.forEach([...new Set(found.map((row) => row.invoice_id))], book, { discard: true })
    after = found.at(-1)?.id ?? after
    return found.length
  })

  yield* (yield* Timers).register({
    name: "ledger-opening",
    batchSize: openingBatch,
    // Due now: an earlier time would be told as work that is overdue.
    nextDueMillis: Effect.gen(function*() {
      const found = yield* repo.unbooked(after, 1)
      return found.length === 0 ? null : yield* Clock.currentTimeMillis
    }),
    run
  })
})
