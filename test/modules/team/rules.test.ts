/**
 * Goal: a merchant always has an owner, a session never outlives its end, and nobody alone unmakes an owner. Method:
 * random histories over the pure rules.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { randomBytes } from "node:crypto"
import {
  approveInvitation,
  type ChangeDecision,
  decideChange,
  endOf,
  endSession,
  formRecoveryCode,
  idleSeconds,
  invitationSeconds,
  type InvitationState,
  invitationStatusAt,
  isLinkOpen,
  isOpen,
  linkSeconds,
  maximumSessions,
  maximumSessionSeconds,
  maximumTries,
  memberOf,
  type MemberState,
  moneyFromAfterLink,
  moneyFromAfterRecovery,
  moneyFromOfCredential,
  newMember,
  newSession,
  nextTry,
  readRecoveryCode,
  recoveryCodeBits,
  refreshSession,
  secondsToNextTry,
  sessionsToDisplace,
  triesSeconds,
  useLink,
  withConsent
} from "../../../modules/team/rules.ts"
import { formChallenge, readChallenge, relyingPartyOf } from "../../../modules/team/rules/RelyingParty.ts"
import { isPublicError } from "../../../schemas/Errors.ts"
import { pageUrlOf } from "../../../schemas/Web.ts"
import { freshProofSeconds, moneyWaitSeconds, Role, waitsForMoney } from "../../../schemas/Roles.ts"

const day = 86_400

const member = (index: number, role: Role): MemberState =>
  newMember(
    { id: `mem_${index}`, merchantId: 1, person: `per_${index}`, role, isFirst: index === 0, moneyFrom: 0 },
    undefined,
    0
  )

const isApproving = (role: Role | null): boolean => role === "owner" || role === "admin"

const ownersIn = (members: ReadonlyArray<MemberState>) =>
  members.filter(({ role, status }) => status === "active" && role === "owner")

/** Few people and roles, so that most steps change who approves. */
const SomeRole = Schema.Literals(["owner", "admin", "viewer"])
const Step = Schema.Struct({
  by: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 })),
  target: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 })),
  role: Schema.NullOr(SomeRole),
  seconds: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 50_000 }))
})
const Steps = Schema.Array(Step).check(Schema.isMinLength(20), Schema.isMaxLength(40))
const Start = Schema.Array(SomeRole).check(Schema.isMinLength(2), Schema.isMaxLength(2))

/** The history of a merchant's members, with who wanted each change, and when. */
const play = (
  roles: ReadonlyArray<Role>,
  steps: ReadonlyArray<typeof Step.Type>,
  servesMainnet: boolean,
  check: (before: ReadonlyArray<MemberState>, after: ReadonlyArray<MemberState>, by: string, now: number) => void
) => {
  let members = [member(0, "owner"), ...roles.map((role, index) => member(index + 1, role))]
  let now = 0
  for (const step of steps) {
    now += step.seconds
    const caller = members[step.by]!
    const target = members[step.target]!
    if (caller.status !== "active" || caller.role !== "owner" || target.status !== "active") continue
    const by = memberOf(caller).person
    const active = members.filter(({ status }) => status === "active")
    const decision = decideChange(active, { target, role: step.role, by }, servesMainnet, now)
    if (decision === undefined || isPublicError(decision)) continue
    const after = members.map((one) => one.id === target.id ? decision.member : one)
    check(members, after, by, now)
    members = after
  }
}

