/** The erasure of a customer: how it stands, what comes next, and how it is shown. Pure. */
import type { AuditAct } from "../../runtime/AuditLog.ts"
import type { Environment } from "../../schemas/Network.ts"
import type { CustomerErasure } from "./api.ts"

export interface ErasureState {
  readonly merchantId: number
  readonly environment: Environment
  /** What stands in place of the customer's id. */
  readonly customer: string
  readonly version: number
  /** Null once it is done. */
  readonly sealedCustomerId: string | null
  /** An id of version 7: later invoices are of a customer who came back. */
  readonly until: string
  /** The keeper that is at work, and what it went past; null: from the beginning. */
  readonly keeper: string | null
  readonly after: string | null
  /** Why it does not go on; null: it does. */
  readonly waitingFor: string | null
  /** Epoch seconds, as all times here. */
  readonly requestedAt: number
  readonly finishedAt: number | null
  readonly dueAt: number | null
}

/** Seconds until an erasure that something came in between of is tried again. */
const retrySeconds = 60

/** Asked for anew, where there was none or the last one is done. */
export const request = (
  owner: Pick<ErasureState, "merchantId" | "environment" | "customer" | "sealedCustomerId" | "until">,
  before: ErasureState | null,
  now: number
): ErasureState => ({
  ...owner,
  version: (before?.customer === owner.customer ? before.version : 0) + 1,
  keeper: null,
  after: null,
  waitingFor: null,
  requestedAt: now,
  finishedAt: null,
  dueAt: now
})

/** The keeper whose turn it is; null: all had theirs. One that is not loaded any more is begun again at the first. */
export const keeperOf = <K extends { readonly name: string }>(
  keepers: ReadonlyArray<K>,
  { keeper }: Pick<ErasureState, "keeper">
): K | null => keepers.find(({ name }) => name === keeper) ?? keepers[0] ?? null

/** After a part of `keeper` was erased: it goes on behind `after`, or the next keeper does; after the last it is done. */
export const advance = (
  erasure: ErasureState,
  keepers: ReadonlyArray<{ readonly name: string }>,
  keeper: string,
  after: string | null,
  now: number
): ErasureState => {
  const next = { ...erasure, version: erasure.version + 1, waitingFor: null, dueAt: now }
  if (after !== null) return { ...next, keeper, after }
  const following = keepers[keepers.findIndex(({ name }) => name === keeper) + 1]
  return following === undefined ? finish(erasure, now) : { ...next, keeper: following.name, after: null }
}

export const finish = (erasure: ErasureState, now: number): ErasureState => ({
  ...erasure,
  version: erasure.version + 1,
  sealedCustomerId: null,
  keeper: null,
  after: null,
  waitingFor: null,
  finishedAt: now,
  dueAt: null
})

/** Something came in between: a late payment that opened an exception, or a database that was busy. */
export const postpone = (erasure: ErasureState, reason: string, now: number): ErasureState => ({
  ...erasure,
  version: erasure.version + 1,
  waitingFor: reason,
  dueAt: now + retrySeconds
})

export const erasureObject = (erasure: ErasureState): typeof CustomerErasure.Encoded => ({
  object: "customer_erasure",
  customer: erasure.customer,
  environment: erasure.environment,
  status: erasure.finishedAt === null ? "pending" : "done",
  waiting_for: erasure.waitingFor,
  requested_at: erasure.requestedAt,
  finished_at: erasure.finishedAt
})

/** What the audit log keeps: never the customer's id. */
export const customerActOf = (
  action: "customer.export" | "customer.erase",
  { customer, environment, merchantId }: Pick<ErasureState, "merchantId" | "environment" | "customer">,
  actor: string,
  requestId: string | null
): AuditAct => ({
  merchantId,
  environment,
  actor,
  action,
  subject: { object: "customer", id: customer },
  before: {},
  after: {},
  requestId
})
