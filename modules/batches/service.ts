/** Batches: made, approved, given to wallets, and followed on the chain until they are paid or over. */
import { Context, Effect, Layer } from "effect"
import { Actors } from "../../runtime/Actors.ts"
import { AuditLog } from "../../runtime/AuditLog.ts"
import { Books } from "../../runtime/Books.ts"
import { Chains } from "../../runtime/Chains.ts"
import { Commit, dieOnReplay, type IdempotentCall } from "../../runtime/Commit.ts"
import { LinkedWallets } from "../../runtime/LinkedWallets.ts"
import { Members } from "../../runtime/Members.ts"
import { MerchantClock } from "../../runtime/MerchantClock.ts"
import { Prices } from "../../runtime/Prices.ts"
import { readsOf } from "../../runtime/ReadReplica.ts"
import { Screening } from "../../runtime/Screening.ts"
import { type SimulatedOutcome, SimulatedWallets } from "../../runtime/SimulatedWallets.ts"
import { Health } from "../../runtime/Telemetry.ts"
import { Timers } from "../../runtime/Timers.ts"
import { TokenCatalog } from "../../runtime/TokenCatalog.ts"
import type { ApprovalAnswer } from "../../schemas/Approval.ts"
import type { PublicError } from "../../schemas/Errors.ts"
import { Invoices } from "../invoices/plugin.ts"
import { Approvals, type IssuedApproval, Refunds } from "../refunds/plugin.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import type { BatchState } from "./machine.ts"
import { makeRepo, type Repo } from "./repo.ts"
import {
  approveBatch,
  type BatchActor,
  cancelBatch,
  hintTransaction,
  issueBatchApproval
} from "./service/BatchDecisions.ts"
import type { BatchOwner, BatchServices } from "./service/BatchServices.ts"
import { type Collectable, type CollectableRequest, readCollectable } from "./service/Collectable.ts"
import { type BatchRequest, createBatch } from "./service/Creation.ts"
import { exportPart, type ExportRequest, type GivenPart } from "./service/Exports.ts"
import { makeContradictions } from "./service/Contradictions.ts"
import { batchTimer } from "./service/Observations.ts"
import { releaseList, type ReleaseRequest } from "./service/Release.ts"
import { simulatePart } from "./service/Simulation.ts"

