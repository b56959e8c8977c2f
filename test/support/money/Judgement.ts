/**
 * What must hold after any history of money, judged from what the service answers and from its tables, by sums that are
 * written here once more: none of the ledger's own rules is used.
 */
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { askUntilAnswered, type MoneyDeployment, type MoneyShop, read, rollOf } from "./Shop.ts"

const page = 100

/** A span of an export, at most: nothing of a history is later. */
const spanSeconds = 31_622_400

const add = (sums: Map<string, bigint>, name: string, amount: bigint): void =>
  void sums.set(name, (sums.get(name) ?? 0n) + amount)

/** Base units of a decimal number of tokens. */
const unitsOf = (text: string, decimals: number): bigint => {
  const [whole = "0", fraction = ""] = text.split(".")
  return BigInt(whole + fraction.padEnd(decimals, "0").slice(0, decimals))
}

const millisOf = (text: string): bigint => unitsOf(text === "" ? "0" : text, 3)

/** What the judges read by, and where they write what is wrong. */
interface Reader {
  readonly shop: MoneyShop
  readonly get: (path: string) => Effect.Effect<any>
  readonly query: MoneyDeployment["query"]
}

/** Every object of a list, oldest first. */
const all = Effect.fnUntraced(function*({ get }: Reader, path: string) {
  const found: Array<any> = []
  for (;;) {
    const after = found.length === 0 ? "" : `&starting_after=${found.at(-1).id}`
    const { data, has_more: hasMore } = yield* get(`${path}${path.includes("?") ? "&" : "?"}limit=${page}${after}`)
    found.push(...data)
    if (!hasMore) return found.toReversed()
  }
})

/** One side of an entry, as the export of the journal has it. */
interface JournalRow {
  readonly transaction_id: string
  readonly account: string
  readonly asset: string
  readonly units: string
  readonly debit_usd: string | null
  readonly credit_usd: string | null
}

const signOf = (row: JournalRow): bigint => (row.debit_usd === null || row.debit_usd === "" ? -1n : 1n)

/** Every group of entries sums to zero, in each asset and in dollars; every balance is the sum of its postings. */
const judgeBooks = Effect.fnUntraced(function*({ get, query, shop }: Reader) {
  const from = shop.startedAt - 86_400
  const rows: ReadonlyArray<JournalRow> = yield* get(
    `/api/v1/exports/journal?format=json&from=${from}&to=${from + spanSeconds}`
  )
  const faults: Array<string> = []
  const groups = new Map<string, bigint>()
  const units = new Map<string, bigint>()
  const usd = new Map<string, bigint>()
  for (const row of rows) {
    const sign = signOf(row)
    const millis = sign * (millisOf(row.debit_usd ?? "") + millisOf(row.credit_usd ?? ""))
    add(groups, `${row.transaction_id} in ${row.asset}`, sign * BigInt(row.units))
    add(groups, `${row.transaction_id} in dollars`, millis)
    add(units, `${row.account} ${row.asset}`, sign * BigInt(row.units))
    add(usd, `${row.account} ${row.asset}`, millis)
  }
  for (const [group, sum] of groups) if (sum !== 0n) faults.push(`the group ${group} sums to ${sum}`)
  const balances = yield* query(
    `SELECT account || ' ' || asset AS name, units::text, usd_millis::text FROM account_balances WHERE merchant_id = ${shop.id}`
  )
  for (const { name, units: held, usd_millis: worth } of balances) {
    const [posted, value] = [units.get(name) ?? 0n, usd.get(name) ?? 0n]
    if (posted !== BigInt(held) || value !== BigInt(worth)) {
      faults.push(`${name} holds ${held} ($${worth}), its postings are ${posted} ($${value})`)
    }
    units.delete(name)
  }
  for (const [name, sum] of units) if (sum !== 0n) faults.push(`${name} has postings of ${sum} and no balance`)
  return { faults, units: new Map([...units, ...balances.map(({ name, units }) => [name, BigInt(units)] as const)]) }
})