describe("members", () => {
  it.prop("have an owner among them after every history", [Start, Steps, Schema.Boolean], ([roles, steps, mainnet]) => {
    play(roles, steps, mainnet, (_, after) => assert.isNotEmpty(ownersIn(after)))
  })

  it.prop("with real money nobody makes or unmakes an approver alone at once where another approves", [Start, Steps], ([
    roles,
    steps
  ]) => {
    play(roles, steps, true, (before, after, by, now) => {
      const owners = ownersIn(before).map((owner) => memberOf(owner).person)
      const approving = before.filter(({ role, status }) => status === "active" && isApproving(role))
      for (const [index, one] of before.entries()) {
        const next = after[index]!
        const becomes = next.status === "active" ? next.role : null
        const isMade = (one.role !== becomes) && (isApproving(one.role) || isApproving(becomes))
        if (one.status !== "active" || !isMade || memberOf(one).person === by || approving.length < 2) continue
        assert.isNotNull(one.proposal)
        const { agreedAt, expiresAt, proposedBy, role } = one.proposal!
        assert.strictEqual(role, becomes)
        assert.isBelow(now, expiresAt)
        if (proposedBy === by) {
          assert.deepStrictEqual(owners, [by])
          assert.isAtLeast(now, agreedAt! + day)
        } else assert.include(owners, proposedBy)
      }
    })
  })

  it("of one owner, or with play money only, an owner decides alone", () => {
    const members = [member(0, "owner"), member(1, "admin")]
    const change = { target: members[1]!, role: "owner", by: "owner" } as const
    assert.deepInclude(decideChange(members, change, false, 0), { act: "apply" })
    const viewers = [member(0, "owner"), member(1, "viewer")]
    assert.deepInclude(decideChange(viewers, { ...change, target: viewers[1]! }, true, 0), { act: "apply" })
    const two = [member(0, "owner"), member(1, "owner")]
    assert.deepInclude(decideChange(two, { target: two[1]!, role: null, by: "owner" }, false, 0), { act: "apply" })
    assert.deepInclude(decideChange(two, { target: two[1]!, role: null, by: "owner" }, true, 0), { act: "propose" })
    assert.deepInclude(decideChange(two, { target: two[1]!, role: "viewer", by: "per_1" }, true, 0), {
      act: "apply"
    })
  })

  it("of one owner and an admin wait a day before the owner alone unmakes the admin, and within a week", () => {
    const [owner, admin] = [member(0, "owner"), member(1, "admin")]
    const demote = (target: MemberState, now: number) =>
      decideChange([owner, target], { target, role: "viewer", by: "owner" }, true, now)
    const proposed = demote(admin, 100)
    assert.deepInclude(proposed, { act: "propose" })
    const { member: target } = proposed as { member: MemberState }
    assert.deepInclude(demote(target, 99 + day), {
      code: "APPROVER_MUST_DIFFER",
      details: { allowed_from: 100 + day }
    })
    assert.deepInclude(demote(target, 100 + day), { act: "apply" })
    assert.deepInclude(demote(target, 100 + 7 * day), { act: "propose" })
    const withOwner = decideChange(
      [owner, target, member(2, "owner")],
      { target, role: "viewer", by: "owner" },
      true,
      100 + day
    )
    assert.deepInclude(withOwner, { code: "APPROVER_MUST_DIFFER" })
    assert.deepInclude(
      decideChange([owner, admin], { target: admin, role: "viewer", by: "per_1" }, true, 0),
      { act: "apply" },
      "whoever gives up a role needs nobody"
    )
  })

  it("lose what is proposed for them where an owner says the role that they have", () => {
    const members = [member(0, "owner"), member(1, "owner"), member(2, "admin")]
    const proposed = decideChange(members, { target: members[2]!, role: "viewer", by: "owner" }, true, 100)
    const { member: target } = proposed as { member: MemberState }
    const stays = { target, role: "admin", by: "per_1" } as const
    const withdrawn = decideChange(members, stays, true, 200) as ChangeDecision
    assert.deepInclude(withdrawn, { act: "withdraw" })
    assert.deepInclude(withdrawn.member, { role: "admin", proposal: null, version: target.version + 1 })
    assert.isUndefined(decideChange(members, { ...stays, target: withdrawn.member }, true, 300))
  })

  it("keep a proposal for a day, and only for the very same change", () => {
    const [first, second] = [member(0, "owner"), member(1, "owner")]
    const third = member(2, "owner")
    const proposed = decideChange([first, second, third], { target: third, role: null, by: "owner" }, true, 100)
    assert.isTrue(proposed !== undefined && !isPublicError(proposed))
    const { member: target } = proposed as { member: MemberState }
    const members = [first, second, target]
    const again = decideChange(members, { target, role: null, by: "owner" }, true, 200)
    assert.deepInclude(again, { code: "APPROVER_MUST_DIFFER" })
    const other = decideChange(members, { target, role: "viewer", by: "per_1" }, true, 200)
    assert.deepInclude(other, { act: "propose" })
    assert.deepInclude(decideChange(members, { target, role: null, by: "per_1" }, true, 100 + day), {
      act: "propose"
    })
    assert.deepInclude(decideChange(members, { target, role: null, by: "per_1" }, true, 99 + day), { act: "apply" })
  })
})

