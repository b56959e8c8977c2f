/**
 * Judges a chaos run by the canonical chain, the invoices and what the service said of them, with rules of its own:
 * nothing of the service's code is used. Pure, so that a history can be spoiled by hand and the judge seen to notice.
 *
 * Every fault begins with the promise it breaks:
 *   credit   money counts only when its block is on the canonical chain, as deep as the invoice's policy asks
 *   expiry   an invoice that was paid in a block before its end does not expire (coins that a contract passed on are
 *            known only by a difference of balances at final depth, and may come after the end; what came to an address
 *            that a restored database does not know is nobody's payment, see `lost`)
 *   twice    a transfer counts once
 *   address  an address belongs to one invoice, for ever
 *   lost     a payment to an address that a restored database does not know is kept for an operator
 *   state    in the end every invoice stands as the canonical chain says
 *   delay    a payment does not wait for a node that stands still, while the other one answers
 *   flood    a token that nobody lists makes a few records for each invoice and contract, not one for each log
 */
import { type ChainFact, inactiveToken, strangeToken, type Transfer, usdc } from "./TestChain.ts"

/** An invoice as its client knows it. */
export interface InvoiceFact {
  readonly id: string
  /** usd_millis. */
  readonly amount: number
  /** Epoch seconds. */
  readonly expiresAt: number
  /** Late funds wait for a person, and count for nothing. */
  readonly lateNeedsPerson: boolean
  /** Blocks a payment must be deep, its own counted. */
  readonly requiredDepth: number
  /** In lower case; null: the payor never asked for one. */
  readonly address: string | null
  /** A restored database does not know it. */
  readonly lost: boolean
  /** The service was not told of the restore: it cannot know of an address that nobody has paid to. */
  readonly lostUnannounced: boolean
}

/** An answer that gave a payor an address. `at`: milliseconds of the epoch. */
export interface AddressFact {
  readonly at: number
  readonly invoiceId: string
  readonly address: string
}

/** An event of the API. `at`: the milliseconds in its id. */
export interface EventFact {
  readonly at: number
  readonly type: string
  readonly object: Readonly<Record<string, any>>
  readonly previous: Readonly<Record<string, unknown>>
}

/** An invoice and its payments as the API shows them in the end. */
export interface FinalFact {
  readonly invoice: Readonly<Record<string, any>>
  readonly payments: ReadonlyArray<Readonly<Record<string, any>>>
}

/** An exception that waits for a person, as the database keeps it. */
export interface ExceptionFact {
  readonly type: string
  readonly invoiceId: string | null
  /** The evidence as JSON text. */
  readonly evidence: string
}

export interface History {
  readonly chain: ReadonlyArray<ChainFact>
  readonly invoices: ReadonlyArray<InvoiceFact>
  readonly addresses: ReadonlyArray<AddressFact>
  readonly events: ReadonlyArray<EventFact>
  readonly finals: ReadonlyArray<FinalFact>
  readonly exceptions: ReadonlyArray<ExceptionFact>
  /** Databases that were replaced by an older copy of themselves, made at `backupAt`. Milliseconds of the epoch. */
  readonly restores: ReadonlyArray<{ readonly backupAt: number; readonly at: number }>
  /** When one node stood still for long, and the other one was well. Milliseconds of the epoch. */
  readonly standstills: ReadonlyArray<{ readonly from: number; readonly until: number }>
  /** Milliseconds of the epoch at which the final state was read. */
  readonly endedAt: number
  /** Seconds after its end within which an invoice may still be open: an outage is looked at again so late. */
  readonly expirySlackSeconds: number
}

export interface CheckResult {
  readonly faults: ReadonlyArray<string>
  /** Canonical transfers in accepted tokens to invoices, in the end. */
  readonly payments: number
  /** What they are worth, in usd_millis. */
  readonly worth: number
  readonly reorganisations: number
}

/** Dollars of one ether in a run, and decimals of both tokens that are accepted. */
export const etherDollars = 3500n
const etherUnits = 10n ** 18n
const usdcPerMilli = 1_000n

/** usd_millis an invoice may be short and still be paid: the default setting, at most a tenth of the invoice. */
const shortBy = (amount: number) => Math.min(10, Math.floor(amount / 10))

/** How long the service may still act on a block after it was undone: it reads again before that only by luck. */
const undoneMillis = 8_000

