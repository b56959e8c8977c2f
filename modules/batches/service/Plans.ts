/**
 * Turns the refunds or payouts of a request into lines. Refunds that an earlier batch has released are checked first:
 * one whose money has left its chain fails by a commit of its own, and is no line.
 */
import { Effect } from "effect"
import type { PayoutDriver } from "../../../runtime/Payouts.ts"
import { spotValueOf } from "../../../runtime/Prices.ts"
import { maximumReference } from "../../../schemas/Batch.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { baseUnits, formatUnits, maximumCredit, parseUnits, usdDecimal, usdMillis } from "../../../schemas/Money.ts"
import type { Network } from "../../../schemas/Network.ts"
import { type Token, tokenAddress as spell } from "../../../schemas/Token.ts"
import { isMemo, readRefundAddress } from "../../payments/plugin.ts"
import { type ActValue, hasTerms, net, type RefundState, sentUnits } from "../../refunds/plugin.ts"
import type { PlannedLine } from "../rules.ts"
import type { BatchOwner, BatchServices } from "./BatchServices.ts"
import { valueToApprove } from "./Values.ts"

/** The lines of a new batch. */
export interface Plan {
  readonly lines: ReadonlyArray<PlannedLine>
  readonly refunds: ReadonlyArray<RefundState>
  /** What its people answer for. */
  readonly value: ActValue
  /** Lines of each part. Only of a `collect`: for other batches the driver divides the lines. */
  readonly sizes?: ReadonlyArray<number>
  readonly searchedTo?: bigint
}

/** A payout as a merchant asks for it. */
export interface PayoutRequest {
  readonly tokenId: number
  readonly tokenAmount: string
  readonly address: string
  readonly memo: string | null
  readonly reference: string
}

/** Address of a token in the one spelling of its family, in which the chain's transfers have it; null: the coin. */
export const spellingOf = ({ address, network }: Pick<Token, "address" | "network">): string | null =>
  address === null ? null : spell(network, address) ?? address

const invalid = (param: string, message: string) =>
  publicError("VALIDATION_ERROR", { message: `${param}: ${message}`, param })

const tooLarge = (maximum: number) => publicError("BATCH_TOO_LARGE", { details: { maximum } })

/** A refund as a line, or why it cannot be one. */
const lineOfRefund = (
  { catalog }: BatchServices,
  refund: RefundState,
  network: Network
): PlannedLine | PublicError => {
  const { batch, destination, id, status, token, txHash } = refund
  if (batch != null) return publicError("REFUND_IN_BATCH", { details: { refund_id: id, batch_id: batch.id } })
  if (status !== "processing" || destination === null || token === null) {
    return publicError("INVALID_TRANSITION", {
      message: `Only a refund in processing is paid: ${id} is ${status}`,
      details: { refund_id: id, status }
    })
  }
  if (txHash !== null) {
    return publicError("INVALID_TRANSITION", {
      message: `${id} was reported as sent in ${txHash}, so a batch could pay it twice: report what became of it first`,
      details: { refund_id: id, tx_hash: txHash }
    })
  }
  if (destination.network !== network) {
    return invalid("refund_ids", `${id} is paid on ${destination.network}: one batch pays on one network`)
  }
  const units = hasTerms(refund) ? sentUnits(refund.terms) : refund.tokenAmount
  const listedToken = token.id === null ? undefined : catalog.get(token.id)
  const address = refund.terms === null ? listedToken?.address : refund.terms.tokenAddress
  const tokenAddress = address === undefined ? undefined : spellingOf({ address, network })
  if (units === null || tokenAddress === undefined) {
    return publicError("INVALID_TRANSITION", {
      message: `The token of ${id} is no longer in the catalogue: pay it from the wallet, and report it`,
      details: { refund_id: id }
    })
  }
  return {
    tokenId: token.id,
    symbol: token.symbol,
    decimals: token.decimals,
    tokenAddress,
    units: baseUnits(units),
    amount: net(refund),
    destination: { address: destination.address, memo: destination.memo },
    source: null,
    reference: id,
    refundId: id
  }
}

/** Refunds that wait to be paid: those with these ids, or all of the network. */
export const planRefunds = Effect.fnUntraced(function*(
  services: BatchServices,
  owner: BatchOwner,
  network: Network,
  ids: ReadonlyArray<string> | "all",
  driver: PayoutDriver
): Effect.fn.Return<Plan, PublicError> {
  if (ids !== "all" && ids.length > driver.maximumLines) return yield* tooLarge(driver.maximumLines)
  if (ids !== "all" && new Set(ids).size < ids.length) return yield* invalid("refund_ids", "name each refund once")
  const read = ids === "all"
    ? services.refunds.payable({ ...owner, network }, driver.maximumLines)
    : services.refunds.findAll(ids)
  const readOwn = Effect.map(
    read,
    (found) =>
      found.filter(({ environment, merchantId }) =>
        merchantId === owner.merchantId && environment === owner.environment
      )
  )
  const ownRefunds = yield* services.refunds.recheckMoney(readOwn)
  const missing = ids === "all" ? undefined : ids.find((id) => !ownRefunds.some((refund) => refund.id === id))
  if (missing !== undefined) {
    return yield* publicError("REFUND_NOT_FOUND", { message: `No such refund: ${missing}`, param: "refund_ids" })
  }
  const lines = yield* Effect.forEach(
    ownRefunds,
    (refund) =>
      Effect.succeed(lineOfRefund(services, refund, network)).pipe(
        Effect.flatMap((line) => "code" in line ? Effect.fail(line) : Effect.succeed(line))
      )
  )
  return { lines, refunds: ownRefunds, value: yield* valueToApprove(services, "refunds", lines, ownRefunds) }
})