/** The money that a refund gives back: a payment, or what an exception without an invoice is about. */
interface Origin {
  readonly id: string
  readonly asset: string
  readonly decimals: number
  readonly received: bigint
}

/** Of each refund; one that is of nothing is not there. */
const originsOf = (
  refunds: ReadonlyArray<any>,
  payments: ReadonlyMap<string, any>,
  exceptions: ReadonlyArray<any>
): ReadonlyMap<string, Origin> => {
  const exceptionById = new Map(exceptions.map((each) => [each.id, each]))
  return new Map(refunds.flatMap((refund): ReadonlyArray<readonly [string, Origin]> => {
    const payment = payments.get(refund.invoice_payment_id)
    const exception = refund.invoice_id === null ? exceptionById.get(refund.exception_id) : undefined
    const { id, network } = payment ?? exception ?? {}
    const [token, amount] = payment === undefined
      ? [exception?.token, exception?.token_amount]
      : [payment.metadata.token, payment.payer_amount_token]
    if (token == null) return []
    const { address, decimals } = token
    return [[refund.id, {
      id,
      asset: `${network}:${address ?? "native"}`,
      decimals,
      received: unitsOf(amount, decimals)
    }]]
  }))
}

/** What is set apart for refunds is what is on its way back, to the base unit. */
const judgePayable = (
  units: ReadonlyMap<string, bigint>,
  refunds: ReadonlyArray<any>,
  origins: ReadonlyMap<string, Origin>
) => {
  const expected = new Map<string, bigint>()
  for (const refund of refunds) {
    const isLost = refund.status === "failed" && refund.failure_code === "payment_reverted"
    const origin = origins.get(refund.id)
    if (["succeeded", "canceled", "expired"].includes(refund.status) || isLost || origin === undefined) continue
    add(expected, origin.asset, unitsOf(refund.token_amount, origin.decimals))
  }
  const booked = new Map<string, bigint>()
  for (const [name, sum] of units) {
    if (name.startsWith("refund_payable ")) add(booked, name.slice(name.indexOf(" ") + 1), -sum)
  }
  return [...new Set([...expected.keys(), ...booked.keys()])].flatMap((asset) => {
    const [open, ledger] = [expected.get(asset) ?? 0n, booked.get(asset) ?? 0n]
    return open === ledger ? [] : [`${asset}: ${open} is on its way back, the books set ${ledger} apart`]
  })
}

const isSettledAccount = (name: string): boolean => name.startsWith("chain:")

/** Units that a refund sent: what was given back less its fee, which is rounded up to a unit. */
const sentOf = (refund: any, decimals: number): bigint => {
  const units = unitsOf(refund.token_amount, decimals)
  const [fee, amount] = [BigInt(refund.fee), BigInt(refund.amount)]
  return amount === 0n ? units : units - (fee * units + amount - 1n) / amount
}

/** For each asset: what the chain has of what was sent, less what went out by hand and by refunds, is in the books. */
const judgeChain = (
  shop: MoneyShop,
  units: ReadonlyMap<string, bigint>,
  refunds: ReadonlyArray<any>,
  origins: ReadonlyMap<string, Origin>
) => {
  const expected = new Map<string, bigint>()
  for (const { asset, isOnChain, units } of [...shop.unmatched, ...shop.invoices.flatMap(({ sent }) => sent)]) {
    if (isOnChain) add(expected, asset, units)
  }
  for (const [asset, moved] of shop.adjusted) add(expected, asset, moved)
  for (const refund of refunds.filter(({ status }) => status === "succeeded")) {
    const origin = origins.get(refund.id)
    if (origin !== undefined) add(expected, origin.asset, -sentOf(refund, origin.decimals))
  }
  const booked = new Map<string, bigint>()
  for (const [name, sum] of units) if (isSettledAccount(name)) add(booked, name.slice(name.indexOf(" ") + 1), sum)
  return [...new Set([...expected.keys(), ...booked.keys()])].flatMap((asset) => {
    const [chain, ledger] = [expected.get(asset) ?? 0n, booked.get(asset) ?? 0n]
    return chain === ledger ? [] : [`${asset}: the chain has ${chain}, the books have ${ledger}`]
  })
}

