/** `tillwire admin`: what an operator does to a running service: networks, tokens, stuck money, webhooks, books. */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { adminCall, adminList, type AdminObject } from "../Admin.ts"
import { afterFlag, answerList, limitFlag, pageQuery } from "../Lists.ts"
import { answer, facts } from "../Output.ts"

const environmentFlag = Flag.Literals("environment", ["devnet", "mainnet"]).pipe(
  Flag.withDescription("Play money or real money")
)

const anyEnvironment = Flag.optional(environmentFlag)

const text = Option.getOrUndefined<string>

/** The fields of an answer that fit on a line each. */
const answerObject = (object: AdminObject) =>
  answer(object, (paint) =>
    facts(
      Object.entries(object).map((
        [name, value]
      ) => [name, typeof value === "object" && value !== null ? JSON.stringify(value) : value]),
      paint
    ))

const post = (path: string, body: Readonly<Record<string, unknown>> = {}) =>
  Effect.flatMap(adminCall({ method: "POST", path, body }), answerObject)

/** A field on a line: what is a list of named things, such as leases, by their names. */
const fieldText = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map((each) => each?.name ?? each).join(" ")
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value
}

/** A list of `columns`, each a field of its objects; `cursorOf` as `answerList` has it. */
const showList = (
  path: string,
  query: Readonly<Record<string, string | number | undefined>>,
  columns: ReadonlyArray<string>,
  cursorOf?: (item: AdminObject) => unknown
) =>
  Effect.flatMap(
    adminList(path, query),
    (page) =>
      answerList(
        page,
        Object.fromEntries(columns.map((name) => [name, (item: AdminObject) => fieldText(item[name])])),
        cursorOf
      )
  )

/** A cursor that is a field of its own. */
const byField = (name: string) => (item: AdminObject) => item[name]

const segment = encodeURIComponent

const networkArgument = Argument.String("network").pipe(Argument.withDescription("Such as base"))
const reasonFlag = Flag.String("reason").pipe(Flag.withDescription("Why, for everybody who looks at it"))

const networks = Command.make("networks").pipe(
  Command.withDescription("Networks: their state, repairs of what was read, and turning them off"),
  Command.withSubcommands([
    Command.make(
      "list",
      { environment: anyEnvironment },
      ({ environment }) =>
        showList("/networks", { environment: text(environment) }, [
          "network",
          "environment",
          "is_enabled",
          "healthy",
          "condition",
          "head",
          "disabled_reason"
        ])
    ).pipe(Command.withDescription("List networks with their heads and state")),
    Command.make("rescan", {
      network: networkArgument,
      environment: environmentFlag,
      from: Flag.String("from").pipe(Flag.withDescription("The first block")),
      to: Flag.String("to").pipe(Flag.withDescription("The last block"))
    }, ({ environment, from, network, to }) => post(`/networks/${segment(network)}/rescan`, { environment, from, to }))
      .pipe(
        Command.withDescription("Read blocks again, and credit what was missed")
      ),
    Command.make("reanchor", {
      network: networkArgument,
      environment: environmentFlag,
      height: Flag.String("height").pipe(
        Flag.withDescription("Go on after this block, else after the head"),
        Flag.optional
      )
    }, ({ environment, height, network }) =>
      post(`/networks/${segment(network)}/reanchor`, {
        environment,
        ...(Option.isSome(height) ? { height: height.value } : {})
      })).pipe(Command.withDescription("Go on following from another block")),
    Command.make(
      "disable",
      { network: networkArgument, environment: environmentFlag, reason: reasonFlag },
      (given) =>
        post(`/networks/${segment(given.network)}/disable`, { environment: given.environment, reason: given.reason })
    ).pipe(
      Command.withDescription("Offer a network to nobody")
    ),
    Command.make(
      "enable",
      { network: networkArgument, environment: environmentFlag },
      ({ environment, network }) => post(`/networks/${segment(network)}/enable`, { environment })
    ).pipe(
      Command.withDescription("Offer a network again")
    )
  ])
)

const tokenArgument = Argument.Int("token").pipe(Argument.withDescription("Id of the token"))

const tokens = Command.make("tokens").pipe(
  Command.withDescription("Tokens, and turning them off"),
  Command.withSubcommands([
    Command.make(
      "list",
      {
        environment: anyEnvironment,
        network: Flag.String("network").pipe(Flag.withDescription("Only of this network"), Flag.optional),
        limit: limitFlag,
        after: afterFlag
      },
      ({ after, environment, limit, network }) =>
        showList(
          "/tokens",
          { ...pageQuery({ after, limit }), environment: text(environment), network: text(network) },
          [
            "token_id",
            "symbol",
            "network",
            "environment",
            "is_enabled",
            "disabled_reason"
          ],
          byField("token_id")
        )
    ).pipe(Command.withDescription("List tokens")),
    Command.make(
      "disable",
      { token: tokenArgument, reason: reasonFlag },
      ({ reason, token }) => post(`/tokens/${token}/disable`, { reason })
    ).pipe(Command.withDescription("Offer a token to nobody")),
    Command.make("enable", { token: tokenArgument }, ({ token }) => post(`/tokens/${token}/enable`)).pipe(
      Command.withDescription("Offer a token again")
    )
  ])
)

