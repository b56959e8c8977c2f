/**
 * Goal: the tables of the guides say what the program does, row by row.
 * Method: the guide's Markdown is read as data. The machine walks at random through a hundred thousand commands; every
 * change it makes must be a row, and every row must have happened.
 */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import {
  type Aggregate, type Arrival, type Command, created, type Decision, decide, type InvoiceState, type PaymentState
} from "../../../modules/invoices/machine.ts"
import { maximumRetries, reported, retryAfterSeconds, type SettlementReport } from "../../../modules/settlement/machine.ts"
import { eventObjects, type WireObject } from "../../../schemas/Event.ts"
import { InvoiceId } from "../../../schemas/Ids.ts"
import { InvoiceStatus } from "../../../schemas/Invoice.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { PaymentStatus, SettlementProgress, SettlementStage, SettlementStatus } from "../../../schemas/Payment.ts"
import { turnDown, versions } from "../../../schemas/Version.ts"
import { DeliveryStatus, maximumEndpoints } from "../../../schemas/Webhook.ts"
import { fragment } from "../../../modules/checkout/pages.ts"
import { languages } from "../../../modules/checkout/pages/Languages.ts"
import { draw } from "../../../modules/checkout/pages/Screens.ts"
import { en } from "../../../modules/checkout/pages/texts/en.ts"
import { settingsOf } from "../../../modules/settings/machine.ts"
import { views } from "../../fixtures/paymentViews.ts"
import { maximumReplayed } from "../../../modules/webhooks/machine.ts"
import { maximumAttempts, nextAttempt } from "../../../runtime/webhooks/Attempts.ts"
import * as Breaker from "../../../runtime/webhooks/Breaker.ts"

const guideNamed = (name: string) => readFileSync(new URL(`../../../modules/docs/guides/${name}.md`, import.meta.url), "utf8")
const guide = guideNamed("states")

/** The rows of the table whose header starts with these columns, cells without their backticks. */
const rowsOf = (first: string, second: string, after = "", text = guide): ReadonlyArray<ReadonlyArray<string>> => {
  const lines = text.slice(text.indexOf(after)).split("\n")
  const start = lines.findIndex((line) => line.startsWith(`| ${first} | ${second} |`))
  const end = lines.findIndex((line, index) => index > start && !line.startsWith("|"))
  return lines.slice(start + 2, end).map((line) => line.split("|").slice(1, -1).map((cell) => cell.replaceAll("`", "").trim()))
}

const now = 1_766_320_000

const unpaid: InvoiceState = {
  id: InvoiceId.make("550e8400-e29b-41d4-a716-446655440000"),
  merchantId: 123,
  environment: "devnet",
  version: 1,
  status: "unpaid",
  type: "standard",
  amount: usdMillis(50_000n),
  amountPaid: usdMillis(0n),
  customerId: null,
  payerWalletAddress: null,
  payerWalletNetwork: null,
  orderId: null,
  expiresAt: now + 1_000,
  createdAt: now,
  paidAt: null,
  lastPaymentAt: null,
  metadata: {},
  policy: {
    tolerance: 10,
    overpayTolerance: 1_000,
    latePayment: "spot_rate",
    lateWindowSeconds: 604_800,
    underpaidGraceSeconds: 86_400,
    partialPayment: "lock_route",
    confirmations: "standard",
    acceptedNetworks: null
  },
  details: { description: null, title: null, footer: null, customerEmail: null, returnUrl: null, locale: null },
  graceEnded: false,
  dueAt: now + 1_000
}

const arrival = (index: number, amount: bigint, seenAt: number): Arrival => ({
  id: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
  network: "base",
  tokenId: 1,
  tokenDecimals: 6,
  txHash: `0x${index}`,
  sender: `0xpayer${index}`,
  units: amount * 1_000n,
  amount: usdMillis(amount),
  seenAt,
  metadata: {
    quote: { quote_id: null, exchange_rate: "1", rate_source: "fixed", priced_at: now, pricing: "spot" },
    confirmations: 1,
    required_confirmations: 1,
    block_number: 100,
    exception: null,
    token: null
  }
})

/** A repeatable source of numbers below `bound` (Numerical Recipes' generator). */
const dice = (seed: number) => {
  let state = seed
  return (bound: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * bound)
  }
}

const amounts = [10_000n, 40_000n, 49_990n, 50_000n, 60_000n]

const commandOf = (roll: (bound: number) => number, at: number): Command => {
  const one = arrival(roll(3), amounts[roll(amounts.length)] ?? 50_000n, at)
  const commands: ReadonlyArray<Command> = [
    { _tag: "Observe", arrival: one },
    { _tag: "Observe", arrival: one },
    { _tag: "Confirm", paymentId: one.id, confirmations: 1 },
    { _tag: "Confirm", paymentId: one.id, confirmations: 1 },
    { _tag: "Revert", paymentId: one.id },
    { _tag: "Tick", outage: false },
    { _tag: "Cancel" }
  ]
  return commands[roll(commands.length)] ?? { _tag: "Cancel" }
}

