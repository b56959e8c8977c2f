/** The session and the URL that a payor opens an invoice with. */
import { Effect } from "effect"
import { Settings } from "../../../runtime/Settings.ts"
import { PayorSessions } from "../../auth/plugin.ts"
import type { InvoiceState } from "../machine.ts"

export interface PaymentSession {
  readonly sessionToken: string
  readonly signature: string
  readonly url: string
}

/** The session of an invoice with the pair it is opened by. */
export const sessionWith = (
  publicUrl: string,
  invoiceId: string,
  { sessionToken, signature }: Omit<PaymentSession, "url">
): PaymentSession => ({
  sessionToken,
  signature,
  url: `${publicUrl}/pay/${invoiceId}?session_token=${sessionToken}&signature=${signature}`
})

/** The session a payor opens an invoice with: the same each time, as long as the master key stays the same. */
export const makeSession = Effect.gen(function*() {
  const sessions = yield* PayorSessions
  const { publicUrl } = yield* Settings

  return (invoice: InvoiceState) =>
    sessionWith(publicUrl, invoice.id, sessions.mint(invoice.id, invoice.createdAt * 1000))
})
