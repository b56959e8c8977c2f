/**
 * The payment page: pages a second and CPU of the service for each view, beside another working copy of the project
 * (`--before`) and a bare node:http server that answers the same bytes, compressed already; and how soon an open page
 * shows what was committed. The views are of many invoices in turn, so that nothing drawn for one serves the next.
 */
import { Effect } from "effect"
import { request } from "node:http"
import { serveRole } from "../support/Process.ts"
import type { Service } from "../support/Service.ts"
import type { Bench } from "./Bench.ts"
import { drive, type Driven, type LoadSpec, warmUp } from "./load.ts"
import type { PlainServerSpec } from "./plainServer.ts"
import { median, type ReportLine } from "./Report.ts"
import { screen } from "./screen.ts"
import * as Tillwire from "./Tillwire.ts"

/** More than the service keeps QR codes of; fewer than make the arguments of a process too long. */
const invoiceCount = 300
const callers = 16
const warmUpRequests = 1_500
const measuredRequests = 3_000
/** Longer than any measurement takes. */
const seconds = 60

/** Microseconds of CPU that a first view without cache may cost: the redirects and the page. */
const firstViewMicros = 3_000

/** As browsers ask for it. */
export const accept =
  "accept: text/html,application/xhtml+xml,*/*;q=0.8\r\naccept-encoding: gzip, deflate, br, zstd\r\n" +
  "accept-language: en-US,en;q=0.9\r\n"

/** A page as its payor knows it. */
interface Visit {
  /** Path and query of `payment_url`, and of where it leads to see whether the cookie comes back. */
  readonly link: string
  readonly check: string
  readonly path: string
  /** The header line of the session's cookie. */
  readonly head: string
  readonly session: Readonly<Record<string, string>>
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string>>>
  readonly body: Buffer
}

const ask = ({ ports }: Service, path: string, more = ""): Effect.Effect<Answer> =>
  Effect.callback<Answer>((resume) => {
    const headers = Object.fromEntries(
      (accept + more).split("\r\n").filter((line) => line !== "").map((line) => {
        const colon = line.indexOf(": ")
        return [line.slice(0, colon), line.slice(colon + 2)]
      })
    )
    request({ port: ports.http, host: "127.0.0.1", path, headers, agent: false }, (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.once("end", () => {
        const found = response.headers as Answer["headers"]
        resume(Effect.succeed({ status: response.statusCode ?? 0, headers: found, body: Buffer.concat(chunks) }))
      })
    }).end()
  })

/** The answer, which is the page of the status that is expected. */
const expected = (status: number, answer: Answer): Effect.Effect<Answer> =>
  answer.status === status
    ? Effect.succeed(answer)
    : Effect.die(new Error(`${answer.status} in place of ${status}: ${answer.body.toString("utf8").slice(0, 400)}`))

/** A new invoice, and the cookie that its link hands over. */
export const newVisit = (service: Service, key: string, n: number) =>
  Effect.gen(function*() {
    const { json } = yield* service.call("/api/v1/invoices", {
      headers: { "x-api-key": key, "idempotency-key": `page-${service.pid}-${n}` },
      body: { amount: 49_990, description: "Starter plan", payment_return_url: "https://shop.example/done" }
    })
    const { pathname, search } = new URL(json.payment_url)
    const handed = yield* Effect.flatMap(ask(service, pathname + search), (answer) => expected(303, answer))
    const cookies = handed.headers["set-cookie"] as ReadonlyArray<string>
    const visit: Visit = {
      link: pathname + search,
      check: String(handed.headers["location"]),
      path: pathname,
      head: `cookie: ${cookies.map((cookie) => cookie.split(";")[0]).join("; ")}\r\n`,
      session: json.payment_session_headers
    }
    return visit
  })

/** Shows the route in USDC, as the payor's click does. */
const chooseUsdc = (service: Service, { session }: Visit) =>
  Effect.gen(function*() {
    const { json: tokens } = yield* service.call("/api/v1/payments/available-tokens?mode=network&network=base", {
      headers: session
    })
    const token = tokens.find((each: { readonly token_symbol: string }) => each.token_symbol === "USDC")
    yield* service.call("/api/v1/payments/payment-addresses", {
      headers: session,
      body: { network: "base", token_id: token.id }
    })
  })

