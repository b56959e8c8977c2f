/** What the merchant decides while payments come: exceptions and refunds. */
import { Effect } from "effect"
import { drawsOf } from "../Draws.ts"
import type { World } from "../World.ts"
import { network } from "./Deployment.ts"
import type { Caller, Shop } from "./Caller.ts"

/** Where refunds go: an address of nobody here. */
const destination = { network, address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" }

const modes = ["full", "remaining", "custom"] as const

/** Rounds of decisions, and the longest pause between two of them. */
const rounds = 6
const longestPauseMillis = 9_000

/** Decides for as long as payments are expected; what was answered with yes is in the shop's record. */
export const decide = (world: World, caller: Caller, shop: Shop): Effect.Effect<void> =>
  Effect.gen(function*() {
    const draws = drawsOf(world.plan.seed, "decisions")
    const keyOf = (what: string) => ({ "x-api-key": shop.key, "idempotency-key": what })
    for (let round = 0; round < rounds; round++) {
      yield* Effect.sleep(2_000 + draws.below(longestPauseMillis))
      const list = yield* caller.ask({
        path: "/api/v1/exceptions?status=open&limit=20",
        headers: { "x-api-key": shop.key }
      })
      const open: ReadonlyArray<any> = list.json?.data?.data ?? []
      const choice = open.length === 0 ? undefined : draws.oneOf(open)
      const actions: ReadonlyArray<string> = (choice?.allowed_actions ?? []).filter((each: string) => each !== "assign")
      if (actions.length > 0) {
        const action = draws.oneOf(actions)
        const answer = yield* caller.ask({
          path: `/api/v1/exceptions/${choice.id}/resolve`,
          headers: keyOf(`decision-${round}`),
          body: { action, note: "decided in a run" }
        })
        if (answer.status === 200) shop.decisions.set(choice.id, action)
      }
      const paid = shop.invoices.filter((invoice) => invoice.paid.length > 0)
      if (paid.length === 0 || draws.happens(0.4)) continue
      const [invoiceId] = draws.oneOf(paid).ids
      const mode = draws.oneOf(modes)
      const answer = yield* caller.ask({
        path: "/api/v1/refunds",
        headers: keyOf(`refund-${round}`),
        body: {
          invoice_id: invoiceId,
          amount_mode: mode,
          ...(mode === "custom" ? { amount: 1 + draws.below(20_000) } : {}),
          reason: "requested_by_customer",
          fee_bearer: "merchant",
          ...(draws.happens(0.5) ? { destination } : {})
        }
      })
      if (answer.status === 200) { for (const { id } of answer.json.refunds) shop.refunds.add(id) }
    }
  })