const stuckFlags = { environment: anyEnvironment, limit: limitFlag, after: afterFlag }

const payment = Argument.String("payment").pipe(Argument.withDescription("Id of the payment"))

const payments = Command.make("payments").pipe(
  Command.withDescription("Payments that wait for an operator"),
  Command.withSubcommands([
    Command.make(
      "stuck",
      stuckFlags,
      ({ after, environment, limit }) =>
        showList("/payments/stuck", { ...pageQuery({ after, limit }), environment: text(environment) }, [
          "payment_id",
          "merchant_id",
          "network",
          "units",
          "reason",
          "tx_hash"
        ], byField("payment_id"))
    ).pipe(Command.withDescription("List payments that stand still")),
    Command.make("retry", { payment }, ({ payment }) => post(`/payments/${segment(payment)}/retry`)).pipe(
      Command.withDescription("Go on with a payment")
    )
  ])
)

const settlements = Command.make("settlements").pipe(
  Command.withDescription("Settlements that wait for an operator"),
  Command.withSubcommands([
    Command.make(
      "stuck",
      stuckFlags,
      ({ after, environment, limit }) =>
        showList("/settlements/stuck", { ...pageQuery({ after, limit }), environment: text(environment) }, [
          "payment_id",
          "merchant_id",
          "driver",
          "settlement_status",
          "retries",
          "reason"
        ], byField("payment_id"))
    ).pipe(Command.withDescription("List settlements that stand still")),
    Command.make("retry", { payment }, ({ payment }) => post(`/settlements/${segment(payment)}/retry`)).pipe(
      Command.withDescription("Try a settlement again")
    )
  ])
)

const merchantFlag = Flag.Int("merchant").pipe(Flag.withDescription("The merchant's number"))

const webhooks = Command.make("webhooks").pipe(
  Command.withDescription("Webhooks of all merchants"),
  Command.withSubcommands([
    Command.make(
      "failing",
      { merchant: Flag.optional(merchantFlag), limit: limitFlag, after: afterFlag },
      (given) =>
        showList("/webhooks/failing", { ...pageQuery(given), merchant_id: Option.getOrUndefined(given.merchant) }, [
          "endpoint_id",
          "merchant_id",
          "status",
          "consecutive_failures",
          "url"
        ], (item) => `${String(item["merchant_id"])}:${String(item["endpoint_id"])}`)
    ).pipe(Command.withDescription("List endpoints that fail")),
    Command.make("replay", {
      merchant: merchantFlag,
      endpoint: Flag.String("endpoint").pipe(Flag.withDescription("Only to this endpoint"), Flag.optional),
      from: Flag.String("from").pipe(Flag.withDescription("From this event on"), Flag.optional)
    }, ({ endpoint, from, merchant }) =>
      post("/webhooks/replay", {
        merchant_id: merchant,
        ...(Option.isSome(endpoint) ? { endpoint_id: endpoint.value } : {}),
        ...(Option.isSome(from) ? { from_event_id: from.value } : {})
      })).pipe(Command.withDescription("Send what failed once more")),
    Command.make("retry", {
      delivery: Argument.String("delivery").pipe(Argument.withDescription("Id of the delivery")),
      merchant: merchantFlag
    }, ({ delivery, merchant }) => post(`/webhooks/deliveries/${segment(delivery)}/retry`, { merchant_id: merchant }))
      .pipe(
        Command.withDescription("Send a delivery once more")
      )
  ])
)

const ledger = Command.make(
  "ledger",
  {
    invoice: Argument.String("invoice").pipe(Argument.withDescription("Id of the invoice"))
  },
  ({ invoice }) =>
    Effect.flatMap(adminCall({ method: "GET", path: `/invoices/${segment(invoice)}/ledger` }), answerObject)
).pipe(
  Command.withDescription("Show the postings of an invoice and their sums")
)

const instances = Command.make("instances", {}, () => showList("/instances", {}, ["id", "answers_here", "leases"]))
  .pipe(
    Command.withDescription("List which instance holds which leases; one without any is not in the list")
  )

const audit = Command.make("audit", {
  environment: environmentFlag,
  merchant: Flag.optional(merchantFlag),
  action: Flag.String("action").pipe(Flag.withDescription("Only this act"), Flag.optional),
  limit: limitFlag,
  after: afterFlag
}, ({ action, after, environment, limit, merchant }) =>
  showList("/audit-log", {
    ...pageQuery({ after, limit }),
    environment,
    action: text(action),
    merchant_id: Option.getOrUndefined(merchant)
  }, ["id", "actor", "action", "created_at"])).pipe(Command.withDescription("List what operators did"))

export const command = Command.make("admin").pipe(
  Command.withSubcommands([networks, tokens, payments, settlements, webhooks, ledger, instances, audit])
)