describe("an invitation", () => {
  const invitation: InvitationState = {
    id: "tin_1",
    merchantId: 1,
    role: "owner",
    email: null,
    status: "open",
    invitedBy: "owner",
    needsApproval: true,
    approvedBy: null,
    tokenHash: "",
    createdAt: 0,
    expiresAt: invitationSeconds,
    version: 1
  }

  it("of a second owner waits for another's word, and ends after 7 days", () => {
    assert.strictEqual(invitationStatusAt(invitation, 0), "waiting")
    assert.deepInclude(approveInvitation(invitation, "owner", 0), { code: "APPROVER_MUST_DIFFER" })
    const approved = approveInvitation(invitation, "per_2", 0) as InvitationState
    assert.strictEqual(invitationStatusAt(approved, 0), "open")
    assert.strictEqual(invitationStatusAt(approved, 604_800), "expired")
    assert.deepInclude(approveInvitation(approved, "per_3", 0), { code: "INVALID_TRANSITION" })
  })

  it("needs the word of an owner who is one still, also where a second one joined since", () => {
    const alone = { ...invitation, role: "admin", needsApproval: false } as const
    const [first, second] = [member(0, "owner"), member(2, "owner")]
    const statusFor = (one: InvitationState, members: ReadonlyArray<MemberState>, servesMainnet = true) =>
      invitationStatusAt(withConsent(one, members, servesMainnet), 0)
    assert.strictEqual(statusFor(alone, [first]), "open")
    assert.strictEqual(statusFor(alone, [first, second]), "waiting")
    assert.strictEqual(statusFor(alone, [first, second], false), "open")
    assert.strictEqual(statusFor({ ...alone, role: "support" }, [first, second]), "open")
    assert.strictEqual(statusFor({ ...alone, approvedBy: "per_2" }, [first, second]), "open")
    assert.strictEqual(statusFor({ ...invitation, approvedBy: "per_2" }, [first, member(2, "viewer")]), "waiting")
  })
})

const session = (signedInAt = 0) =>
  newSession(
    { id: "tms_1", person: "per_1", method: "link", passkey: null, moneyFrom: 500, readHash: "r", actHash: "a" },
    signedInAt
  )

const Uses = Schema.Array(Schema.Struct({
  seconds: Schema.Int.check(Schema.isBetween({ minimum: 10_000, maximum: 29_500 })),
  act: Schema.Literals(["use", "refresh", "use", "refresh", "use", "end"])
})).check(Schema.isMinLength(40), Schema.isMaxLength(60))

describe("a session", () => {
  it.prop("never outlives 7 days, nor 8 hours without a use, nor its end", [Uses], ([uses]) => {
    let state = session()
    let now = 0
    let hasEnded = false
    for (const { act, seconds } of uses) {
      now += seconds
      if (!isOpen(state, now)) hasEnded = true
      assert.strictEqual(isOpen(state, now), !hasEnded)
      if (hasEnded) continue
      assert.isBelow(now, maximumSessionSeconds)
      assert.isBelow(now - state.lastUsedAt, idleSeconds)
      if (act === "use") state = { ...state, lastUsedAt: now }
      else if (act === "refresh") {
        state = refreshSession(state, { readHash: "r2", actHash: "a2" }, { id: "tpk_1", moneyFrom: 0 }, now)
      } else state = endSession(state, "signed_out")
      assert.isAtMost(endOf(state), maximumSessionSeconds)
    }
  })

  it("ends after 7 days however often it is used", () => {
    let state = session()
    for (let now = 25_200; now < 604_800; now += 25_200) {
      assert.isTrue(isOpen(state, now))
      state = { ...state, lastUsedAt: now }
    }
    assert.isFalse(isOpen(state, 604_800))
  })

  it("is fresh for 5 minutes after each authentication, and as free with money as what proved it", () => {
    assert.strictEqual(session(10).freshUntil, 310)
    const fresh = refreshSession(session(), { readHash: "r2", actHash: "a2" }, { id: "tpk_1", moneyFrom: 700 }, 400)
    assert.deepInclude(fresh, {
      freshUntil: 400 + freshProofSeconds,
      moneyFrom: 500,
      passkey: "tpk_1",
      readHash: "r2",
      signedInAt: 0
    })
    assert.strictEqual(
      refreshSession(session(), { readHash: "r", actHash: "a" }, { id: "tpk_1", moneyFrom: 0 }, 400).moneyFrom,
      400
    )
  })

  it("gives way to a new one when there are 20", () => {
    const open = Array.from({ length: maximumSessions }, (_, index) => ({ ...session(index), id: `tms_${index}` }))
    assert.deepStrictEqual(sessionsToDisplace(open).map(({ id }) => id), ["tms_0"])
    assert.isEmpty(sessionsToDisplace(open.slice(1)))
  })
})

