/** Who belongs to a merchant: its first owner where nobody was a member before, and the members as others count them. */
import { Effect } from "effect"
import type { Write } from "../../../runtime/Commit.ts"
import { type MemberDirectory, soleOwner } from "../../../runtime/Members.ts"
import { uuidV4, uuidV7 } from "../../../runtime/Uuid.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import type { Language } from "../../../schemas/Languages.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { firstOwnerPerson, type Right, roleHas } from "../../../schemas/Roles.ts"
import type { MerchantState } from "../../auth/plugin.ts"
import { memberWrite, personWrite } from "../repo.ts"
import { memberOf, type MemberState, newMember, newPerson, type WaitFacts, wantsNotices } from "../rules.ts"
import { servesMainnet, type TeamContext } from "./TeamContext.ts"

export const newPersonId = Effect.map(uuidV4, (uuid) => `per_${uuid}`)
export const newMemberId = Effect.map(uuidV7, (uuid) => `mem_${uuid}`)

/** A member, and the rows that make it one where it is new; they go with the merchant's own row. */
export interface MemberDraft {
  readonly member: MemberState
  readonly writes: ReadonlyArray<Write>
}

/**
 * The first owner of a merchant, a member or not any more; made where nobody was a member before. Whoever commits the
 * rows touches the merchant, so that there is one.
 */
export const draftFirstOwner = Effect.fnUntraced(function*(
  { repo }: TeamContext,
  merchant: MerchantState,
  now: number
) {
  const before = yield* repo.firstOwner(merchant.id)
  if (before !== undefined) return { member: before, writes: [] } satisfies MemberDraft
  const person = newPerson(yield* newPersonId, "Owner", merchant.email, now)
  const member = newMember(
    { id: yield* newMemberId, merchantId: merchant.id, person: person.id, role: "owner", isFirst: true, moneyFrom: 0 },
    undefined,
    now
  )
  const draft: MemberDraft = { member, writes: [personWrite(person), memberWrite(member)] }
  return draft
})

/** What a person waits for, of all merchants that it belongs to. */
export const waitFactsOf = (context: TeamContext, person: string): Effect.Effect<WaitFacts> =>
  Effect.map(context.repo.membershipsOf(person), (memberships) => ({
    isFirstOwner: memberships.length > 0 && memberships.every(({ isFirst }) => isFirst),
    servesMainnet: servesMainnet(context)
  }))

const activeMember = ({ repo }: TeamContext, merchantId: number, person: string | null) =>
  Effect.map(
    person === null || person === firstOwnerPerson
      ? repo.firstOwner(merchantId)
      : repo.memberByPerson(merchantId, person),
    (member) => member?.status === "active" ? member : undefined
  )

/** The member that a caller of the API is; `NOT_FOUND` where it is none any more. */
export const requireMember = (
  context: TeamContext,
  merchantId: number,
  person: string | null
): Effect.Effect<MemberState, PublicError> =>
  Effect.flatMap(activeMember(context, merchantId, person), (member) =>
    member === undefined
      ? Effect.fail(publicError("NOT_FOUND", { message: "You are no member of this merchant" }))
      : Effect.succeed(member))

/** The people of merchants for everybody who counts them. A merchant without any keeps its one owner. */
export const directoryOf = (context: TeamContext): MemberDirectory => {
  const { keys, repo, wallets } = context
  return {
    find: Effect.fnUntraced(function*(merchantId, person) {
      const isFirst = person === null || person === firstOwnerPerson
      const member = isFirst ? yield* repo.firstOwner(merchantId) : yield* repo.memberByPerson(merchantId, person)
      if (member === undefined) return isFirst ? soleOwner : null
      return member.status === "active" ? memberOf(member) : null
    }),
    list: Effect.fnUntraced(function*(merchantId) {
      const members = yield* repo.members(merchantId)
      return members.length === 0 ? [soleOwner] : members.map(memberOf)
    }),
    actorsOf: Effect.fnUntraced(function*(merchantId, person) {
      const member = yield* activeMember(context, merchantId, person)
      return [
        ...(member === undefined ? [] : [member.id]),
        ...yield* wallets.idsOf(merchantId, person === firstOwnerPerson ? null : person),
        ...yield* keys.idsOf(merchantId, person)
      ]
    })
  }
}

/** Where a member is written to. */
export interface Contact {
  readonly email: string
  /** Null: it has chosen none. */
  readonly language: Language | null
}

/** `TeamContacts.find`. */
export const contactsOf = Effect.fnUntraced(function*(
  { repo }: TeamContext,
  merchantId: number,
  right: Right,
  environment: Environment
) {
  const members = (yield* repo.members(merchantId)).filter(({ role }) => roleHas(role, right, environment))
  const people = new Map((yield* repo.people(members.map(({ person }) => person))).map((one) => [one.id, one]))
  const contacts = new Map<string, Contact>()
  for (const { person: id } of members) {
    const person = people.get(id)
    if (person === undefined || person.email === null || !wantsNotices(person, environment)) continue
    if (!contacts.has(person.email)) contacts.set(person.email, { email: person.email, language: person.language })
  }
  return [...contacts.values()]
})