/** Refunds of the same money that are not given up never come to more than it brought. */
const judgeRefunds = (shop: MoneyShop, refunds: ReadonlyArray<any>, origins: ReadonlyMap<string, Origin>) => {
  const faults: Array<string> = []
  const given = new Map<string, bigint>()
  for (const refund of refunds) {
    const origin = origins.get(refund.id)
    if (origin === undefined) {
      faults.push(`the refund ${refund.id} is of no money`)
      continue
    }
    if (refund.status === "succeeded" && shop.refunds.get(refund.id)?.isSent !== true) {
      faults.push(`the refund ${refund.id} was paid, and nobody sent it`)
    }
    if (["canceled", "expired"].includes(refund.status) || refund.failure_code === "payment_reverted") continue
    add(given, origin.id, unitsOf(refund.token_amount, origin.decimals))
  }
  for (const { id, received } of new Map([...origins.values()].map((each) => [each.id, each])).values()) {
    const units = given.get(id) ?? 0n
    if (units > received) faults.push(`${id} brought ${received}, and ${units} go back`)
  }
  for (const id of shop.refunds.keys()) {
    if (!refunds.some((refund) => refund.id === id)) faults.push(`the refund ${id} was answered and lost`)
  }
  return faults
}

/** An invoice knows which of its refunds are on their way, and with how much. */
const judgeOpenRefunds = Effect.fnUntraced(function*({ query, shop }: Reader) {
  const open = yield* query(`SELECT invoice_id || ' ' || id || ' ' || amount || ' '
      || (status = 'processing' AND tx_hash IS NOT NULL)::text AS name FROM refunds
    WHERE merchant_id = ${shop.id} AND invoice_id IS NOT NULL
      AND status NOT IN ('succeeded', 'canceled', 'expired') AND amount > 0`)
  const kept = yield* query(
    `SELECT i.id || ' ' || (r ->> 'id') || ' ' || (r ->> 'amount') || ' ' || (r ->> 'isSent') AS name
    FROM invoices i, json_array_elements(i.open_refunds) r WHERE i.merchant_id = ${shop.id}`
  )
  const [expected, found] = [new Set(open.map(({ name }) => name)), new Set(kept.map(({ name }) => name))]
  return [
    ...[...expected].filter((name) => !found.has(name)).map((name) => `the refund ${name} is unknown to its invoice`),
    ...[...found].filter((name) => !expected.has(name)).map((name) =>
      `the refund ${name} is not so, and its invoice has it`
    )
  ]
})

const isTooMuch = ({ type }: any): boolean => type === "overpaid" || type === "duplicate_payment"

/** A tolerance of the shops: no more than this opens nothing. */
const mostTolerated = 1_000n

/**
 * What is asked of money beyond an invoice's amount is never more than there is: what counts, less the amount, less
 * what goes back. Where nothing of it was kept by a decision, it is all that there is.
 */
