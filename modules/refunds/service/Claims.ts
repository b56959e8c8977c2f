/** Claim links: a merchant makes one, and the payor who has it says where the refund goes. */
import { Effect, MutableRef } from "effect"
import {
  type CommitCause,
  dieOnReplay,
  type IdempotentCall,
  type IdempotentReplay,
  noCause
} from "../../../runtime/Commit.ts"
import { uuidV7 } from "../../../runtime/Uuid.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { negotiateLanguage } from "../../../schemas/Languages.ts"
import { descriptorOf } from "../../../schemas/Network.ts"
import {
  canClaim,
  claimedRefund,
  claimHash,
  fixedDestination,
  hasTerms,
  linkedRefundObject,
  type RefundCommand,
  type RefundState
} from "../machine.ts"
import { auditActOf, refundsIn } from "../rules.ts"
import { claimMail } from "../rules/ClaimMail.ts"
import { hashOf, mintClaim } from "./ClaimTokens.ts"
import { checkWallet } from "./Destinations.ts"
import type { LinkedRefund, RefundCaller } from "./PaymentRefunds.ts"
import type { RefundServices } from "./RefundServices.ts"
import type { ClaimRecipient } from "./RefundCalls.ts"
import { changeSubject, type RefundSubject } from "./RefundChanges.ts"
import { decideOnRefund } from "./RefundSteps.ts"

/** What a claim link opens. */
export interface OpenClaim {
  readonly refund: RefundState
  /** Whether the destination can be said by this link: once, and before the refund is on its way or over. */
  readonly canClaim: boolean
}

/** Where a refund goes, on the network of its payment. */
export interface ClaimedWallet {
  readonly address: string
  readonly memo: string | null
}

/** The actor in the audit log: whoever has the link, which names nobody. */
const claimant = "claim_link"

const mailMissing = publicError("NOT_FOUND", {
  message: "This deployment sends no e-mail: make a link by /claim-link, and give it to the payor yourself"
})

/** Claim links that a merchant may have sent in an hour: a shop needs fewer, and a spammer gets no more. */
const claimMailsPerHour = 100

/** Stores the message with a link in the change that makes the link. */
const draftClaimMail = Effect.fnUntraced(function*(
  { mail, publicUrl, settings }: RefundServices,
  refund: RefundState,
  subject: RefundSubject,
  claimToken: string,
  { email, locale }: ClaimRecipient
) {
  const { environment, merchantId } = refund
  const { claim_url: link } = linkedRefundObject({ refund, claimToken }, publicUrl)
  const facts = claimedRefund(refund)
  if (facts === null || link == null) return yield* publicError("INVALID_TRANSITION")
  const { branding } = yield* settings.get(merchantId, environment)
  const invoiceLocale = "payments" in subject ? subject.invoice.details.locale : null
  const language = negotiateLanguage([locale, invoiceLocale, branding.default_locale].filter((tag) => tag != null))
    ?? "en"
  return yield* mail.draft({
    id: `claim_${yield* uuidV7}`,
    merchantId,
    environment,
    kind: "claim_link",
    to: email,
    language,
    ...claimMail(language, {
      merchant: branding.name,
      amount: facts.tokenAmount,
      symbol: facts.tokenSymbol,
      network: descriptorOf(facts.network).label,
      link
    }),
    customerId: subject.invoice?.customerId ?? null,
    maximumPerHour: claimMailsPerHour
  })
})

/** `Refunds.renewClaim`. */
export const renewClaim = (services: RefundServices) =>
  Effect.fn("Refunds.renewClaim")(function*(
    refundId: string,
    caller: RefundCaller,
    { cause, reply }: IdempotentCall<LinkedRefund>,
    recipient?: ClaimRecipient
  ): Effect.fn.Return<LinkedRefund, PublicError | IdempotentReplay> {
    const { auditLog, repo } = services
    if (recipient !== undefined && !services.mail.isEnabled()) return yield* mailMissing
    const before = yield* repo.find(refundId)
    if (before === null) return yield* publicError("REFUND_NOT_FOUND")
    if (!hasTerms(before)) {
      return yield* publicError("INVALID_TRANSITION", {
        message: "This refund is an order's: its destination is said to the order"
      })
    }
    const made = MutableRef.make<LinkedRefund>({ refund: before, claimToken: null })
    yield* changeSubject(
      services,
      before,
      cause,
      Effect.fnUntraced(function*(current, now) {
        const refund = yield* repo.find(refundId)
        if (refund === null) return yield* publicError("REFUND_NOT_FOUND")
        const { claim, token } = yield* mintClaim
        const command: RefundCommand = { _tag: "RenewClaim", hash: claim.hash }
        const step = yield* decideOnRefund(services)(refund, command, current, now)
        const act = auditActOf(refund, step.refund, command, caller.credential, cause)
        const entry = yield* auditLog.writesOf(
          recipient === undefined ? act : { ...act, after: { ...act.after, by_email: true } }
        )
        const sent = recipient === undefined
          ? []
          : yield* draftClaimMail(services, step.refund, current, token, recipient)
        const renewed: LinkedRefund = { refund: step.refund, claimToken: recipient === undefined ? token : null }
        MutableRef.set(made, renewed)
        return {
          commands: step.commands,
          writes: [...step.writes, ...entry, ...sent],
          facts: step.facts,
          reply: () => reply(renewed)
        }
      })
    )
    return MutableRef.get(made)
  })

