/**
 * The dashboard: processor time of its pages beside a page that payors see, statements of each, time over a million
 * invoices beside ten thousand, tables that are read as a whole, and what its readers cost whoever creates invoices.
 */
import { Effect } from "effect"
import { makeVisitor } from "../journeys/DashboardVisits.ts"
import { makePlanRecorder, nodesOf } from "../support/PlanRecorder.ts"
import { type AskedStatement, statementsOf } from "../support/Statements.ts"
import { type Service, until } from "../support/Service.ts"
import type { Bench } from "./Bench.ts"
import { invoiceBody } from "./create.ts"
import { fillOtherTables } from "./dashboardRows.ts"
import { type DatabaseServer, onDatabase, urlOf } from "./Database.ts"
import { fill, measure as measureSizes, type Side, type Size, sizeNames, sizes, spanSeconds } from "./list.ts"
import { drive, type Driven, type LoadSpec, warmUp } from "./load.ts"
import { accept, newVisit } from "./page.ts"
import { median, type ReportLine } from "./Report.ts"
import { makeSink, type Sink } from "./sink.ts"
import * as Tillwire from "./Tillwire.ts"

const section = "dashboard"

/** Times the processor time of a payor's page that a page of the dashboard may take. */
const mostTimesPayment = 5
const mostStatements = 4
/** Of the text of a statement, in the note of a page with more than {@link mostStatements}. */
const statementCharacters = 80
const mostTimesSize = 1.5
/** A table of more rows is large. */
const largeRows = 5_000
/** Share of the creates that may be lost beside a busy dashboard. */
const mostLost = 0.05

const warmUpRequests = 200
const measuredRequests = 500
const callers = 4
/** Longer than any number of requests takes. */
const patienceSeconds = 60

/** Ten people who open a page every other second. */
const pagesPerSecond = 5
const createSeconds = 4
const createTurns = 3

/** What the pages show: an invoice with a payment too many, and an endpoint. */
interface Shown {
  readonly cookies: string
  readonly merchant: number
  readonly key: string
  readonly invoice: string
  readonly endpoint: string
}

/** The pages by their names, below the merchant and its environment. */
const pagesOf = ({ endpoint, invoice }: Shown): Readonly<Record<string, string>> => ({
  "overview": "",
  "payments": "/payments",
  "payments, one state": "/payments?status=paid",
  "an invoice": `/payments/${invoice}`,
  "exceptions": "/todo",
  "refunds": "/refunds",
  "batches": "/batches",
  "balances": "/balances",
  "webhooks": "/webhooks",
  "an endpoint": `/webhooks/${endpoint}`,
  "events": "/events",
  "links": "/links",
  "audit log": "/audit"
})

const addressOf = ({ merchant }: Shown, path: string) => `/dashboard/${merchant}/devnet${path}`

const headOf = ({ cookies }: Shown) => `cookie: ${cookies}\r\n`

/** A little trade, so that each table has a row as the service writes it. */
const trade = (sink: Sink) => (service: Service, key: string): Effect.Effect<Shown> =>
  Effect.gen(function*() {
    const { merchant_id: merchant } = yield* service.keys
    const visitor = makeVisitor({ service, merchant, origin: new URL(service.url).origin })
    let called = 0
    const call = (path: string, body: object) =>
      Effect.map(
        service.call(`/api/v1/${path}`, {
          headers: { "x-api-key": key, "idempotency-key": `dashboard-${called++}` },
          body
        }),
        ({ json, status, text }) => status === 200 ? json : failed(path, text)
      )
    const { data: { id: endpoint } } = yield* call("webhooks", { url: sink.url("/hook/0"), enabled_events: ["*"] })
    // The one that is copied: the first.
    yield* call("invoices", { amount: 49_990, customer_id: "customer-42", metadata: { note: "n".repeat(200) } })
    const { invoice_id: invoice } = yield* call("invoices", { amount: 49_990, customer_id: "customer-43" })
    const paid = yield* call(`devnet/invoices/${invoice}/simulate`, { action: "pay", amount: 99_990 })
    const { network } = paid.data.invoice_payment
    const cookies = yield* visitor.signIn()
    const refunded = yield* visitor.send(cookies, `/payments/${invoice}/refund`, {
      action: "create",
      amount_mode: "custom",
      amount_usd: "5",
      where: "address",
      network,
      address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
      fee_bearer: "merchant",
      reason: "requested_by_customer"
    })
    const refund = /refunds\/(re_[\w-]+)/.exec(String(refunded.headers.location))?.[1] ??
      failed("refund", refunded.text)
    yield* visitor.send(cookies, `/refunds/${refund}`, { action: "approve" })
    const batch = yield* visitor.send(cookies, "/batches", {
      action: "pay_refunds",
      network,
      from: "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"
    })
    if (batch.status !== 303) failed("batch", batch.text)
    yield* call("payment-links", { title: "Coffee", amount_usd: 5 })
    yield* until(
      "the trade is delivered",
      Effect.map(
        service.call(`/api/v1/webhooks/${endpoint}/deliveries?limit=1&status=succeeded`, {
          headers: { "x-api-key": key }
        }),
        ({ json, status, text }) => status === 200 ? json.data.data.length : failed("deliveries", text)
      ),
      (count) => count > 0
    )
    return { cookies, merchant, key, invoice, endpoint }
  })

