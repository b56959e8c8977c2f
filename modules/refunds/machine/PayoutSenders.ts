/**
 * Whether a transfer may prove a refund of a merchant, by the wallet that sent it: nobody's report uses up what another
 * merchant has sent. Pure.
 */
import { type PublicError, publicError } from "../../../schemas/Errors.ts"

/** What is known of the wallet that sent a transfer. */
export interface PayoutWallet {
  /** Its address; null: the network does not say who sent it. */
  readonly address: string | null
  /** Merchants that have shown it to be theirs. */
  readonly linkedTo: ReadonlySet<number>
  /** The merchant whose receiving wallet it is; null: of none, of several, or of the deployment. */
  readonly receiver: number | null
  /** The wallet that the report says has paid, in the form of `readAddress`; null: it names none. */
  readonly named: string | null
  /** Whether that is this one, or may be where the network does not say. */
  readonly isNamed: boolean
}

const refuse = (message: string): PublicError =>
  publicError("VALIDATION_ERROR", { message: `report.from: ${message}`, param: "report.from" })

/**
 * Why a transfer from the wallet proves no refund of the merchant; null: it may prove one. A link is proven by a
 * signature. A receiving wallet is not, because anybody can name any address as theirs. So the report must name every
 * wallet that is not linked, and may name none that is another merchant's.
 */
export const senderRefusal = (
  merchantId: number,
  { address, isNamed, linkedTo, named, receiver }: PayoutWallet
): PublicError | null => {
  if (linkedTo.has(merchantId)) return null
  if (linkedTo.size > 0) return refuse(`${address ?? named} is linked to another merchant, so it has paid for that one`)
  if (receiver !== null && receiver !== merchantId) {
    return refuse(
      `${address ?? named} is the receiving wallet of another merchant. Where it pays for this one, link it to this one`
    )
  }
  if (isNamed) return null
  if (named !== null) return refuse(`the money came from ${address}, and not from ${named}`)
  return refuse(
    address === null
      ? "the network does not say who sent the money. Name the wallet that has paid for this merchant"
      : `the money came from ${address}, which is not linked to this merchant. Name it here if it has paid for this ` +
        "merchant, or link it"
  )
}
