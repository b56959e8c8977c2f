/**
 * Goal: the pages of the reference say what the program does: its fields, states, codes, limits, defaults and calls.
 * Method: the Markdown is read as data and compared with the schemas and constants that the program runs by, and with
 * the committed OpenAPI document: a call such as `POST /api/v1/devnet/invoices/{id}/simulate` must stand on some page.
 */
import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { ruleNames } from "../../../modules/docs/pages.ts"
import { maximumRanges } from "../../../modules/auth/rules.ts"
import { maximumSessions, maximumWallets } from "../../../modules/identity/rules.ts"
import { toleranceOf } from "../../../modules/invoices/machine.ts"
import { settingsOf } from "../../../modules/settings/rules.ts"
import { maximumExamined, maximumReplayed } from "../../../modules/webhooks/rules.ts"
import { eventRetentionDays } from "../../../runtime/store/partitions/Tables.ts"
import { SettingsSchema } from "../../../runtime/Settings.ts"
import { heartbeatSeconds } from "../../../runtime/sockets/Frames.ts"
import {
  maximumEventReplay,
  maximumPerKey,
  maximumPerSession,
  maximumReplay
} from "../../../runtime/sockets/StreamRules.ts"
import * as Attempts from "../../../runtime/webhooks/RetryPolicy.ts"
import * as Breaker from "../../../runtime/webhooks/CircuitBreaker.ts"
import {
  maximumFailingInFlight,
  maximumMovedInFlight,
  maximumOtherInFlight,
  maximumPerEndpoint,
  maximumQuickInFlight,
  slowMillis
} from "../../../runtime/webhooks/DeliveryRepo.ts"
import { serviceSignature, signingKey, standardSignature } from "../../../runtime/webhooks/Signature.ts"
import { errorCodes, statusOf } from "../../../schemas/Errors.ts"
import { eventObjects } from "../../../schemas/Event.ts"
import { Invoice, InvoiceStatus } from "../../../schemas/Invoice.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { descriptorOf, networks, requiredDepth } from "../../../schemas/Network.ts"
import { Order, orderSubstatuses } from "../../../schemas/Order.ts"
import { ExceptionType, Payment, PaymentStatus, SettlementStatus } from "../../../schemas/Payment.ts"
import { Quote, quoteGraceSeconds, quoteTtlSeconds } from "../../../schemas/Quote.ts"
import { RefundStatus } from "../../../schemas/Refund.ts"
import { FoundToken } from "../../../schemas/Token.ts"
import { DeliveryStatus, maximumEndpoints } from "../../../schemas/Webhook.ts"
import { rowsOf } from "../../fixtures/guides.ts"
import { Schema } from "effect"

const root = new URL("../../../", import.meta.url)
const ruleNamed = (name: string) => readFileSync(new URL(`modules/docs/reference/${name}.md`, root), "utf8")
const texts = ruleNames.map(ruleNamed)
const allText = texts.join("\n").replaceAll(/\s+/g, " ")

/** One name for each word of these cells: `a`, `b` is two. */
const namesIn = (rows: ReadonlyArray<ReadonlyArray<string>>, column = 0): ReadonlyArray<string> =>
  rows.flatMap((row) => (row[column] ?? "").split(", ")).filter((name) => name !== "")

const section = (page: string, heading: string): string => {
  if (heading === "") return ruleNamed(page)
  const text = ruleNamed(page)
  const start = text.indexOf(`\n## ${heading}\n`)
  assert.notStrictEqual(start, -1, `${page}.md has the heading ${heading}`)
  const end = text.indexOf("\n## ", start + 1)
  return text.slice(start, end === -1 ? undefined : end)
}

const firstCells = (page: string, heading: string, first: string, second: string): ReadonlyArray<string> =>
  namesIn(rowsOf(first, second, "", section(page, heading)))

const has = (page: string, heading: string, ...sentences: ReadonlyArray<string>): void => {
  const text = section(page, heading).replaceAll(/\s+/g, " ")
  for (const sentence of sentences) assert.include(text, sentence, `${page}.md#${heading}`)
}

const document = JSON.parse(readFileSync(new URL("modules/docs/openapi.json", root), "utf8")) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}
const calls = Object.entries(document.paths).flatMap(([path, operations]) =>
  Object.keys(operations).filter((method) => /^(?:get|put|post|patch|delete)$/.test(method))
    .map((method) => `${method.toUpperCase()} ${path}`)
)