/** `from -> to: events` of every change of the invoice in many histories of 12 commands. */
const walked = (): ReadonlySet<string> => {
  const seen = new Set<string>()
  const roll = dice(1)
  for (let history = 0; history < 8_000; history++) {
    let state: Aggregate = { invoice: unpaid, payments: [], openExceptions: new Set() }
    let at = now
    for (let step = 0; step < 12; step++) {
      at += roll(300)
      const decision = decide(state, [commandOf(roll, at)], at)
      if (typeof decision === "string") continue
      const told = decision.events.map(({ type }) => type).filter((type) => type.startsWith("invoice."))
      if (told.length > 0) seen.add(`${state.invoice.status} -> ${decision.next.invoice.status}: ${told.join(", ")}`)
      state = decision.next
    }
  }
  return seen
}

/** More than the amount at once: the guide says it below its table. */
const withOverpaid = (change: string) => change.replace(", invoice.paid, invoice.overpaid", ", invoice.paid")

describe("the guide on versions", () => {
  const text = guideNamed("versions")

  it("lists every version there is, newest first", () => {
    const named = [...text.matchAll(/^\| `(\d{4}-\d{2}-\d{2})` \|/gm)].map(([, version]) => version)
    assert.deepStrictEqual(named, versions.map(({ version }) => version))
  })

  it("shows a payment as each version shows it", () => {
    const shown = [...text.matchAll(/`([\d-]{10})`:\n\n```json\n([\s\S]*?)```/g)].map(([, version = "", json = ""]) => ({ version, json }))
    const newest = JSON.parse(shown[0]!.json) as WireObject
    assert.strictEqual(shown.length, versions.length)
    for (const { json, version } of shown) assert.deepStrictEqual(turnDown(newest, version), JSON.parse(json))
  })
})

describe("the guide on states and events", () => {
  it("lists every change that the machine makes, and none that it does not", () => {
    const rows = rowsOf("From", "To").map(([from, to, , events]) => `${from} -> ${to}: ${events}`)
    const creation = created(unpaid).map(({ type }) => ` -> unpaid: ${type}`)
    assert.deepStrictEqual(
      [...new Set(rows)].toSorted(),
      [...new Set([...creation, ...[...walked()].map(withOverpaid)])].toSorted()
    )
  })

  it("lists every status of invoices and payments, and every event type with its object", () => {
    const first = (rows: ReadonlyArray<ReadonlyArray<string>>) => rows.map(([cell]) => cell)
    assert.deepStrictEqual(first(rowsOf("Status", "Meaning", "## Invoice\n")), [...InvoiceStatus.literals])
    assert.deepStrictEqual(first(rowsOf("Status", "Meaning", "## Invoice payment")), [...PaymentStatus.literals])
    assert.deepStrictEqual(rowsOf("Type", "Carries"), Object.entries(eventObjects).map((entry) => [...entry]))
  })
})

describe("the guide on settlement", () => {
  const rows = rowsOf("`settlement_status`", "`settlement.stage`")
  const list = (cell: string | undefined) => (cell ?? "").split(", ").filter((name) => name !== "")

  it("lists every status, stage and progress", () => {
    assert.sameMembers(rows.map(([status]) => status as string), [...SettlementStatus.literals])
    const named = (column: number) => new Set(rows.flatMap((row) => list(row[column])).filter((name) => name !== "any"))
    assert.deepStrictEqual(named(1), new Set(SettlementStage.literals))
    assert.deepStrictEqual(named(2), new Set(SettlementProgress.literals))
  })

  it("lists what follows each status by a report or a refund, and nothing else", () => {
    const one = arrival(1, 50_000n, now)
    const paid = decide({ invoice: unpaid, payments: [], openExceptions: new Set() }, [
      { _tag: "Observe", arrival: one },
      { _tag: "Confirm", paymentId: one.id, confirmations: 1 }
    ], now) as Decision
    const [payment] = paid.next.payments as [PaymentState]
    const inStatus = (status: SettlementStatus): Aggregate => {
      const progress = status === "pending" ? "queued" : status === "processing" ? "submitted"
        : status === "failed" || status === "manual" ? "failed" : "settled"
      const refunded = usdMillis(status === "refunded" ? 50_000n : status === "partially_refunded" ? 1n : 0n)
      const settledAmount = progress === "settled" ? usdMillis(50_000n - refunded) : null
      const settlement = {
        status, progress, settledAmount, stage: progress === "settled" ? "final" : "sweep",
        settledAt: null, id: null, txHash: null, network: null
      } as const
      return { ...paid.next, payments: [{ ...payment, settlement, refunded }] }
    }
    const reports: ReadonlyArray<SettlementReport> = [
      { _tag: "Submitted", stage: "transfer", txHash: "0x1", network: "base" },
      { _tag: "Settled", txHash: "0x1", network: "base", amount: null },
      { _tag: "Failed", reason: "" },
      { _tag: "Review", reason: "" },
      { _tag: "Retry" }
    ]
    for (const [status, , , next] of rows) {
      const before = inStatus(status as SettlementStatus)
      const made = reports.flatMap((report) => {
        const taken = reported(before, [{ paymentId: one.id, report }], now)
        return "code" in taken ? [] : [taken.commands]
      })
      const refunds: ReadonlyArray<ReadonlyArray<Command>> = ["settled", "partially_refunded"].includes(status!)
        ? [1_000n, 50_000n].map((amount) => [{ _tag: "Refund", paymentId: one.id, amount: usdMillis(amount) }])
        : []
      const after = [...made, ...refunds].map((commands) =>
        (decide(before, commands, now) as Decision).next.payments[0]!.settlement!.status)
      assert.sameMembers([...new Set(after)].filter((each) => each !== status), list(next), status)
    }
  })

  it("names the pauses between automatic retries", () => {
    const minutes = Array.from({ length: maximumRetries }, (_, made) => retryAfterSeconds(made) / 60)
    assert.deepStrictEqual(minutes, [0.5, 2, 8, 32, 128])
    assert.include(guide.replaceAll(/\s+/g, " "), "five times, after 30 seconds, 2, 8, 32 and 128 minutes")
  })
})

