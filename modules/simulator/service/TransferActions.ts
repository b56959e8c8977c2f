/** Actions that send a transfer of play money, in time or late, right or wrong, and the one that ends the invoice. */
import { Effect } from "effect"
import type { JournalEntry } from "../../../runtime/Chains.ts"
import type { CommitCause } from "../../../runtime/Commit.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { familyOf } from "../../../schemas/Network.ts"
import { unlistedPlayToken } from "../../../schemas/PlayMoney.ts"
import { type Aggregate, type ChangePlan, type Command, isPayable, nothingToScan } from "../../invoices/plugin.ts"
import { paymentIdOf } from "../../payments/plugin.ts"
import { environment, networkNotAccepted, newestEntry, unmatchedEntry } from "../rules.ts"
import { simulationFact } from "./SimulationFact.ts"
import { changeInvoice, merchantMillis, refuse, type Request, type SimulatorContext } from "./SimulatorContext.ts"
import {
  defaultToken,
  type Destination,
  destinationFor,
  makeEntry,
  networksOf,
  paymentEntry,
  requestedUnits,
  requiredBlocks,
  transferTo
} from "./Transfers.ts"

/**
 * What a chain tells of one transfer, as its journal would hand it over, and what the contract of a token that nobody
 * lists says of itself.
 */
const planCredit = (
  { payments }: SimulatorContext,
  entry: JournalEntry,
  latest: Aggregate
): Effect.Effect<ChangePlan, PublicError> =>
  Effect.map(payments.credit(entry, latest), ({ commands, writes }) => {
    const token = unlistedPlayToken(entry.network)
    const paymentId = paymentIdOf(entry)
    const naming: ReadonlyArray<Command> = token !== null && entry.tokenAddress === token.address
      ? [{ _tag: "NameToken", paymentId, symbol: token.symbol, decimals: token.decimals }]
      : []
    return { commands: [...commands, ...naming], writes, facts: [simulationFact(paymentId)] }
  })

/**
 * Sends the transfer that `plan` makes of the invoice as this change finds it: what is asked for twice at once is
 * answered as what is asked for twice in turn.
 */
export const send = (
  context: SimulatorContext,
  current: Aggregate,
  cause: CommitCause,
  plan: (latest: Aggregate) => Effect.Effect<JournalEntry, PublicError>
) =>
  changeInvoice(
    context,
    current,
    cause,
    (latest) => Effect.flatMap(plan(latest), (entry) => planCredit(context, entry, latest))
  )

const isOnChain = ({ status }: JournalEntry) => status !== "reverted"

/** The newest simulated transfer that fits. Errors: `INVALID_TRANSITION` with `message`. */
export const chooseTransfer = Effect.fnUntraced(function*(
  { chains }: SimulatorContext,
  { invoice }: Aggregate,
  fits: (entry: JournalEntry) => boolean,
  message: string
) {
  const entry = newestEntry(yield* chains.transfers(invoice.id), fits)
  return entry ?? (yield* refuse(message))
})

/** The newest simulated transfer that the chain has. Errors: `INVALID_TRANSITION` with `message`. */
export const chooseOnChain = (context: SimulatorContext, current: Aggregate, message: string) =>
  chooseTransfer(context, current, isOnChain, message)

export const pay = (context: SimulatorContext, current: Aggregate, request: Request, cause: CommitCause) =>
  send(context, current, cause, (latest) => paymentEntry(context, latest, request))

/** Ends the invoice now, by the machine's own rules. */
const ending: ChangePlan = { commands: [{ _tag: "End" }, { _tag: "Tick", progress: nothingToScan }] }

export const expire = (context: SimulatorContext, current: Aggregate, cause: CommitCause) =>
  changeInvoice(
    context,
    current,
    cause,
    Effect.fnUntraced(function*({ invoice: { expiresAt, status } }, now) {
      if (status !== "unpaid" && status !== "underpaid") return yield* publicError("INVOICE_NOT_PAYABLE")
      if (status === "unpaid" || now < expiresAt) return ending
      return yield* refuse(
        "This invoice has ended and waits underpaid_grace_seconds for the rest: pay it, or move your clock past that with " +
          "POST /api/v1/devnet/clock/advance {\"seconds\": …}"
      )
    })
  )

/** What is seen in the second of the end is not late yet. */
const waitPastEnd = (context: SimulatorContext, { invoice }: Aggregate) =>
  Effect.flatMap(
    merchantMillis(context, invoice),
    (millis) => Effect.sleep(Math.max(0, (invoice.expiresAt + 1) * 1_000 - millis))
  )

export const late = Effect.fnUntraced(function*(
  context: SimulatorContext,
  current: Aggregate,
  request: Request,
  cause: CommitCause
) {
  const { invoice } = current
  const payable = isPayable(invoice, Math.floor((yield* merchantMillis(context, invoice)) / 1000))
  if (!payable && invoice.status !== "expired") return yield* publicError("INVOICE_NOT_PAYABLE")
  const destination = yield* destinationFor(context, current, request)
  const units = yield* requestedUnits(destination, destination.token.decimals, request)
  const endChanges = payable ? [yield* changeInvoice(context, current, cause, () => Effect.succeed(ending))] : []
  yield* waitPastEnd(context, endChanges[0]?.aggregate ?? current)
  const paymentChange = yield* send(
    context,
    current,
    cause,
    Effect.fnUntraced(function*(latest) {
      const { status } = latest.invoice
      if (status === "paid" || status === "canceled") return yield* publicError("INVOICE_NOT_PAYABLE")
      return yield* makeEntry(context, latest, transferTo(destination, units), request.confirmations)
    })
  )
  return [...endChanges, paymentChange]
})

