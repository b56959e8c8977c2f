/**
 * What must hold when everything is well again: judged from the chain, from what callers and receivers were told, and
 * from the tables, by sums that are written here once more.
 */
import { maximumAttempts } from "../../../runtime/webhooks/RetryPolicy.ts"
import type { Violation } from "../Simulation.ts"
import { eurc, type ModelChain, unlisted } from "./Chain.ts"
import type { Arrival } from "./Deployment.ts"
import type { Shop } from "./Caller.ts"
import { merchantId } from "./Shop.ts"

export const promises = {
  answers: "no call is answered with a fault of the service",
  acknowledged: "what was acknowledged is there, once, and a repeated call has the same answer",
  address: "no address is given to two invoices, and an invoice keeps its own",
  credited: "a transfer that is final is credited once, or waits for a decision with its amount",
  real: "nothing is counted that was not on the chain as deep as it must be",
  sum: "an invoice counts what its payments come to, and goes from state to state as it may",
  events: "each event undone is the event before it, and the last one is the state",
  delivered: "each event reaches each endpoint, with the same bytes",
  order: "an endpoint in order gets an event after those before it",
  decided: "what was decided stands, and no more goes back than came",
  ledger: "each account is the sum of its postings, and the wallet's what the chain has"
} as const

type Row = Readonly<Record<string, any>>

/** What a run left. */
export interface Remains {
  readonly chain: ModelChain
  /** Hashes of transactions whose transfers a node has left out of an answer. */
  readonly leftOut: ReadonlySet<string>
  readonly shop: Shop
  readonly arrivals: ReadonlyArray<Arrival>
  readonly transfers: ReadonlyArray<Row>
  readonly payments: ReadonlyArray<Row>
  readonly invoices: ReadonlyArray<Row>
  readonly exceptions: ReadonlyArray<Row>
  readonly targets: ReadonlyArray<Row>
  readonly events: ReadonlyArray<Row>
  readonly deliveries: ReadonlyArray<Row>
  readonly balances: ReadonlyArray<Row>
  readonly entries: ReadonlyArray<Row>
  readonly refunds: ReadonlyArray<Row>
  /** Invoices as the service answers for them, by id. */
  readonly answered: ReadonlyMap<string, Row>
}

/** Blocks that a payment waits for under the policy `standard` on this network. */
const requiredDepth = 10

const isCounted = (status: unknown): boolean => status === "confirmed" || status === "underpaid"

const short = (text: unknown): string => String(text).slice(0, 18)

const judgeAnswers = ({ shop }: Remains): ReadonlyArray<Violation> =>
  shop.surprises.map((seen) => ({ promise: promises.answers, seen }))

const judgeAcknowledged = ({ invoices, shop }: Remains): ReadonlyArray<Violation> =>
  shop.invoices.flatMap(({ body, ids, name }) => {
    if (ids.size > 1) return [{ promise: promises.acknowledged, seen: `${name} is ${[...ids].join(" and ")}` }]
    return [...ids].flatMap((id) => {
      const own = invoices.filter((row) => row["metadata"].index === (body["metadata"] as any).index)
      const found = own.find((row) => row["id"] === id)
      const isRight = found !== undefined && Number(found["amount"]) === Number(body["amount_usd"]) * 1_000
      return isRight && own.length === 1 ? [] : [{
        promise: promises.acknowledged,
        seen: `${name} was answered as ${id}, and there are ${own.map((row) => `${row["id"]} of ${row["amount"]}`)}`
      }]
    })
  })

const judgeAddresses = ({ shop, targets }: Remains): ReadonlyArray<Violation> => {
  const shown = shop.invoices.flatMap(({ addresses, ids }) =>
    [...addresses].map((address) => ({ address, id: [...ids][0]! }))
  )
  const given = targets.map((row) => ({ address: String(row["match_key"]), id: String(row["invoice_id"]) }))
  const owners = Map.groupBy([...shown, ...given], ({ address }) => address)
  return [
    ...[...owners].flatMap(([address, all]) => {
      const ids = new Set(all.map(({ id }) => id))
      return ids.size === 1 ? [] : [{ promise: promises.address, seen: `${address} is of ${[...ids].join(" and ")}` }]
    }),
    ...shown.filter((one) => !given.some(({ address, id }) => address === one.address && id === one.id)).map((one) => ({
      promise: promises.address,
      seen: `${one.address} was shown for ${one.id}, and the service does not know it`
    }))
  ]
}