describe("the reference", () => {
  it("has a page for every file, and a file for every page", () => {
    assert.sameMembers(readdirSync(new URL("modules/docs/reference/", root)), ruleNames.map((name) => `${name}.md`))
  })

  it("names every call of the API, and none that is not there", () => {
    const mentionedCalls = [...allText.matchAll(/`((?:GET|PUT|POST|PATCH|DELETE) \/[^`?]*)`/g)].map(([, call]) => call!)
    const isElsewhere = (call: string) => call === "GET /openapi.json" || call.includes(" /admin/")
    assert.deepStrictEqual(mentionedCalls.filter((call) => !isElsewhere(call) && !calls.includes(call)), [])
    // What a page says of a whole folder of calls.
    const isInFolder = (call: string) => call.includes(" /api/v1/auth/wallets")
    assert.deepStrictEqual(calls.filter((call) => !isInFolder(call) && !mentionedCalls.includes(call)), [])
  })

  it("names every call of the operator API, and none that is not there", () => {
    const files = ["modules", "runtime"].flatMap((folder) =>
      readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: "utf8" })
        .filter((name) => /(?:\/operator|\/OperatorApi)\.ts$/.test(name)).map((name) => `${folder}/${name}`)
    )
    const definedCalls = files.flatMap((file) =>
      [...readFileSync(new URL(file, root), "utf8").matchAll(/HttpApiEndpoint\.(\w+)\("\w+", "(\/admin\/[^"]+)"/g)]
        .map(([, method, path]) => `${method!.toUpperCase()} ${path!.replaceAll(/:(\w+)/g, "{$1}")}`)
    )
    const mentionedCalls = [...ruleNamed("operator-api").matchAll(/`((?:GET|POST) \/admin\/[^`?]*)(?:\?[^`]*)?`/g)]
      .map(([, call]) => call!)
    assert.sameMembers([...new Set(mentionedCalls)], definedCalls)
  })

  it("names every call of the internal port, and none that is not there", () => {
    const files = ["modules", "runtime"].flatMap((folder) =>
      readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: "utf8" })
        .filter((name) => /rpc\.ts$/i.test(name)).map((name) => `${folder}/${name}`)
    )
    const definedCalls = files.flatMap((file) =>
      [...readFileSync(new URL(file, root), "utf8").matchAll(/Rpc\.make\("([^"]+)"/g)].map(([, name]) => name!)
    )
    const mentionedCalls = [...ruleNamed("rpc").matchAll(/`([a-z]+(?:\.[a-zA-Z]+)+)`/g)].map(([, name]) => name!)
      .filter((name) => !name.startsWith("rpc."))
    assert.sameMembers([...new Set(mentionedCalls)], definedCalls)
  })

  it("lists the fields of every object in their order", () => {
    const fieldsOf = (schema: { readonly fields: object }) => Object.keys(schema.fields)
    assert.deepStrictEqual(firstCells("invoices", "Fields", "Field", "Type"), fieldsOf(Invoice))
    assert.sameMembers([...firstCells("payments", "Fields", "Field", "Type")], fieldsOf(Payment))
    assert.deepStrictEqual(firstCells("quotes", "Fields", "Field", "Notes"), fieldsOf(Quote))
    assert.sameMembers([...firstCells("orders", "Fields", "Field", "Notes")], fieldsOf(Order))
    assert.sameMembers([...firstCells("tokens", "Token records", "Field", "In the list")], fieldsOf(FoundToken))
  })

  it("lists every state", () => {
    assert.deepStrictEqual(firstCells("invoices", "States", "Status", "Meaning"), [...InvoiceStatus.literals])
    assert.deepStrictEqual(firstCells("payments", "States", "Status", "Meaning"), [...PaymentStatus.literals])
    assert.sameMembers([...firstCells("webhooks", "Delivery", "Status", "Meaning")], [...DeliveryStatus.literals])
    assert.sameMembers([...firstCells("refunds", "States", "Status", "Next")], [...RefundStatus.literals])
    assert.sameMembers([...firstCells("exceptions", "", "Type", "Opened when")], [...ExceptionType.literals])
    const settlements = rowsOf(
      "settlement_status",
      "settlement.stage",
      "",
      section("settlement", "States")
        .replace("| `settlement_status` | `settlement.stage`", "| settlement_status | settlement.stage")
    )
    assert.sameMembers(namesIn(settlements).filter((name) => name !== "null"), [...SettlementStatus.literals])
    assert.deepStrictEqual(
      rowsOf("Status", "Substatus", "", section("orders", "States"))
        .map(([status, substatus]) => [status, substatus?.split(", ")]),
      Object.entries(orderSubstatuses).map(([status, substatuses]) => [status, [...substatuses]])
    )
  })

  it("lists every event type with its object, and every error code under its status", () => {
    assert.deepStrictEqual(
      rowsOf("Type", "`data.object`", "", section("events", "Types")).map(([type, object]) => [type, object]),
      Object.entries(eventObjects).map((entry) => [...entry])
    )
    const rows = rowsOf("Status", "Codes", "", section("errors", "Codes"))
    assert.sameMembers(
      rows.flatMap(([status, codes = ""]) => codes.split(" ").map((code) => `${status} ${code}`)),
      errorCodes.map((code) => `${statusOf(code)} ${code}`)
    )
  })

  it("has the default of every setting of a merchant", () => {
    const merchant = { name: "the merchant's name", defaultEnvironment: "devnet" } as const
    const { branding, default_environment: _, ...settings } = settingsOf({}, merchant)
    const shown = (value: unknown) => Array.isArray(value) ? "none" : String(value)
    for (const [heading, values] of [["Invoices", settings], ["Branding", branding]] as const) {
      assert.deepStrictEqual(
        rowsOf("Setting", "Default", "", section("settings", heading)).map(([name, value]) => [name, value]),
        Object.entries(values).map(([name, value]) => [name, shown(value)])
      )
    }
  })

  it("has every limit of calls with its setting", () => {
    const { limits } = Schema.decodeUnknownSync(SettingsSchema)({ environments: ["devnet"] })
    const rows = rowsOf("Who", "Calls in 60 s", "", section("rate-limits", "The limits"))
    const inForce: Readonly<Record<string, unknown>> = limits
    for (const [who, value, setting = ""] of rows.filter(([, , setting]) => setting !== "fixed")) {
      const own = inForce[setting.replace("limits.", "")]
      assert.strictEqual(value, own === undefined ? "no limit" : Number(own).toLocaleString("en"), who)
    }
    const settingNames = rows.map(([, , setting]) => setting)
    const perMinute = Object.keys(limits).filter((name) => name.endsWith("PerMinute"))
    assert.includeMembers(settingNames, perMinute.map((name) => `limits.${name}`))
  })

  it("has every network, with its name, depths and fee", () => {
    const shown = (number: number) => number.toLocaleString("en")
    assert.deepStrictEqual(
      rowsOf("Network", "Family", "", section("networks", "The networks")),
      networks.map((network) => {
        const { coin, family, label, refundFeeUsdMillis } = descriptorOf(network)
        const { blocks, finalized } = requiredDepth(network, "mainnet", "standard", 1n)
        const final = requiredDepth(network, "mainnet", "final", 1n)
        return [
          network,
          family.name,
          label,
          coin.symbol,
          finalized ? `finalized, else ${blocks}` : shown(blocks),
          shown(final.blocks),
          shown(refundFeeUsdMillis)
        ]
      })
    )
  })

  it("has the numbers of the rules", () => {
    const seconds = (millis: number) => millis / 1_000
    const minutes = (millis: number) => seconds(millis) / 60
    const shown = (number: number) => number.toLocaleString("en")
    has("webhooks", "Endpoints", `| endpoints of a merchant | ${maximumEndpoints} |`)
    has(
      "webhooks",
      "Retries",
      "at most four requests",
      "1, 8 and 64 minutes on mainnet, 2, 16 and 128 seconds on devnet"
    )
    assert.strictEqual(Attempts.maximumAttempts, 4)
    has(
      "webhooks",
      "An endpoint that fails",
      `${Breaker.failingPercent} % failures of at least ${Breaker.minimumAttempts} attempts`,
      `attempts in ${minutes(Breaker.windowMillis)} minutes`,
      `${Breaker.timeoutsInARow} timeouts in a row`,
      `${seconds(Breaker.firstOpenMillis)} seconds, doubled with each failed probe`,
      `at most ${minutes(Breaker.longestOpenMillis)} minutes`,
      `for ${Attempts.maximumWaitMillis / 3_600_000} hours at most`,
      `only failures for ${Breaker.disableAfterMillis / 86_400_000} days, ${Breaker.minimumFailedEvents} events or more`
    )
    has(
      "webhooks",
      "In flight",
      `At most ${maximumPerEndpoint} requests at once`,
      `within ${seconds(slowMillis)} second share ${maximumQuickInFlight} places in an instance`,
      `${maximumOtherInFlight} places of their own`,
      `at most ${maximumFailingInFlight} for endpoints`,
      `nothing more than ${maximumPerEndpoint} deliveries`,
      `up to ${maximumMovedInFlight} together`
    )
    has("webhooks", "Replay", `at most ${shown(maximumReplayed)} events`, `looks at ${shown(maximumExamined)} at most`)
    has(
      "websockets",
      "Replay",
      `at most ${shown(maximumEventReplay)} events`,
      `${shown(maximumReplay)} events of the last 24 hours`
    )
    has(
      "websockets",
      "Limits",
      `| ${maximumPerSession}, ${maximumPerKey} |`,
      `of one every ${heartbeatSeconds} seconds`
    )
    has("events", "Retention", `for ${eventRetentionDays} days`)
    has("quotes", "How long a quote holds", `${quoteTtlSeconds} seconds`, `within ${quoteGraceSeconds} seconds after`)
    has("api-keys", "Managing keys", `| addresses and ranges of a key | ${maximumRanges} |`)
    has(
      "authentication",
      "Signing in with a wallet",
      `at most ${maximumWallets} wallets`,
      `at most ${maximumSessions} sessions`
    )
    has("invoices", "Tolerance", "min(max(floor(amount * bps / 10000), fixed), floor(amount / 10), 100000)")
    assert.strictEqual(toleranceOf(usdMillis(50_000n), 50, 10), 250)
  })

  it("has signatures that the code makes", () => {
    const text = section("webhooks", "Signatures")
    const [secret = ""] = /whsec_[\w+/=]{20,}/.exec(text) ?? []
    const [, body = ""] = /`(\{"id":.*?\})`/.exec(text) ?? []
    const key = signingKey(secret)
    assert.include(text, serviceSignature(key, 1_700_000_000_123, body))
    assert.include(text, standardSignature(key, "evt_1700000000000-123", 1_700_000_000, body))
  })
})
