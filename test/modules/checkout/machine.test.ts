import { assert, describe, it } from "@effect/vitest"
import type { Screen } from "../../../modules/checkout/machine.ts"
import { views } from "../../fixtures/paymentViews.ts"

describe("the screen", () => {
  for (const name of Object.keys(views) as ReadonlyArray<Screen>) {
    it(`of what makes it ${name} is ${name}`, () => {
      assert.strictEqual(views[name].screen, name)
    })
  }
})
