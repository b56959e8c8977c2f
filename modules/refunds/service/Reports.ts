/** Reports of payouts: an operator says which transaction paid a refund, and the chain says whether it did. */
import { Effect, MutableRef } from "effect"
import { dieOnReplay, noCause, systemMerchant } from "../../../runtime/Commit.ts"
import { readAddress } from "../../../schemas/Address.ts"
import { isPublicError, type PublicError, publicError } from "../../../schemas/Errors.ts"
import { familyOf, familyRecord, type Network } from "../../../schemas/Network.ts"
import {
  type ChainTransfer,
  hasTerms,
  proofOf,
  type RefundCommand,
  type RefundState,
  senderRefusal,
  type TermsRefund
} from "../machine.ts"
import { proofWrite } from "../repo.ts"
import { auditActOf, type PayoutSender, refundsIn } from "../rules.ts"
import { changeSubject } from "./RefundChanges.ts"
import type { RefundServices } from "./RefundServices.ts"
import { changeRefund, decideOnRefund } from "./RefundSteps.ts"

/** What became of a payout, as somebody says. */
export type PayoutReport =
  | { readonly _tag: "Submitted"; readonly txHash: string }
  | {
    readonly _tag: "Succeeded"
    readonly txHash: string
    /** Of the block; needed where the chain is asked. */
    readonly height: bigint | null
    /** Of the transfer; null: the one that fits. */
    readonly index: number | null
    /** The wallet that has paid for the merchant, as the operator says; null: it is linked to the merchant. */
    readonly from: string | null
  }
  | { readonly _tag: "Failed"; readonly code: string }

/** Seconds by which the chain's clock and this one's may differ: public networks set a block's time to within one. */
const clockToleranceSeconds = 60

const invalid = (param: string, message: string) =>
  publicError("VALIDATION_ERROR", { message: `report.${param}: ${message}`, param: `report.${param}` })

/** What the transaction brought to the destination, as the chain has it. */
const readTransaction = Effect.fnUntraced(function*(
  { chains }: RefundServices,
  { destination, environment, terms }: TermsRefund,
  txHash: string,
  height: bigint
): Effect.fn.Return<{ readonly isFinal: boolean; readonly transfers: ReadonlyArray<ChainTransfer> }, PublicError> {
  const { network, tokenAddress } = terms
  if (destination === null) return yield* publicError("INVALID_TRANSITION", { message: "It has no destination yet" })
  const reading = yield* chains.readTransaction({
    network,
    environment,
    txHash,
    height,
    address: destination.address,
    tokenAddress
  }).pipe(
    Effect.tapError((error) => Effect.logWarning("the transaction of a refund could not be read", { txHash, error })),
    Effect.mapError(({ condition }) =>
      condition === "block_pruned"
        ? invalid("height", `no node has block ${height} any more, or it is not the block of the transaction`)
        : publicError("NETWORK_DEGRADED", { retryAfterSeconds: 30 })
    )
  )
  if (reading._tag === "Transaction") return reading
  switch (reading.reason) {
    case "not_followed":
      return yield* publicError("UNSUPPORTED_NETWORK", {
        message: `${network} is not followed here, so nothing can be proven`
      })
    case "not_reached":
      return yield* publicError("INVALID_TRANSITION", {
        message: `Block ${height} was not read yet: report it again later`,
        retryAfterSeconds: 30
      })
    case "not_agreed":
      return yield* publicError("NETWORK_DEGRADED", {
        message:
          `The configured nodes of ${network} do not all show block ${height} yet, or show different ones, and ` +
          "one node alone proves no payout: report it again later, or remove a node that is gone from the configuration",
        retryAfterSeconds: 30
      })
  }
})

/** The transaction and its block, as the chain's family writes them. */
const readNames = (
  { network }: TermsRefund["terms"],
  { height, txHash }: PayoutReport & { readonly _tag: "Succeeded" }
): { readonly txHash: string; readonly height: bigint } | PublicError => {
  const family = familyRecord(familyOf(network))
  const hash = family.readTransactionHash(txHash)
  if (hash === null) return invalid("tx_hash", `write ${family.transactionHashForm}`)
  return height === null
    ? invalid("height", "the number of the block that the transaction is in, so that it can be looked at")
    : { txHash: hash, height }
}

const isSameDestination = (a: RefundState, b: RefundState): boolean =>
  a.destination?.address === b.destination?.address && a.destination?.memo === b.destination?.memo

/** Which of the merchant's wallets sent it: the books take it out of that one. */
export const senderOf = Effect.fnUntraced(function*(
  { chains }: RefundServices,
  { environment, merchantId }: Pick<RefundState, "environment" | "merchantId">,
  network: Network,
  from: string | null
): Effect.fn.Return<PayoutSender | null> {
  if (from === null) return null
  const found = yield* chains.walletReceiver(network, environment, familyRecord(familyOf(network)).accountKey(from))
  const isOwn = found !== null && (found.merchantId === merchantId || found.merchantId === systemMerchant)
  return { wallet: isOwn ? found.fingerprint : null }
})

/** The wallet that a report names, in its stored form; null: it names none. */
const readNamed = (
  { environment, terms: { network } }: TermsRefund,
  { from }: PayoutReport & { readonly _tag: "Succeeded" }
): string | null | PublicError =>
  from === null ? null : readAddress(network, environment, from) ?? invalid("from", `this is no address of ${network}`)