describe("the guide on the payment page", () => {
  const text = guideNamed("payment-page")

  it("shows every screen with its heading and its main action", () => {
    const rows = rowsOf("Screen", "Heading", "", text)
    assert.sameMembers(rows.map(([screen]) => screen!), Object.keys(views))
    for (const [screen = "", heading, , action = ""] of rows) {
      const view = views[screen as keyof typeof views]
      assert.strictEqual(draw(view, en).title, `${heading} · ${view.details.branding.name}`)
      const drawn = fragment(view, en).replaceAll(/<noscript>.*?<\/noscript>/g, "")
      const [first = "none"] = [...drawn.matchAll(/<(?:a|button) [^>]*class="(?:button )?main[^>]*>([^<]*)</g)].map(([, name]) => name)
      assert.strictEqual(first, action.replace(/,.*/, ""), screen)
    }
  })

  it("lists every setting of the page with its default", () => {
    const { branding } = settingsOf({}, { name: "your merchant name", defaultEnvironment: "devnet" })
    assert.deepStrictEqual(
      rowsOf("Setting", "Default", "", text).map(([name, value]) => [name, value]),
      Object.entries(branding).map(([name, value]) => [name, value === null || String(value) === "" ? "none" : String(value)])
    )
  })

  it("names every language of the page", () => {
    const names = new Intl.DisplayNames(["en"], { type: "language", languageDisplay: "standard" })
    const said = text.slice(text.indexOf("## Languages")).replaceAll(/\s+/g, " ").split(". ")[0]!.toLowerCase()
    for (const { locale } of languages) {
      const { language } = new Intl.Locale(locale)
      assert.include(said, names.of(language)!.toLowerCase(), locale)
    }
    assert.lengthOf(said.replace(/, which.*/, "").split(/, | and /), languages.length)
  })
})

describe("the guide on webhooks", () => {
  const webhooks = guideNamed("webhooks")
  const text = webhooks.replaceAll(/\s+/g, " ")

  it("tells the pauses between attempts that the rule makes", () => {
    const pause = (baseMillis: number, attempt: number) => {
      const outcome = { _tag: "Unanswered", reason: "", timedOut: false } as const
      const next = nextAttempt({ attempt, outcome, settings: { baseMillis, factor: 8 }, random: 0.5, ageMillis: 0 })
      return next._tag === "Retrying" ? `${next.afterMillis / 1_000} s` : next._tag
    }
    const attempts = Array.from({ length: maximumAttempts - 1 }, (_, index) => index + 1)
    assert.deepStrictEqual(
      rowsOf("Retry", "mainnet", "", webhooks),
      attempts.map((attempt) => [String(attempt), pause(60_000, attempt), pause(2_000, attempt)])
    )
    assert.strictEqual(pause(2_000, maximumAttempts), "Failed")
  })

  it("explains every state of a delivery, and no other", () => {
    assert.sameMembers(rowsOf("Status", "Meaning", "", webhooks).map(([status]) => status!), [...DeliveryStatus.literals])
  })

  it("has the numbers of the rules", () => {
    for (const sentence of [
      `${Breaker.failingPercent} % failures of at least ${Breaker.minimumAttempts} attempts in ${Breaker.windowMillis / 60_000} minutes`,
      `${Breaker.timeoutsInARow} timeouts in a row, nothing is sent for ${Breaker.firstOpenMillis / 1_000} seconds`,
      `up to ${Breaker.longestOpenMillis / 60_000} minutes`,
      `only failed for ${Breaker.patienceMillis / 86_400_000} days, with ${Breaker.minimumFailedEvents} events or more`,
      `at most ${maximumReplayed.toLocaleString("en")} events`,
      `may have ${maximumEndpoints} endpoints`
    ]) assert.include(text, sentence)
  })
})
