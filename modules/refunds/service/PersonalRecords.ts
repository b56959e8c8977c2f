/** Where a customer's refunds went, in exports and erasures. What was paid stays, with its transaction. */
import { Effect } from "effect"
import { type Person, PersonalData } from "../../../runtime/PersonalData.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { hashText } from "../../../schemas/PersonalData.ts"
import { type HookInput, type HookResult, InvoiceHooks, isErasureFact } from "../../invoices/plugin.ts"
import { isOpen, type RefundState } from "../machine.ts"
import { type PersonalQueries, refundWrite, type Repo } from "../repo.ts"
import { type ApprovalsRepo, approvalWrite, makeApprovalsRepo } from "../repo/Approvals.ts"

/** Refunds of one part. */
const partSize = 100

/** All of a refund but its link, which is a secret's. */
const recordOf = ({ claim: _claim, ...refund }: RefundState) => ({ kind: "refund", data: refund })

const obstacleOf = ({ id, status }: RefundState): string =>
  status === "failed"
    ? `Refund ${id} has failed and still stands for money: try it again by /retry until it is paid`
    : `Refund ${id} is not over (${status}): wait until it is paid, or cancel it`

/** In the commit of the invoice: the address of each refund goes, also from what was signed, and none may still need it. */
const onErasure = (repo: Repo, approvals: ApprovalsRepo) =>
  Effect.fnUntraced(function*({ before: { invoice }, facts }: HookInput) {
    const fact = facts.find(isErasureFact)
    if (fact === undefined) return {} satisfies HookResult
    const refunds = yield* repo.ofInvoice(invoice.merchantId, invoice.id)
    const open = refunds.find(isOpen)
    if (open !== undefined) return yield* publicError("INVALID_TRANSITION", { message: obstacleOf(open) })
    const writes = refunds.flatMap((refund) => {
      const { destination } = refund
      const address = hashText(destination?.address ?? null, fact.hashOf)
      return destination === null || address === null || address === destination.address
        ? []
        : [refundWrite({
          ...refund,
          version: refund.version + 1,
          destination: { ...destination, address, memo: null }
        })]
    })
    const signed = yield* Effect.forEach(
      refunds,
      ({ id, merchantId }) => approvals.approvalsOf({ merchantId, object: "refund", objectId: id })
    )
    // A signature is of the whole text, the address in it, so it goes with the text.
    const erased = signed.flat().filter(({ text }) => text !== null).map((approval) =>
      approvalWrite({ ...approval, version: approval.version + 1, text: null, signature: null })
    )
    return { writes: [...writes, ...erased] } satisfies HookResult
  })

export const registerPersonalRecords = Effect.fnUntraced(function*(repo: Repo, queries: PersonalQueries) {
  yield* (yield* InvoiceHooks).register({
    name: "refunds' personal data",
    run: onErasure(repo, yield* makeApprovalsRepo)
  })
  yield* (yield* PersonalData).register({
    name: "refunds",
    records: Effect.fnUntraced(function*(person: Person, after: string | null) {
      const refunds = yield* queries.ofCustomer(person, after, partSize)
      return { records: refunds.map(recordOf), next: refunds.length < partSize ? null : refunds.at(-1)!.id }
    }),
    obstacle: (person) => Effect.map(queries.firstOpen(person), (open) => open === null ? null : obstacleOf(open)),
    // In the commits of the invoices.
    erase: () => Effect.succeed(null)
  })
})
