/** `tillwire invoice`: create one, look at one, and follow one until it ends. */
import { Effect, Option, Schedule } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { call, connect, type Connection } from "../Connection.ts"
import { environment } from "../Environment.ts"
import { JsonFlag } from "../Flags.ts"
import { answer, facts, hasColours, paintFor, say, streamLine } from "../Output.ts"
import { qrText } from "../QrText.ts"
import { timeText } from "../TimeText.ts"

/** Milliseconds between two looks at an invoice that is followed: a third of the 100 calls that a key has a minute. */
const watchMillis = 2_000

/** States in which an invoice changes no more by a payment. */
const endStatuses: ReadonlySet<string> = new Set(["paid", "expired", "canceled"])

const readInvoice = (connection: Connection, id: string) =>
  call(connection, (client, signal) =>
    client.get("/api/v1/invoices/{customer_id}", {
      path: { customer_id: id },
      query: { expand: "payment_url,payments,details" },
      signal
    }))

type ShownInvoice = Effect.Success<ReturnType<typeof readInvoice>>

const invoiceFacts = (invoice: ShownInvoice): ReadonlyArray<readonly [string, unknown]> => [
  ["invoice", invoice.id],
  ["status", invoice.status],
  ["amount", `$${invoice.amount_decimal}`],
  ["paid", `$${invoice.amount_paid_decimal}`],
  ["remaining", `$${invoice.amount_remaining_decimal}`],
  ["customer", invoice.customer_id],
  ["description", invoice.details?.description],
  ["expires", timeText(invoice.expires_at)],
  ["page", invoice.payment_url]
]

/** The code on a terminal, where a phone can read it; in a pipe it is of no use. */
const showQr = (text: string) =>
  Effect.gen(function*() {
    if (!process.stderr.isTTY) return
    yield* say(qrText(text, hasColours(yield* environment, true)))
  })

const create = Command.make("create", {
  amount: Argument.String("amount").pipe(Argument.withDescription("Dollars, such as 25.00")),
  customer: Flag.String("customer").pipe(Flag.withDescription("Your own id of the customer"), Flag.optional),
  description: Flag.String("description").pipe(Flag.withDescription("What it is for"), Flag.optional),
  metadata: Flag.KeyValuePair("metadata").pipe(
    Flag.withDescription("A key and its value, as order=17; once for each"),
    Flag.optional
  ),
  expiresIn: Flag.Int("expires-in").pipe(Flag.withDescription("Seconds until it expires"), Flag.optional),
  idempotencyKey: Flag.String("idempotency-key").pipe(
    Flag.withDescription("The same key makes the same invoice, however often it is run"),
    Flag.optional
  )
}, ({ amount, customer, description, expiresIn, idempotencyKey, metadata }) =>
  Effect.gen(function*() {
    const connection = yield* connect
    const body = {
      amount_usd: amount,
      ...(Option.isSome(customer) ? { customer_id: customer.value } : {}),
      ...(Option.isSome(description) ? { description: description.value } : {}),
      ...(Option.isSome(metadata) ? { metadata: metadata.value } : {}),
      ...(Option.isSome(expiresIn) ? { expires_in: expiresIn.value } : {})
    }
    const created = yield* call(connection, (client, signal) =>
      client.post("/api/v1/invoices", {
        body,
        signal,
        ...(Option.isSome(idempotencyKey) ? { idempotencyKey: idempotencyKey.value } : {})
      }))
    yield* answer(created, (paint) =>
      facts([
        ["invoice", created.invoice_id],
        ["amount", `$${created.invoice.amount_decimal}`],
        ["expires", timeText(created.expires_at)],
        ["page", created.payment_url]
      ], paint))
    if (!(yield* JsonFlag)) yield* showQr(created.payment_url)
  })).pipe(
    Command.withDescription("Create an invoice and show where it is paid"),
    Command.withExamples([
      { command: "tillwire invoice create 25.00 --metadata order=17", description: "Ask for 25 dollars" }
    ])
  )

const id = Argument.String("id").pipe(Argument.withDescription("Id of an invoice, or of a customer: their newest one"))

const show = Command.make("show", { id }, ({ id }) =>
  Effect.gen(function*() {
    const invoice = yield* readInvoice(yield* connect, id)
    yield* answer(invoice, (paint) => facts(invoiceFacts(invoice), paint))
  })).pipe(Command.withDescription("Show an invoice"))

/** One line for each change of an invoice that is followed. */
const lineOf = (invoice: ShownInvoice): string =>
  `${invoice.status}  $${invoice.amount_paid_decimal} of $${invoice.amount_decimal}`

const watch = Command.make("watch", { id }, ({ id }) =>
  Effect.gen(function*() {
    const connection = yield* connect
    const first = yield* readInvoice(connection, id)
    if (first.payment_url !== undefined && !(yield* JsonFlag)) yield* showQr(first.payment_url)
    const paint = yield* paintFor("stderr")
    yield* say(paint("quiet", `following ${first.id} until it is paid, expired or canceled; Ctrl+C ends it`))
    let line = ""
    const look = Effect.gen(function*() {
      // By the invoice's own id: a customer may get a newer one meanwhile.
      const invoice = yield* readInvoice(connection, first.id)
      const next = `${lineOf(invoice)} ${
        (invoice.payments?.data ?? []).map(({ id, status }) => `${id} ${status}`).join()
      }`
      if (next !== line) {
        line = next
        yield* streamLine(invoice, (paintOut) =>
          [
            paintOut("strong", lineOf(invoice)),
            ...(invoice.payments?.data ?? []).map((payment) => `  payment ${payment.id}  ${payment.status}`)
          ].join("\n"))
      }
      return invoice
    })
    yield* Effect.repeat(look, {
      schedule: Schedule.spaced(watchMillis),
      until: ({ status }) => endStatuses.has(status)
    })
  })).pipe(Command.withDescription("Follow an invoice until it ends, a line for each change"))

export const command = Command.make("invoice").pipe(Command.withSubcommands([create, show, watch]))
