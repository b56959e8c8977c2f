/**
 * Goal: the dashboard works on a devnet as it is started, whose public address is a number and whose links lead to
 * `localhost`. Method: the service without a public address in its config, and the link that `login` prints.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { printedLoginLink } from "../journeys/LoginLink.ts"
import { emptyDatabase } from "../support/Database.ts"
import { generousLimits } from "../support/Limits.ts"
import { configOf, startService, temporaryDirectory } from "../support/Service.ts"
import { openContext, openPage } from "./Page.ts"

describe("the dashboard of a devnet without a public address", () => {
  it.live("signs in by its link, takes a passkey there, and follows by events", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const database = (yield* emptyDatabase).url
      const config = configOf({ database, chains: [{ use: "simulated" }], limits: generousLimits })
      const service = yield* startService({ directory, config })
      assert.match(service.url, /^http:\/\/127\.0\.0\.1:/)
      const { merchant_id: merchant } = yield* service.keys
      const link = yield* printedLoginLink({ service, directory, merchant })
      const home = `${new URL(link).origin}/dashboard/${merchant}/devnet`
      assert.match(home, /^http:\/\/localhost:/)
      const { complaints, page } = yield* openPage(yield* openContext({}))
      yield* Effect.promise(async () => {
        await page.goto(`${new URL(link).origin}/dashboard/signin`)
        await page.getByRole("button", { name: "Sign in with a passkey" }).waitFor()
        await page.goto(link)
        await page.getByRole("button", { name: "Continue" }).click()
        await page.getByRole("heading", { name: "Overview" }).waitFor()
        await page.goto(`${home}/account`)
        await page.getByRole("button", { name: "Add a passkey" }).waitFor()
        const opened = page.waitForEvent("websocket")
        await page.goto(home)
        const { payload } = await (await opened).waitForEvent("framereceived")
        assert.include(String(payload), "\"ready\"")
      })
      assert.deepStrictEqual(complaints, [])
    }).pipe(Effect.scoped))
})