const judgeExcess = (
  invoices: ReadonlyArray<any>,
  payments: ReadonlyMap<string, any>,
  refunds: ReadonlyArray<any>,
  exceptions: ReadonlyArray<any>
) =>
  invoices.flatMap(({ amount, invoice_id: id }) => {
    const own = [...payments.values()].filter((payment) => payment.invoice_id === id)
    const isCounted = ({ status }: any) => status === "confirmed" || status === "underpaid"
    const counted = new Set(own.filter(isCounted).map((payment) => payment.id))
    const sum = (all: ReadonlyArray<any>) => all.reduce((total, each) => total + BigInt(each.amount), 0n)
    const standing = refunds.filter(({ status }) => status !== "canceled" && status !== "expired")
    const back = sum(standing.filter((refund) => counted.has(refund.invoice_payment_id)))
    const there = sum(own.filter(isCounted)) - BigInt(amount) - back
    const about = exceptions.filter((each) => each.invoice_id === id && isTooMuch(each))
    const waiting = sum(about.filter(({ status }) => status === "open"))
    const most = there > 0n ? there : 0n
    if (waiting > most) return [`of ${id} ${most} is too much, and ${waiting} waits for a decision`]
    const isKept = about.some(({ resolution }) => resolution !== null && resolution.action !== "refund")
    const isLost = standing.some((refund) =>
      refund.invoice_id === id && refund.status === "succeeded" && !counted.has(refund.invoice_payment_id)
    )
    return isKept || isLost || most - waiting <= mostTolerated
      ? []
      : [`of ${id} ${most} is too much, and only ${waiting} waits for a decision`]
  })

/** The totals of a merchant's invoices are those of the invoices themselves, status by status. */
const judgeTotals = Effect.fnUntraced(function*({ get }: Reader, invoices: ReadonlyArray<any>) {
  const { totals } = yield* get("/api/v1/invoices/totals")
  return ["all", "paid", "unpaid", "underpaid", "expired", "canceled"].flatMap((status) => {
    const own = invoices.filter((invoice) => status === "all" || invoice.status === status)
    const expected = [
      own.length,
      own.reduce((sum, { amount }) => sum + amount, 0),
      own.reduce((sum, { amount_paid: paid }) => sum + paid, 0)
    ]
    const { amount, amount_paid: paid, count } = totals[status]
    return equal(expected, [count, amount, paid]) ? [] : [`${status}: totals ${[count, amount, paid]}, not ${expected}`]
  })
})

const equal = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Fields of an open exception that follow its payments without an event of their own. */
const following = ["amount", "amount_decimal", "evidence", "allowed_actions"]

const without = (object: Readonly<Record<string, unknown>>, names: ReadonlyArray<string>) =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))

/** Each event of an object undone by its previous attributes is the object of the event before it. */
const judgeEvents = (events: ReadonlyArray<any>) => {
  const faults: Array<string> = []
  for (const [id, told] of Map.groupBy(events, ({ data }) => data.object.id)) {
    const [first, ...others] = told
    const hidden = first.data.object.object === "exception" ? following : []
    let state = without(first.data.object, hidden)
    for (const { data: { object, previous_attributes: previous }, id: event, type } of others) {
      const seen = without(object, hidden)
      // Several events tell of one change: the first of them says what it was.
      if (equal(seen, state) && Object.keys(previous).length === 0) continue
      const before = Object.fromEntries(
        Object.keys(seen).map((key) => [key, key in previous ? previous[key] : seen[key]])
      )
      if (!equal(before, state) && !equal(seen, state)) {
        faults.push(`${event} (${type} of ${id}) undone is ${difference(before, state)}`)
      }
      state = seen
    }
  }
  return faults
}

