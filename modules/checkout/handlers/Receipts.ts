/** The page of a receipt between the wire and `Receipts`. */
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { merchantCredentials, RateLimiter } from "../../../runtime/Http.ts"
import { queryOf } from "../../../runtime/http/Query.ts"
import { htmlResponse } from "../../../runtime/pages/HtmlResponse.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { languages } from "../pages/Languages.ts"
import { languageFor } from "../pages/PageRequest.ts"
import { receiptPage } from "../pages/ReceiptPage.ts"
import { cookies, type Responses } from "../pages/Responses.ts"
import { css } from "../pages/Style.ts"
import { Receipts } from "../service/Receipts.ts"

/** Answers `GET /pay/{id}/receipt?t=…`. */
export const makeReceipt = Effect.fnUntraced(function*(responses: Responses) {
  const receipts = yield* Receipts
  const rateLimiter = yield* RateLimiter
  return Effect.fnUntraced(function*(id: string) {
    const request = yield* HttpServerRequest.HttpServerRequest
    // A link that is given away is not its payor's session: whoever opens it is counted by address.
    yield* rateLimiter.address(request, "page")
    if (merchantCredentials.some((name) => request.headers[name] !== undefined)) {
      return yield* publicError("CREDENTIAL_NOT_ALLOWED")
    }
    const query = queryOf(request.url)
    const token = query.get("t") ?? ""
    const view = yield* receipts.view(yield* receipts.open(id, token))
    const texts = languageFor({
      query: query.get("lang"),
      cookie: request.cookies[cookies.language],
      invoice: null,
      browser: request.headers["accept-language"],
      merchant: null
    })
    const path = `${responses.pathOf(id)}/receipt`
    const text = receiptPage(view, texts, { path, token }, { languages, style: { css } })
    return htmlResponse(request, text, responses.headersFor(view.details.branding.accent, []))
  })
})
