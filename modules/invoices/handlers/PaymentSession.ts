/** The session and the URL that a payor opens an invoice with. */
import { Effect } from "effect"
import { Settings } from "../../../runtime/Settings.ts"
import { PayorSessions } from "../../auth/plugin.ts"
import type { InvoiceState } from "../machine.ts"

/** The session a payor opens an invoice with: the same each time, as long as the master key stays the same. */
export const makeSession = Effect.gen(function*() {
  const sessions = yield* PayorSessions
  const { publicUrl } = yield* Settings

  return (invoice: InvoiceState) => {
    const { sessionToken, signature } = sessions.mint(invoice.id, invoice.createdAt * 1000)
    const url = `${publicUrl}/pay/${invoice.id}?session_token=${sessionToken}&signature=${signature}`
    return { sessionToken, signature, url }
  }
})