const failed = (what: string, text: string): never => {
  throw new Error(`${what}: ${text.slice(0, 800)}`)
}

/** What the little trade left, and so many invoices. */
const deploySide = (server: DatabaseServer, sink: Sink, size: Size, first: number, template: string) =>
  Effect.gen(function*() {
    const deployment = yield* Tillwire.deploy(server, `dashboard_${size}`, { receivers: [sink.host], template })
    yield* fill(server, deployment.database, sizes[size], first)
    yield* onDatabase(server, deployment.database, (client) => fillOtherTables(client, first, first + spanSeconds))
    return deployment
  })

interface DashboardSide {
  readonly deployment: Tillwire.Deployment
  readonly shown: Shown
}

/** Processor time of a payor's page and of each page of the dashboard, in one process in turns. */
const measureCpu = ({ deployment, shown }: DashboardSide) =>
  Effect.scoped(Effect.gen(function*() {
    const service = yield* Tillwire.start(deployment)
    const visits = yield* Effect.forEach(
      Array.from({ length: 50 }),
      (_, n) => newVisit(service, shown.key, n),
      { concurrency: 8 }
    )
    const ask = (load: Pick<LoadSpec, "paths" | "heads" | "head">) => {
      const spec = { port: service.ports.http, callers, seconds: patienceSeconds, method: "GET", keys: [] } as const
      const of = { ...spec, ...load, head: accept + (load.head ?? "") }
      return Effect.andThen(
        warmUp(service.pid, { ...of, count: warmUpRequests }),
        drive(service.pid, { ...of, count: measuredRequests })
      )
    }
    const payment = yield* ask({ paths: visits.map(({ path }) => path), heads: visits.map(({ head }) => head) })
    const pages = new Map<string, Driven>()
    for (const [name, path] of Object.entries(pagesOf(shown))) {
      pages.set(name, yield* ask({ paths: [addressOf(shown, path)], head: headOf(shown) }))
    }
    return { payment, pages }
  }))

/** Invoices a second alone and beside people who open pages, in turns, and how many of them are lost. */
const measureCreates = ({ deployment, shown }: DashboardSide) =>
  Effect.scoped(Effect.gen(function*() {
    const service = yield* Tillwire.start(deployment)
    const base = { port: service.ports.http, seconds: createSeconds } as const
    const create = drive(service.pid, {
      ...base,
      callers: 16,
      method: "POST",
      paths: ["/api/v1/invoices"],
      keys: [shown.key],
      body: invoiceBody,
      keyed: true
    })
    const look = drive(service.pid, {
      ...base,
      callers,
      method: "GET",
      paths: Object.values(pagesOf(shown)).map((path) => addressOf(shown, path)),
      keys: [],
      head: accept + headOf(shown),
      rate: pagesPerSecond
    })
    yield* create
    yield* look
    const alone: Array<number> = []
    const beside: Array<number> = []
    for (let turn = 0; turn < createTurns; turn++) {
      alone.push((yield* create).perSecond)
      beside.push(yield* Effect.zipWith(create, look, ({ perSecond }) => perSecond, { concurrent: true }))
    }
    return { alone: median(alone), beside: median(beside) }
  }))

/** The statements of each page over the many rows, and which of them reads a large table as a whole. */
const recordStatements = (server: DatabaseServer, { deployment, shown }: DashboardSide) =>
  Effect.scoped(Effect.gen(function*() {
    const { database } = deployment
    const large = yield* onDatabase(server, database, async (client) => {
      const { rows } = await client.query(
        "select relname from pg_class where relkind = 'r' and reltuples > $1",
        [largeRows]
      )
      return new Set(rows.map(({ relname }) => String(relname)))
    })
    const recorder = yield* makePlanRecorder({
      host: server.host,
      port: 5432,
      username: "postgres",
      database,
      url: urlOf(server, database)
    })
    const service = yield* Tillwire.start({
      ...deployment,
      config: { ...deployment.config, store: { use: "postgres", options: { url: recorder.url } } }
    })
    const found = new Map<string, { readonly statements: ReadonlyArray<AskedStatement>; readonly scans: Set<string> }>()
    for (const [name, path] of Object.entries(pagesOf(shown))) {
      const page = service.call(addressOf(shown, path), { headers: { cookie: shown.cookies } })
      const { status, text } = yield* page
      if (status !== 200) failed(name, text)
      const statements = yield* statementsOf(recorder, page)
      const scans = new Set(
        statements.flatMap(({ name, plans }) =>
          plans.flatMap(({ plan }) => nodesOf(plan)).filter((node) =>
            node["Node Type"] === "Seq Scan" && large.has(node["Relation Name"] ?? "")
          ).map((node) => `${node["Relation Name"]}: ${name.slice(0, 120)}`)
        )
      )
      found.set(name, { statements, scans })
    }
    return found
  }))

