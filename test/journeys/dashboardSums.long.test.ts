/**
 * Goal: no sum on a screen of the dashboard differs from the rows that it is of. Method: seeded histories of money over
 * HTTP; then every page is read as somebody reads it, each sum is added up again from the rows on the screens, and a
 * reader to whom one row is not shown must find that the sum is another.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { en } from "../../modules/dashboard/pages/texts/en.ts"
import { localDeployment } from "../support/money/Deployments.ts"
import { type MoneyShop, openShop, rollOf, write } from "../support/money/Shop.ts"
import {
  adjust,
  createInvoice,
  decide,
  decideUnmatched,
  moveRefund,
  openRefund,
  simulate,
  type StepContext
} from "../support/money/Steps.ts"
import { exchange } from "../support/Service.ts"
import { makeVisitor } from "./DashboardVisits.ts"
import { readScreens, type Screens, withoutRow, wrongSums } from "./ScreenSums.ts"

/** `SUMS_SEEDS=7 npx vitest run … test/journeys/dashboardSums.long.test.ts` runs seven, beginning with `SUMS_SEED`. */
const count = Number(process.env["SUMS_SEEDS"] ?? 3)
const first = Number(process.env["SUMS_SEED"] ?? 1)
const rounds = 40

/** For each history on a machine that is busy with others. */
const limitMillis = 180_000

/** Payments that wait become deep enough while pages are read: what is wrong then is wrong only if it stays so. */
const looks = 20
const lookMillis = 1_000

const wallet = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

/** Somebody opens a payment link and begins to pay: an invoice of it. */
const beginByLink = Effect.fnUntraced(function*({ roll, shop }: StepContext, url: string, link: { url: string }) {
  const path = new URL(link.url).pathname
  const opened = yield* exchange(url, path)
  const [, visit = ""] = /name="visit" value="([^"]+)"/.exec(opened.text) ?? []
  const begun = yield* exchange(url, path, {
    method: "POST",
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "sec-fetch-site": "same-origin",
      cookie: [opened.headers["set-cookie"] ?? []].flat().map((cookie) => cookie.split(";")[0]).join("; ")
    },
    body: new URLSearchParams({ action: "pay", visit }).toString()
  })
  const [, id] = /\/pay\/([0-9a-f-]{36})/.exec(String(begun.headers.location)) ?? []
  if (id === undefined) return void shop.faults.push(`the link was refused: ${begun.status} ${begun.text}`)
  shop.invoices.push({ id, token: shop.tokens[roll(shop.tokens.length)]!, sent: [], isUncertain: false })
})

/** A batch that a person approves and a wallet of play money signs, perhaps. */
const payBatch = Effect.fnUntraced(function*({ deployment, roll, shop }: StepContext) {
  const token = shop.tokens[roll(shop.tokens.length)]!
  const line = (place: number) => ({
    token_id: token.id,
    token_amount: `${1 + roll(3)}.${1 + roll(9)}`,
    destination: { address: wallet },
    reference: `line ${place}`
  })
  const body = roll(2) === 0
    ? { kind: "refunds", refund_ids: "all" }
    : { kind: "payouts", lines: Array.from({ length: 1 + roll(4) }, (_, place) => line(place)) }
  const call = (path: string, more: object) => write(deployment, shop, roll, `/api/v1/${path}`, more, "jwt")
  const made = yield* call("batches", { network: "base", from: wallet, ...body })
  if (made.status !== 200) return
  const { id } = made.json.data
  if (roll(4) === 0) return void (yield* call(`batches/${id}/cancel`, {}))
  yield* call(`batches/${id}/approve`, {})
  const given = yield* call(`batches/${id}/export`, { part: 1, format: "eip5792" })
  if (given.status === 200) yield* call(`devnet/batches/${id}/simulate`, { part: 1, outcome: "once" })
})

const steps = [
  "simulate",
  "simulate",
  "simulate",
  "simulate",
  "create",
  "link",
  "refund",
  "move",
  "move",
  "decide",
  "unmatched",
  "assign",
  "adjust",
  "batch"
] as const

const take = (context: StepContext, step: typeof steps[number], begin: Effect.Effect<void>): Effect.Effect<unknown> => {
  const { roll, shop } = context
  const invoice = shop.invoices[roll(shop.invoices.length)]!
  switch (step) {
    case "simulate":
      return simulate(context, invoice)
    case "create":
      return createInvoice(context)
    case "link":
      return begin
    case "refund":
      return openRefund(context, invoice)
    case "move":
      return moveRefund(context)
    case "decide":
      return decide(context)
    case "unmatched":
      return simulate(context, invoice, "unmatched")
    case "assign":
      return decideUnmatched(context)
    case "adjust":
      return adjust(context)
    case "batch":
      return payBatch(context)
  }
}

