/** What the audit log keeps of wallets that come to sign in for a merchant, or do no more. Pure. */
import type { AuditAct } from "../../../runtime/AuditLog.ts"
import type { WalletState } from "../rules.ts"

/** Who links or unlinks, and by which call. */
export interface LinkCall {
  readonly actor: string
  readonly requestId: string | null
}

/** The address is there whole: who reads the log must see who could sign in, and it stands on a public chain. */
const visible = ({ address, chainId, family, person }: WalletState) => ({ family, address, chain_id: chainId, person })

export const linkActOf = (
  verb: "link" | "unlink",
  wallet: WalletState,
  environment: AuditAct["environment"],
  { actor, requestId }: LinkCall
): AuditAct => ({
  merchantId: wallet.merchantId,
  environment,
  actor,
  action: `sign_in_wallet.${verb}`,
  subject: { object: "sign_in_wallet", id: wallet.id },
  before: verb === "link" ? {} : visible(wallet),
  after: verb === "link" ? visible(wallet) : {},
  requestId
})
