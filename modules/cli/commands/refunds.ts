/** `tillwire refunds`: money that goes back, listed and asked for. It is paid once a person approved it. */
import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { FeeBearer, RefundAmountMode, RefundReason, RefundStatus } from "../../../schemas/Refund.ts"
import { call, connect } from "../Connection.ts"
import { afterFlag, answerList, limitFlag, optionalField, pageQuery } from "../Lists.ts"
import { answer, facts } from "../Output.ts"
import { timeText } from "../TimeText.ts"

const list = Command.make("list", {
  status: Flag.Literals("status", RefundStatus.literals).pipe(
    Flag.withDescription("Only in this state"),
    Flag.optional
  ),
  invoice: Flag.String("invoice").pipe(Flag.withDescription("Only of this invoice"), Flag.optional),
  limit: limitFlag,
  after: afterFlag
}, ({ after, invoice, limit, status }) =>
  Effect.gen(function*() {
    const { data } = yield* call(yield* connect, (client, signal) =>
      client.get("/api/v1/refunds", {
        query: {
          ...pageQuery({ after, limit }),
          ...optionalField("status", status),
          ...optionalField("invoice_id", invoice)
        },
        signal
      }))
    yield* answerList(data, {
      created: ({ created_at }) => timeText(created_at),
      id: ({ id }) => id,
      status: ({ status }) => status,
      amount: ({ amount_decimal }) => `$${amount_decimal}`,
      invoice: ({ invoice_id }) => invoice_id
    })
  })).pipe(Command.withDescription("List refunds, newest first"))

const create = Command.make("create", {
  invoice: Argument.String("invoice").pipe(Argument.withDescription("Id of the invoice")),
  mode: Flag.Literals("mode", RefundAmountMode.literals).pipe(
    Flag.withDescription("All that was received, what is left of it, what is too much, or --token-amount"),
    Flag.withDefault("full" as const)
  ),
  tokenAmount: Flag.String("token-amount").pipe(
    Flag.withDescription("For --mode custom: whole tokens, such as 1.5"),
    Flag.optional
  ),
  feeBearer: Flag.Literals("fee-bearer", FeeBearer.literals).pipe(
    Flag.withDescription("Who pays the network's fee"),
    Flag.withDefault("merchant" as const)
  ),
  reason: Flag.Literals("reason", RefundReason.literals).pipe(
    Flag.withDescription("Why"),
    Flag.withDefault("requested_by_customer" as const)
  ),
  idempotencyKey: Flag.String("idempotency-key").pipe(
    Flag.withDescription("The same key makes the same refund, however often it is run"),
    Flag.optional
  )
}, ({ feeBearer, idempotencyKey, invoice, mode, reason, tokenAmount }) =>
  Effect.gen(function*() {
    const created = yield* call(yield* connect, (client, signal) =>
      client.post("/api/v1/refunds", {
        body: {
          invoice_id: invoice,
          amount_mode: mode,
          fee_bearer: feeBearer,
          reason,
          ...optionalField("token_amount", tokenAmount)
        },
        signal,
        ...optionalField("idempotencyKey", idempotencyKey)
      }))
    yield* answer(created, (paint) =>
      created.refunds.map((refund) =>
        facts([
          ["refund", refund.id],
          ["status", refund.status],
          ["amount", `$${refund.amount_decimal}`],
          ["claim link", refund.claim_url]
        ], paint)
      ).join("\n\n"))
  })).pipe(Command.withDescription("Ask for a refund of an invoice"))

export const command = Command.make("refunds").pipe(Command.withSubcommands([list, create]))
