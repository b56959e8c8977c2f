/** `tillwire merchant`: merchants of this deployment, over the internal port of the service. */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { RpcClient } from "effect/rpc"
import { AuthRpc, type Merchant, Name } from "../../auth/rpc.ts"
import { withInternalPort } from "../Internal.ts"
import { answer, facts, say, table } from "../Output.ts"
import { timeText } from "../TimeText.ts"

/** Merchants that one call of the internal port lists. */
const pageSize = 1_000

const readAll = Effect.gen(function*() {
  const client = yield* RpcClient.make(AuthRpc)
  const merchants: Array<Merchant> = []
  for (;;) {
    const last = merchants.at(-1)
    const page = yield* client["auth.merchants.list"](last === undefined ? {} : { after: last.id })
    merchants.push(...page)
    if (page.length < pageSize) return merchants
  }
})

const create = Command.make("create", {
  name: Flag.String("name").pipe(Flag.withSchema(Name), Flag.withDescription("What the merchant is called")),
  email: Flag.String("email").pipe(
    Flag.withSchema(Name),
    Flag.withDescription("Where they are reached"),
    Flag.optional
  ),
  ifMissing: Flag.Boolean("if-missing").pipe(
    Flag.withDescription("For scripts: where there is one of that name, print it and make none"),
    Flag.withDefault(false)
  )
}, ({ email, ifMissing, name }) =>
  Effect.gen(function*() {
    const { isNew, merchant } = yield* withInternalPort(Effect.scoped(Effect.gen(function*() {
      const found = ifMissing ? (yield* readAll).find((one) => one.name === name) : undefined
      if (found !== undefined) return { isNew: false, merchant: found }
      const client = yield* RpcClient.make(AuthRpc)
      const made = yield* client["auth.merchants.create"]({ name, email: Option.getOrNull(email) })
      return { isNew: true, merchant: made }
    })))
    yield* answer(merchant, (paint) =>
      facts([["merchant", merchant.id], ["name", merchant.name], ["email", merchant.email]], paint))
    if (isNew) {
      yield* say(`Make its first key: tillwire keys create --merchant ${merchant.id} --name "First key"`)
    }
  })).pipe(Command.withDescription("Make a merchant"))

const list = Command.make("list", {}, () =>
  Effect.gen(function*() {
    const merchants = yield* withInternalPort(Effect.scoped(readAll))
    yield* answer({ object: "list", data: merchants, has_more: false }, (paint) =>
      merchants.length === 0 ? "none" : table(
        ["merchant", "created", "email", "name"],
        merchants.map(({ created_at, email, id, name }) => [id, timeText(created_at), email, name]),
        paint
      ))
  })).pipe(Command.withDescription("List merchants, oldest first"))

export const command = Command.make("merchant").pipe(Command.withSubcommands([create, list]))
