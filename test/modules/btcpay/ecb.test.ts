/**
 * Goal: a shop's prices follow the rates that a bank publishes, and neither an outage nor a document that lies moves
 * them.
 * Method: a real server on this machine, the real table, documents in the form of the bank's.
 */
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import {
  objectionToRates,
  plugin,
  readReferenceRates,
  type ReferenceRates,
  refreshSeconds
} from "../../../modules/btcpay/drivers/ecb.ts"
import { invoiceUsd } from "../../../modules/btcpay/rules/Amounts.ts"
import { FiatRates } from "../../../modules/btcpay/service/FiatRates.ts"
import { migrations } from "../../../modules/btcpay/migrations.ts"
import { migrate } from "../../../runtime/Migrate.ts"
import { httpServer } from "../../fixtures/httpServer.ts"
import { connect, emptyDatabase } from "../../support/Database.ts"
import { until } from "../../support/Service.ts"

const day = "2026-11-27"
const dayStart = Date.UTC(2026, 10, 27) / 1_000

const others = ["JPY", "CZK", "DKK", "GBP", "HUF", "PLN", "RON", "SEK", "CHF", "ISK", "NOK"]

const documentOf = (usd: string, time = day, more = "") =>
  `<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
	<gesmes:subject>Reference rates</gesmes:subject>
	<gesmes:Sender><gesmes:name>European Central Bank</gesmes:name></gesmes:Sender>
	<Cube>
		<Cube time='${time}'>
			<Cube currency='USD' rate='${usd}'/>
			${
    others.map((code) => `<Cube currency='${code}' rate='${code === "JPY" ? "163.20" : "1.5"}'/>`).join("\n\t\t\t")
  }${more}
		</Cube>
	</Cube>
</gesmes:Envelope>`

const read = (text: string): ReferenceRates => {
  const rates = readReferenceRates(text)
  if (typeof rates === "string") throw new Error(rates)
  return rates
}

describe("a document of reference rates", () => {
  it("says what a euro and every other currency is in dollars, exactly", () => {
    const { asOf, usdPer } = read(documentOf("1.0880"))
    assert.strictEqual(asOf, dayStart + 16 * 3_600)
    assert.deepStrictEqual(usdPer.get("EUR"), { numerator: 10_880n, denominator: 10_000n })
    // 1.088 dollars are 163.2 yen: 15,000 yen are 100 dollars.
    assert.strictEqual(invoiceUsd("15000", { code: "JPY", rate: usdPer.get("JPY")! }), 100_000n)
    // 10.01 euros are 10.89088 dollars, rounded up.
    assert.strictEqual(invoiceUsd("10.01", { code: "EUR", rate: usdPer.get("EUR")! }), 10_891n)
    assert.isUndefined(usdPer.get("BTC"))
  })

  it("is refused with what is wrong with it", () => {
    const wrong = (text: string) => readReferenceRates(text)
    assert.strictEqual(wrong("<html>Sorry</html>"), "it has rates of 0 days and not of one")
    assert.strictEqual(wrong(documentOf("1.1", "2026-13-45")), "2026-13-45 is no day")
    assert.strictEqual(wrong(documentOf("0")), "its rate of USD cannot be read, or stands there twice")
    assert.strictEqual(
      wrong(documentOf("1.1", day, "<Cube currency='GBP' rate='2'/>")),
      "its rate of GBP cannot be read, or stands there twice"
    )
    assert.strictEqual(wrong(documentOf("1.1").replace("'USD'", "'XXX'")), "it has no rate of the dollar")
    assert.strictEqual(
      wrong("<Cube time='2026-11-27'><Cube currency='USD' rate='1'/>"),
      "it has 1 currencies, and there are at least 10"
    )
  })

  it("is not believed where it is of a day to come, older, or far from the last one", () => {
    const now = dayStart + 17 * 3_600
    const last = read(documentOf("1.1"))
    assert.isNull(objectionToRates(read(documentOf("1.2")), null, now))
    assert.isNull(objectionToRates(read(documentOf("1.2")), last, now))
    assert.include(objectionToRates(read(documentOf("1.1", "2026-11-29")), last, now)!, "a day to come")
    assert.include(objectionToRates(read(documentOf("1.1", "2026-11-26")), last, now)!, "older")
    assert.include(objectionToRates(read(documentOf("11")), last, now)!, "more than 30 % from the last one")
    assert.isNull(objectionToRates(read(documentOf("11", "2026-12-04")), last, now + 7 * 86_400))
  })
})

describe("the source of the European Central Bank", () => {
  it.live("reads at the start and every six hours, and keeps what it had over an outage and a start without a server", () =>
    Effect.scoped(Effect.gen(function*() {
      let answer: { readonly status: number; readonly text: string } = { status: 200, text: documentOf("1.0880") }
      let asked = 0
      const url = yield* httpServer((_, response) => {
        asked++
        response.writeHead(answer.status).end(answer.text)
      })
      const database = yield* emptyDatabase
      yield* Effect.provide(migrate("btcpay", migrations), connect(database), { local: true })
      const started = <A, E>(use: Effect.Effect<A, E, FiatRates | SqlClient.SqlClient>) =>
        Effect.gen(function*() {
          yield* TestClock.setTime((dayStart + 20 * 3_600) * 1_000)
          return yield* use.pipe(
            Effect.provide(
              (plugin.layer({ url: `${url}/daily.xml` }) as Layer.Layer<never, unknown, any>).pipe(
                Layer.provideMerge(FiatRates.layer),
                Layer.provideMerge(connect(database)),
                Layer.provide(NodeHttpClient.layerUndici)
              ) as Layer.Layer<FiatRates | SqlClient.SqlClient>,
              { local: true }
            )
          )
        }).pipe(Effect.scoped, Effect.provide(TestClock.layer()))
      const euro = Effect.flatMap(FiatRates, (rates) => rates.current()!.usdPer("EUR"))
      const known = { rate: { numerator: 10_880n, denominator: 10_000n }, asOf: dayStart + 16 * 3_600 }
      yield* started(Effect.gen(function*() {
        assert.deepStrictEqual(yield* TestClock.withLive(until("it is read", euro, (rate) => rate !== null)), known)
        answer = { status: 200, text: documentOf("10.880") }
        yield* TestClock.adjust(`${refreshSeconds} seconds`)
        yield* TestClock.withLive(until("it is asked again", Effect.sync(() => asked), (count) => count === 2))
        assert.deepStrictEqual(yield* euro, known, "a document that lies moves nothing")
      }))
      answer = { status: 503, text: "" }
      yield* started(Effect.gen(function*() {
        assert.deepStrictEqual(yield* euro, known, "at once, from the database")
      }))
    })))
})
