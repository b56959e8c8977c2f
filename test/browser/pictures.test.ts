/**
 * Goal: the pictures of the guides and of the README are what the dashboard looks like.
 * Method: a shop on simulated chains in which a day has happened; `WRITE_PICTURE=1 npm run test:browser -- pictures`
 * takes them anew.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { pictureNames } from "../../modules/docs/pages.ts"
import { loginLink } from "../journeys/LoginLink.ts"
import { emptyDatabase } from "../support/Database.ts"
import { generousLimits } from "../support/Limits.ts"
import { configOf, startService, temporaryDirectory } from "../support/Service.ts"
import { overflow } from "./PageChecks.ts"
import { openContext, openPage, type Visitor } from "./Page.ts"

/** What a shop sold, and what came for it. */
const sales = [
  [49.99, "Starter plan", "anna@example.com", ["pay"]],
  [120, "Winter jacket", "ben", ["overpay"]],
  [250, "Bicycle", "finn", ["pay"]],
  [60, "Lamp", "gina", ["wrong_token"]],
  [75, "Chair", "ida", ["pay", "duplicate"]],
  [600, "Sofa", "hans", ["pay"]],
  [19.5, "Scarf", "lea", []]
] as const

/** An `Idempotency-Key`, which has no spaces. */
const nameOf = (...words: ReadonlyArray<string>): string => words.join("-").replaceAll(" ", "-")

interface Picture {
  readonly visitor: Visitor
  readonly path: (sofa: string) => string
  readonly title: string
}

const pictures: Readonly<Record<typeof pictureNames[number], Picture>> = {
  overview: { visitor: { width: 1200, height: 760 }, path: () => "", title: "Overview" },
  todo: { visitor: { width: 1200, height: 760, theme: "dark" }, path: () => "/todo", title: "To do" },
  payment: {
    visitor: { width: 390, height: 760, mobile: true },
    path: (sofa) => `/payments/${sofa}`,
    title: "$600.00 Sofa"
  }
}

describe("the pictures of the guides", () => {
  it.live("show the dashboard by day, by night and on a phone", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const config = configOf({
        database: (yield* emptyDatabase).url,
        chains: [{ use: "simulated" }],
        limits: generousLimits
      })
      const service = yield* startService({ directory, config })
      const { merchant_id: merchant, merchant_key: key } = yield* service.keys
      const write = (path: string, body: object, name: string) =>
        service.call(path, { headers: { "x-api-key": key, "idempotency-key": name }, body })
      let sofa = ""
      for (const [amount_usd, title, customer_id, actions] of sales) {
        const made = yield* write("/api/v1/invoices", { amount_usd, invoice_title: title, customer_id }, nameOf(title))
        const id: string = made.json.invoice_id
        if (title === "Sofa") sofa = id
        for (const action of actions) {
          const done = yield* write(`/api/v1/devnet/invoices/${id}/simulate`, { action }, nameOf(title, action))
          assert.strictEqual(done.status, 200, done.text)
        }
      }
      for (const name of pictureNames) {
        const { path, title, visitor } = pictures[name]
        const link = yield* loginLink({ service, merchant })
        const { page } = yield* openPage(yield* openContext(visitor))
        yield* Effect.promise(async () => {
          await page.goto(link)
          await page.getByRole("button", { name: "Continue" }).click()
          await page.getByRole("heading", { name: "Overview" }).waitFor()
          await page.goto(`${new URL(link).origin}/dashboard/${merchant}/devnet${path(sofa)}`)
          await page.getByRole("heading", { name: title, level: 1 }).waitFor()
          await page.waitForLoadState("networkidle")
          const session = await page.context().newCDPSession(page)
          const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 70 })
          const file = new URL(`../../modules/docs/assets/${name}.webp`, import.meta.url)
          if (process.env["WRITE_PICTURE"] !== undefined) writeFileSync(file, data, "base64")
          assert.strictEqual(await overflow(page), 0, name)
        })
      }
    }).pipe(Effect.scoped), 180_000)
})
