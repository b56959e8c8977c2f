/**
 * The payment page: pages a second and CPU of the service for each view, beside a bare node:http server that answers
 * the same bytes, compressed already; and how soon an open page shows what was committed. The views are of many
 * invoices in turn, so that nothing drawn for one serves the next.
 */
import { Effect } from "effect"
import { request } from "node:http"
import { serveRole } from "../support/Process.ts"
import type { Service } from "../support/Service.ts"
import type { Bench } from "./Bench.ts"
import { drive, type LoadSpec } from "./load.ts"
import type { PlainServerSpec } from "./plainServer.ts"
import { median, type ReportLine } from "./Report.ts"
import { screen } from "./screen.ts"
import * as Tillwire from "./Tillwire.ts"

/** More than the service keeps QR codes of; fewer than make the arguments of a process too long. */
const invoiceCount = 300
const callers = 16
const warmUpRequests = 3_000
const measuredRequests = 3_000
/** Longer than any measurement takes. */
const seconds = 60

/** Microseconds of CPU that a first view without cache may cost: the redirects and the page. */
const firstViewMicros = 3_000

/** As browsers ask for it. */
const accept = "accept: text/html,application/xhtml+xml,*/*;q=0.8\r\naccept-encoding: gzip, deflate, br, zstd\r\n" +
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
const newVisit = (service: Service, key: string, n: number) =>
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

type Driven = Effect.Success<ReturnType<typeof drive>>

/** What is asked for, and how. */
type Load = Pick<LoadSpec, "paths" | "heads" | "status" | "first">

const measure = (pid: number, port: number, load: Load): Effect.Effect<Driven> => {
  const spec = { port, callers, seconds, method: "GET", keys: [], head: accept, ...load } as const
  return Effect.andThen(
    drive(pid, { ...spec, count: warmUpRequests }),
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

const views = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const deployed = yield* Tillwire.deploy(server, "page_till")
    const config = deployed.config as { readonly modules: ReadonlyArray<{ readonly use: string }> }
    const deployment: Tillwire.Deployment = { ...deployed, config: { ...config, chains: everyNetwork } }
    const key = yield* Tillwire.prepare(deployment, (_, key) => Effect.succeed(key))

    const seen: Array<
      Readonly<Record<"link" | "check" | "list" | "pay" | "state" | "plainList" | "plainPay", Driven>>
    > = []
    const bytes = { list: 0, pay: 0 }
    for (let round = 1; round <= rounds; round++) {
      seen.push(
        yield* Effect.scoped(Effect.gen(function*() {
          const service = yield* Tillwire.start(deployment)
          const visits = yield* Effect.forEach(
            Array.from({ length: invoiceCount }),
            (_, n) => newVisit(service, key, n),
            { concurrency: 8 }
          )
          const paths = visits.map(({ path }) => path)
          const heads = visits.map(({ head }) => head)
          const ours = (load: Load) => measure(service.pid, service.ports.http, { ...load, first: 0 })
          const sample = () => Effect.flatMap(ask(service, paths[0]!, heads[0]!), (answer) => expected(200, answer))

          const link = yield* ours({ paths: visits.map(({ link }) => link), status: 303 })
          const check = yield* ours({ paths: visits.map(({ check }) => check), heads, status: 303 })
          const listSample = yield* sample()
          const list = yield* ours({ paths, heads })
          yield* Effect.forEach(visits, (visit) => chooseUsdc(service, visit), { concurrency: 8, discard: true })
          const paySample = yield* sample()
          const pay = yield* ours({ paths, heads })
          const tagged = yield* Effect.forEach(visits, ({ head, path }) =>
            Effect.map(
              Effect.flatMap(ask(service, `${path}/state`, head), (answer) => expected(200, answer)),
              ({ headers }) => `${head}if-none-match: ${String(headers["etag"])}\r\n`
            ), { concurrency: 8 })
          const state = yield* ours({ paths: paths.map((path) => `${path}/state`), heads: tagged, status: 304 })
          bytes.list = listSample.body.length
          bytes.pay = paySample.body.length
          return {
            link,
            check,
            list,
            pay,
            state,
            plainList: yield* plain(listSample),
            plainPay: yield* plain(paySample)
          }
        }))
      )
      const { check, link, list, pay, state } = seen.at(-1)!
      const cpu = [link, check, list, pay, state].map(({ cpuEach }) => cpuEach.toFixed(0)).join(" / ")
      progress(`page ${round}/${rounds}: link, cookie, list, pay, 304: ${cpu} us CPU`)
    }

    const line = (what: string, pick: (round: typeof seen[number]) => Driven, note?: string): ReportLine => ({
      section: "page",
      what,
      value: median(seen.map((round) => pick(round).perSecond)),
      unit: "/s",
      cpuEach: median(seen.map((round) => pick(round).cpuEach)),
      note: `p99 ${median(seen.map((round) => pick(round).p99)).toFixed(1)} ms${note === undefined ? "" : `, ${note}`}`
    })
    return [
      line("link hands its session to a cookie (303)", ({ link }) => link),
      line("cookie came back (303)", ({ check }) => check),
      line("page with the ways to pay", ({ list }) => list, `${bytes.list} bytes`),
      line("page with address and QR", ({ pay }) => pay, `${bytes.pay} bytes`),
      line("state that has not changed (304)", ({ state }) => state),
      line("bare node:http, the list's bytes", ({ plainList }) => plainList),
      line("bare node:http, the QR page's bytes", ({ plainPay }) => plainPay),
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
