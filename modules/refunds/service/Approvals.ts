/**
 * Approvals that people sign: a text in words, a challenge of 5 minutes that is answered once, and a signature of the
 * person's own passkey or wallet, kept so that anybody can check it (modules/docs/reference/approvals.md).
 */
import { Context, Effect, Layer, type Schema } from "effect"
import { createHmac, randomBytes } from "node:crypto"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { Write } from "../../../runtime/Commit.ts"
import { Secrets } from "../../../runtime/Secrets.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { type SigningWallet, type TextSignature, TextSigners, type TextToSign } from "../../../runtime/TextSigners.ts"
import type { ApprovalAnswer } from "../../../schemas/Approval.ts"
import { challengeRandomBytes } from "../../../schemas/Challenge.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { pageUrlOf } from "../../../schemas/Web.ts"
import {
  type Approval,
  approvalBy,
  approvalSeconds,
  approvalText,
  type ApprovedContent,
  type Approver
} from "../machine.ts"
import { type ApprovalsRepo, approvalWrite, makeApprovalsRepo } from "../repo/Approvals.ts"
import { formChallenge, readChallenge } from "../machine/ApprovalChallenge.ts"

/** What a person is asked to sign, and by what it may. */
export interface IssuedApproval {
  readonly id: string
  readonly text: string
  readonly expiresAt: number
  /** `PublicKeyCredentialRequestOptionsJSON`; null: the person has no passkey. */
  readonly passkey: Schema.Json | null
  readonly wallets: ReadonlyArray<SigningWallet>
}

/** An answer that was checked, of what was approved as it was then. */
export interface ProvedApproval extends TextSignature {
  /** Of its challenge. */
  readonly id: string
  readonly text: string
  readonly expiresAt: number
}

export class Approvals extends Context.Service<Approvals, {
  /** A challenge for one person and this content. Errors: `CREDENTIAL_NOT_ALLOWED` for who is no person or may not. */
  readonly issue: (content: ApprovedContent, caller: Approver) => Effect.Effect<IssuedApproval, PublicError>
  /**
   * Checks an answer, outside of the change, because a chain may have to be asked; null: there is none. Errors:
   * `NONCE_INVALID`, `SIGNATURE_INVALID`, `PERMISSION_DENIED` for a credential that waits, `VALIDATION_ERROR`,
   * `NETWORK_DEGRADED`, `SERVICE_UNAVAILABLE`.
   */
  readonly prove: (
    content: ApprovedContent,
    caller: Approver,
    answer: ApprovalAnswer | null
  ) => Effect.Effect<ProvedApproval | null, PublicError>
  /**
   * What is stored in the change that approves, of the content as it is in that change. Errors:
   * `APPROVAL_PROOF_REQUIRED` where real money is approved without an answer; `NONCE_INVALID` where the answer was
   * given before, or the content is another one than was signed.
   */
  readonly record: (
    proved: ProvedApproval | null,
    content: ApprovedContent,
    approval: Approval
  ) => Effect.Effect<ReadonlyArray<Write>, PublicError>
  readonly page: ApprovalsRepo["approvalPage"]
}>()("tillwire/modules/refunds/Approvals") {
  static readonly layer = Layer.effect(Approvals, Effect.suspend(() => make))
}

const rightOf = { refund: "refunds:approve", batch: "batches:approve" } as const

const actionOf = { refund: "refund", batch: "payout" } as const

/** Who signs what, as the text and the challenge name it; null: keys and services never do. */
const signerOf = ({ environment, object }: ApprovedContent, caller: Approver): string | null =>
  approvalBy(actionOf[object], caller, environment, 0)?.person ?? null

const programRefused = publicError("CREDENTIAL_NOT_ALLOWED", {
  message: "Only a person of the merchant approves: sign in, and approve in that session. API keys never do"
})

const unknownChallenge = publicError("NONCE_INVALID", {
  message: "proof.id: this challenge was not made for you and this object as it is now, or its 5 minutes are over: ask "
    + "for a new one"
})

const usedChallenge = publicError("NONCE_INVALID", {
  message: "proof.id: this challenge was answered before: ask for a new one"
})

