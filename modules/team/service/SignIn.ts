/** The ways in beside passkeys: a one-time link, a wallet, a recovery code. */
import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { type IdempotentCall, systemMerchant } from "../../../runtime/Commit.ts"
import type { SignInProof } from "../../../runtime/SignIns.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { pageUrlOf } from "../../../schemas/Web.ts"
import { linkWrite, personWrite, recoveryCodeWrite, triesWrite } from "../repo.ts"
import {
  endRecoveryCode,
  formRecoveryCode,
  isCodeGood,
  isLinkOpen,
  linkSeconds,
  type LinkState,
  type MemberState,
  moneyFromAfterLink,
  moneyFromAfterRecovery,
  nextTry,
  normalEmail,
  readRecoveryCode,
  recoveryCodes,
  type RecoveryCodeState,
  secondsToNextTry,
  useLink
} from "../rules.ts"
import { draftFirstOwner, requireMember, waitFactsOf } from "./People.ts"
import { openSession } from "./Sessions.ts"
import {
  append,
  decideInTurn,
  hashesOf,
  hashOf,
  isToken,
  newToken,
  personActWrites,
  requireMerchant,
  servesMainnet,
  type TeamContext
} from "./TeamContext.ts"

/** A link that signs somebody in, this once. */
export interface OneTimeLink {
  readonly token: string
  readonly url: string
  readonly expiresAt: number
}

/** A new link of a member, and its row. */
export const draftLink = Effect.fnUntraced(function*(
  context: TeamContext,
  { merchantId, person }: Pick<MemberState, "merchantId" | "person">,
  now: number
) {
  const token = yield* newToken
  const expiresAt = now + linkSeconds
  const state: LinkState = {
    id: hashOf(context, "link", token),
    merchantId,
    person,
    used: false,
    expiresAt,
    version: 1
  }
  const link: OneTimeLink = {
    token,
    url: `${pageUrlOf(context.settings.publicUrl)}/dashboard/signin/link#t=${token}`,
    expiresAt
  }
  return { link, write: linkWrite(state) }
})

const namedMember = Effect.fnUntraced(function*({ repo }: TeamContext, merchantId: number, name: string) {
  const members = yield* repo.members(merchantId)
  const people = yield* repo.people(members.map(({ person }) => person))
  const namesakes = people.filter(({ email }) => email !== null && email === normalEmail(name)).map(({ id }) => id)
  const found = members.filter(({ id, person }) => id === name || namesakes.includes(person))
  const [member] = found
  return member === undefined || found.length > 1
    ? yield* publicError("NOT_FOUND", {
      message: found.length > 1
        ? "Several members have this e-mail address: name the member by its id"
        : "The merchant has no such member: name one by its id or its e-mail address",
      param: "member"
    })
    : member
})

const noFirstOwner = publicError("NOT_FOUND", {
  message: "The merchant's first owner is no member any more: name a member",
  param: "member"
})

/** A link on the operator's word: of the member named, or of the first owner, who is made where there is none. */
export const issueLink = (context: TeamContext, merchantId: number, name: string | null) =>
  decideInTurn(
    context,
    "merchant",
    merchantId,
    Effect.gen(function*() {
      const merchant = yield* requireMerchant(context, merchantId)
      const now = yield* nowSeconds
      const draft = name === null
        ? yield* draftFirstOwner(context, merchant, now)
        : { member: yield* namedMember(context, merchantId, name), writes: [] }
      if (draft.member.status !== "active") return yield* noFirstOwner
      const { link, write } = yield* draftLink(context, draft.member, now)
      const entries = yield* context.auditLog.writesOf({
        merchantId,
        environment: context.settings.environments[0],
        actor: "service:rpc",
        action: "login_link.create",
        subject: { object: "team_member", id: draft.member.id },
        before: {},
        after: { expires_at: link.expiresAt },
        requestId: null
      })
      const made = draft.writes.length === 0 ? [] : [...draft.writes, context.merchants.touch(merchant)]
      yield* append(context, merchantId, [...made, write, ...entries])
      return link
    })
  )

const linkInvalid = publicError("TOKEN_INVALID", {
  message: "This link was used before, or is older than 10 minutes: ask for a new one"
})

export const signInByLink = Effect.fnUntraced(function*(context: TeamContext, token: string) {
  if (!isToken(token)) return yield* linkInvalid
  const hashes = hashesOf(context, "link", token)
  return yield* decideInTurn(
    context,
    "token",
    hashes[0]!,
    Effect.gen(function*() {
      const link = yield* context.repo.link(hashes)
      const now = yield* nowSeconds
      if (link === undefined || !isLinkOpen(link, now)) return yield* linkInvalid
      const member = yield* context.repo.memberByPerson(link.merchantId, link.person)
      if (member?.status !== "active") return yield* linkInvalid
      return yield* openSession(context, {
        person: link.person,
        method: "link",
        moneyFrom: moneyFromAfterLink(yield* waitFactsOf(context, link.person), now),
        writes: [linkWrite(useLink(link))]
      })
    })
  )
})

