/**
 * Goal: what is wrong with one batch keeps no other from being searched for.
 * Method: the timer, over a repository of which one row cannot be read.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import type { BatchServices } from "../../../modules/batches/service/BatchServices.ts"
import { batchTimer } from "../../../modules/batches/service/Observations.ts"

it.effect("a run goes on with the other batches where one fails in a way that nobody has foreseen", () =>
  Effect.gen(function*() {
    const names: Array<string> = []
    const due = ["bat_1", "bat_2", "bat_3"].map((id) => ({ id, merchantId: 1, environment: "devnet", network: "base" }))
    const services = {
      repo: {
        due: () => Effect.succeed(due),
        find: (_merchantId: number, id: string) => {
          names.push(id)
          return id === "bat_1" ? Effect.die(new Error("a row of no known form")) : Effect.succeed(null)
        },
        nextDue: Effect.succeed(null)
      }
    } as unknown as BatchServices
    assert.strictEqual(yield* batchTimer(services).run(0, 10), 0)
    assert.includeMembers(names, ["bat_2", "bat_3"])
  }))