const changedContent = publicError("NONCE_INVALID", {
  message: "It has changed since you read what you signed: ask for a new challenge, and read it anew"
})

const oneAnswer = publicError("VALIDATION_ERROR", {
  message: "proof: send the answer of a passkey or of a wallet, and not both",
  param: "proof"
})

const make = Effect.gen(function*() {
  const repo = yield* makeApprovalsRepo
  const signers = yield* TextSigners
  const publicUrl = pageUrlOf((yield* Settings).publicUrl)
  const peppers = (yield* Secrets).keys("pepper")
  const hashesOf = (text: string) =>
    peppers.map(({ key }) => createHmac("sha256", key).update(`approval challenge\n${text}`).digest("hex"))

  const ask = (content: ApprovedContent, person: string, challenge: string, expiresAt: number): TextToSign => ({
    merchantId: content.merchantId,
    person,
    text: approvalText(content, { publicUrl, person, challenge, expiresAt })
  })

  const verify = (request: TextToSign, { passkey = null, wallet = null }: ApprovalAnswer) => {
    if ((passkey === null) === (wallet === null)) return Effect.fail(oneAnswer)
    return wallet === null ? signers.passkeys.verify(request, passkey) : signers.wallets.verify(request, wallet)
  }

  /** A new passkey or wallet moves no real money for a day, whoever's session uses it. */
  const requireNoWait = (
    { environment, object }: ApprovedContent,
    { moneyFrom }: TextSignature,
    now: number
  ): Effect.Effect<void, PublicError> =>
    environment !== "mainnet" || now >= moneyFrom ? Effect.void : publicError("PERMISSION_DENIED", {
      message:
        "This passkey or wallet is new: for a day it approves no real money. Wait until details.allowed_from, or "
        + "sign by another one",
      details: { right: rightOf[object], allowed_from: moneyFrom }
    })

  return Approvals.of({
    issue: Effect.fn("Approvals.issue")(function*(content, caller) {
      const person = signerOf(content, caller)
      if (person === null) return yield* programRefused
      const expiresAt = (yield* nowSeconds) + approvalSeconds
      const random = yield* Effect.sync(() => randomBytes(challengeRandomBytes))
      const id = formChallenge(random, expiresAt, { ...content, person }, (text) => hashesOf(text)[0]!)
      const request = ask(content, person, id, expiresAt)
      const issued: IssuedApproval = {
        id,
        text: request.text,
        expiresAt,
        passkey: yield* signers.passkeys.options(request),
        wallets: yield* signers.wallets.wallets(request)
      }
      return issued
    }),
    prove: Effect.fn("Approvals.prove")(function*(content, caller, answer) {
      const person = signerOf(content, caller)
      if (answer === null || person === null) return null
      const now = yield* nowSeconds
      const expiresAt = readChallenge(answer.id, { ...content, person }, hashesOf)
      if (expiresAt === undefined || now >= expiresAt) return yield* unknownChallenge
      if (yield* repo.isUsed(content.merchantId, answer.id)) return yield* usedChallenge
      const request = ask(content, person, answer.id, expiresAt)
      const signed = yield* verify(request, answer)
      yield* requireNoWait(content, signed, now)
      const proved: ProvedApproval = { ...signed, id: answer.id, text: request.text, expiresAt }
      return proved
    }),
    record: Effect.fn("Approvals.record")(function*(proved, content, { actor, at, person }) {
      const { environment, id: objectId, merchantId, object } = content
      if (proved === null) return environment === "mainnet" ? yield* publicError("APPROVAL_PROOF_REQUIRED") : []
      const { expiresAt, id, signature, text, use } = proved
      if (yield* repo.isUsed(merchantId, id)) return yield* usedChallenge
      if (ask(content, person, id, expiresAt).text !== text) return yield* changedContent
      const row = approvalWrite({
        id,
        merchantId,
        environment,
        version: 1,
        object,
        objectId,
        person,
        actor,
        text,
        signature,
        at
      })
      return [row, ...yield* use]
    }),
    page: repo.approvalPage
  })
})
