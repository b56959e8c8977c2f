/** Batches between the wire and the service. */
import { Effect } from "effect"
import { type IdempotentCall, noCause } from "../../runtime/Commit.ts"
import { answerIdempotently, jsonText, readEnvironment, requireMerchantScope } from "../../runtime/Http.ts"
import * as Operations from "../../runtime/Operations.ts"
import * as Rpc from "../../runtime/Rpc.ts"
import { type Batch, type ReadBatch, validityLimits } from "../../schemas/Batch.ts"
import { isPublicError, type PublicError, publicError } from "../../schemas/Errors.ts"
import { BatchId } from "../../schemas/Ids.ts"
import type { Environment } from "../../schemas/Network.ts"
import { pageLimits, readPageCursor, unknownCursor } from "../../schemas/Page.ts"
import { BatchesApi, type NewBatch } from "./api.ts"
import { batchObject, type BatchState, lineObject, linesOf, summaryObject } from "./machine.ts"
import { approvalPageOf, Approvals, approvalsReply, challengeReply } from "../refunds/plugin.ts"
import { BatchesRpc } from "./rpc.ts"
import { Batches } from "./service.ts"
import { findBatch } from "./service/BatchServices.ts"
import type { BatchContents, BatchRequest } from "./service/Creation.ts"
import type { GivenPart } from "./service/Exports.ts"

type NewBatchBody = typeof NewBatch.Type

const wrapped = (data: object): string => JSON.stringify({ success: true, data })

const refuse = (param: string, message: string): PublicError =>
  publicError("VALIDATION_ERROR", { message: `${param}: ${message}`, param })

/** What each kind takes; anything else in the body would be left undone without a word. */
const contentsOf = (
  { kind, lines, refund_ids: ids, token_ids: tokenIds }: NewBatchBody
): BatchContents | PublicError => {
  const taken = { refunds: "refund_ids", payouts: "lines", collect: "token_ids" }[kind]
  const sent = Object.entries({ refund_ids: ids, lines, token_ids: tokenIds })
  const unused = sent.find(([name, value]) => value != null && name !== taken)
  if (unused !== undefined) return refuse(unused[0], `a batch of kind ${kind} takes ${taken}`)
  switch (kind) {
    case "refunds":
      return ids == null
        ? refuse("refund_ids", "a list of ids of refunds, or \"all\"")
        : { kind, refundIds: ids === "all" ? ids : ids.map((id) => id.toLowerCase()) }
    case "payouts":
      return lines == null ? refuse("lines", "what is to be paid, and to whom") : {
        kind,
        lines: lines.map(({ destination, reference, token_amount, token_id }) => ({
          tokenId: token_id,
          tokenAmount: token_amount,
          address: destination.address,
          memo: destination.memo ?? null,
          reference: reference ?? ""
        }))
      }
    case "collect":
      return { kind, tokenIds: tokenIds ?? null }
  }
}

/** A body as a request. */
export const requestOf = (body: NewBatchBody, actor: string): BatchRequest | PublicError => {
  const contents = contentsOf(body)
  return isPublicError(contents) ? contents : {
    contents,
    network: body.network,
    from: body.from ?? null,
    validForSeconds: body.valid_for_seconds ?? validityLimits.default,
    metadata: body.metadata ?? {},
    actor
  }
}

/** What was given out, with the bytes for the wallet. */
export const exportObject = ({ batch, part, payload }: GivenPart) => ({
  object: "batch_export" as const,
  batch_id: batch.id,
  part: part.part,
  format: part.export!.format,
  payload,
  valid_until: part.export!.validUntil,
  lines: linesOf(batch, part.part).length,
  simulated: part.export!.isSimulated,
  notices: part.export!.notices
})

/** Calls of the internal port have no idempotency key, so there is no reply to keep for a repeated call. */
const withoutReply = { cause: noCause, reply: () => undefined }

