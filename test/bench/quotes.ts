/**
 * New quotes over HTTP, each of an invoice of its own, beside what pgbench makes of the same reads and the same row one
 * by one. No quote is given twice: that would be a read only.
 */
import { Effect } from "effect"
import { makeMerchants } from "../support/Merchants.ts"
import type { Bench } from "./Bench.ts"
import { findPgbench, pgbench, pgbenchClients } from "./pgbench.ts"
import { createDatabase, onDatabase } from "./Database.ts"
import { drive, type LoadSpec } from "./load.ts"
import { median, type ReportLine } from "./Report.ts"
import * as Tillwire from "./Tillwire.ts"

const widths = [64, 256] as const
const merchantCount = 100
const warmUpRequests = 6_000
/** Quotes of one measurement; the rate is what they took. */
const measuredRequests = 6_000
/** Longer than any of them takes. */
const seconds = 60

const perRound = warmUpRequests + widths.length * measuredRequests

/** Copies of one real invoice, numbered, spread over the merchants in the order of their ids. */
const copies = (ids: ReadonlyArray<number>, count: number) => `
  insert into invoices (merchant_id, id, version, environment, status, type, amount, amount_paid, customer_id, expires_at,
    created_at, metadata, policy, details, grace_ended, due_at)
  select (array[${
  ids.join(",")
}])[1 + n % ${ids.length}], ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
    1, environment, 'unpaid', type, amount, 0, customer_id, expires_at, created_at, metadata, policy, details, false, due_at
  from (select * from invoices order by created_at limit 1) i, generate_series(0, ${count - 1}) n`

const pgbenchScript = (count: number, tokenId: number) => `
\\set n random(0, ${count - 1})
begin;
select merchant_id from api_keys where hash = 'x' and status = 'active';
select i.*, (select json_agg(p.*) from invoice_payments p where p.merchant_id = i.merchant_id and p.invoice_id = i.id)
  from invoices i where i.id = ('00000000-0000-7000-8000-' || lpad(to_hex((:n)::int), 12, '0'))::uuid;
select * from receive_targets where invoice_id = '00000000-0000-7000-8000-' || lpad(to_hex((:n)::int), 12, '0') and family = 'evm';
select * from quotes where invoice_id = '00000000-0000-7000-8000-' || lpad(to_hex((:n)::int), 12, '0')
  and network = 'base' and token_id = ${tokenId} order by created_at desc, id desc limit 1;
insert into quotes (id, merchant_id, version, invoice_id, network, token_id, decimals, environment, exchange_rate,
    rate_source, priced_at, token_amount, amount_remaining, created_at, valid_until, shown)
  values ('quo_' || gen_random_uuid(), 1, 1, '00000000-0000-7000-8000-' || lpad(to_hex((:n)::int), 12, '0'), 'base', ${tokenId}, 6,
    'devnet', '1.000000', 'fixed', 1766320000, 49990000, 49990, 1766320000, 1766320300, false);
commit;
`

export const quotes = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const deployment = yield* Tillwire.deploy(server, "quotes_till")
    const merchants = yield* Tillwire.prepare(deployment, (service, key) =>
      Effect.andThen(
        service.call("/api/v1/invoices", {
          headers: { "x-api-key": key, "idempotency-key": "quotes" },
          body: { amount: 49_990, expires_in: 86_400_000 }
        }),
        makeMerchants(service, merchantCount)
      ))
    const ids = merchants.map(({ id }) => id)
    const keys = merchants.map(({ key }) => key)
    const count = rounds * perRound
    const tokenId = yield* onDatabase(server, "quotes_till", async (client) => {
      await client.query(copies(ids, count))
      await client.query("vacuum analyze invoices")
      const found = await client.query(
        "select id from tokens where network = 'base' and environment = 'devnet' and symbol = 'USDC'"
      )
      return found.rows[0].id as number
    })
    yield* createDatabase(server, "quotes_pgbench", "quotes_till")

    const program = findPgbench()
    const seen: Array<ReadonlyArray<Effect.Success<ReturnType<typeof drive>>>> = []
    const bare: Array<number> = []
    for (let round = 0; round < rounds; round++) {
      yield* Effect.scoped(Effect.gen(function*() {
        const service = yield* Tillwire.start(deployment)
        const load = (callers: number, first: number, requests: number): LoadSpec => ({
          port: service.ports.http,
          callers,
          seconds,
          count: requests - callers,
          method: "POST",
          paths: ["/api/v1/quotes"],
          keys,
          body: `{"invoice_id":"00000000-0000-7000-8000-{n}","network":"base","token_id":${tokenId}}`,
          first
        })
        const first = round * perRound
        yield* drive(service.pid, load(widths[1], first, warmUpRequests))
        seen.push(
          yield* Effect.forEach(
            widths,
            (width, at) =>
              drive(service.pid, load(width, first + warmUpRequests + at * measuredRequests, measuredRequests))
          )
        )
      }))
      if (program !== undefined) {
        bare.push(yield* pgbench(program, server, "quotes_pgbench", pgbenchScript(count, tokenId)))
      }
      const rates = seen.at(-1)!.map(({ perSecond }) => Math.round(perSecond)).join(" / ")
      progress(`quotes ${round + 1}/${rounds}: tillwire ${rates}, pgbench ${bare.at(-1)?.toFixed(0) ?? "-"}`)
    }

    const lines: Array<ReportLine> = widths.map((width, at) => ({
      section: "quotes",
      what: `new quotes, ${width} callers`,
      value: median(seen.map((round) => round[at]!.perSecond)),
      unit: "/s",
      cpuEach: median(seen.map((round) => round[at]!.cpuEach)),
      note: `p50 ${median(seen.map((round) => round[at]!.p50)).toFixed(1)} ms`
    }))
    if (program === undefined) return [...lines, { section: "quotes", skipped: "no pgbench on this machine" }]
    const last = widths.length - 1
    return [
      ...lines,
      { section: "quotes", what: `pgbench -c${pgbenchClients}, same SQL one by one`, value: median(bare), unit: "/s" },
      {
        section: "quotes",
        what: `rate against pgbench -c${pgbenchClients}, ${widths[last]} callers`,
        value: median(seen.map((round, at) => round[last]!.perSecond / bare[at]!)),
        unit: "x"
      }
    ]
  }))
