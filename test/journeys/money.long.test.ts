/**
 * Goal: whatever happens to the money of a merchant, its books, its chain, its events and its closed months agree.
 * Method: the short form of `npm run bench -- histories --family money`: seeded histories over HTTP, in this process.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { localDeployment } from "../support/money/Deployments.ts"
import { moneyHistory } from "../support/money/History.ts"

/** `MONEY_SEEDS=7 npx vitest run … test/journeys/money.long.test.ts` runs seven, beginning with `MONEY_SEED`. */
const count = Number(process.env["MONEY_SEEDS"] ?? 2)
const first = Number(process.env["MONEY_SEED"] ?? 1)
const rounds = 40
const callers = 100

/** For each history on a machine that is busy with others; alone it takes 2 s. */
const limitMillis = 180_000

it.live(
  "the money of a merchant agrees after histories of everything that may happen to it",
  () =>
    Effect.gen(function*() {
      const deployment = yield* localDeployment
      const wrong: Array<string> = []
      for (let seed = first; seed < first + count; seed++) {
        const { faults, steps } = yield* moneyHistory(deployment, { seed, rounds, kills: 0, callers })
        if (faults.length > 0) wrong.push(`seed ${seed}: ${faults.join("\n")}\nafter ${steps.join(" ")}`)
      }
      assert.strictEqual(wrong.join("\n\n"), "")
    }).pipe(Effect.scoped),
  limitMillis * count
)