/** The calls of `BatchesRpc`. */
export const rpcHandlers = Rpc.handlers(
  BatchesRpc,
  Effect.gen(function*() {
    const batches = yield* Batches
    type Owned = { readonly merchant_id: number; readonly environment: Environment }
    const ownerOf = ({ environment, merchant_id: merchantId }: Owned) => ({ merchantId, environment })
    /** An internal service, which never approves. */
    const programOf = (name: string) =>
      ({ kind: "key", credential: `service:${name}`, person: null, role: "owner" }) as const
    const wire = (batch: BatchState) => batchObject(batch) as typeof Batch.Type

    return BatchesRpc.of({
      "batches.create": Effect.fnUntraced(function*({ actor, batch, ...owned }) {
        const request = requestOf(batch, programOf(actor).credential)
        if (isPublicError(request)) return yield* request
        return wire(yield* batches.create(ownerOf(owned), request, withoutReply))
      }),
      "batches.get": Effect.fnUntraced(function*({ batch_id, ...owned }) {
        const found = yield* findBatch(batches, ownerOf(owned), batch_id)
        const read: typeof ReadBatch.Encoded = { ...batchObject(found), lines: found.lines.map(lineObject) }
        return read as typeof ReadBatch.Type
      }),
      "batches.list": Effect.fnUntraced(function*({ after, kind, limit, network, status, ...owned }) {
        const page = yield* batches.page(
          {
            ...ownerOf(owned),
            ...(kind === undefined ? {} : { kind }),
            ...(network === undefined ? {} : { network }),
            ...(status === undefined ? {} : { status })
          },
          after === undefined ? null : { direction: "older", id: after },
          limit ?? pageLimits.default
        )
        if (page === null) return yield* publicError("INVALID_CURSOR", { param: "after" })
        const last = page.batches.at(-1)
        return {
          batches: page.batches.map((batch) => summaryObject(batch) as typeof Batch.Type),
          next: page.hasMore && last !== undefined ? BatchId.make(last.id) : null
        }
      }),
      "batches.cancel": ({ actor, batch_id, ...owned }) =>
        Effect.map(batches.cancel(ownerOf(owned), batch_id, programOf(actor), withoutReply), wire),
      "batches.export": ({ actor, batch_id, format, part, ...owned }) =>
        Effect.map(
          batches.export(ownerOf(owned), batch_id, { part, format, actor: programOf(actor).credential }, withoutReply),
          exportObject
        ),
      "batches.sent": ({ batch_id, part, tx_hash, ...owned }) =>
        Effect.map(batches.hint(ownerOf(owned), batch_id, { part, txHash: tx_hash }, withoutReply), wire)
    })
  })
)

export const simulationHandlers = Operations.group(
  BatchesApi,
  "batchSimulation",
  Effect.fn(function*(group) {
    const batches = yield* Batches
    return group.handle(
      "simulate",
      Effect.fnUntraced(function*({ params, payload }) {
        const { environment, merchantId } = yield* requireMerchantScope
        if (environment !== "devnet") return yield* publicError("DEVNET_ONLY")
        const txHash = yield* batches.simulate({ merchantId, environment }, params.id, payload)
        return jsonText(
          wrapped({ object: "batch_simulation", batch_id: params.id, part: payload.part, tx_hash: txHash })
        )
      })
    )
  })
)