/** The member who signs in by a wallet. The first owner is made where the merchant has no members yet. */
const memberOfWallet = Effect.fnUntraced(function*(
  context: TeamContext,
  { merchantId, person }: { readonly merchantId: number; readonly person: string | null },
  now: number
) {
  if (person !== null) return { member: yield* requireMember(context, merchantId, person), writes: [] }
  const merchant = yield* requireMerchant(context, merchantId)
  const draft = yield* draftFirstOwner(context, merchant, now)
  return draft.writes.length === 0
    ? draft
    : { member: draft.member, writes: [...draft.writes, context.merchants.touch(merchant)] }
})

export const signInByWallet = (context: TeamContext, proof: SignInProof) =>
  decideInTurn(
    context,
    "token",
    proof.message,
    Effect.gen(function*() {
      const { wallet, writes } = yield* context.wallets.prove(proof)
      const now = yield* nowSeconds
      const draft = yield* memberOfWallet(context, wallet, now)
      if (draft.member.status !== "active") return yield* publicError("TOKEN_INVALID")
      // The person is read after its commit, so a new one is committed first; the message is used up by the second.
      if (draft.writes.length > 0) yield* append(context, wallet.merchantId, draft.writes)
      return yield* openSession(context, {
        person: draft.member.person,
        method: "wallet",
        moneyFrom: Math.max(wallet.moneyFrom, now),
        writes
      })
    })
  )

const recoveryRefused = publicError("TOKEN_INVALID", {
  message: "The e-mail address or the code is not right, or the code was used before"
})

/**
 * Takes one of the tries of an e-mail address, whether anybody has it or not. Those that were counted under an earlier
 * master key count as well: a rotation gives nobody more tries.
 */
const takeTry = (context: TeamContext, email: string) => {
  const [id = "", ...formerIds] = hashesOf(context, "email", email)
  return decideInTurn(
    context,
    "token",
    id,
    Effect.gen(function*() {
      const before = yield* context.repo.tries(id)
      const former = yield* Effect.forEach(formerIds, context.repo.tries)
      const now = yield* nowSeconds
      const own = before?.tries ?? []
      const known = [...own, ...former.flatMap((row) => row?.tries ?? [])]
      const tries = nextTry(own, now)
      if (tries === undefined || nextTry(known, now) === undefined) {
        return yield* publicError("RATE_LIMIT_EXCEEDED", {
          message: "Recovery takes 5 tries an hour: wait, or sign in by other means",
          retryAfterSeconds: secondsToNextTry(known, now)
        })
      }
      yield* append(context, systemMerchant, [triesWrite({ id, tries, version: (before?.version ?? 0) + 1 })])
    })
  )
}

export const signInByRecovery = Effect.fnUntraced(function*(context: TeamContext, email: string, text: string) {
  const address = normalEmail(email)
  yield* takeTry(context, address)
  const code = readRecoveryCode(text) ?? ""
  return yield* decideInTurn(
    context,
    "token",
    hashOf(context, "recovery", `${address} ${code}`),
    Effect.gen(function*() {
      const found = yield* context.repo.recoveryCode(hashesOf(context, "recovery", code))
      const person = found === undefined ? undefined : yield* context.repo.person(found.person)
      if (found === undefined || person === undefined || !isCodeGood(found, person, address)) {
        return yield* recoveryRefused
      }
      const now = yield* nowSeconds
      return yield* openSession(context, {
        person: person.id,
        method: "recovery",
        moneyFrom: moneyFromAfterRecovery({ servesMainnet: servesMainnet(context) }, now),
        writes: [recoveryCodeWrite(endRecoveryCode(found, now))],
        endsOthers: "recovered"
      })
    })
  )
})

const withoutEmail = publicError("INVALID_TRANSITION", {
  message: "A recovery code signs in together with an e-mail address, and none is known of you here: add a passkey on "
    + "a second device instead"
})

/** A new set of recovery codes, shown this once; those before count no more. */
export const makeRecoveryCodes = (
  context: TeamContext,
  merchantId: number,
  person: string,
  { cause, reply }: IdempotentCall<ReadonlyArray<string>>
) =>
  decideInTurn(
    context,
    "person",
    person,
    Effect.gen(function*() {
      const before = yield* context.repo.person(person)
      if (before === undefined) return yield* publicError("NOT_FOUND")
      if (before.email === null) return yield* withoutEmail
      const now = yield* nowSeconds
      const ended = (yield* context.repo.recoveryCodesOf(person)).map((code) => endRecoveryCode(code, now))
      const recoverySet = before.recoverySet + 1
      const codes = yield* Effect.sync(() =>
        Array.from({ length: recoveryCodes }, () => formRecoveryCode(randomBytes(12)))
      )
      const rows = codes.map((code): RecoveryCodeState => ({
        id: hashOf(context, "recovery", readRecoveryCode(code)!),
        person,
        set: recoverySet,
        endedAt: null,
        version: 1
      }))
      const entries = yield* personActWrites(context, person, {
        action: "recovery_codes.create",
        subject: { object: "person", id: person },
        before: {},
        after: { codes: codes.length },
        requestId: cause.requestId
      })
      yield* append(
        context,
        merchantId,
        [
          personWrite({ ...before, recoverySet, version: before.version + 1 }),
          ...[...ended, ...rows].map(recoveryCodeWrite),
          ...entries
        ],
        cause,
        reply(codes)
      )
      return codes
    })
  )