/** What the moment in an event's id and our own look at the chain may differ. */
const clockMillis = 1_500

/**
 * How long a payment may wait for a node that stands still: 15 block times of Base until that is noticed, and once more
 * as long for its depth and a busy machine.
 */
const standstillMillis = 60_000

/** usd_millis from which on two nodes must have a payment's block: the default setting, $1,000. */
const largeMillis = 1_000_000

/** Grace after its end in which a part payment may be completed: the default setting. */
const graceSeconds = 86_400

/** Records of one strange token that an invoice may have: enough for a person to see what happened. */
const strangeRecords = 5

/** usd_millis of a transfer; null: in no token that is accepted. Rounded down, as money received is. */
export const worthOf = ({ amount, token }: Pick<Transfer, "amount" | "token">): number | null => {
  if (token === null) return Number(amount * etherDollars * 1000n / etherUnits)
  return token === usdc.toLowerCase() ? Number(amount / usdcPerMilli) : null
}

/** A transfer in one block: the same one may be in several, one after the other. */
interface Inclusion {
  readonly transfer: Transfer
  readonly height: number
  readonly time: number
  readonly from: number
  /** Infinity: it is there still. */
  readonly until: number
}

interface Chain {
  readonly byAddress: ReadonlyMap<string, ReadonlyArray<Inclusion>>
  readonly heads: ReadonlyArray<{ readonly at: number; readonly height: number }>
}

const counted = (status: unknown): boolean => status === "confirmed" || status === "underpaid"

/** The chain's facts by address, each transfer with the time its block was canonical. */
const chainOf = (facts: ReadonlyArray<ChainFact>): Chain => {
  const heads: Array<{ readonly at: number; readonly height: number }> = []
  const open: Array<Inclusion> = []
  const all: Array<Inclusion> = []
  for (const fact of facts) {
    if (fact._tag === "Undone") {
      for (let place = open.length - 1; place >= 0; place--) {
        if (open[place]!.height <= fact.above) continue
        all.push({ ...open[place]!, until: fact.at })
        open.splice(place, 1)
      }
      heads.push({ at: fact.at, height: fact.above })
    } else {
      const { at, height, time, transfers } = fact
      open.push(...transfers.map((transfer) => ({ transfer, height, time, from: at, until: Infinity })))
      heads.push({ at, height })
    }
  }
  const byAddress = Map.groupBy([...all, ...open], ({ transfer }) => transfer.to)
  return { byAddress, heads }
}

/** The most blocks, its own counted, that were ever on top of an inclusion until then. */
const depthUntil = ({ heads }: Chain, { from, height, until }: Inclusion, at: number): number =>
  heads.reduce(
    (most, head) =>
      head.at >= from && head.at <= at && head.at <= until ? Math.max(most, head.height - height + 1) : most,
    0
  )

/** What came to the address that the invoice has in the end. */
const to = (chain: Chain, invoice: InvoiceFact): ReadonlyArray<Inclusion> =>
  invoice.address === null ? [] : chain.byAddress.get(invoice.address) ?? []

/** What came to any address that was ever given for the invoice: a restored database may have forgotten one. */
const toAny = (chain: Chain, { addresses }: History, invoice: InvoiceFact): ReadonlyArray<Inclusion> =>
  [...new Set(addresses.filter(({ invoiceId }) => invoiceId === invoice.id).map(({ address }) => address))]
    .flatMap((address) => chain.byAddress.get(address) ?? [])

/**
 * What came to an address of the invoice that the database of that moment knew: none was given out after its backup.
 */
const toRemembered = (chain: Chain, { addresses, restores }: History, invoice: InvoiceFact, at: number) =>
  [
    ...new Set(
      addresses.filter((given) =>
        given.invoiceId === invoice.id &&
        (given.address === invoice.address || !restores.some((each) => each.at <= at && each.backupAt <= given.at))
      )
        .map(({ address }) => address)
    )
  ].flatMap((address) => chain.byAddress.get(address) ?? [])

const isMoney = ({ transfer }: Inclusion): boolean => (worthOf(transfer) ?? 0) > 0

const name = (id: string) => id.slice(-6)