describe("waits", () => {
  it("are a day on mainnet for everybody but a first owner, and after a recovery for that one too", () => {
    const first = { isFirstOwner: true, servesMainnet: true }
    const other = { isFirstOwner: false, servesMainnet: true }
    assert.strictEqual(moneyFromAfterLink(first, 5), 5)
    assert.strictEqual(moneyFromAfterLink(other, 5), 5 + day)
    assert.strictEqual(moneyFromAfterLink({ ...other, servesMainnet: false }, 5), 5)
    assert.strictEqual(moneyFromAfterRecovery(first, 5), 5 + moneyWaitSeconds)
    assert.strictEqual(moneyFromOfCredential(first, 900, 5), 900)
    assert.strictEqual(moneyFromOfCredential(other, 0, 5), 5 + day)
  })

  it("hold what moves real money, and what a merchant has once, but no test payment and no reading", () => {
    assert.isTrue(waitsForMoney("refunds:approve", "mainnet"))
    assert.isFalse(waitsForMoney("refunds:approve", "devnet"))
    assert.isTrue(waitsForMoney("team:write", "devnet"))
    assert.isTrue(waitsForMoney("keys:write", "mainnet"))
    assert.isFalse(waitsForMoney("payments:read", "mainnet"))
    assert.isFalse(waitsForMoney("invoices:write", "mainnet"))
  })
})

describe("a one-time link", () => {
  it("is open for 10 minutes and one use", () => {
    const link = { id: "h", merchantId: 1, person: "per_1", used: false, expiresAt: linkSeconds, version: 1 }
    assert.isTrue(isLinkOpen(link, 599))
    assert.isFalse(isLinkOpen(link, 600))
    assert.isFalse(isLinkOpen(useLink(link), 0))
  })
})

describe("a recovery code", () => {
  it("has 60 bits, is read as people write it, and nothing else is read", () => {
    assert.strictEqual(recoveryCodeBits, 60)
    for (let round = 0; round < 200; round++) {
      const code = formRecoveryCode(randomBytes(12))
      assert.match(code, /^[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}$/)
      const plain = readRecoveryCode(code)
      assert.strictEqual(readRecoveryCode(` ${code.toLowerCase().replaceAll("0", "o").replaceAll("1", "l")} `), plain)
      assert.strictEqual(plain, code.replaceAll("-", ""))
    }
    for (const text of ["", "7Q4M-X0KD", "7Q4M-X0KD-9TRB-1", "7Q4M-X0KD-9TRU", "é".repeat(12)]) {
      assert.isUndefined(readRecoveryCode(text))
    }
  })

  it.prop(
    "takes 5 tries in any hour",
    [Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 900 })))],
    ([
      pauses
    ]) => {
      let tries: ReadonlyArray<number> = []
      let now = 10_000
      const taken: Array<number> = []
      for (const pause of pauses) {
        now += pause
        const next = nextTry(tries, now)
        if (next === undefined) {
          assert.isDefined(nextTry(tries, now + secondsToNextTry(tries, now)))
          continue
        }
        taken.push(now)
        tries = next
      }
      for (const at of taken) {
        assert.isAtMost(taken.filter((other) => other <= at && other > at - triesSeconds).length, maximumTries)
      }
    }
  )
})

describe("a challenge", () => {
  const hashOf = (key: string) => (text: string) =>
    Buffer.from(`${key}${text}`.padEnd(64, key)).toString("hex").slice(-64)

  it("is read back by who made it, and not when a bit of it is another", () => {
    const text = formChallenge(randomBytes(12), 1_766_320_496, hashOf("a"))
    assert.strictEqual(readChallenge(text, (head) => [hashOf("b")(head), hashOf("a")(head)]), 1_766_320_496)
    assert.isUndefined(readChallenge(text, (head) => [hashOf("b")(head)]))
    assert.isUndefined(readChallenge(`${text}=`, (head) => [hashOf("a")(head)]))
    assert.isUndefined(readChallenge("", (head) => [hashOf("a")(head)]))
  })
})

describe("the relying party", () => {
  it("is the host of the public address, and localhost where that is the machine itself", () => {
    assert.deepStrictEqual(relyingPartyOf("https://pay.example:8443"), {
      id: "pay.example",
      origin: "https://pay.example:8443"
    })
    assert.deepStrictEqual(relyingPartyOf("http://127.0.0.1:8080"), {
      id: "localhost",
      origin: "http://localhost:8080"
    })
    assert.strictEqual(pageUrlOf("http://[::1]:8080/pay"), "http://localhost:8080/pay")
    assert.strictEqual(pageUrlOf("https://127.0.0.1.example"), "https://127.0.0.1.example")
  })
})
