/** What people are asked to sign, and what they signed, on the wire: of refunds and of batches. */
import { Effect } from "effect"
import { jsonText } from "../../../runtime/Http.ts"
import { type Approval, type ApprovalChallenge, isApprovalId } from "../../../schemas/Approval.ts"
import { isPublicError } from "../../../schemas/Errors.ts"
import { type CursorQuery, pageLimits, readPageCursor, unknownCursor } from "../../../schemas/Page.ts"
import type { ApprovalFilter, SignedApproval } from "../repo/Approvals.ts"
import type { Approvals, IssuedApproval } from "../service/Approvals.ts"

const challengeObject = (
  { expiresAt, id, passkey, text, wallets }: IssuedApproval
): typeof ApprovalChallenge.Encoded => ({
  id,
  object: "approval_challenge",
  text,
  expires_at: expiresAt,
  passkey,
  wallets
})

/** `counting`: the ids of what counts of the object as it is now. */
const approvalObject = (approval: SignedApproval, counting: ReadonlySet<string>): typeof Approval.Encoded => ({
  id: approval.id,
  object: "approval",
  approves: { object: approval.object, id: approval.objectId },
  environment: approval.environment,
  person: approval.person,
  by: approval.actor,
  at: approval.at,
  counts: counting.has(approval.id),
  text: approval.text,
  signature: approval.signature
})

const wrapped = (data: unknown) => jsonText(JSON.stringify({ success: true, data }))

/** The answer of who asks what to sign. */
export const challengeReply = (issued: IssuedApproval) => wrapped(challengeObject(issued))

const cursorForm = "the id of an approval of this object"

/** The page that a call asks for, read before the object is looked for. Errors: `INVALID_CURSOR`. */
export const approvalPageOf = Effect.fnUntraced(function*(query: CursorQuery & { readonly limit?: number }) {
  const cursor = readPageCursor(query)
  if (isPublicError(cursor)) return yield* cursor
  if (cursor !== null && !isApprovalId(cursor.id)) return yield* unknownCursor(query, cursorForm)
  return { cursor, limit: query.limit ?? pageLimits.default, query }
})

/** A page of what was signed of an object; `counted`: the approvals of the object as it is now. */
export const approvalsReply = Effect.fnUntraced(function*(
  { page }: Approvals["Service"],
  filter: ApprovalFilter,
  asked: Effect.Success<ReturnType<typeof approvalPageOf>>,
  counted: ReadonlyArray<{ readonly signed?: string }>
) {
  const found = yield* page(filter, asked)
  if (found === null) return yield* unknownCursor(asked.query, cursorForm)
  const counting = new Set(counted.flatMap(({ signed }) => signed ?? []))
  const data = found.approvals.map((approval) => approvalObject(approval, counting))
  return wrapped({ object: "list", data, has_more: found.hasMore })
})
