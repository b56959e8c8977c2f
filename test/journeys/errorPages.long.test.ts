/**
 * Goal: the page of an error code shows lines that really bring that error about, so that a reader can see it happen.
 * Method: the lines of each page of a running service are run by a shell, word by word, and what they print last is
 * the error. Codes that no request to a sound devnet service brings about are few, and each page says what it takes.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { execFile } from "node:child_process"
import { dirname } from "node:path"
import { errorCodes } from "../../schemas/Errors.ts"
import { migratedDatabase } from "../support/Database.ts"
import { generousLimits } from "../support/Limits.ts"
import { configOf, type Service, startService, temporaryDirectory } from "../support/Service.ts"

/** Codes whose page shows no request. */
const unprovoked = [
  "TOKEN_EXPIRED",
  "SESSION_EXPIRED",
  "REFRESH_REUSED",
  "FRESH_PROOF_REQUIRED",
  "APPROVAL_PROOF_REQUIRED",
  "DEVNET_ONLY",
  "SIGNUP_CLOSED",
  "DEVNET_NOT_ENABLED",
  "HOST_NOT_ALLOWED",
  "IDEMPOTENCY_REQUEST_IN_PROGRESS",
  "ESTIMATE_CHANGED",
  "REFUND_NOT_CANCELABLE",
  "BATCH_TOO_LARGE",
  "AMOUNT_BELOW_MINIMUM",
  "APPROVAL_REQUIRED",
  "APPROVER_MUST_DIFFER",
  "REFUND_IN_BATCH",
  "EXPORT_LIVE",
  "LINES_AMBIGUOUS",
  "BATCH_NOT_CANCELABLE",
  "BATCH_LIMIT_REACHED",
  "BATCH_PAID",
  "PAYOUT_LIMIT_EXCEEDED",
  "PAYOUT_LINE_REFUSED",
  "NOTHING_TO_COLLECT",
  "COLLECTOR_MISSING",
  "PAYER_MISSING",
  "INSUFFICIENT_FUNDS",
  "WALLET_NOT_SPENDABLE",
  "WALLET_NOT_LINKED",
  "WALLET_LINKED_ELSEWHERE",
  "WALLET_LIMIT_REACHED",
  "QUOTE_EXPIRED",
  "QUOTE_UNAVAILABLE",
  "INVOICE_CREATE_FAILED",
  "INTERNAL_ERROR"
]

class Reader extends Context.Service<Reader, { readonly service: Service; readonly folder: string }>()("test/Reader") {
  static readonly make = (keyPerMinute: number) =>
    Effect.gen(function*() {
      const { url } = yield* migratedDatabase
      const { sessionPerMinute: _, ...limits } = generousLimits
      const config = configOf({
        database: url,
        chains: [{ use: "simulated" }],
        limits: { ...limits, keyPerMinute, sessionPerMinute: 120 }
      })
      const service = yield* startService({
        directory: yield* temporaryDirectory,
        config: { ...config, modules: [...config.modules, { use: "docs" }] }
      })
      yield* service.keys
      return { service, folder: dirname(service.dataDirectory) }
    })
  /** Nobody is held up but by what a page itself does too often. */
  static readonly layer = Layer.effect(Reader, Reader.make(generousLimits.keyPerMinute))
}

/** A reader whose keys have the limit of every deployment. */
class PatientReader extends Context.Service<PatientReader, Reader["Service"]>()("test/PatientReader") {
  static readonly layer = Layer.effect(PatientReader, Reader.make(100))
}

const shell = (script: string, folder: string): Effect.Effect<string> =>
  Effect.callback((resume) => {
    execFile("bash", ["-euo", "pipefail", "-c", script], { cwd: folder }, (error, printed, complained) =>
      resume(Effect.succeed(error === null ? printed : `${printed}\n${complained}`)))
  })

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": "\"",
  "&#39;": "'"
}

/** The lines under "A request that causes it", as a browser would copy them. */
const linesOf = (page: string): string | undefined =>
  /A request that causes it<\/h2>\n<p>[^<]*<\/p>\n<pre[^>]*><code>([\s\S]*?)<\/code>/.exec(page)?.[1]
    ?.replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => entities[entity] ?? entity)

layer(Reader.layer, { excludeTestServices: true })("the page of an error code", (it) => {
  it.effect("shows a request that causes it, which does", () =>
    Effect.gen(function*() {
      const { folder, service } = yield* Reader
      const wrong: Array<string> = []
      const without: Array<string> = []
      // A limit that was reached stays reached for the codes after it.
      for (
        const code of errorCodes.toSorted((a, b) =>
          Number(a.endsWith("LIMIT_REACHED")) - Number(b.endsWith("LIMIT_REACHED"))
        )
      ) {
        const lines = linesOf((yield* service.call(`/docs/errors/${code}`)).text)
        if (lines === undefined) {
          without.push(code)
          continue
        }
        const printed = yield* shell(lines, folder)
        if (!new RegExp(`"code":"${code}"[^\\n]*$`).test(printed.trim())) {
          wrong.push(`${code}: ${printed.slice(0, 600)}`)
        }
      }
      assert.deepStrictEqual(wrong, [])
      assert.sameMembers(without, unprovoked)
    }), 300_000)
})

layer(PatientReader.layer, { excludeTestServices: true })(
  "the page of a limit of things",
  (it) => {
    it.effect("shows lines that reach it before the limit of calls", () =>
      Effect.gen(function*() {
        const { folder, service } = yield* PatientReader
        for (const code of ["API_KEY_LIMIT_REACHED", "CART_LIMIT_REACHED", "WEBHOOK_LIMIT_REACHED"]) {
          const printed = yield* shell(linesOf((yield* service.call(`/docs/errors/${code}`)).text)!, folder)
          assert.match(printed.trim(), new RegExp(`"code":"${code}"[^\\n]*$`))
        }
      }))
  }
)