/** At the moment a payment begins to count, its transfer is canonical and deep enough. */
const creditFaults = (chain: Chain, history: History, invoices: ReadonlyMap<string, InvoiceFact>): Array<string> =>
  history.events.flatMap(({ at, object, previous, type }) => {
    if (!type.startsWith("invoice_payment.") || !counted(object["status"])) return []
    const before = type.endsWith(".created") ? "none" : previous["status"]
    if (before === undefined || counted(before)) return []
    const invoice = invoices.get(object["invoice_id"])
    if (invoice === undefined) return [`credit: of an invoice that nobody made: ${object["invoice_id"]}`]
    const found = toAny(chain, history, invoice).filter((one) => isMoney(one) && one.from <= at + clockMillis)
    const what = `${name(invoice.id)}: ${object["amount"]} by ${object["payer_tx_hash"] ?? "its balance"}`
    if (object["payer_tx_hash"] === null) {
      const native = found.filter(({ transfer, until }) => transfer.token === null && until + undoneMillis >= at)
      return native.length > 0 ? [] : [`credit: ${what} is not on the canonical chain`]
    }
    const own = found.filter(({ transfer }) =>
      transfer.tx === object["payer_tx_hash"] && worthOf(transfer) === object["amount"]
    )
    if (own.length === 0) return [`credit: ${what} was never on the canonical chain`]
    const live = own.filter(({ until }) => until + undoneMillis >= at)
    if (live.length === 0) return [`credit: ${what} had left the canonical chain`]
    const depth = Math.max(...live.map((one) => depthUntil(chain, one, at + clockMillis)))
    return depth >= invoice.requiredDepth ? [] : [`credit: ${what} was ${depth} deep, not ${invoice.requiredDepth}`]
  })

const expiryFaults = (chain: Chain, history: History, invoices: ReadonlyMap<string, InvoiceFact>): Array<string> =>
  history.events.flatMap(({ at, object, type }) => {
    const invoice = type === "invoice.expired" ? invoices.get(object["id"]) : undefined
    if (invoice === undefined) return []
    if (at < invoice.expiresAt * 1000) return [`expiry: ${name(invoice.id)} expired before its end`]
    const inTime = toRemembered(chain, history, invoice, at).filter((one) =>
      isMoney(one) && !one.transfer.internal && one.time < invoice.expiresAt && one.from <= at && one.until > at
    )
    return inTime.length === 0
      ? []
      : [
        `expiry: ${name(invoice.id)} expired, paid in block ${inTime[0]!.height}, ` +
        `${invoice.expiresAt - inTime[0]!.time} s before its end`
      ]
  })

/** Never more than what ever came. */
const twiceFaults = (chain: Chain, history: History, invoices: ReadonlyMap<string, InvoiceFact>): Array<string> => {
  const over = history.events.flatMap(({ at, object, type }) => {
    const invoice = type.startsWith("invoice.") ? invoices.get(object["id"]) : undefined
    if (invoice === undefined || object["amount_paid"] === 0) return []
    const came = new Map(
      toAny(chain, history, invoice).filter((one) => one.from <= at + clockMillis)
        .map(({ transfer }) => [`${transfer.tx}:${transfer.index}`, worthOf(transfer) ?? 0])
    )
    const most = [...came.values()].reduce((sum, worth) => sum + worth, 0)
    return object["amount_paid"] > most
      ? [`twice: ${name(invoice.id)} counts ${object["amount_paid"]}, and ${most} ever came`]
      : []
  })
  const each = history.finals.flatMap(({ invoice: { id }, payments }) => {
    const invoice = invoices.get(id)
    if (invoice === undefined) return []
    const byTx = Map.groupBy(
      payments.filter((payment) => counted(payment["status"]) && payment["payer_tx_hash"] !== null),
      (payment) => String(payment["payer_tx_hash"])
    )
    return [...byTx].flatMap(([tx, all]) => {
      const live = to(chain, invoice).filter((one) => one.until === Infinity && isMoney(one) && one.transfer.tx === tx)
      return all.length > live.length
        ? [`twice: ${name(id)} counts ${all.length} payments of ${tx}, which makes ${live.length}`]
        : []
    })
  })
  return [...new Set([...over, ...each])]
}