/** Why the senders of the transfers can have paid nothing of the merchant, by the address of each. */
const readSenders = Effect.fnUntraced(function*(
  { chains, linkedWallets }: RefundServices,
  { environment, merchantId, terms: { network } }: TermsRefund,
  transfers: ReadonlyArray<ChainTransfer>,
  named: string | null
) {
  const { accountKey } = familyRecord(familyOf(network))
  const wallets = yield* Effect.forEach(
    new Set(transfers.map(({ from }) => from)),
    (address) =>
      Effect.gen(function*() {
        const wallet = address ?? named
        const receiver = wallet === null
          ? null
          : yield* chains.walletReceiver(network, environment, accountKey(wallet))
        const refusal = senderRefusal(merchantId, {
          address,
          named,
          isNamed: named !== null && (address === null || accountKey(address) === accountKey(named)),
          linkedTo: wallet === null ? new Set() : yield* linkedWallets.merchantsOf(network, wallet),
          receiver: receiver === null || receiver.merchantId === systemMerchant ? null : receiver.merchantId
        })
        return [address, refusal] as const
      })
  )
  return new Map(wallets)
})

const prove = Effect.fnUntraced(function*(
  services: RefundServices,
  before: TermsRefund,
  report: PayoutReport & { readonly _tag: "Succeeded" },
  actor: string
) {
  const { auditLog, clock, repo } = services
  const names = readNames(before.terms, report)
  if (isPublicError(names)) return yield* names
  const { height, txHash } = names
  const named = readNamed(before, report)
  if (isPublicError(named)) return yield* named
  if (before.status === "succeeded" && before.txHash === txHash) return before
  // The chain is asked only for a refund that it could prove.
  if (before.status !== "processing" && before.status !== "failed") {
    return yield* publicError("INVALID_TRANSITION", {
      message: `Only a refund in processing is paid: this one is ${before.status}`
    })
  }
  const { isFinal, transfers } = yield* readTransaction(services, before, txHash, height)
  const { environment, merchantId, terms: { network } } = before
  const senders = yield* readSenders(services, before, transfers, named)
  // Another report may have come since: what is answered is what this one found.
  const found = MutableRef.make<RefundState>(before)
  const facts = yield* changeSubject(
    services,
    before,
    noCause,
    Effect.fnUntraced(function*(current, now) {
      const refund = yield* repo.find(before.id)
      if (refund === null || !hasTerms(refund)) return yield* publicError("REFUND_NOT_FOUND")
      MutableRef.set(found, refund)
      if (!isSameDestination(refund, before)) {
        return yield* publicError("INVALID_TRANSITION", { message: "Its destination has changed: report it again" })
      }
      const command: RefundCommand = { _tag: "Succeed", txHash, isProven: true }
      const step = yield* decideOnRefund(services)(refund, command, current, now)
      if (step.facts.length === 0) return { commands: [] }
      const approvedAt = refund.terms.approvals.at(-1)?.at ?? refund.createdAt
      const proof = proofOf(refund, {
        transfers,
        isFinal,
        index: report.index,
        used: new Set([
          ...yield* repo.provenIndexes({ network, environment, txHash }),
          ...yield* services.batchTransfers({ network, environment, txHash })
        ]),
        senderRefusal: ({ from }) => senders.get(from) ?? null,
        notBefore: approvedAt - clock.aheadSeconds(merchantId, environment) - clockToleranceSeconds
      })
      if (isPublicError(proof)) return yield* proof
      const act = auditActOf(refund, step.refund, command, actor, noCause)
      const entry = yield* auditLog.writesOf({
        ...act,
        after: { ...act.after, paid_from: proof.from, ...(named === null ? {} : { named_from: named }) }
      })
      const sender = yield* senderOf(services, refund, network, proof.from)
      const kept = proofWrite({ network, environment, txHash, index: proof.index, sender }, {
        merchantId,
        refundId: refund.id,
        line: null
      })
      return {
        commands: step.commands,
        writes: [...step.writes, kept, ...entry],
        facts: sender === null ? step.facts : step.facts.map((fact) => ({ ...fact, sender }))
      }
    })
  )
  return refundsIn(facts).findLast(({ id }) => id === before.id) ?? MutableRef.get(found)
})

const commandOf = (report: PayoutReport): RefundCommand => {
  switch (report._tag) {
    case "Submitted":
      return { _tag: "Submit", txHash: report.txHash }
    case "Succeeded":
      return { _tag: "Succeed", txHash: report.txHash }
    case "Failed":
      return { _tag: "Fail", code: report.code }
  }
}

/** `Refunds.report`. */
export const reportPayout = (services: RefundServices) =>
  Effect.fn("Refunds.report")(
    function*(refundId: string, report: PayoutReport, actor: string) {
      const found = yield* services.repo.find(refundId)
      if (found === null) return yield* publicError("REFUND_NOT_FOUND")
      return report._tag === "Succeeded" && hasTerms(found)
        ? yield* prove(services, found, report, actor)
        : yield* changeRefund(services)(refundId, commandOf(report), noCause, actor)
    },
    dieOnReplay
  )