const lineOfPayout = Effect.fnUntraced(function*(
  services: BatchServices,
  { environment }: BatchOwner,
  network: Network,
  request: PayoutRequest,
  place: number
): Effect.fn.Return<{ readonly line: PlannedLine; readonly isPriced: boolean }, PublicError> {
  const at = `lines.${place}`
  const token = services.catalog.get(request.tokenId)
  if (token === undefined || token.environment !== environment || !token.active) {
    return yield* publicError("TOKEN_NOT_FOUND", { message: `${at}.token_id: no such token`, param: `${at}.token_id` })
  }
  if (token.network !== network) {
    return yield* publicError("TOKEN_NETWORK_MISMATCH", {
      message: `${at}.token_id: this ${token.symbol} is on ${token.network}: one batch pays on one network`,
      param: `${at}.token_id`
    })
  }
  const units = parseUnits(request.tokenAmount, token.decimals)
  if (units === undefined || units === 0n) {
    return yield* invalid(
      `${at}.token_amount`,
      `whole tokens as a decimal number above 0, with at most ${token.decimals} decimals, like "12.5"`
    )
  }
  const address = yield* readRefundAddress(services, network, environment, request.address).pipe(
    Effect.mapError((error) =>
      publicError(error.code, {
        message: `${at}.destination.address: ${error.message.replace(/^address: /u, "")}`,
        param: `${at}.destination.address`,
        retryAfterSeconds: error.retryAfterSeconds,
        reason: error.reason
      })
    )
  )
  if (request.memo !== null && !isMemo(network, request.memo)) {
    return yield* invalid(`${at}.destination.memo`, `not a memo of ${network}`)
  }
  if (request.reference.length > maximumReference) {
    return yield* invalid(`${at}.reference`, `at most ${maximumReference} characters`)
  }
  const value = yield* spotValueOf(services.prices, token, units)
  if (value !== null && value > maximumCredit) {
    return yield* invalid(`${at}.token_amount`, `one line pays at most ${usdDecimal(maximumCredit)} USD`)
  }
  return {
    isPriced: value !== null,
    line: {
      tokenId: token.id,
      symbol: token.symbol,
      decimals: token.decimals,
      tokenAddress: spellingOf(token),
      units,
      amount: value ?? usdMillis(0n),
      destination: { address, memo: request.memo },
      source: null,
      reference: request.reference,
      refundId: null
    }
  }
})

/** Lines of payouts, with their value at the prices of now. */
export const planPayouts = Effect.fnUntraced(function*(
  services: BatchServices,
  owner: BatchOwner,
  network: Network,
  requests: ReadonlyArray<PayoutRequest>,
  driver: PayoutDriver
): Effect.fn.Return<Plan, PublicError> {
  if (requests.length > driver.maximumLines) return yield* tooLarge(driver.maximumLines)
  const planned = yield* Effect.forEach(
    requests,
    (request, place) => lineOfPayout(services, owner, network, request, place),
    { concurrency: 8 }
  )
  const value = usdMillis(planned.reduce((sum, { line }) => sum + line.amount, 0n))
  return {
    lines: planned.map(({ line }) => line),
    refunds: [],
    value: { book: value, spot: planned.every((each) => each.isPriced) ? value : null }
  }
})

/**
 * Refuses a batch without lines, and a line that is smaller than the network can transfer. Errors: `BATCH_EMPTY`,
 * `AMOUNT_BELOW_MINIMUM`.
 */
export const checkLines = (
  lines: ReadonlyArray<PlannedLine>,
  { minimumAmount }: PayoutDriver
): Effect.Effect<void, PublicError> => {
  if (lines.length === 0) return Effect.fail(publicError("BATCH_EMPTY"))
  const small = lines.findIndex(({ tokenAddress, units }) => units < minimumAmount(tokenAddress))
  if (small === -1) return Effect.void
  const { decimals, symbol, tokenAddress, units } = lines[small]!
  const minimum = formatUnits(minimumAmount(tokenAddress), decimals)
  return Effect.fail(publicError("AMOUNT_BELOW_MINIMUM", {
    message: `Line ${small + 1} pays ${
      formatUnits(units, decimals)
    } ${symbol}, and the network carries ${minimum} or more`,
    details: { line: small + 1, minimum }
  }))
}
