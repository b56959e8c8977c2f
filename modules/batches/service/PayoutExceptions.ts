/** Opens an exception for each transfer of a batch that should not exist, as soon as a search of the chain shows it. */
import { Effect } from "effect"
import { noCause, systemMerchant } from "../../../runtime/Commit.ts"
import { formatUnits } from "../../../schemas/Money.ts"
import { familyOf, familyRecord } from "../../../schemas/Network.ts"
import type { PayoutDetails, PayoutExceptionChange } from "../../invoices/plugin.ts"
import { proofWrite } from "../../refunds/plugin.ts"
import { type BatchDecision, type BatchState, linesOf, onlyUnexpected, type UnexpectedTransfer } from "../machine.ts"
import { batchWrite } from "../repo.ts"
import { exceptionIdOf } from "../rules.ts"
import type { BatchServices } from "./BatchServices.ts"

/** Fingerprint of the merchant's wallet that sent a transfer, because the ledger books it from that wallet; or null. */
export const walletOf = Effect.fnUntraced(function*(
  { chains }: BatchServices,
  { environment, merchantId, network }: BatchState,
  from: string
) {
  const found = yield* chains.walletReceiver(network, environment, familyRecord(familyOf(network)).accountKey(from))
  return found !== null && (found.merchantId === merchantId || found.merchantId === systemMerchant)
    ? found.fingerprint
    : null
})

/** What the exception of a transfer says. */
const detailsOf = (
  { catalog }: BatchServices,
  { environment, id, network }: BatchState,
  { amount, line, part, transfer, txHash, type }: UnexpectedTransfer,
  wallet: string | null
): PayoutDetails => {
  const { tokenAddress } = transfer
  const token = catalog.find(network, environment, tokenAddress) ??
    (line?.tokenAddress === tokenAddress
      ? { id: line.tokenId, symbol: line.symbol, decimals: line.decimals }
      : undefined)
  return {
    type,
    amount,
    evidence: {
      network,
      tx_hash: txHash,
      transfer_index: transfer.index,
      wallet,
      sender: transfer.from,
      address: transfer.destination,
      token: tokenAddress,
      token_id: token?.id ?? null,
      token_decimals: token?.decimals ?? null,
      token_symbol: token?.symbol ?? null,
      token_amount: token === undefined ? transfer.amount.toString() : formatUnits(transfer.amount, token.decimals),
      token_amount_unit: token === undefined ? "base_units" : "token",
      batch_id: id,
      part,
      line: line?.line ?? null,
      line_amount: line === null ? null : formatUnits(line.units, line.decimals),
      refund_id: line?.refundId ?? null
    }
  }
}

/**
 * The rows that keep transfers whose exception is final from paying anything else: their money is booked by then. Each
 * belongs to the line of its exception, or to the first one of its part, so that the part still finds it.
 */
const proofsOf = Effect.fnUntraced(function*(
  services: BatchServices,
  batch: BatchState,
  unexpected: ReadonlyArray<UnexpectedTransfer>
) {
  const { environment, id, merchantId, network } = batch
  const final = unexpected.filter(({ isFinal }) => isFinal)
  if (final.length === 0) return []
  const claims = yield* services.repo.proofs(batch, final.map(({ txHash }) => txHash))
  const isClaimed = ({ transfer: { index }, txHash }: UnexpectedTransfer) =>
    claims.some((claim) => claim.txHash === txHash && claim.index === index)
  return yield* Effect.forEach(
    final.filter((each) => !isClaimed(each)),
    ({ line, part, transfer: { from, index }, txHash }) =>
      Effect.map(
        walletOf(services, batch, from),
        (wallet) =>
          proofWrite({ network, environment, txHash, index, sender: { wallet } }, {
            merchantId,
            refundId: null,
            line: { batchId: id, line: (line ?? linesOf(batch, part)[0]!).line }
          })
      )
  )
})

const openException = Effect.fnUntraced(function*(
  services: BatchServices,
  batch: BatchState,
  unexpected: UnexpectedTransfer
) {
  const { environment, merchantId } = batch
  const { isFinal, line, part, transfer, txHash, type } = unexpected
  const wallet = yield* walletOf(services, batch, transfer.from)
  const id = exceptionIdOf(batch, { txHash, index: transfer.index })
  const change = yield* services.invoices.sightPayout(
    { id, merchantId, environment, sight: isFinal ? "final" : "seen" },
    detailsOf(services, batch, unexpected, wallet)
  )
  if (change?.opens === true) {
    yield* Effect.logError("a transfer of a batch was made twice, or is not what was signed: find out who sent it", {
      exception: type,
      exception_id: id,
      batch: batch.id,
      part,
      line: line?.line ?? null,
      txHash
    })
  }
  return change
})

/**
 * Opens and closes the exceptions of one search, in one commit with the batch's list of its open ones: from that list
 * the next search knows which to close. Answers the batch as stored.
 */
export const storeExceptions = Effect.fnUntraced(function*(
  services: BatchServices,
  batch: BatchState,
  { next, unexpected, withdrawn }: BatchDecision
) {
  const { environment, merchantId } = batch
  const openings = yield* Effect.forEach(unexpected, (each) => openException(services, batch, each))
  const closings = yield* Effect.forEach(withdrawn, (each) =>
    services.invoices.sightPayout(
      { id: exceptionIdOf(batch, each), merchantId, environment, sight: "gone" },
      null
    ))
  const changes = [...openings, ...closings].filter((change): change is PayoutExceptionChange => change !== null)
  const proofs = yield* proofsOf(services, batch, unexpected)
  if (changes.length === 0 && proofs.length === 0) return batch
  const stored = onlyUnexpected(batch, next)
  yield* services.commit.append({
    merchantId,
    environment,
    cause: noCause,
    writes: [batchWrite(stored), ...proofs, ...changes.flatMap(({ writes }) => writes)],
    balances: changes.flatMap(({ balances }) => balances),
    events: changes.flatMap(({ events }) => events)
  })
  return stored
})
