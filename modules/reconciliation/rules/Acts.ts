/** What the audit log keeps of reconciliation. Pure. */
import type { AuditAct } from "../../../runtime/AuditLog.ts"
import { signedUsdWire } from "../../../schemas/Money.ts"
import type { Environment } from "../../../schemas/Network.ts"
import type { ClosedPeriod, StoredAdjustment } from "./Report.ts"

interface BookOwner {
  readonly merchantId: number
  readonly environment: Environment
}

export const closingAct = (
  owner: BookOwner,
  { actor, hash, period, previousHash }: ClosedPeriod,
  requestId: string | null
): AuditAct => ({
  ...owner,
  actor,
  action: "reconciliation.close",
  subject: { object: "closed_period", id: period },
  before: { status: "open" },
  after: { status: "closed", previous_hash: previousHash, hash },
  requestId
})

export const adjustmentAct = (
  owner: BookOwner,
  adjustment: StoredAdjustment,
  requestId: string | null
): AuditAct => ({
  ...owner,
  actor: adjustment.actor,
  action: "reconciliation.adjust",
  subject: { object: "adjustment", id: adjustment.id },
  before: {},
  after: {
    account: adjustment.account,
    asset: adjustment.asset,
    units: adjustment.units.toString(),
    amount: signedUsdWire(adjustment.usdMillis),
    note: adjustment.note,
    period: adjustment.explainsPeriod,
    explains: adjustment.explainsId,
    balance_transaction_id: adjustment.balanceTransactionId
  },
  requestId
})
