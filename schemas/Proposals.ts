/**
 * Changes that one person may not make at once alone: who agreed to one, and from when on it holds. What a change is
 * about is its owner's affair (modules/docs/reference/team.md#changes-that-wait). Pure. Times are epoch seconds.
 */
import type { Principal } from "./Auth.ts"
import { type PublicError, publicError } from "./Errors.ts"
import type { PendingChange } from "./PendingChange.ts"
import { type Right, type Role, roleHas } from "./Roles.ts"

/** Seconds that a change waits after its last approval, so that whoever did not mean it can see and cancel it. */
export const waitSeconds = 86_400

/** Who agreed to a change, as `Member.person` of runtime/Members.ts names people. */
export interface ChangeApproval {
  readonly proposedBy: string
  readonly proposedAt: number
  /** Whether another person must approve it. */
  readonly needsSecond: boolean
  readonly approvedBy: string | null
  /** When the last necessary approval came; null: another person has not approved yet. */
  readonly agreedAt: number | null
}

export const newChangeApproval = (proposedBy: string, needsSecond: boolean, now: number): ChangeApproval => ({
  proposedBy,
  proposedAt: now,
  needsSecond,
  approvedBy: null,
  agreedAt: needsSecond ? null : now
})

/** From when on the change may be made; null: another person must approve it first. */
export const allowedFrom = ({ agreedAt }: Pick<ChangeApproval, "agreedAt">): number | null =>
  agreedAt === null ? null : agreedAt + waitSeconds

/** A change that comes into force by itself once it has waited. */
export interface Proposal<Change> extends ChangeApproval {
  /** `chg_<uuid>`, another one for every other change: who approves says which. */
  readonly id: string
  readonly change: Change
  /** The credentials of who proposed and of who approved it, as `Principal.credential` names them. */
  readonly proposer: string
  readonly approver: string | null
}

/** Somebody of a merchant, as runtime/Members.ts lists them. */
interface Member {
  readonly person: string
  readonly role: Role
}

/** A person who proposes or approves. */
export type Proposer = Pick<Principal, "credential" | "person">

const peopleWith = (members: ReadonlyArray<Member>, right: Right): ReadonlySet<string> =>
  new Set(members.filter(({ role }) => roleHas(role, right, "mainnet")).map(({ person }) => person))

/** Whether another person than `by` may approve. */
const hasSecond = (members: ReadonlyArray<Member>, by: string): boolean =>
  [...peopleWith(members, "rules:approve")].some((person) => person !== by)

/** Only a person decides: an API key is nobody's second person. */
const requirePersonOf = ({ person }: Proposer): string | PublicError =>
  person ?? publicError("CREDENTIAL_NOT_ALLOWED", {
    message: "Only a person may do this: sign in with a wallet and send that token, not an API key"
  })

export const newProposal = <Change>(
  id: string,
  change: Change,
  by: Proposer,
  members: ReadonlyArray<Member>,
  now: number
): Proposal<Change> | PublicError => {
  const person = requirePersonOf(by)
  return typeof person === "string"
    ? {
      ...newChangeApproval(person, hasSecond(members, person), now),
      id,
      change,
      proposer: by.credential,
      approver: null
    }
    : person
}

/**
 * The proposal under the current members; null: who proposed it may not propose any more, so it ends. The approval of
 * somebody who may not approve any more does not count. Where somebody who may approve has joined since, an approval
 * becomes necessary, and the wait begins after it. Where one has left, the requirement stays.
 */
export const reviewProposal = <Change>(
  proposal: Proposal<Change>,
  members: ReadonlyArray<Member>,
  rightToPropose: Right
): Proposal<Change> | null => {
  const { approvedBy, proposedBy } = proposal
  if (!peopleWith(members, rightToPropose).has(proposedBy)) return null
  const needsSecond = proposal.needsSecond || hasSecond(members, proposedBy)
  const isApproved = approvedBy !== null && peopleWith(members, "rules:approve").has(approvedBy)
  if (needsSecond === proposal.needsSecond && isApproved === (approvedBy !== null)) return proposal
  return isApproved
    ? { ...proposal, needsSecond }
    : { ...proposal, needsSecond, approvedBy: null, approver: null, agreedAt: needsSecond ? null : proposal.agreedAt }
}

/**
 * The proposal with the approval of another person. To approve it twice is the same as once. Errors:
 * `APPROVER_MUST_DIFFER`, `INVALID_TRANSITION` where it waits for time only.
 */
export const approveProposal = <Change>(
  proposal: Proposal<Change>,
  by: Proposer,
  now: number
): Proposal<Change> | PublicError => {
  const person = requirePersonOf(by)
  if (typeof person !== "string") return person
  if (proposal.approvedBy === person) return proposal
  if (proposal.proposedBy === person) {
    return publicError("APPROVER_MUST_DIFFER", { message: "Another person must approve the change that you proposed" })
  }
  return proposal.agreedAt === null
    ? { ...proposal, approvedBy: person, approver: by.credential, agreedAt: now }
    : publicError("INVALID_TRANSITION", { message: "This change waits for no approval: it comes into force by itself" })
}

/** Why nothing is done to a change: it is in force, or it ended, or another one took its place. */
export const noSuchProposal = publicError("NOT_FOUND", {
  message: "This change does not wait any more: it is in force, was canceled, or another one took its place. Look again"
})

/** The proposal that a caller names, if it waits. */
export const requireProposal = <Change>(
  proposal: Proposal<Change> | null,
  id: string
): Proposal<Change> | PublicError => proposal?.id === id ? proposal : noSuchProposal

/** What the API tells of a change that waits, beside the change. */
export const pendingChangeObject = (proposal: Proposal<unknown>): PendingChange => ({
  id: proposal.id,
  proposed_by: proposal.proposer,
  proposed_at: proposal.proposedAt,
  needs_approval: proposal.needsSecond,
  approved_by: proposal.approver,
  in_force_from: allowedFrom(proposal)
})