export class Batches extends Context.Service<Batches, {
  /**
   * Creates a batch and holds its refunds, so that nobody else can change or pay them. Errors: `UNSUPPORTED_NETWORK`,
   * `BATCH_EMPTY`, `BATCH_TOO_LARGE`, `BATCH_LIMIT_REACHED`, `PAYOUT_LIMIT_EXCEEDED`, `AMOUNT_BELOW_MINIMUM`,
   * `REFUND_NOT_FOUND`, `REFUND_IN_BATCH`, `INVALID_TRANSITION`, `TOKEN_NOT_FOUND`, `TOKEN_NETWORK_MISMATCH`,
   * `WALLET_ADDRESS_INVALID`, `VALIDATION_ERROR`, `NETWORK_DEGRADED`, `SERVICE_UNAVAILABLE`.
   */
  readonly create: (
    owner: BatchOwner,
    request: BatchRequest,
    call: IdempotentCall<BatchState>
  ) => Effect.Effect<BatchState, PublicError>
  /** What lies on addresses that take no more payments. Errors: `NETWORK_DEGRADED`. */
  readonly collectable: (owner: BatchOwner, request: CollectableRequest) => Effect.Effect<Collectable, PublicError>
  readonly find: Repo["find"]
  readonly page: Repo["page"]
  /** What a person signs to approve it. Errors: `BATCH_NOT_FOUND`, `CREDENTIAL_NOT_ALLOWED`, `INVALID_TRANSITION`. */
  readonly issueApproval: (
    owner: BatchOwner,
    id: string,
    actor: BatchActor
  ) => Effect.Effect<IssuedApproval, PublicError>
  /**
   * Errors: `BATCH_NOT_FOUND`, `CREDENTIAL_NOT_ALLOWED`, `APPROVER_MUST_DIFFER`, `INVALID_TRANSITION`, and those of
   * `Approvals.prove` and `Approvals.record` for `answer`, which the person signed.
   */
  readonly approve: (
    owner: BatchOwner,
    id: string,
    actor: BatchActor,
    call: IdempotentCall<BatchState>,
    answer?: ApprovalAnswer | null
  ) => Effect.Effect<BatchState, PublicError>
  /** Errors: `BATCH_NOT_FOUND`, `BATCH_NOT_CANCELABLE`. */
  readonly cancel: (
    owner: BatchOwner,
    id: string,
    actor: BatchActor,
    call: IdempotentCall<BatchState>
  ) => Effect.Effect<BatchState, PublicError>
  /**
   * Gives a part to a wallet; the same bytes again while they can be executed. Errors: those of `exportRefusal` in
   * machine.ts and of `PayoutDriver.build`, `BATCH_NOT_FOUND`, `NETWORK_DEGRADED`.
   */
  readonly export: (
    owner: BatchOwner,
    id: string,
    request: ExportRequest,
    call: IdempotentCall<GivenPart>
  ) => Effect.Effect<GivenPart, PublicError>
  /**
   * A person says that what a list has not paid will not be; once enough people have, it is released. The chain is
   * looked at first. Errors: `BATCH_NOT_FOUND`, `CREDENTIAL_NOT_ALLOWED`, `APPROVER_MUST_DIFFER`, `INVALID_TRANSITION`,
   * `VALIDATION_ERROR`, `NETWORK_DEGRADED`, `SERVICE_UNAVAILABLE`.
   */
  readonly release: (
    owner: BatchOwner,
    id: string,
    request: ReleaseRequest,
    actor: BatchActor,
    call: IdempotentCall<BatchState>
  ) => Effect.Effect<BatchState, PublicError>
  /** Says where to look for a part. Errors: `BATCH_NOT_FOUND`, `INVALID_TRANSITION`, `VALIDATION_ERROR`. */
  readonly hint: (
    owner: BatchOwner,
    id: string,
    hint: { readonly part: number; readonly txHash: string },
    call: IdempotentCall<BatchState>
  ) => Effect.Effect<BatchState, PublicError>
  /**
   * Executes the last export of a part by a wallet of a simulated network. Answers the hash of the transaction, or null
   * where the network refuses it. Errors: `BATCH_NOT_FOUND`, `INVALID_TRANSITION`, `UNSUPPORTED_NETWORK` where the
   * network is not simulated.
   */
  readonly simulate: (
    owner: BatchOwner,
    id: string,
    simulation: { readonly part: number; readonly outcome: SimulatedOutcome }
  ) => Effect.Effect<string | null, PublicError>
}>()("tillwire/modules/batches/Batches") {
  static readonly layer = Layer.effect(Batches, Effect.suspend(() => make))
}

const make = Effect.gen(function*() {
  const services: BatchServices = {
    actors: yield* Actors,
    approvals: yield* Approvals,
    auditLog: yield* AuditLog,
    books: yield* Books,
    catalog: yield* TokenCatalog,
    chains: yield* Chains,
    clock: yield* MerchantClock,
    commit: yield* Commit,
    invoices: yield* Invoices,
    linkedWallets: yield* LinkedWallets,
    members: yield* Members,
    prices: yield* Prices,
    refunds: yield* Refunds,
    repo: yield* makeRepo,
    screening: yield* Screening,
    settings: yield* MerchantSettings,
    simulatedWallets: yield* SimulatedWallets,
    timers: yield* Timers
  }
  const contradictions = makeContradictions()
  yield* services.timers.register(batchTimer(services, contradictions))
  yield* (yield* Health).register(contradictions.check)
  yield* services.refunds.registerBatches(services.repo.shownTransfers)
  const reads = yield* readsOf(makeRepo)
  const create = createBatch(services)
  const approve = approveBatch(services)
  const cancel = cancelBatch(services)
  const giveOut = exportPart(services)
  const hint = hintTransaction(services)
  const release = releaseList(services)
  return Batches.of({
    // One after the other for a merchant: each counts those before it, so all but one at once would be decided anew.
    create: (owner, request, call) =>
      services.actors.send(
        "batches",
        `${owner.merchantId}/${owner.environment}`,
        dieOnReplay(create(owner, request, call))
      ),
    collectable: readCollectable(services),
    find: services.repo.find,
    page: (filter, cursor, limit) =>
      reads.page(cursor?.direction === "older", (from) => from.page(filter, cursor, limit)),
    issueApproval: issueBatchApproval(services),
    approve: (...args) => dieOnReplay(approve(...args)),
    cancel: (...args) => dieOnReplay(cancel(...args)),
    export: (...args) => dieOnReplay(giveOut(...args)),
    hint: (...args) => dieOnReplay(hint(...args)),
    release: (...args) => dieOnReplay(release(...args)),
    simulate: simulatePart(services)
  })
})
