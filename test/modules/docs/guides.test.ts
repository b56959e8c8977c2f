/**
 * Goal: the tables of the guides say what the program does, row by row.
 * Method: the guide's Markdown is read as data. The machine walks at random through a hundred thousand commands; every
 * change it makes must be a row, and every row must have happened.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  type Aggregate,
  type Command,
  creationEvents,
  decide,
  nothingToScan
} from "../../../modules/invoices/machine.ts"
import { eventObjects } from "../../../schemas/Event.ts"
import type { WireObject } from "../../../schemas/WireObject.ts"
import { InvoiceStatus } from "../../../schemas/Invoice.ts"
import { PaymentStatus } from "../../../schemas/Payment.ts"
import { downgrade, versions } from "../../../schemas/Version.ts"
import { DeliveryStatus, maximumEndpoints } from "../../../schemas/Webhook.ts"
import { fragment } from "../../../modules/checkout/pages.ts"
import { languages } from "../../../modules/checkout/pages/Languages.ts"
import { renderScreen } from "../../../modules/checkout/pages/Screens.ts"
import { en } from "../../../modules/checkout/pages/texts/en.ts"
import { settingsOf } from "../../../modules/settings/rules.ts"
import { arrival, guideNamed, now, rowsOf, unpaid } from "../../fixtures/guides.ts"
import { views } from "../../fixtures/paymentViews.ts"
import { maximumReplayed } from "../../../modules/webhooks/rules.ts"
import { maximumAttempts, nextAttempt } from "../../../runtime/webhooks/RetryPolicy.ts"
import * as Breaker from "../../../runtime/webhooks/CircuitBreaker.ts"

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
    { _tag: "Observe", transfer: one },
    { _tag: "Observe", transfer: one },
    { _tag: "Confirm", paymentId: one.id, confirmations: 1 },
    { _tag: "Confirm", paymentId: one.id, confirmations: 1 },
    { _tag: "Revert", paymentId: one.id },
    { _tag: "Tick", progress: nothingToScan },
    { _tag: "Cancel" }
  ]
  return commands[roll(commands.length)] ?? { _tag: "Cancel" }
}

/** `from -> to: events` of every change of the invoice in many histories of 12 commands. */
const walked = (): ReadonlySet<string> => {
  const seen = new Set<string>()
  const roll = dice(1)
  for (let history = 0; history < 8_000; history++) {
    let state: Aggregate = { invoice: unpaid, payments: [], exceptions: [] }
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
    const shown = [...text.matchAll(/`([\d-]{10})`:\n\n```json\n([\s\S]*?)```/g)].map((
      [, version = "", json = ""]
    ) => ({ version, json }))
    const newest = JSON.parse(shown[0]!.json) as WireObject
    assert.strictEqual(shown.length, versions.length)
    for (const { json, version } of shown) assert.deepStrictEqual(downgrade(newest, version), JSON.parse(json))
  })
})

describe("the guide on states and events", () => {
  it("lists every change that the machine makes, and none that it does not", () => {
    const rows = rowsOf("From", "To").map(([from, to, , events]) => `${from} -> ${to}: ${events}`)
    const creation = creationEvents(unpaid).map(({ type }) => ` -> unpaid: ${type}`)
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

describe("the guide on the payment page", () => {
  const text = guideNamed("payment-page")

  it("shows every screen with its heading and its main action", () => {
    const rows = rowsOf("Screen", "Heading", "", text)
    assert.sameMembers(rows.map(([screen]) => screen!), Object.keys(views))
    for (const [screen = "", heading, , action = ""] of rows) {
      const view = views[screen as keyof typeof views]
      assert.strictEqual(renderScreen(view, en).title, `${heading} · ${view.details.branding.name}`)
      const drawn = fragment(view, en).replaceAll(/<noscript>.*?<\/noscript>/g, "")
      const [first = "none"] = [...drawn.matchAll(/<(?:a|button) [^>]*class="(?:button )?main[^>]*>([^<]*)</g)].map((
        [, name]
      ) => name)
      assert.strictEqual(first, action.replace(/,.*/, ""), screen)
    }
  })

  it("lists every setting of the page with its default", () => {
    const { branding } = settingsOf({}, { name: "your merchant name", defaultEnvironment: "devnet" })
    assert.deepStrictEqual(
      rowsOf("Setting", "Default", "", text).map(([name, value]) => [name, value]),
      Object.entries(branding).map((
        [name, value]
      ) => [name, value === null || String(value) === "" ? "none" : String(value)])
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
    assert.sameMembers(rowsOf("Status", "Meaning", "", webhooks).map(([status]) => status!), [
      ...DeliveryStatus.literals
    ])
  })

  it("has the numbers of the rules", () => {
    for (
      const sentence of [
        `${Breaker.failingPercent} % failures of at least ${Breaker.minimumAttempts} attempts in ${
          Breaker.windowMillis / 60_000
        } minutes`,
        `${Breaker.timeoutsInARow} timeouts in a row, nothing is sent for ${Breaker.firstOpenMillis / 1_000} seconds`,
        `up to ${Breaker.longestOpenMillis / 60_000} minutes`,
        `only failed for ${
          Breaker.disableAfterMillis / 86_400_000
        } days, with ${Breaker.minimumFailedEvents} events or more`,
        `at most ${maximumReplayed.toLocaleString("en")} events`,
        `may have ${maximumEndpoints} endpoints`
      ]
    ) assert.include(text, sentence)
  })
})
