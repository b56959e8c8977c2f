/** The list of invoices and its totals over a million rows, beside the same over ten thousand, filter by filter. */
import { Effect } from "effect"
import type { Bench } from "./Bench.ts"
import { type DatabaseServer, onDatabase } from "./Database.ts"
import { drive, type LoadSpec } from "./load.ts"
import { median, type ReportLine } from "./Report.ts"
import * as Tillwire from "./Tillwire.ts"

export const sizes = { few: 10_000, many: 1_000_000 } as const
export type Size = keyof typeof sizes
export const sizeNames = ["few", "many"] as const

/** Every customer and every payor has so many invoices, in either size. */
const invoicesEach = 100

/** The invoices lie this many seconds back, spread evenly, in either size. */
export const spanSeconds = 100 * 86_400

const warmUpRequests = 1_600
const turns = 3
/** An answer over the many rows that takes less is quick enough, however quick the same over the few is. */
const quickMillis = 5
const mostTimes = 1.5
const seconds = 0.3

/**
 * Copies of one real invoice, a hundred days of them: four fifths paid, on two networks, a thousandth canceled, a
 * fiftieth of commerce, a tenth on mainnet. Ids begin with the milliseconds of their creation, as those of the service
 * do.
 */
export const copies = (count: number, first: number) => `
  insert into invoices (merchant_id, id, version, environment, status, type, amount, amount_paid, customer_id,
    payer_wallet_address, payer_wallet_network, expires_at, created_at, paid_at, last_payment_at, metadata, policy, details,
    grace_ended, due_at)
  select i.merchant_id, overlay(overlay(lpad(to_hex(t.at * 1000 + n % 1000), 12, '0') || '7' || substr(md5(n::text), 1, 19)
      placing '-' from 9 for 0) placing '-' from 14 for 0)::uuid, 1, case when n % 10 = 9 then 'mainnet' else 'devnet' end,
    s.status, case when n % 50 = 7 then 'commerce' else 'standard' end, i.amount,
    case when s.paid then i.amount else 0 end, 'customer ' || n % ${count / invoicesEach},
    case when s.paid then '0xpayor' || n % ${count / invoicesEach} end,
    case when s.paid then case when n % 3 = 0 then 'base' else 'solana' end end, t.at + 43200, t.at,
    case when s.paid then t.at + 60 end, case when s.paid then t.at + 60 end, i.metadata, i.policy, i.details, false, null
  from (select * from invoices order by created_at limit 1) i, generate_series(0, ${count - 1}) n
    cross join lateral (select ${first} + n * ${spanSeconds}::bigint / ${count} as at) t
    cross join lateral (select n % 5 < 4 as paid, case when n % 5 < 4 then 'paid' when n % 1000 = 4 then 'canceled'
      when n % 2 = 0 then 'unpaid' else 'expired' end as status) s`

/** The sums of what is there, as the commits would have left them. */
export const sums = `
  insert into rollups select merchant_id, environment, 'invoices.states', w, case w when 0 then 0 else created_at - created_at % w end,
    type || ':' || status || ':' || coalesce(payer_wallet_network, ''), count(*), sum(amount), sum(amount_paid)
  from invoices, unnest(array[0, 900, 21600]) w group by 1, 2, 4, 5, 6 order by 4, 5, 6
  on conflict (merchant_id, environment, sum, width, bucket, key) do update set count = excluded.count,
    amount = excluded.amount, amount_paid = excluded.amount_paid`

export const fill = (server: DatabaseServer, database: string, count: number, first: number) =>
  onDatabase(server, database, async (client) => {
    await client.query(copies(count, first))
    await client.query(sums)
    await client.query("vacuum analyze invoices, rollups")
    await client.query("checkpoint")
  })

/** Questions, of which the time of one answer is compared. `at` is a moment in the middle of the invoices. */
const questions = (at: number): Readonly<Record<string, ReadonlyArray<string>>> => {
  const anyOf = (prefix: string) => Array.from({ length: sizes.few / invoicesEach }, (_, n) => prefix + n)
  const span = `created_gte=${at - 1_234}&created_lte=${at + 10 * 86_400}`
  return {
    "no filter": [""],
    "page 500": ["page=500"],
    "a cursor in the middle": [`starting_after=${idAt(at)}`, `ending_before=${idAt(at)}`],
    "the other environment": ["environment=mainnet"],
    "status=paid": ["status=paid"],
    "status=canceled": ["status=canceled"],
    "status=underpaid, which none is": ["status=underpaid"],
    "three statuses": ["status=paid,unpaid,expired"],
    "invoice_type=commerce": ["invoice_type=commerce"],
    "invoice_type and status": ["invoice_type=commerce&status=expired"],
    customer_id: anyOf("customer_id=customer%20"),
    "customer_id and status": anyOf("status=paid&customer_id=customer%20"),
    payer_wallet_address: anyOf("payer_wallet_address=0xpayor"),
    payer_wallet_network: ["payer_wallet_network=base", "payer_wallet_network=solana"],
    "payer_wallet_network and status": ["payer_wallet_network=base&status=canceled"],
    "created_gte": [`created_gte=${at - 1_234}`],
    "created_gte and created_lte": [span],
    "a span and status": [`${span}&status=paid`]
  }
}

