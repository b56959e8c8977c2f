/**
 * What a payor sees of a refusal, whoever refused: a page that says what to do, or a fragment where one was asked for.
 */
import type { ErrorPage, RefusedRequest } from "../../../runtime/Http.ts"
import { queryOf } from "../../../runtime/http/Query.ts"
import type { PublicError } from "../../../schemas/Errors.ts"
import { cookies, type Responses } from "./Responses.ts"
import { type Assets, type Problem, problemFragment, problemPage } from "./Page.ts"
import { languageFor } from "./PageRequest.ts"

/** No more than the payor can act upon. */
const problemOf = ({ code, status }: PublicError): Problem => {
  if (code === "NOT_FOUND") return "not_found"
  if (code === "RATE_LIMIT_EXCEEDED") return "too_many"
  if (code.startsWith("SESSION_")) return "session_ended"
  return status >= 500 ? "unavailable" : "failed"
}

/** Asking again can help: the time has passed, or a form was sent that the page would not have. */
const retryable: ReadonlySet<Problem> = new Set(["too_many", "unavailable", "failed"])

/** The page of an invoice, or its fragment. Ids are UUIDs. */
const pageOf = /^\/+pay\/+([0-9a-f-]{36})(\/+state)?\/*$/i

/** Where an address below `/pay` leads back to, and which part of a page it asks for. */
const locationOf = (url: string): { readonly invoiceId: string | null; readonly part: "document" | "fragment" } => {
  const path = url.replace(/[?#;].*$/s, "")
  return {
    invoiceId: pageOf.exec(path)?.[1] ?? null,
    part: /^\/+pay\/+[^/]+\/+state\/*$/i.test(path) ? "fragment" : "document"
  }
}

/** What an address of the page says beside its path; nothing else comes back in a link. */
const knownParameters = ["session_token", "signature", "c", "lang", "tab"]

const knownQuery = (query: URLSearchParams): string => {
  const kept = new URLSearchParams([...query].filter(([name]) => knownParameters.includes(name)))
  return kept.size === 0 ? "" : `?${kept}`
}

/** Draws refusals for every address below `/pay`, in the language of the browser that asks. */
export const renderErrorPage =
  ({ pathOf, plainHeaders }: Responses, assets: Pick<Assets, "style">) =>
  (error: PublicError, request: RefusedRequest): ErrorPage => {
    const query = queryOf(request.url)
    const problem = problemOf(error)
    const texts = languageFor({
      query: query.get("lang"),
      cookie: request.cookies[cookies.language],
      invoice: null,
      browser: request.headers["accept-language"],
      merchant: null
    })
    const { invoiceId, part } = locationOf(request.url)
    const retry = invoiceId === null || !retryable.has(problem) ? null : `${pathOf(invoiceId)}${knownQuery(query)}`
    return {
      html: part === "document"
        ? problemPage(problem, texts, assets, retry)
        : problemFragment(problem, texts, retry).toString(),
      headers: plainHeaders
    }
  }
