/**
 * Goal: the pictures of the guides and of the README are what the pages look like.
 * Method: a shop on simulated chains in which a day has happened; `WRITE_PICTURE=1 npm run test:browser -- pictures`
 * takes them anew.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import type { Page } from "playwright-core"
import { pictureNames } from "../../modules/docs/pages.ts"
import { loginLink } from "../journeys/LoginLink.ts"
import { emptyDatabase } from "../support/Database.ts"
import { generousLimits } from "../support/Limits.ts"
import { configOf, exchange, startService, temporaryDirectory } from "../support/Service.ts"
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

/** One euro, for the shop that prices in it. */
const rates = { use: "btcpay/fixed", options: { usdPer: { EUR: "1.11" } } }

/** An `Idempotency-Key`, which has no spaces. */
const nameOf = (...words: ReadonlyArray<string>): string => words.join("-").replaceAll(" ", "-")

interface Picture {
  readonly visitor: Visitor
  readonly path: (sofa: string) => string
  readonly title: string
}

type Name = typeof pictureNames[number]

/** Pages for payors and for who connects a shop: nobody signs in to them. */
const shopPictures = ["shopconnect", "shopprice"] as const

type ShopPicture = typeof shopPictures[number]

const isOfShop = (name: Name): name is ShopPicture => (shopPictures as ReadonlyArray<Name>).includes(name)

const take = async (page: Page, name: Name): Promise<void> => {
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 70 })
  const file = new URL(`../../modules/docs/assets/${name}.webp`, import.meta.url)
  if (process.env["WRITE_PICTURE"] !== undefined) writeFileSync(file, data, "base64")
  assert.strictEqual(await overflow(page), 0, name)
}

const pictures: Readonly<Record<Exclude<Name, ShopPicture>, Picture>> = {
  overview: { visitor: { width: 1200, height: 760 }, path: () => "", title: "Overview" },
  todo: { visitor: { width: 1200, height: 760, theme: "dark" }, path: () => "/todo", title: "To do" },
  payment: {
    visitor: { width: 390, height: 760, mobile: true },
    path: (sofa) => `/payments/${sofa}`,
    title: "$600.00 Sofa"
  },
  shopkey: { visitor: { width: 1000, height: 900 }, path: () => "/keys", title: "API keys" }
}

describe("the pictures of the guides", () => {
  it.live(
    "show the dashboard by day, by night and on a phone, and what a shop and its payors see",
    () =>
      Effect.gen(function*() {
        const directory = yield* temporaryDirectory
        const config = configOf({
          database: (yield* emptyDatabase).url,
          chains: [{ use: "simulated" }],
          limits: generousLimits
        })
        const service = yield* startService({ directory, config: { ...config, modules: [...config.modules, rates] } })
        const { merchant_id: merchant, merchant_key: key } = yield* service.keys
        const write = (path: string, body: object, name: string) =>
          service.call(path, { headers: { "x-api-key": key, "idempotency-key": name }, body })
        let sofa = ""
        for (const [amount_usd, title, customer_id, actions] of sales) {
          const made = yield* write(
            "/api/v1/invoices",
            { amount_usd, invoice_title: title, customer_id },
            nameOf(title)
          )
          const id: string = made.json.invoice_id
          if (title === "Sofa") sofa = id
          for (const action of actions) {
            const done = yield* write(`/api/v1/devnet/invoices/${id}/simulate`, { action }, nameOf(title, action))
            assert.strictEqual(done.status, 200, done.text)
          }
        }
        const order = yield* exchange(service.url, `/btcpay/api/v1/stores/${merchant}-devnet/invoices`, {
          headers: { authorization: `token ${key}` },
          body: { amount: "22.50", currency: "EUR", metadata: { orderId: "1042" } }
        })
        const shopUrls: Readonly<Record<ShopPicture, string>> = {
          shopconnect: `${service.url}/btcpay/api-keys/authorize`,
          shopprice: order.json.checkoutLink
        }
        for (const name of shopPictures) {
          const { page } = yield* openPage(
            yield* openContext({ width: 480, height: name === "shopconnect" ? 540 : 760, mobile: true })
          )
          yield* Effect.promise(async () => {
            await page.goto(shopUrls[name])
            await page.getByRole("heading", { level: 1 }).waitFor()
            await take(page, name)
          })
        }
        for (const name of pictureNames.filter((each) => !isOfShop(each))) {
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
            if (name === "shopkey") {
              await page.getByLabel("Name").fill("Web shop")
              await page.getByLabel("For").selectOption("btcpay")
            }
            await take(page, name)
          })
        }
      }).pipe(Effect.scoped)
  )
})