export const handlers = Operations.group(
  BatchesApi,
  "batches",
  // oxlint-disable-next-line max-lines-per-function -- the routes of one group, each a few lines
  Effect.fn(function*(group) {
    const batches = yield* Batches
    const approvals = yield* Approvals

    /** Whose batches the caller reads, in the environment it asks for. */
    const ownerOf = Effect.fnUntraced(function*(requested?: Environment) {
      const principal = yield* requireMerchantScope
      const environment = yield* readEnvironment(principal, requested)
      return { owner: { merchantId: principal.merchantId, environment }, principal }
    })

    return group
      .handle(
        "create",
        Effect.fnUntraced(function*({ payload }) {
          const { owner, principal } = yield* ownerOf()
          const request = requestOf(payload, principal.credential)
          if (isPublicError(request)) return yield* request
          return yield* answerIdempotently(
            (call: IdempotentCall<BatchState>) => batches.create(owner, request, call),
            batchObject
          )
        })
      )
      .handle(
        "list",
        Effect.fnUntraced(function*({ query }) {
          const { owner } = yield* ownerOf(query.environment)
          const cursor = readPageCursor(query)
          if (isPublicError(cursor)) return yield* cursor
          const page = yield* batches.page(
            {
              ...owner,
              ...(query.kind === undefined ? {} : { kind: query.kind }),
              ...(query.status === undefined ? {} : { status: query.status }),
              ...(query.network === undefined ? {} : { network: query.network }),
              ...(query.created_gte === undefined ? {} : { createdFrom: query.created_gte }),
              ...(query.created_lte === undefined ? {} : { createdTo: query.created_lte })
            },
            cursor,
            query.limit ?? pageLimits.default
          )
          if (page === null) return yield* unknownCursor(query, "the id of a batch of this environment")
          return jsonText(
            wrapped({ object: "list", data: page.batches.map(summaryObject), has_more: page.hasMore })
          )
        })
      )
      .handle(
        "retrieve",
        Effect.fnUntraced(function*({ params, query }) {
          const { owner } = yield* ownerOf(query.environment)
          const batch = yield* findBatch(batches, owner, params.id)
          return jsonText(wrapped({
            ...batchObject(batch),
            ...(query.expand === "lines" ? { lines: batch.lines.map(lineObject) } : {})
          }))
        })
      )
      .handle(
        "approve",
        Effect.fnUntraced(function*({ params, payload }) {
          const { owner, principal } = yield* ownerOf()
          return yield* answerIdempotently(
            (call: IdempotentCall<BatchState>) =>
              batches.approve(owner, params.id, principal, call, payload?.proof ?? null),
            batchObject
          )
        })
      )
      .handle(
        "challengeApproval",
        Effect.fnUntraced(function*({ params }) {
          const { owner, principal } = yield* ownerOf()
          return challengeReply(yield* batches.issueApproval(owner, params.id, principal))
        })
      )
      .handle(
        "approvals",
        Effect.fnUntraced(function*({ params, query }) {
          const { owner } = yield* ownerOf(query.environment)
          const asked = yield* approvalPageOf(query)
          const batch = yield* findBatch(batches, owner, params.id)
          const filter = { merchantId: batch.merchantId, object: "batch", objectId: batch.id } as const
          return yield* approvalsReply(approvals, filter, asked, batch.approvals)
        })
      )
      .handle(
        "cancel",
        Effect.fnUntraced(function*({ params }) {
          const { owner, principal } = yield* ownerOf()
          return yield* answerIdempotently(
            (call: IdempotentCall<BatchState>) => batches.cancel(owner, params.id, principal, call),
            batchObject
          )
        })
      )
      .handle(
        "export",
        Effect.fnUntraced(function*({ params, payload }) {
          const { owner, principal } = yield* ownerOf()
          return yield* answerIdempotently(
            (call: IdempotentCall<GivenPart>) =>
              batches.export(owner, params.id, { ...payload, actor: principal.credential }, call),
            exportObject
          )
        })
      )
      .handle(
        "release",
        Effect.fnUntraced(function*({ params, payload }) {
          const { owner, principal } = yield* ownerOf()
          return yield* answerIdempotently(
            (call: IdempotentCall<BatchState>) => batches.release(owner, params.id, payload, principal, call),
            batchObject
          )
        })
      )
      .handle(
        "sent",
        Effect.fnUntraced(function*({ params, payload }) {
          const { owner } = yield* ownerOf()
          return yield* answerIdempotently(
            (call: IdempotentCall<BatchState>) =>
              batches.hint(owner, params.id, { part: payload.part, txHash: payload.tx_hash }, call),
            batchObject
          )
        })
      )
  })
)