/**
 * Transfers to addresses that were given out and that the service records. Tokens on no list are worth nothing to it,
 * and blocks are not searched for them again: one that a node left out may be missing, until it is reported. Where the
 * journal has it, it is judged as all others are.
 */
const expectedTransfers = ({ chain, leftOut, targets, transfers }: Remains) => {
  const ours = new Set(targets.map((row) => String(row["match_key"])))
  const journal = new Set(transfers.map((row) => `${row["tx_hash"]}/${row["tx_index"]}`))
  return chain.transfers().filter(({ amount, from, hash, index, to, token }) => {
    const mayBeMissing = token === unlisted && leftOut.has(hash) && !journal.has(`${hash}/${index}`)
    return ours.has(to) && from !== to && amount > 0n && !mayBeMissing
  })
}

const sumOf = (amounts: ReadonlyArray<unknown>): bigint =>
  amounts.reduce<bigint>((sum, each) => sum + BigInt(String(each)), 0n)

/**
 * Coins leave no log that another node could be searched for, so what a node hid of them is credited by the address's
 * balance. Whether all that came to an address in coins is credited, by whatever way.
 */
const areCoinsCredited = (remains: Remains, to: string): boolean => {
  const { payments, targets, transfers } = remains
  const came = sumOf(
    expectedTransfers(remains).filter((each) => each.to === to && each.token === null).map(({ amount }) => amount)
  )
  const isDone = (row: Row) => row["status"] === "confirmed" && row["handled"] === "confirmed"
  const entries = transfers.filter((row) => row["match_key"] === to && row["token_address"] === null && isDone(row))
  const invoiceId = targets.find((row) => row["match_key"] === to)!["invoice_id"]
  const own = payments.filter((row) =>
    row["invoice_id"] === invoiceId && row["metadata"].token?.symbol === "ETH" && row["status"] !== "reverted"
  )
  return sumOf(entries.map((row) => row["amount"])) === came && sumOf(own.map((row) => row["units"])) === came
}

const isOfBalance = (row: Row): boolean => String(row["tx_hash"]).startsWith("balance:")

const judgeCredited = (remains: Remains): ReadonlyArray<Violation> => {
  const { exceptions, payments, targets, transfers } = remains
  const withBalance = new Set(transfers.filter(isOfBalance).map((row) => String(row["match_key"])))
  return expectedTransfers(remains).flatMap((expected) => {
    if (expected.token === null && withBalance.has(expected.to)) {
      return areCoinsCredited(remains, expected.to)
        ? []
        : [{ promise: promises.credited, seen: `the coins of ${expected.to} are not credited as they came` }]
    }
    const { amount, hash, index, to, token } = expected
    const name = `${short(hash)}/${index} of ${amount} ${token === null ? "coins" : short(token)} to ${short(to)}`
    const wrong = (what: string) => [{ promise: promises.credited, seen: `${name}: ${what}` }]
    const entries = transfers.filter((row) =>
      row["tx_hash"] === hash && row["tx_index"] === index && row["match_key"] === to
    )
    if (entries.length !== 1) return wrong(`the journal has it ${entries.length} times`)
    const [entry] = entries as [Row]
    if (entry["status"] !== "confirmed" || entry["handled"] !== "confirmed") {
      return wrong(`the journal has it as ${entry["status"]}, handled as ${entry["handled"]}`)
    }
    if (BigInt(entry["amount"]) !== amount) return wrong(`the journal has ${entry["amount"]}`)
    const invoiceId = targets.find((row) => row["match_key"] === to)!["invoice_id"]
    const own = payments.filter((row) => row["tx_hash"] === hash && row["invoice_id"] === invoiceId)
    const same = own.filter((row) => BigInt(row["units"]) === amount)
    const about = exceptions.filter((row) => row["evidence"].transfer_id === entry["id"])
    if (same.length + about.length !== 1) {
      return wrong(`there are ${same.length} payments and ${about.length} exceptions of it`)
    }
    const [payment] = same
    if (payment === undefined) return []
    if (isCounted(payment["status"])) {
      const isAccepted = exceptions.some((row) =>
        row["invoice_payment_id"] === payment["id"] && row["resolution"]?.action === "accept"
      )
      return (token === eurc || token === unlisted) && !isAccepted
        ? wrong("it counts, though its token is not accepted")
        : []
    }
    const isOpen = exceptions.some((row) => row["invoice_payment_id"] === payment["id"])
    return payment["status"] === "rejected" && isOpen
      ? []
      : wrong(`its payment is ${payment["status"]}, ${isOpen ? "with" : "without"} an exception`)
  })
}

