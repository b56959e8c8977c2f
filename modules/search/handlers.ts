/** Search between the wire and `repo.ts`. */
import { Effect } from "effect"
import { jsonText, readEnvironment, requireMerchantScope } from "../../runtime/Http.ts"
import * as Operations from "../../runtime/Operations.ts"
import { readsOf } from "../../runtime/ReadReplica.ts"
import { SearchApi, type SearchResult } from "./api.ts"
import { makeRepo, type Repo, type SearchScope } from "./repo.ts"
import { maximumResults, type SearchTerm, termsOf } from "./rules.ts"

type Result = typeof SearchResult.Type

const invoiceResult = (matched: Result["matched"]) => (id: string): Result => ({
  object: "search_result",
  kind: "invoice",
  id,
  matched
})

export const handlers = Operations.group(
  SearchApi,
  "search",
  Effect.fn(function*(group) {
    const reads = yield* readsOf(makeRepo)

    const find = (repo: Repo, scope: SearchScope, term: SearchTerm): Effect.Effect<ReadonlyArray<Result>> => {
      const invoices = (found: Effect.Effect<ReadonlyArray<string>>, matched: Result["matched"]) =>
        Effect.map(found, (ids) => ids.map(invoiceResult(matched)))
      switch (term.form) {
        case "object":
          // Whether there is one is told by the object's own route, to whoever may read it.
          return Effect.succeed([{ object: "search_result", kind: term.object, id: term.id, matched: "id" }])
        case "invoice":
          return invoices(repo.byId(scope, term.id), "id")
        case "invoice_end":
          return invoices(repo.byEnd(scope, term.end), "id")
        case "transaction":
          return invoices(repo.byTransaction(scope, term.hashes), "transaction")
        case "address":
          return invoices(repo.byTarget(scope, term.targets), "address")
        case "amount":
          return invoices(repo.byAmount(scope, term.usdMillis), "amount")
        case "customer":
          return invoices(repo.byCustomer(scope, term.id), "customer")
      }
    }

    return group.handle(
      "search",
      Effect.fnUntraced(function*({ query }) {
        const principal = yield* requireMerchantScope
        const environment = yield* readEnvironment(principal, query.environment)
        const scope = { merchantId: principal.merchantId, environment, limit: maximumResults + 1 }
        const terms = termsOf(query.q, environment)
        const found = yield* reads((repo) => Effect.forEach(terms, (term) => find(repo, scope, term)))
        const distinct = [...new Map(found.flat().map((result) => [`${result.kind} ${result.id}`, result])).values()]
        const data = distinct.slice(0, maximumResults)
        const list = { object: "list", data, has_more: distinct.length > maximumResults }
        return jsonText(JSON.stringify({ success: true, data: list }))
      })
    )
  })
)