/** What is asked for, and how. */
type Load = Pick<LoadSpec, "paths" | "heads" | "status" | "first">

const measure = (pid: number, port: number, load: Load): Effect.Effect<Driven> => {
  const spec = { port, callers, seconds, method: "GET", keys: [], head: accept, ...load } as const
  return Effect.andThen(
    warmUp(pid, { ...spec, count: warmUpRequests }),
    drive(pid, { ...spec, count: measuredRequests })
  )
}

/** A bare server that answers what the service has just answered; connections are its own affair. */
const plain = ({ body, headers: { connection: _connection, date: _date, ...headers } }: Answer) =>
  Effect.scoped(Effect.gen(function*() {
    const spec: PlainServerSpec = { headers, body: body.toString("base64") }
    const { pid, said } = yield* serveRole<{ readonly port: number }>(new URL("plainServer.ts", import.meta.url), spec)
    return yield* measure(pid, said.port, { paths: ["/"] })
  }))

const everyNetwork = [{ use: "simulated" }]

/** Deployed on a database of its own, with every network that can be simulated. */
const deploy = (server: Bench["server"], database: string, program?: string) =>
  Effect.gen(function*() {
    const deployed = yield* Tillwire.deploy(server, database)
    const deployment: Tillwire.Deployment = {
      ...deployed,
      config: { ...deployed.config, chains: everyNetwork },
      ...(program === undefined ? {} : { program })
    }
    return { deployment, key: yield* Tillwire.prepare(deployment, (_, key) => Effect.succeed(key)) }
  })

type Deployed = Effect.Success<ReturnType<typeof deploy>>

/** A fresh process, with invoices that nobody has looked at. */
const serve = ({ deployment, key }: Deployed) =>
  Effect.gen(function*() {
    const service = yield* Tillwire.start(deployment)
    const visits = yield* Effect.forEach(
      Array.from({ length: invoiceCount }),
      (_, n) => newVisit(service, key, n),
      { concurrency: 8 }
    )
    const paths = visits.map(({ path }) => path)
    const heads = visits.map(({ head }) => head)
    return {
      visits,
      paths,
      heads,
      measure: (load: Load) => measure(service.pid, service.ports.http, { ...load, first: 0 }),
      sample: (path = paths[0]!) => Effect.flatMap(ask(service, path, heads[0]!), (answer) => expected(200, answer)),
      chooseRoutes: Effect.forEach(visits, (visit) => chooseUsdc(service, visit), { concurrency: 8, discard: true }),
      tagOf: ({ head, path }: Visit) =>
        Effect.map(
          Effect.flatMap(ask(service, `${path}/state`, head), (answer) => expected(200, answer)),
          ({ headers }) => `${head}if-none-match: ${String(headers["etag"])}\r\n`
        )
    }
  })

/** The two pages that everybody sees, by the other working copy. */
const measureBefore = (deployed: Deployed) =>
  Effect.scoped(Effect.gen(function*() {
    const { chooseRoutes, heads, measure, paths } = yield* serve(deployed)
    const list = yield* measure({ paths, heads })
    yield* chooseRoutes
    return { list, pay: yield* measure({ paths, heads }) }
  }))

const measurePages = (deployed: Deployed) =>
  Effect.scoped(Effect.gen(function*() {
    const { chooseRoutes, heads, measure, paths, sample, tagOf, visits } = yield* serve(deployed)
    const link = yield* measure({ paths: visits.map(({ link }) => link), status: 303 })
    const check = yield* measure({ paths: visits.map(({ check }) => check), heads, status: 303 })
    const listSample = yield* sample()
    const list = yield* measure({ paths, heads })
    yield* chooseRoutes
    const paySample = yield* sample()
    const pay = yield* measure({ paths, heads })
    const tagged = yield* Effect.forEach(visits, tagOf, { concurrency: 8 })
    const state = yield* measure({ paths: paths.map((path) => `${path}/state`), heads: tagged, status: 304 })
    return {
      link,
      check,
      list,
      pay,
      state,
      listBytes: listSample.body.length,
      payBytes: paySample.body.length,
      plainList: yield* plain(listSample),
      plainPay: yield* plain(paySample)
    }
  }))