const judgeReal = (remains: Remains): ReadonlyArray<Violation> => {
  const { chain, events, payments } = remains
  const onChain = new Set(expectedTransfers(remains).map(({ hash }) => hash))
  return [
    ...events.flatMap(({ data }) => {
      const { object } = JSON.parse(data)
      // What is credited by a balance names no transaction: its sum is judged.
      if (object.object !== "invoice_payment" || !isCounted(object.status) || object.payer_tx_hash === null) return []
      const depth = chain.depths.get(object.payer_tx_hash) ?? 0
      return depth >= requiredDepth
        ? []
        : [{ promise: promises.real, seen: `${short(object.payer_tx_hash)} counted, and was ${depth} deep at most` }]
    }),
    ...payments.filter((row) => row["status"] !== "reverted" && row["tx_hash"] !== null && !onChain.has(row["tx_hash"]))
      .map((row) => ({
        promise: promises.real,
        seen: `${short(row["tx_hash"])} is ${row["status"]}, and it is not on the chain`
      }))
  ]
}

const judgeSums = ({ answered, invoices, payments }: Remains): ReadonlyArray<Violation> =>
  invoices.flatMap((row) => {
    const counted = payments.filter((each) => each["invoice_id"] === row["id"] && isCounted(each["status"]))
    const sum = counted.reduce((total, each) => total + Number(each["amount"]), 0)
    const policy = row["policy"]
    const isEnough = sum >= Number(row["amount"]) - Math.max(policy.tolerance, Number(row["accepted_shortfall"]))
    const states = sum === 0 ? ["unpaid", "expired"] : [isEnough ? "paid" : "underpaid"]
    const seen = `${row["id"]} of ${row["amount"]} is ${row["status"]} with ${row["amount_paid"]}: its payments are ` +
      (counted.map((each) => `${each["amount"]} ${each["status"]}`).join(", ") || "none")
    const isRight = Number(row["amount_paid"]) === sum && states.includes(row["status"]) &&
      counted.every((each) => each["status"] === (isEnough ? "confirmed" : "underpaid"))
    const told = answered.get(row["id"])
    const isTold = told !== undefined && told["status"] === row["status"] && told["amount_paid"] === sum
    return [
      ...(isRight ? [] : [{ promise: promises.sum, seen }]),
      ...(isTold ? [] : [{ promise: promises.sum, seen: `${seen}; the API says ${JSON.stringify(told)}` }])
    ]
  })

/** Where an invoice may go from a state. A payment that leaves the chain takes it back. */
const nextStates: Readonly<Record<string, ReadonlyArray<string>>> = {
  unpaid: ["underpaid", "paid", "expired", "canceled"],
  underpaid: ["paid", "unpaid", "expired"],
  paid: ["underpaid", "unpaid", "expired"],
  expired: ["underpaid", "paid"],
  canceled: []
}

const equal = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