/** Fields in which two states differ. */
const difference = (one: Readonly<Record<string, unknown>>, other: Readonly<Record<string, unknown>>): string =>
  [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((key) => !equal(one[key], other[key]))
    .map((key) => `${key} ${JSON.stringify(one[key])} and not ${JSON.stringify(other[key])}`).join(", ")

/** A decision stands, but for a refund that was given up: then the exception asks again. */
const judgeDecisions = ({ decisions }: MoneyShop, exceptions: ReadonlyArray<any>) => {
  const byId = new Map(exceptions.map((each) => [each.id, each]))
  return [...decisions].flatMap(([id, action]) => {
    const found = byId.get(id)
    if (found === undefined) return [`the exception ${id} was decided on and is lost`]
    if (found.resolution?.action === action && found.status === "resolved") return []
    return action === "refund" ? [] : [`the exception ${id} was decided by ${action} and is ${found.status}`]
  })
}

/** The bytes of a closed month are those of its closing, and its hash is that of the month before and the report. */
const judgeClosed = Effect.fnUntraced(function*(deployment: MoneyDeployment, { closed, key }: MoneyShop) {
  const faults: Array<string> = []
  for (const [period, text] of closed) {
    const { text: now } = yield* askUntilAnswered(deployment, rollOf(1), key, `/api/v1/reconciliation/closed/${period}`)
    if (now !== text) faults.push(`the closed month ${period} has changed`)
    const { hash, previous_hash: previous } = JSON.parse(text).data
    const start = text.indexOf("\"report\":") + "\"report\":".length
    const found = [1, 2].map((end) =>
      createHash("sha256").update(`${previous}\n${text.slice(start, text.length - end)}`).digest("hex")
    )
    if (!found.includes(hash)) faults.push(`the hash of ${period} is not that of its report`)
  }
  return faults
})

/** What the service itself says of the month: nothing is unexplained. */
const judgeReport = Effect.fnUntraced(function*({ get, shop }: Reader) {
  const from = shop.startedAt - 86_400
  const report = yield* get(`/api/v1/reconciliation?from=${from}&to=${from + spanSeconds}`)
  return report.differences.filter(({ is_explained }: any) => !is_explained)
    .map((each: any) => `not explained: ${JSON.stringify(each)}`)
})

const judgeOnce = Effect.fnUntraced(function*(deployment: MoneyDeployment, reader: Reader) {
  const { shop } = reader
  const payments = new Map<string, any>()
  const invoices: Array<any> = []
  for (const { id } of shop.invoices) {
    invoices.push(yield* reader.get(`/api/v1/invoices/${id}`))
    const found: ReadonlyArray<any> = yield* reader.get(`/api/v1/invoices/${id}/payments?limit=100`)
    for (const payment of found) payments.set(payment.id, payment)
  }
  const refunds = yield* all(reader, "/api/v1/refunds")
  const exceptions = yield* all(reader, "/api/v1/exceptions")
  const events = [
    ...yield* all(reader, "/api/v1/events"),
    ...yield* all(reader, "/api/v1/events?type=exception.*")
  ]
  const origins = originsOf(refunds, payments, exceptions)
  const books = yield* judgeBooks(reader)
  const checked = yield* deployment.check(shop.id)
  return [
    ...books.faults,
    ...checked.map((each) => `ledger.check: ${JSON.stringify(each)}`),
    ...judgeChain(shop, books.units, refunds, origins),
    ...judgeRefunds(shop, refunds, origins),
    ...yield* judgeOpenRefunds(reader),
    ...judgePayable(books.units, refunds, origins),
    ...judgeExcess(invoices, payments, refunds, exceptions),
    ...judgeEvents(events),
    ...yield* judgeTotals(reader, invoices),
    ...judgeDecisions(shop, exceptions),
    ...yield* judgeClosed(deployment, shop),
    ...yield* judgeReport(reader)
  ]
})

/** What an instance still had to do is done by then. */
const patienceMillis = 15_000
const againMillis = 500

/** Adds what is wrong and stays wrong to the faults of the history. */
export const judge = Effect.fnUntraced(function*(deployment: MoneyDeployment, shop: MoneyShop) {
  const roll = rollOf(shop.id)
  const reader: Reader = {
    shop,
    get: (path) => read(deployment, shop, roll, path),
    query: deployment.query
  }
  const end = Date.now() + patienceMillis
  for (;;) {
    const faults = yield* judgeOnce(deployment, reader)
    if (faults.length === 0) return
    if (Date.now() > end) return void shop.faults.push(...faults)
    yield* Effect.sleep(againMillis)
  }
})