/** One more wrong token for the link of a refund, as long as it opens anything. */
const countWrongToken = (services: RefundServices, before: RefundState) =>
  changeSubject(
    services,
    before,
    noCause,
    Effect.fnUntraced(function*(current, now) {
      const refund = yield* services.repo.find(before.id)
      if (refund === null || claimHash(refund) === null) return { commands: [] }
      return yield* decideOnRefund(services)(refund, { _tag: "CountWrongToken" }, current, now)
    })
  ).pipe(dieOnReplay)

/**
 * `Refunds.findClaim`. A token that opens nothing gets the same answer whatever the reason; a wrong one is counted.
 */
export const findClaim = (services: RefundServices) =>
  Effect.fn("Refunds.findClaim")(function*(
    refundId: string,
    token: string
  ): Effect.fn.Return<OpenClaim | null, PublicError> {
    const refund = yield* services.repo.find(refundId)
    const hash = refund === null ? null : claimHash(refund)
    if (refund === null || hash === null) return null
    if (hash === hashOf(token)) return { refund, canClaim: canClaim(refund) }
    yield* countWrongToken(services, refund)
    return null
  })

/** `Refunds.checkClaim`. */
export const checkClaim = (services: RefundServices) =>
  Effect.fn("Refunds.checkClaim")(function*(
    { environment, terms }: RefundState,
    { address, memo }: ClaimedWallet
  ): Effect.fn.Return<ClaimedWallet, PublicError> {
    if (terms === null) return yield* publicError("REFUND_NOT_FOUND")
    const checked = yield* checkWallet(services, { address, memo, network: terms.network }, environment)
    return { address: checked.address, memo: checked.memo }
  })

/** `Refunds.claim`. */
export const claimRefund = (services: RefundServices) =>
  Effect.fn("Refunds.claim")(function*(
    refundId: string,
    token: string,
    wallet: ClaimedWallet,
    requestId: string | null = null
  ): Effect.fn.Return<RefundState, PublicError> {
    const { auditLog, repo } = services
    const cause: CommitCause = { ...noCause, requestId }
    const opened = yield* findClaim(services)(refundId, token)
    if (opened === null || opened.refund.terms === null) return yield* publicError("REFUND_NOT_FOUND")
    const { environment, terms } = opened.refund
    if (!opened.canClaim) return yield* alreadyClaimed(opened.refund)
    const destination = yield* checkWallet(services, { ...wallet, network: terms.network }, environment)
    const facts = yield* changeSubject(
      services,
      opened.refund,
      cause,
      Effect.fnUntraced(function*(current, now) {
        const refund = yield* repo.find(refundId)
        // The link may have been renewed or used since it was looked at.
        if (refund === null || claimHash(refund) !== hashOf(token)) return yield* publicError("REFUND_NOT_FOUND")
        if (!canClaim(refund)) return yield* alreadyClaimed(refund)
        const command: RefundCommand = { _tag: "SetDestination", destination }
        const step = yield* decideOnRefund(services)(refund, command, current, now)
        const entry = yield* auditLog.writesOf(auditActOf(refund, step.refund, command, claimant, cause))
        return { commands: step.commands, writes: [...step.writes, ...entry], facts: step.facts }
      })
    ).pipe(dieOnReplay)
    return refundsIn(facts).findLast(({ id }) => id === refundId) ?? opened.refund
  })

const alreadyClaimed = (refund: RefundState): PublicError =>
  publicError("INVALID_TRANSITION", {
    message: refund.claim?.status !== "open" && (refund.status === "pending_approval" || refund.status === "failed")
      ? "This link was used: the address is kept. Ask the shop for a new link to change it"
      : `${fixedDestination(refund)}. Ask the shop`
  })