const difference = (one: Row, other: Row): string =>
  [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((key) => !equal(one[key], other[key]))
    .map((key) => `${key} ${JSON.stringify(one[key])} and not ${JSON.stringify(other[key])}`).join(", ")

/** Fields of an open exception that follow its payments without an event of their own. */
const following = ["amount", "amount_decimal", "evidence", "allowed_actions", "token", "token_amount"]

const judgeEvents = ({ answered, events }: Remains): ReadonlyArray<Violation> => {
  const all = events.map(({ data, ms, seq, type }) => ({ name: `evt_${ms}-${seq} (${type})`, ...JSON.parse(data) }))
  const found: Array<Violation> = []
  for (const [id, told] of Map.groupBy(all, ({ object }) => String(object.id))) {
    const hidden = told[0]!.object.object === "exception" ? following : []
    const shown = (object: Row): Row =>
      Object.fromEntries(Object.entries(object).filter(([key]) => !hidden.includes(key)))
    let state: Row = shown(told[0]!.object)
    for (const { name, object, previous_attributes: previous } of told.slice(1)) {
      const seen = shown(object)
      // Several events tell of one change: the first of them says what it was.
      if (equal(seen, state)) continue
      const before = Object.fromEntries(
        Object.keys(seen).map((key) => [key, key in previous ? previous[key] : seen[key]])
      )
      if (!equal(before, state)) {
        found.push({ promise: promises.events, seen: `${name} of ${id} undone is ${difference(before, state)}` })
      }
      if (seen["object"] === "invoice" && seen["status"] !== state["status"]) {
        if (nextStates[state["status"]]?.includes(seen["status"]) !== true) {
          found.push({
            promise: promises.sum,
            seen: `${name}: ${id} goes from ${state["status"]} to ${seen["status"]}`
          })
        }
      }
      state = seen
    }
    const now = answered.get(id)
    if (now !== undefined && !equal(now, state)) {
      found.push({ promise: promises.events, seen: `the last event of ${id} differs: ${difference(state, now)}` })
    }
  }
  return found
}

const positionOf = (eventId: string): readonly [bigint, bigint] => {
  const [ms, seq] = eventId.replace("evt_", "").split("-").map(BigInt)
  return [ms!, seq!]
}

const isBefore = (one: string, other: string): boolean => {
  const [a, b] = [positionOf(one), positionOf(other)]
  return a[0] < b[0] || a[0] === b[0] && a[1] < b[1]
}

/** Types that an endpoint only gets that names them. */
const isUnasked = (type: string): boolean => /^(?:exception|balance_transaction|batch)\./.test(type)

/** Tried as often as is promised. */
const isGivenUpOn = (row: Row): boolean => row["status"] === "failed" && row["attempt"] >= maximumAttempts

const judgeDeliveries = ({ arrivals, deliveries, events, shop }: Remains): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  for (const [url, endpointId] of shop.endpoints) {
    const own = arrivals.filter((arrival) => arrival.url === url)
    const givenUp = new Set<string>()
    for (const [eventId, same] of Map.groupBy(own, (arrival) => arrival.eventId)) {
      const bodies = new Set(same.map(({ body }) => body))
      if (bodies.size > 1) {
        found.push({ promise: promises.delivered, seen: `${eventId} has ${bodies.size} bodies at ${url}` })
      }
    }
    for (const row of deliveries.filter((each) => each["endpoint_id"] === endpointId)) {
      const eventId = `evt_${row["event_ms"]}-${row["event_seq"]}`
      const isArrived = own.some((arrival) => arrival.eventId === eventId && arrival.status === 200)
      if (isGivenUpOn(row)) givenUp.add(eventId)
      else if (row["status"] !== "succeeded" || !isArrived) {
        found.push({
          promise: promises.delivered,
          seen: `${eventId} at ${url} is ${row["status"]} after ${row["attempt"]}, ${isArrived ? "" : "not "}answered`
        })
      }
    }
    const wanted = events.filter(({ type }) => !isUnasked(type)).map(({ ms, seq }) => `evt_${ms}-${seq}`)
    const first = deliveries.filter((each) => each["endpoint_id"] === endpointId)
      .map((row) => `evt_${row["event_ms"]}-${row["event_seq"]}`).toSorted((a, b) => isBefore(a, b) ? -1 : 1)[0]
    for (const eventId of wanted.filter((each) => first !== undefined && !isBefore(each, first))) {
      if (!givenUp.has(eventId) && !own.some((arrival) => arrival.eventId === eventId && arrival.status === 200)) {
        found.push({ promise: promises.delivered, seen: `${eventId} did not reach ${url}` })
      }
    }
    if (!url.endsWith("/ordered")) continue
    const ended = new Set<string>()
    for (const { eventId, status } of own) {
      const open = own.find((each) =>
        isBefore(each.eventId, eventId) && !ended.has(each.eventId) && !givenUp.has(each.eventId)
      )
      if (open !== undefined) {
        found.push({ promise: promises.order, seen: `${eventId} came before ${open.eventId} had ended` })
      }
      if (status === 200) ended.add(eventId)
    }
  }
  return found
}

/** Refunds that will never be paid. */
const isGivenUp = (status: unknown): boolean => ["canceled", "expired", "failed"].includes(String(status))