/** An address is given to nobody else; where nobody told of a restore, only while money came to it. */
const addressFaults = (chain: Chain, { addresses, invoices }: History): Array<string> => {
  const owners = new Map<string, AddressFact>()
  const unannounced = new Set(invoices.filter(({ lostUnannounced }) => lostUnannounced).map(({ id }) => id))
  return addresses.flatMap((fact) => {
    const owner = owners.get(fact.address)
    if (owner === undefined) owners.set(fact.address, fact)
    if (owner === undefined || owner.invoiceId === fact.invoiceId) return []
    owners.set(fact.address, fact)
    const isPaid = (chain.byAddress.get(fact.address) ?? []).some((one) => one.from <= fact.at && one.until > fact.at)
    if (!isPaid && unannounced.has(owner.invoiceId)) return []
    return [
      `address: ${fact.address} of ${name(owner.invoiceId)}${isPaid ? ", which is paid," : ""} was given to ` +
      name(fact.invoiceId)
    ]
  })
}

/** What came to an address that its invoice does not have in the database any more, or whose invoice is not there. */
const lostFaults = (chain: Chain, { addresses, exceptions, invoices }: History): Array<string> => {
  const lastOwner = new Map(addresses.map(({ address, invoiceId }) => [address, invoiceId]))
  const known = new Map(invoices.map((invoice) => [invoice.id, invoice]))
  return [...lastOwner].filter(([address, id]) => {
    const owner = known.get(id)
    return owner === undefined || owner.lost || owner.address !== address
  }).flatMap(([address, id]) =>
    (chain.byAddress.get(address) ?? [])
      .filter((one) => one.until === Infinity && isMoney(one) && !one.transfer.internal)
      .filter(({ transfer: { tx } }) =>
        // A transaction may pay several invoices: each payment has an exception of its own, which names its address.
        !exceptions.some(({ evidence, type }) =>
          type === "unmatched_payment" && [tx, address].every((one) => evidence.toLowerCase().includes(one))
        )
      )
      .map(({ transfer }) => `lost: ${transfer.tx} to ${address}, lost with ${name(id)}, opened no exception`)
  )
}

/** What an invoice may be in the end: one state, or two where two are right. */
const expectations = (invoice: InvoiceFact, found: ReadonlyArray<Inclusion>, history: History) => {
  const live = found.filter((one) => one.until === Infinity && isMoney(one))
  const keyOf = ({ transfer }: Inclusion) => `${transfer.tx}:${transfer.index}`
  const timesOf = (one: Inclusion) => found.filter((other) => keyOf(other) === keyOf(one)).map(({ time }) => time)
  // A transfer that was in several blocks was seen first in one of them.
  return [Math.min, Math.max].map((pick) => {
    const times = live.map((one) => ({ one, time: pick(...timesOf(one)) }))
    const hasPart = times.some(({ time }) => time <= invoice.expiresAt)
    const last = hasPart ? invoice.expiresAt + graceSeconds : invoice.expiresAt
    const money = times.filter(({ time }) => !invoice.lateNeedsPerson || time <= last).map(({ one }) => one)
    const sum = money.reduce((total, { transfer }) => total + worthOf(transfer)!, 0)
    const isOver = history.endedAt >= invoice.expiresAt * 1000
    const isLongOver = history.endedAt >= (invoice.expiresAt + history.expirySlackSeconds) * 1000
    const statuses = sum >= invoice.amount - shortBy(invoice.amount)
      ? ["paid"]
      : sum > 0
      ? ["underpaid"]
      : [...isLongOver ? [] : ["unpaid"], ...isOver ? ["expired"] : []]
    return { sum, statuses, money }
  })
}