type Pages = Effect.Success<ReturnType<typeof measurePages>>
type PagesBefore = Effect.Success<ReturnType<typeof measureBefore>>

const pageLine = (what: string, driven: ReadonlyArray<Driven>, note?: string): ReportLine => ({
  section: "page",
  what,
  value: median(driven.map(({ perSecond }) => perSecond)),
  unit: "/s",
  cpuEach: median(driven.map(({ cpuEach }) => cpuEach)),
  note: `p99 ${median(driven.map(({ p99 }) => p99)).toFixed(1)} ms${note === undefined ? "" : `, ${note}`}`
})

/** CPU of both pages beside the other working copy's, by the rounds they were measured in. */
const comparison = (after: ReadonlyArray<Pages>, before: ReadonlyArray<PagesBefore>): ReadonlyArray<ReportLine> => {
  if (before.length === 0) return [{ section: "page", skipped: "CPU of a view / before: not measured: give --before" }]
  const ratio = (what: string, which: "list" | "pay", atMost: number): ReportLine => ({
    section: "page",
    what: `CPU of ${what} / before`,
    value: median(after.map((round, at) => round[which].cpuEach / before[at]![which].cpuEach)),
    unit: "x",
    goal: { atMost }
  })
  return [
    pageLine("before: page with the ways to pay", before.map(({ list }) => list)),
    pageLine("before: page with address and QR", before.map(({ pay }) => pay)),
    ratio("a page with the ways to pay", "list", 0.75),
    ratio("a page with address and QR", "pay", 0.5)
  ]
}

const views = ({ before, progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const after = yield* deploy(server, "page_till")
    const other = before === undefined ? undefined : yield* deploy(server, "page_before", Tillwire.programOf(before))
    const seen: Array<Pages> = []
    const seenBefore: Array<PagesBefore> = []
    for (let round = 1; round <= rounds; round++) {
      if (other !== undefined) seenBefore.push(yield* measureBefore(other))
      seen.push(yield* measurePages(after))
      const { check, link, list, pay, state } = seen.at(-1)!
      const cpu = [link, check, list, pay, state].map(({ cpuEach }) => cpuEach.toFixed(0)).join(" / ")
      const old = seenBefore.at(-1)
      progress(
        `page ${round}/${rounds}: link, cookie, list, pay, 304: ${cpu} us CPU`
          + (old === undefined
            ? ""
            : `; before: list ${old.list.cpuEach.toFixed(0)}, pay ${old.pay.cpuEach.toFixed(0)}`)
      )
    }
    const all = (which: Exclude<keyof Pages, "listBytes" | "payBytes">) => seen.map((round) => round[which])
    return [
      pageLine("link hands its session to a cookie (303)", all("link")),
      pageLine("cookie came back (303)", all("check")),
      pageLine("page with the ways to pay", all("list"), `${seen[0]!.listBytes} bytes`),
      pageLine("page with address and QR", all("pay"), `${seen[0]!.payBytes} bytes`),
      pageLine("state that has not changed (304)", all("state")),
      pageLine("bare node:http, the list's bytes", all("plainList")),
      pageLine("bare node:http, the QR page's bytes", all("plainPay")),
      ...comparison(seen, seenBefore),
      {
        section: "page",
        what: "CPU of a first view without cache: both redirects and the list",
        value: median(seen.map(({ check, link, list }) => link.cpuEach + check.cpuEach + list.cpuEach)) / 1_000,
        unit: "ms",
        goal: { atMost: firstViewMicros / 1_000 }
      }
    ]
  }))

export const page = (bench: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.zipWith(views(bench), screen(bench), (drawn, changed) => [...drawn, ...changed])