const countOf = (statements: ReadonlyArray<AskedStatement>) => statements.reduce((sum, { count }) => sum + count, 0)

const cpuLines = (rounds: ReadonlyArray<Effect.Success<ReturnType<typeof measureCpu>>>): ReadonlyArray<ReportLine> => {
  const payment = median(rounds.map(({ payment }) => payment.cpuEach))
  return [
    { section, what: "a payor's page", value: payment / 1_000, unit: "ms CPU", cpuEach: payment },
    ...[...rounds[0]!.pages.keys()].map((name): ReportLine => ({
      section,
      what: `CPU of a page / a payor's: ${name}`,
      value: median(rounds.map(({ pages, payment }) => pages.get(name)!.cpuEach / payment.cpuEach)),
      unit: "x",
      cpuEach: median(rounds.map(({ pages }) => pages.get(name)!.cpuEach)),
      goal: { atMost: mostTimesPayment },
      note: `p50 ${median(rounds.map(({ pages }) => pages.get(name)!.p50)).toFixed(1)} ms, p99 ${
        median(rounds.map(({ pages }) => pages.get(name)!.p99)).toFixed(1)
      } ms of ${callers} callers`
    }))
  ]
}

const statementLines = (found: Effect.Success<ReturnType<typeof recordStatements>>): ReadonlyArray<ReportLine> =>
  [...found].flatMap(([name, { scans, statements }]): ReadonlyArray<ReportLine> => [
    {
      section,
      what: `statements of: ${name}`,
      value: countOf(statements),
      unit: "",
      goal: { atMost: mostStatements },
      ...(countOf(statements) <= mostStatements ? {} : {
        note: statements.map(({ count, name }) => `${count} times ${name.slice(0, statementCharacters)}`).join("; ")
      })
    },
    {
      section,
      what: `large tables read as a whole by: ${name}`,
      value: scans.size,
      unit: "",
      goal: { atMost: 0 },
      ...(scans.size === 0 ? {} : { note: [...scans].join("; ") })
    }
  ])

export const dashboard = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const sink = yield* makeSink
    const first = Math.floor(Date.now() / 1000 / 86_400) * 86_400 + 86_400 - spanSeconds
    const traded = yield* Tillwire.deploy(server, "dashboard_trade", { receivers: [sink.host] })
    const shown = yield* Tillwire.prepare(traded, trade(sink))
    const sides = {} as Record<Size, DashboardSide>
    for (const size of sizeNames) {
      progress(`dashboard: making ${sizes[size]} invoices`)
      sides[size] = { deployment: yield* deploySide(server, sink, size, first, traded.database), shown }
    }
    const pages = Object.entries(pagesOf(shown))
    const cpu: Array<Effect.Success<ReturnType<typeof measureCpu>>> = []
    const creates: Array<Effect.Success<ReturnType<typeof measureCreates>>> = []
    const waits: Array<Effect.Success<ReturnType<typeof measureSizes>>> = []
    const head = accept + headOf(shown)
    const lists: Record<Size, Side> = {
      few: { deployment: sides.few.deployment, head },
      many: { deployment: sides.many.deployment, head }
    }
    for (let round = 1; round <= rounds; round++) {
      cpu.push(yield* measureCpu(sides.few))
      creates.push(yield* measureCreates(sides.few))
      waits.push(yield* measureSizes(lists, pages.map(([name, path]) => [name, [addressOf(shown, path)]])))
      progress(`dashboard ${round}/${rounds}`)
    }
    const statements = yield* recordStatements(server, sides.many)
    return [
      ...cpuLines(cpu),
      ...statementLines(statements),
      ...pages.map(([name]): ReportLine => ({
        section,
        what: `${sizes.many} invoices against ${sizes.few}: ${name}`,
        value: median(waits.map((round) => round.get(name)!.many / round.get(name)!.few)),
        unit: "x",
        goal: { atMost: mostTimesSize },
        note: `p50 ${median(waits.map((round) => round.get(name)!.few)).toFixed(2)} ms, ${
          median(waits.map((round) => round.get(name)!.many)).toFixed(2)
        } ms`
      })),
      {
        section,
        what: `creates lost beside ${pagesPerSecond} pages a second`,
        value: median(creates.map(({ alone, beside }) => 1 - beside / alone)) * 100,
        unit: "%",
        goal: { atMost: mostLost * 100 },
        note: `${median(creates.map(({ alone }) => alone)).toFixed(0)}/s alone`
      }
    ]
  }))