const stateFaults = (chain: Chain, history: History, invoices: ReadonlyMap<string, InvoiceFact>): Array<string> => {
  const finals = new Map(history.finals.map((final) => [String(final.invoice["id"]), final]))
  return [...invoices.values()].filter(({ lost }) => !lost).flatMap((invoice) => {
    const final = finals.get(invoice.id)
    if (final === undefined) return [`state: ${name(invoice.id)} is not known any more`]
    const found = to(chain, invoice)
    const { amount_paid: paid, status } = final.invoice
    const expected = expectations(invoice, found, history)
    const fitting = expected.find(({ statuses, sum }) => sum === paid && statuses.includes(String(status)))
    const [{ money, statuses, sum }] = expected as [typeof expected[number]]
    const which = `${name(invoice.id)} (${invoice.address ?? "no address"})`
    const wrong = fitting !== undefined
      ? []
      : [`state: ${which} is ${status} with ${paid}, and should be ${statuses.join(" or ")} with ${sum}`]
    const liveTx = new Set(found.filter(({ until }) => until === Infinity).map(({ transfer }) => transfer.tx))
    const stuck = final.payments.filter((payment) => ["pending", "manual_retry"].includes(payment["status"]))
      .map((payment) =>
        `state: a payment of ${which} is ${payment["status"]} for ever: ` +
        `${payment["payer_tx_hash"]}, ${liveTx.has(payment["payer_tx_hash"]) ? "on" : "not on"} the chain`
      )
    const has = (transfer: Transfer, ofStatus: (status: unknown) => boolean) =>
      final.payments.some((payment) => payment["payer_tx_hash"] === transfer.tx && ofStatus(payment["status"]))
    const missing = fitting === undefined ? [] : (fitting ?? { money }).money
      .filter(({ transfer }) => transfer.token !== null && !has(transfer, counted))
      .map(({ transfer }) => `state: ${which} does not name ${transfer.tx}`)
    const unseen = found.filter(({ transfer, until }) =>
      until === Infinity && transfer.token === inactiveToken.toLowerCase() && !has(transfer, (is) => is === "rejected")
    )
      .map(({ transfer }) => `state: ${which} does not show the wrong token of ${transfer.tx}`)
    return [...wrong, ...stuck, ...missing, ...unseen]
  })
}

/**
 * Payments that came while a node stood still: those in the last minute of it may still be on their way, and large ones
 * wait for both nodes.
 */
const delayFaults = (chain: Chain, history: History): Array<string> =>
  history.invoices.filter(({ lost }) => !lost).flatMap((invoice) => {
    const creditedAt = (tx: string) =>
      history.events.filter(({ object, type }) =>
        type.startsWith("invoice_payment.") && object["payer_tx_hash"] === tx && object["invoice_id"] === invoice.id &&
        counted(object["status"])
      ).reduce((first, { at }) => Math.min(first, at), Infinity)
    return to(chain, invoice)
      .filter((one) => isMoney(one) && !one.transfer.internal && one.until === Infinity && one.time < invoice.expiresAt)
      .filter(({ transfer }) => worthOf(transfer)! < largeMillis)
      .filter((one) =>
        history.standstills.some(({ from, until }) => one.from >= from && one.from + standstillMillis < until)
      )
      .map((one) => ({ one, waited: creditedAt(one.transfer.tx) - one.from }))
      .filter(({ waited }) => waited > standstillMillis)
      .map(({ one: { transfer }, waited }) =>
        `delay: ${transfer.tx} of ${name(invoice.id)} waited ${
          Math.floor(waited / 1000)
        } s for a node that stands still`
      )
  })

const floodFaults = (chain: Chain, history: History, invoices: ReadonlyMap<string, InvoiceFact>): Array<string> =>
  history.finals.flatMap(({ invoice: { id }, payments }) => {
    const invoice = invoices.get(id)
    const strange = new Set(
      (invoice === undefined ? [] : to(chain, invoice))
        .filter(({ transfer }) => transfer.token === strangeToken.toLowerCase()).map(({ transfer }) => transfer.tx)
    )
    const records = payments.filter((payment) => strange.has(payment["payer_tx_hash"]))
    return records.length > strangeRecords
      ? [`flood: ${name(id)} has ${records.length} records of one strange token`]
      : []
  })

export const checkHistory = (history: History): CheckResult => {
  const chain = chainOf(history.chain)
  const invoices = new Map(history.invoices.map((invoice) => [invoice.id, invoice]))
  const live = history.invoices.filter(({ lost }) => !lost).flatMap((invoice) =>
    to(chain, invoice).filter((one) => one.until === Infinity && isMoney(one))
  )
  return {
    faults: [
      ...creditFaults(chain, history, invoices),
      ...expiryFaults(chain, history, invoices),
      ...twiceFaults(chain, history, invoices),
      ...addressFaults(chain, history),
      ...lostFaults(chain, history),
      ...stateFaults(chain, history, invoices),
      ...delayFaults(chain, history),
      ...floodFaults(chain, history, invoices)
    ],
    payments: live.length,
    worth: live.reduce((sum, { transfer }) => sum + worthOf(transfer)!, 0),
    reorganisations: history.chain.filter(({ _tag }) => _tag === "Undone").length
  }
}
