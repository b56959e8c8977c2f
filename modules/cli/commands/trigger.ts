/**
 * `tillwire trigger`: makes something happen to an invoice on devnet, by the simulator. It is no made-up event: the
 * invoice changes by the rules that mainnet runs, and every event and webhook of that follows.
 */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { call, connect, type Connection } from "../Connection.ts"
import { wrongUse } from "../Failure.ts"
import { answer, facts } from "../Output.ts"

/** What can be made to happen, and the steps of the simulator that make it. */
export const outcomes = {
  paid: ["pay"],
  partial: ["partial"],
  overpaid: ["overpay"],
  late: ["late"],
  expired: ["expire"],
  reorg: ["pay", "reorg"],
  dropped: ["pay", "drop"],
  duplicate: ["pay", "duplicate"],
  "wrong-token": ["wrong_token"],
  "wrong-network": ["wrong_network"],
  "missing-memo": ["missing_memo"],
  unmatched: ["unmatched"],
  dust: ["dust"],
  settled: ["pay", "settle"],
  "settlement-failed": ["pay", "fail_settlement"]
} as const

export type Outcome = keyof typeof outcomes

/** An invoice that has been paid needs the last step only: the first would pay it twice. */
const stepsFor = (outcome: Outcome, isPaid: boolean) =>
  isPaid && outcomes[outcome].length > 1 ? outcomes[outcome].slice(1) : outcomes[outcome]

/** Fields of a new invoice from `name=value` pairs; `metadata.x=1` goes into the metadata. Pure. */
export const invoiceFieldsOf = (pairs: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> => {
  const metadata = Object.entries(pairs).filter(([name]) => name.startsWith("metadata."))
  const others = Object.entries(pairs).filter(([name]) => !name.startsWith("metadata."))
  return {
    ...Object.fromEntries(others),
    ...(metadata.length === 0 ? {} : {
      metadata: Object.fromEntries(metadata.map(([name, value]) => [name.slice("metadata.".length), value]))
    })
  }
}

/** Fields that `--set` takes besides metadata. */
const settable = new Set(["amount_usd", "customer_id", "description", "customer_email", "invoice_title"])

const defaultAmount = "25.00"

const newInvoice = (connection: Connection, fields: Readonly<Record<string, unknown>>) =>
  Effect.map(
    call(connection, (client, signal) =>
      client.post("/api/v1/invoices", { body: { amount_usd: defaultAmount, ...fields }, signal })),
    ({ invoice_id }) =>
      invoice_id
  )

/** What the simulator answers, as far as it is shown. */
interface Simulation {
  readonly data: {
    readonly invoice: { readonly status: string; readonly amount_decimal: string; readonly amount_paid_decimal: string }
    readonly invoice_payment: { readonly status: string } | null
    readonly event_ids: ReadonlyArray<string>
  }
}

/**
 * Why an invoice is paid by a transfer that came after its end; undefined where nothing is to be explained. Pure.
 */
export const lateNote = (outcome: Outcome, status: string | undefined): string | undefined =>
  outcome === "late" && status === "paid"
    ? "The invoice had ended before the transfer came, and your setting late_payment_policy counts late transfers. "
      + "Set it to manual, and the next one stays unpaid with the exception late_payment."
    : undefined

/** Any path: the simulator may be left out of a deployment, and then its calls are in no document. */
type AnyPost = (path: string, call: { readonly path: {}; readonly body: {}; readonly signal: AbortSignal }) => Promise<
  Simulation
>

const simulate = (connection: Connection, id: string, body: Readonly<Record<string, string>>) =>
  call(
    connection,
    (client, signal) =>
      (client.post as unknown as AnyPost)("/api/v1/devnet/invoices/{id}/simulate", { path: { id }, body, signal })
  )

export const command = Command.make("trigger", {
  outcome: Argument.Literals("outcome", Object.keys(outcomes) as ReadonlyArray<Outcome>).pipe(
    Argument.withDescription("What happens")
  ),
  invoice: Flag.String("invoice").pipe(Flag.withDescription("To this invoice, else to a new one"), Flag.optional),
  network: Flag.String("network").pipe(
    Flag.withDescription("The network of the transfer, such as base"),
    Flag.optional
  ),
  set: Flag.KeyValuePair("set").pipe(
    Flag.withDescription("A field of the new invoice: amount_usd=5, customer_id=c1, metadata.order=17; once for each"),
    Flag.optional
  )
}, ({ invoice, network, outcome, set }) =>
  Effect.gen(function*() {
    const pairs = Option.getOrElse(set, (): Record<string, string> => ({}))
    const unknown = Object.keys(pairs).find((name) => !settable.has(name) && !/^metadata\../.test(name))
    if (unknown !== undefined) {
      return yield* wrongUse(`--set ${unknown}: use ${[...settable].join(", ")} or metadata.<key>`)
    }
    if (Option.isSome(invoice) && Option.isSome(set)) {
      return yield* wrongUse("--set is for a new invoice: leave out --invoice, or --set")
    }
    const connection = yield* connect
    const id = Option.isSome(invoice) ? invoice.value : yield* newInvoice(connection, invoiceFieldsOf(pairs))
    const isPaid = Option.isSome(invoice) &&
      (yield* call(
          connection,
          (client, signal) => client.get("/api/v1/invoices/{id}/status", { path: { id }, signal })
        )).invoice.status === "paid"
    const eventIds: Array<string> = []
    let last: Simulation["data"] | undefined
    for (const action of stepsFor(outcome, isPaid)) {
      const { data } = yield* simulate(connection, id, {
        action,
        ...(Option.isSome(network) ? { network: network.value } : {})
      })
      eventIds.push(...data.event_ids)
      last = data
    }
    const note = lateNote(outcome, last?.invoice.status)
    yield* answer({
      invoice: last?.invoice,
      invoice_payment: last?.invoice_payment,
      event_ids: eventIds,
      ...(note === undefined ? {} : { note })
    }, (paint) =>
      facts([
        ["invoice", id],
        ["status", last?.invoice.status],
        ["paid", last === undefined ? null : `$${last.invoice.amount_paid_decimal} of $${last.invoice.amount_decimal}`],
        ["payment", last?.invoice_payment?.status],
        ["events", eventIds.join(" ")],
        ["note", note]
      ], paint))
  })).pipe(Command.withExamples([
    { command: "tillwire trigger paid", description: "A new invoice, and a transfer that pays it" },
    { command: "tillwire trigger partial --set amount_usd=5 --set metadata.order=17", description: "Half of $5" },
    { command: "tillwire trigger reorg --invoice <id>", description: "Its newest transfer moves to another block" }
  ]))
