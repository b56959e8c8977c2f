/** `tillwire exceptions`: money that came otherwise than an invoice expects, and the decision about it. */
import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { ExceptionAction } from "../../../schemas/Exception.ts"
import { call, connect } from "../Connection.ts"
import { afterFlag, answerList, limitFlag, optionalField, pageQuery } from "../Lists.ts"
import { answer, facts } from "../Output.ts"
import { timeText } from "../TimeText.ts"

const list = Command.make("list", {
  status: Flag.Literals("status", ["open", "resolved"]).pipe(
    Flag.withDescription("What waits for a decision, or had one; both if not said"),
    Flag.optional
  ),
  invoice: Flag.String("invoice").pipe(Flag.withDescription("Only of this invoice"), Flag.optional),
  limit: limitFlag,
  after: afterFlag
}, ({ after, invoice, limit, status }) =>
  Effect.gen(function*() {
    const { data } = yield* call(yield* connect, (client, signal) =>
      client.get("/api/v1/exceptions", {
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
      type: ({ type }) => type,
      status: ({ status }) => status,
      actions: ({ allowed_actions }) => allowed_actions.join(","),
      invoice: ({ invoice_id }) => invoice_id
    })
  })).pipe(Command.withDescription("List exceptions, newest first"))

const resolve = Command.make("resolve", {
  id: Argument.String("id").pipe(Argument.withDescription("Id of the exception")),
  action: Argument.Literals("action", ExceptionAction.literals).pipe(
    Argument.withDescription("One of the actions that it allows")
  ),
  note: Flag.String("note").pipe(Flag.withDescription("Why, for people"), Flag.optional),
  invoice: Flag.String("invoice").pipe(Flag.withDescription("For assign: the invoice it counts for"), Flag.optional)
}, ({ action, id, invoice, note }) =>
  Effect.gen(function*() {
    const resolved = yield* call(yield* connect, (client, signal) =>
      client.post("/api/v1/exceptions/{id}/resolve", {
        path: { id },
        body: { action, ...optionalField("note", note), ...optionalField("invoice_id", invoice) },
        signal
      }))
    yield* answer(resolved, (paint) =>
      facts([
        ["exception", resolved.data.id],
        ["status", resolved.data.status],
        ["refunds", (resolved.refunds ?? []).map(({ id }) => id).join(", ")]
      ], paint))
  })).pipe(Command.withDescription("Decide on an exception, once and for good"))

export const command = Command.make("exceptions").pipe(Command.withSubcommands([list, resolve]))
