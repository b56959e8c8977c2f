/** What is known of one request, for everything that serves it. */
import { Context } from "effect"
import type { ErrorCode, ErrorFamily } from "../../schemas/Errors.ts"
import { apiVersion } from "../../schemas/Event.ts"

/** How the errors of a route are shown. */
export interface ErrorForm {
  readonly family: ErrorFamily
  /** The code for a parameter that its schema refuses, where `VALIDATION_ERROR` is not exact enough. */
  readonly parameterCodes: Readonly<Record<string, ErrorCode>>
}

/** How errors are shown where no definition says it. */
export const plainErrors: ErrorForm = { family: "wrapped", parameterCodes: {} }

/** Facts of one request, shared by everything that serves it; what may change is written by the middlewares only. */
export interface RequestFacts {
  /** The caller's `X-Request-Id` if well formed, else ours. */
  readonly requestId: string
  /** The version the answer is given in: the one the request names, else its credential's, else the newest. */
  apiVersion: string
  /** Headers that the answer carries whatever becomes of the request: limits, deprecation. */
  readonly answerHeaders: Record<string, string>
  /** Of the operation that the request turned out to call. */
  errorForm: ErrorForm
  /** For the log: whose credential was found good; null: none was asked for, or none was good. */
  merchantId: number | null
}

/** The request that is being served; its defaults hold where none is. */
export const RequestInfo = Context.Reference<RequestFacts>("tillwire/runtime/Http/RequestInfo", {
  defaultValue: () => ({
    requestId: "req_none",
    apiVersion,
    answerHeaders: {},
    errorForm: plainErrors,
    merchantId: null
  })
})