const idAt = (at: number): string => {
  const time = (at * 1000).toString(16).padStart(12, "0")
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`
}

/** Questions to the totals, likewise. */
const totals = (at: number): Readonly<Record<string, ReadonlyArray<string>>> => ({
  "totals": [""],
  "totals of a span": [`created_gte=${at - 1_234}&created_lte=${at + 10 * 86_400}`],
  "totals of a customer": Array.from({ length: sizes.few / invoicesEach }, (_, n) => `customer_id=customer%20${n}`)
})

export interface Side {
  readonly deployment: Tillwire.Deployment
  /** An API key, or header lines that say who asks. */
  readonly key?: string
  readonly head?: string
}

export type Questions = ReadonlyArray<readonly [name: string, paths: ReadonlyArray<string>]>

/**
 * Milliseconds at the median of a lone caller's answers, by question and size. Both services run, and are asked in
 * turns of a fraction of a second, so that whatever else the machine does is felt by both.
 */
export const measure = (sides: Readonly<Record<Size, Side>>, asked: Questions) =>
  Effect.scoped(Effect.gen(function*() {
    const started = yield* Effect.forEach(sizeNames, (size) =>
      Effect.map(Tillwire.start(sides[size].deployment), (service) => ({ size, service })))
    const ask = ({ service, size }: typeof started[number], more: Partial<LoadSpec>) =>
      drive(service.pid, {
        port: service.ports.http,
        callers: 1,
        seconds,
        method: "GET",
        paths: [],
        keys: sides[size].key === undefined ? [] : [sides[size].key],
        head: sides[size].head ?? "",
        ...more
      })
    const everything = asked.flatMap(([, paths]) =>
      paths
    )
    yield* Effect.forEach(started, (side) =>
      ask(side, { paths: everything, callers: 4, seconds: 8, count: warmUpRequests }))
    const found = new Map<string, Readonly<Record<Size, number>>>()
    for (const [name, paths] of asked) {
      const waits: Record<Size, Array<number>> = { few: [], many: [] }
      for (let turn = 0; turn < turns; turn++) {
        for (const side of started) {
          waits[side.size].push((yield* ask(side, { paths })).p50)
        }
      }
      found.set(name, { few: median(waits.few), many: median(waits.many) })
    }
    return found
  }))

export const list = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const at = Math.floor(Date.now() / 1000 / 86_400) * 86_400 - spanSeconds / 2 + 4_321
    const asked: Questions = [
      ...Object.entries(questions(at)).map(([name, some]) =>
        [name, some.map((query) => `/api/v1/invoices?${query}`)] as const
      ),
      ...Object.entries(totals(at)).map(([name, some]) =>
        [name, some.map((query) => `/api/v1/invoices/totals?${query}`)] as const
      )
    ]
    const sides = {} as Record<Size, Side>
    for (const size of sizeNames) {
      const deployment = yield* Tillwire.deploy(server, `list_${size}`)
      const key = yield* Tillwire.prepare(deployment, (service, key) =>
        Effect.as(
          service.call("/api/v1/invoices", {
            headers: { "x-api-key": key, "idempotency-key": "list" },
            body: { amount: 49_990, customer_id: "customer-42", metadata: { note: "n".repeat(200) } }
          }),
          key
        ))
      progress(`list: making ${sizes[size]} invoices`)
      yield* fill(server, deployment.database, sizes[size], at - spanSeconds / 2)
      sides[size] = { deployment, key }
    }
    const found: Array<Effect.Success<ReturnType<typeof measure>>> = []
    const times = (round: typeof found[number], name: string): number => round.get(name)!.many / round.get(name)!.few
    for (let round = 1; round <= rounds; round++) {
      found.push(yield* measure(sides, asked))
      const worst = Math.max(...asked.map(([name]) => times(found.at(-1)!, name)))
      progress(`list ${round}/${rounds}: at most ${worst.toFixed(2)} times slower over ${sizes.many} rows`)
    }
    const p50 = (name: string, size: Size) => median(found.map((round) => round.get(name)![size]))
    return asked.map(([name]): ReportLine => {
      const few = p50(name, "few").toFixed(2)
      const many = p50(name, "many")
      const slower = median(found.map((round) => times(round, name)))
      return many < quickMillis
        ? {
          section: "list",
          what: `over ${sizes.many} rows: ${name}`,
          value: many,
          unit: "ms",
          goal: { atMost: quickMillis },
          note: `p50; ${slower.toFixed(2)} times that over ${sizes.few} rows, ${few} ms`
        }
        : {
          section: "list",
          what: `${sizes.many} rows against ${sizes.few}: ${name}`,
          value: slower,
          unit: "x",
          goal: { atMost: mostTimes },
          note: `p50 ${few} ms, ${many.toFixed(2)} ms`
        }
    })
  }))