export const wrongToken = (context: SimulatorContext, current: Aggregate, request: Request, cause: CommitCause) =>
  send(
    context,
    current,
    cause,
    Effect.fnUntraced(function*(latest) {
      const destination = yield* destinationFor(context, latest, request)
      const token = unlistedPlayToken(destination.token.network)
      if (token === null) return yield* refuse("There are no other tokens on this network")
      const units = yield* requestedUnits(destination, token.decimals, request)
      const transfer = { ...transferTo(destination, units), tokenAddress: token.address }
      return yield* makeEntry(context, latest, transfer, request.confirmations)
    })
  )

/** The network asked for, else the first one of the address's family that the invoice does not take. */
export const wrongNetwork = (context: SimulatorContext, current: Aggregate, request: Request, cause: CommitCause) =>
  send(
    context,
    current,
    cause,
    Effect.fnUntraced(function*(latest) {
      const accepted = latest.invoice.policy.acceptedNetworks
      if (accepted === null) {
        return yield* refuse("This invoice takes every network: create one with accepted_networks")
      }
      const destination = yield* destinationFor(context, latest, {})
      const wrong = networkNotAccepted(networksOf(context), accepted, destination.token.network, request.network)
      const token = wrong === undefined ? undefined : defaultToken(context, wrong)
      if (token === undefined) {
        return yield* refuse("This invoice takes every network that its address is good on, or the one asked for")
      }
      const units = yield* requestedUnits(destination, destination.token.decimals, request)
      return yield* makeEntry(context, latest, transferTo({ ...destination, token }, units), request.confirmations)
    })
  )

/** A transfer that pays no invoice, recorded as the followers' are: it comes to `matchKey`, deep enough. */
const sendUnmatched = Effect.fnUntraced(function*(
  context: SimulatorContext,
  current: Aggregate,
  request: Request,
  destination: Destination,
  matchKey: string
) {
  const { invoice } = current
  const { network } = destination.token
  const receiver = yield* context.chains.walletReceiver(network, environment, matchKey)
  if (receiver === null) return yield* refuse("Nobody receives there any more: create another invoice")
  const units = yield* requestedUnits(destination, destination.token.decimals, request)
  const entry = yield* makeEntry(context, current, transferTo(destination, units), 0)
  const { merchantId } = receiver
  yield* context.payments.recordUnmatched(
    unmatchedEntry(entry, { matchKey, merchantId }, requiredBlocks(invoice, network))
  )
})

/** A transfer without its memo comes to the wallet that many invoices share, and names none of them. */
export const missingMemo = Effect.fnUntraced(
  function*(context: SimulatorContext, current: Aggregate, request: Request) {
    const destination = yield* destinationFor(context, current, request)
    const { target, token } = destination
    if (target.memo === null) {
      return yield* publicError("VALIDATION_ERROR", {
        param: "action",
        message:
          `missing_memo: a payment on ${token.network} needs no memo. Give a "network" where many invoices share ` +
          "a wallet: solana or ton"
      })
    }
    const { merchantId } = current.invoice
    const wallet = yield* context.chains.wallet({ merchantId, environment, family: familyOf(token.network) })
    if (wallet?._tag !== "SharedWallet" || wallet.address !== target.address) {
      return yield* refuse("Another wallet receives by now: create another invoice")
    }
    return yield* Effect.as(sendUnmatched(context, current, request, destination, wallet.accountKey), [])
  }
)

/** A transfer that came to the invoice's address before the invoice had it: it was meant for somebody else. */
export const unmatchedTransfer = Effect.fnUntraced(
  function*(context: SimulatorContext, current: Aggregate, request: Request) {
    const destination = yield* destinationFor(context, current, request)
    return yield* Effect.as(sendUnmatched(context, current, request, destination, destination.target.matchKey), [])
  }
)

/** One base unit of the token: worth less than a thousandth of a dollar, which is the least that counts. */
export const dust = (context: SimulatorContext, current: Aggregate, request: Request, cause: CommitCause) =>
  send(
    context,
    current,
    cause,
    Effect.fnUntraced(function*(latest) {
      const destination = yield* destinationFor(context, latest, request)
      return yield* makeEntry(context, latest, transferTo(destination, baseUnits(1n)), request.confirmations)
    })
  )

export const duplicate = (context: SimulatorContext, current: Aggregate, request: Request, cause: CommitCause) =>
  send(
    context,
    current,
    cause,
    Effect.fnUntraced(function*(latest) {
      const first = yield* chooseOnChain(context, latest, "Nothing was sent that could be sent twice: pay first")
      const target = yield* context.chains.target(latest.invoice.id, familyOf(first.network))
      if (target === null) {
        return yield* refuse("Its newest transfer was assigned to it, and it has no address to send to: pay it first")
      }
      const transfer = { network: first.network, tokenAddress: first.tokenAddress, units: first.amount, target }
      return yield* makeEntry(context, latest, transfer, request.confirmations)
    })
  )