/** Screens on which one row is not shown, by the table that it is left out of. */
const mutants = (screens: Screens): ReadonlyMap<string, Screens> => {
  const found = new Map<string, Screens>()
  const leaveOut = (
    name: "invoices" | "balances" | "payments",
    label: string,
    fits: (row: ReadonlyMap<string, string>) => boolean
  ) => {
    const pages = screens[name]
    const place = pages.findIndex((page) => withoutRow(page, label, fits) !== null)
    if (place >= 0) {
      found.set(label, { ...screens, [name]: pages.with(place, withoutRow(pages[place]!, label, fits)!) })
    }
  }
  const isCounted = (row: ReadonlyMap<string, string>) =>
    row.get(en.fields.state) === en.paymentStates.confirmed && row.get(en.fields.worth) !== "$0.00"
  leaveOut("invoices", en.payments.ofInvoice, isCounted)
  leaveOut("payments", en.sections.payments, () => true)
  leaveOut(
    "balances",
    en.balances.newest,
    (row) => row.get(en.fields.state) === "available" && row.get(en.balances.net) !== "$0.00"
  )
  const [id, page] = [...screens.batch].at(0) ?? []
  const cut = page === undefined ? null : withoutRow(page, en.batches.lines, () => true)
  if (cut !== null) found.set(en.batches.lines, { ...screens, batch: new Map([...screens.batch, [id!, cut]]) })
  return found
}

/** What a history of a seed leaves on the screens. */
const sumsAfter = Effect.fnUntraced(function*(deployment: Effect.Success<typeof localDeployment>, seed: number) {
  const { internalUrl, url } = deployment
  const shop: MoneyShop = yield* openShop(deployment, seed)
  const roll = rollOf(seed)
  const context = { deployment, shop, roll }
  const links = yield* Effect.forEach([5_000, 12_340], (amount) =>
    Effect.map(
      write(deployment, shop, roll, "/api/v1/payment-links", { title: `Link over ${amount}`, amount }),
      ({ json }) => json.data as { readonly url: string }
    ))
  const begin = Effect.suspend(() => beginByLink(context, url, links[roll(links.length)]!))
  yield* createInvoice(context)
  for (let round = 0; round < rounds; round++) {
    const step = steps[roll(steps.length)]!
    shop.steps.push(step)
    yield* take(context, step, begin)
  }
  const service = { rpcUrl: internalUrl, call: (path: string, sent = {}) => exchange(url, path, sent) }
  const visitor = makeVisitor({ service, merchant: shop.id, origin: new URL(url).origin })
  const cookies = yield* visitor.signIn()
  const collectable = Effect.map(
    exchange(url, "/api/v1/collectable?expand=addresses", { headers: shop.key }),
    ({ json }) => json?.data?.data ?? []
  )
  const look = readScreens((path) => visitor.see(cookies, path), collectable)
  let screens = yield* look
  for (let looked = 1; looked < looks && wrongSums(screens).wrong.length > 0; looked++) {
    yield* Effect.sleep(lookMillis)
    screens = yield* look
  }
  return { screens, shop }
})

it.live(
  "no sum on a screen differs from its rows, after histories of everything that may happen to money",
  () =>
    Effect.gen(function*() {
      const deployment = yield* localDeployment
      const wrong: Array<string> = []
      const blind = new Set<string>([en.payments.ofInvoice, en.sections.payments, en.balances.newest, en.batches.lines])
      for (let seed = first; seed < first + count; seed++) {
        const { screens, shop } = yield* sumsAfter(deployment, seed)
        const sums = wrongSums(screens)
        assert.isAbove(sums.looked, 20)
        const faults = [...shop.faults, ...sums.wrong]
        if (faults.length > 0) wrong.push(`seed ${seed}: ${faults.join("\n")}\nafter ${shop.steps.join(" ")}`)
        if (sums.wrong.length > 0) continue
        for (const [table, mutant] of mutants(screens)) {
          if (wrongSums(mutant).wrong.length > 0) blind.delete(table)
        }
      }
      assert.strictEqual(wrong.join("\n\n"), "")
      assert.deepStrictEqual([...blind], [], "a row that is left out of these tables changes no sum")
    }).pipe(Effect.scoped),
  limitMillis * count
)
