/**
 * The answer to a new invoice, and the same bytes again for a repeat. Stored is only a reference: the invoice's id, the
 * id of the key that its session was signed with, and the public URL. The answer follows from these: the invoice is
 * read from the event of its creation, and its session is minted again.
 */
import { Effect } from "effect"
import { type ReplyReference, ReplyRenderers } from "../../../runtime/Http.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { PayorSessions } from "../../auth/plugin.ts"
import { Invoices } from "../actor.ts"
import type { InvoiceState } from "../machine.ts"
import { makeSession, type PaymentSession, sessionWith } from "./PaymentSession.ts"

/** The kind of a reference. Other fields in {@link replyText} need another kind: a repeat must get the same bytes. */
const kind = "invoice_created_v1"

/** The answer. `objectText` is the invoice as `invoiceObject` renders it. */
const replyText = (
  objectText: string,
  { expiresAt, id }: Pick<InvoiceState, "id" | "expiresAt">,
  { sessionToken, signature, url }: PaymentSession
): string => {
  const fields = JSON.stringify({
    invoice_id: id,
    payment_url: url,
    session_token: sessionToken,
    signature,
    expires_at: expiresAt,
    payment_session_headers: { "x-session-token": sessionToken, "x-signature": signature }
  })
  return `${fields.slice(0, -1)},"invoice":${objectText}}`
}

/** Renders the answer to a new invoice, with the reference that is stored for it. */
export const makeCreationReply = Effect.gen(function*() {
  const { keyId } = yield* PayorSessions
  const { publicUrl } = yield* Settings
  const sessionOf = yield* makeSession

  return (
    invoice: InvoiceState,
    objectText: string
  ): { readonly text: string; readonly reference: ReplyReference } => ({
    text: replyText(objectText, invoice, sessionOf(invoice)),
    reference: `${kind} ${invoice.id} ${keyId} ${publicUrl}`
  })
})

/** Renders stored references again, also when the service has another session key or public URL by then. */
export const registerCreationReply = Effect.gen(function*() {
  const invoices = yield* Invoices
  const sessions = yield* PayorSessions

  const render = Effect.fnUntraced(function*(merchantId: number, parameters: string) {
    const [id = "", keyId = "", publicUrl = ""] = parameters.split(" ")
    const objectText = yield* invoices.createdObjectText(merchantId, id)
    // Events are kept far longer than references: `runtime/commit/Retention.ts`.
    if (objectText === null) return yield* Effect.die(new Error(`Invoice ${id} has no event of its creation any more`))
    const invoice = JSON.parse(objectText) as Pick<InvoiceState, "id"> & { created_at: number; expires_at: number }
    const credentials = sessions.mintAgain(Number(keyId), invoice.id, invoice.created_at * 1000)
    return credentials && replyText(
      objectText,
      { id: invoice.id, expiresAt: invoice.expires_at },
      sessionWith(publicUrl, invoice.id, credentials)
    )
  })

  yield* (yield* ReplyRenderers).register(kind, render)
})