const judgeDecisions = ({ exceptions, payments, refunds, shop }: Remains): ReadonlyArray<Violation> => {
  const wrong = (seen: string) => ({ promise: promises.decided, seen })
  const isReverted = (row: Row) =>
    payments.some((each) => each["id"] === row["invoice_payment_id"] && each["status"] === "reverted")
  return [
    ...[...shop.decisions].flatMap(([id, action]) => {
      const row = exceptions.find((each) => each["id"] === id)
      if (row === undefined) return [wrong(`the exception ${id} was decided on and is not there`)]
      // A refund that was given up asks again, and so does money that has left the chain.
      if (row["status"] === "resolved" && row["resolution"]?.action === action) return []
      return action === "refund" || isReverted(row)
        ? []
        : [wrong(`${row["type"]} ${id} was decided by ${action} and is ${row["status"]}`)]
    }),
    ...[...shop.refunds].filter((id) => !refunds.some((row) => row["id"] === id)).map((id) =>
      wrong(`the refund ${id} was answered and is not there`)
    ),
    ...payments.flatMap((payment) => {
      const back = refunds.filter((row) => row["payment_id"] === payment["id"] && !isGivenUp(row["status"]))
        .reduce((sum, row) => sum + BigInt(row["token_amount"] ?? 0), 0n)
      return back <= BigInt(payment["units"])
        ? []
        : [wrong(`${payment["id"]} brought ${payment["units"]}, and ${back} go back`)]
    })
  ]
}

const judgeLedger = (remains: Remains): ReadonlyArray<Violation> => {
  const { balances, entries } = remains
  const sums = new Map<string, bigint>()
  const add = (name: string, units: bigint) => sums.set(name, (sums.get(name) ?? 0n) + units)
  for (const { asset, credit, debit, units, usd_millis: usd } of entries) {
    add(`${debit} ${asset}`, BigInt(units))
    add(`${credit} ${asset}`, -BigInt(units))
    add(`${debit} ${asset} in dollars`, BigInt(usd))
    add(`${credit} ${asset} in dollars`, -BigInt(usd))
  }
  const held = new Map<string, bigint>()
  for (const { account, asset, units, usd_millis: usd } of balances) {
    held.set(`${account} ${asset}`, BigInt(units))
    held.set(`${account} ${asset} in dollars`, BigInt(usd))
  }
  const found: Array<Violation> = []
  for (const name of new Set([...sums.keys(), ...held.keys()])) {
    const [posted, has] = [sums.get(name) ?? 0n, held.get(name) ?? 0n]
    if (posted !== has) found.push({ promise: promises.ledger, seen: `${name} has ${has}, its postings are ${posted}` })
  }
  const booked = new Map<string, bigint>()
  for (const [name, units] of held) {
    if (!name.startsWith("chain:") || name.endsWith("in dollars")) continue
    const asset = name.slice(name.indexOf(" ") + 1).toLowerCase()
    booked.set(asset, (booked.get(asset) ?? 0n) + units)
  }
  const came = new Map<string, bigint>()
  for (const { amount, token } of expectedTransfers(remains)) {
    const asset = `base:${token ?? "native"}`.toLowerCase()
    came.set(asset, (came.get(asset) ?? 0n) + amount)
  }
  for (const asset of new Set([...booked.keys(), ...came.keys()])) {
    const [books, chain] = [booked.get(asset) ?? 0n, came.get(asset) ?? 0n]
    if (books !== chain) {
      found.push({ promise: promises.ledger, seen: `${asset}: the chain has ${chain}, the books have ${books}` })
    }
  }
  return found
}

export const judge = (remains: Remains): ReadonlyArray<Violation> => [
  ...judgeAnswers(remains),
  ...judgeAcknowledged(remains),
  ...judgeAddresses(remains),
  ...judgeCredited(remains),
  ...judgeReal(remains),
  ...judgeSums(remains),
  ...judgeEvents(remains),
  ...judgeDeliveries(remains),
  ...judgeDecisions(remains),
  ...judgeLedger(remains)
]

/** Statements that read what a run left. */
export const tables = {
  transfers: "select * from transfers order by id",
  payments: `select * from invoice_payments where merchant_id = ${merchantId} order by id`,
  invoices: `select * from invoices where merchant_id = ${merchantId} order by id`,
  exceptions: `select * from exceptions where merchant_id = ${merchantId} order by id`,
  targets: "select * from receive_targets order by id",
  events: `select * from events where merchant_id = ${merchantId} order by ms, seq`,
  deliveries: "select * from webhook_deliveries",
  balances: `select * from account_balances where merchant_id = ${merchantId}`,
  entries: `select * from ledger_entries where merchant_id = ${merchantId}`,
  refunds: `select * from refunds where merchant_id = ${merchantId} order by id`
} as const
