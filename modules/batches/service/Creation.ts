/** Creates a batch: its lines, its value and the approvals it needs, in one commit with the hold of its refunds. */
import { Effect } from "effect"
import { decideAnew, type IdempotentCall } from "../../../runtime/Commit.ts"
import { canonicalJson, sha256 } from "../../../runtime/http/CanonicalJson.ts"
import type { PayoutDriver } from "../../../runtime/Payouts.ts"
import { uuidV7Ahead } from "../../../runtime/Uuid.ts"
import { readAddress } from "../../../schemas/Address.ts"
import type { BatchKind } from "../../../schemas/Batch.ts"
import { publicError } from "../../../schemas/Errors.ts"
import type { Metadata } from "../../../schemas/Invoice.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import type { Network } from "../../../schemas/Network.ts"
import { approvalsRequired, approversOf, holdWrite, peopleRequired } from "../../refunds/plugin.ts"
import { type BatchState, maximumOpenBatches } from "../machine.ts"
import { batchCounterWrite, batchWrite, lineWrite } from "../repo.ts"
import { approvedContent, auditActOf, driverPart, eventsOf, newBatch, newLines } from "../rules.ts"
import { type BatchOwner, type BatchServices, payoutDriver } from "./BatchServices.ts"
import { planCollect } from "./Collectable.ts"
import { checkLimits } from "./Limits.ts"
import { checkLines, type PayoutRequest, planPayouts, planRefunds } from "./Plans.ts"

/** What is to be paid. */
export type BatchContents =
  | { readonly kind: "refunds"; readonly refundIds: ReadonlyArray<string> | "all" }
  | { readonly kind: "payouts"; readonly lines: ReadonlyArray<PayoutRequest> }
  /** `tokenIds` null: of every token. */
  | { readonly kind: "collect"; readonly tokenIds: ReadonlyArray<number> | null }

export interface BatchRequest {
  readonly contents: BatchContents
  readonly network: Network
  readonly from: string | null
  readonly validForSeconds: number
  readonly metadata: Metadata
  /** The credential that makes it. */
  readonly actor: string
}

const planOf = (
  services: BatchServices,
  owner: BatchOwner,
  { contents, network }: BatchRequest,
  driver: PayoutDriver
) => {
  switch (contents.kind) {
    case "refunds":
      return planRefunds(services, owner, network, contents.refundIds, driver)
    case "payouts":
      return planPayouts(services, owner, network, contents.lines, driver)
    case "collect":
      return planCollect(services, owner, network, contents.tokenIds, driver)
  }
}

/** The wallet that pays, in its stored form. Nothing proves who owns it, and nothing must: only its owner can sign. */
const readFrom = Effect.fnUntraced(function*(
  kind: BatchKind,
  network: Network,
  { environment }: BatchOwner,
  from: string | null
) {
  if (from === null) {
    return kind === "collect" ? null : yield* publicError("VALIDATION_ERROR", {
      message: "from: name the address of the wallet that will pay and sign",
      param: "from"
    })
  }
  return readAddress(network, environment, from) ??
    (yield* publicError("WALLET_ADDRESS_INVALID", { message: `from: this is no address of ${network}`, param: "from" }))
})

/** `Batches.create`. */
export const createBatch = (services: BatchServices) =>
  Effect.fn("Batches.create")(
    function*(owner: BatchOwner, request: BatchRequest, { cause, reply }: IdempotentCall<BatchState>) {
      const { auditLog, clock, commit, members, repo, settings } = services
      const { contents: { kind }, network } = request
      const driver = yield* payoutDriver(services, network, owner.environment)
      const from = yield* readFrom(kind, network, owner, request.from)
      // Before everything else that is counted: the commit fails where another batch was made since.
      const open = yield* repo.openBatches(owner)
      if (open.count >= maximumOpenBatches) return yield* publicError("BATCH_LIMIT_REACHED")
      const plan = yield* planOf(services, owner, request, driver)
      yield* checkLines(plan.lines, driver)
      const now = yield* clock.nowSeconds(owner.merchantId, owner.environment)
      if (kind === "payouts") yield* checkLimits(services, owner, plan.value.spot, now)
      const id = `bat_${yield* uuidV7Ahead(clock.aheadSeconds(owner.merchantId, owner.environment))}`
      const wholePart = driverPart({ id, kind, from }, 1, newLines(plan.lines, [plan.lines.length]))
      const capacity = from === null ? undefined : yield* driver.capacityOf?.(from) ?? Effect.undefined
      const sizes = wholePart._tag === "Payout" ? driver.partSizes(wholePart.lines, capacity) : plan.sizes ?? []
      const lines = newLines(plan.lines, sizes)
      const { auto_approve_limit: limit } = yield* settings.forInvoices(owner.merchantId, owner.environment)
      const content = {
        ...owner,
        id,
        kind,
        network,
        from,
        validForSeconds: Math.min(request.validForSeconds, driver.maximumValiditySeconds)
      }
      const batch = newBatch({
        ...content,
        metadata: request.metadata,
        contentHash: sha256(canonicalJson(approvedContent(content, lines))),
        // A `collect` can pay only the payee, so nobody has to approve the receiver.
        approvalsRequired: kind === "collect"
          ? 0
          : approvalsRequired(
            plan.value,
            {
              autoApproveLimit: usdMillis(BigInt(limit)),
              people: peopleRequired(
                approversOf("payout", yield* members.list(owner.merchantId), owner.environment)
              )
            }
          ),
        lines,
        searchedTo: kind === "collect" ? plan.searchedTo ?? null : null,
        createdBy: request.actor,
        now
      })
      yield* commit.append({
        ...owner,
        cause,
        writes: [
          batchWrite(batch),
          ...lines.map((line) => lineWrite(batch, line)),
          batchCounterWrite(owner, open.version + 1),
          ...plan.refunds.map((refund) => holdWrite(refund, { id, isOut: false })),
          ...yield* auditLog.writesOf(auditActOf(null, batch, "create", request.actor, cause.requestId))
        ],
        events: eventsOf(null, batch),
        reply: reply(batch)
      })
      return batch
    },
    // A refund that somebody moved, or another batch took, is looked at again; so is what another process made since.
    decideAnew()
  )
