/**
 * What addresses held in the newest final block: what they hold now, less what later blocks brought, and with what
 * those took. Addresses of one account are asked for together.
 */
import { Effect, Schema } from "effect"
import { DriverError, type FinalBalances } from "../../../runtime/Chains.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import { type Environment, requiredDepth } from "../../../schemas/Network.ts"
import type { Api } from "./Api.ts"
import { readMovement, readOutputsAt, readSlot, readTip, readTransactionsAt, unspentOf } from "./PayoutApi.ts"
import { accountOf } from "./PayoutTransaction.ts"
import { isCarrier, type TransactionOutput } from "./Transactions.ts"

const network = "cardano"

/** Accounts, and addresses of none, that are asked for at most: each takes four calls. */
const maximumHolders = 200

/** What is asked for at once: an account, or an address of none. */
interface Holder {
  readonly path: string
  readonly totalPath: string
  readonly addresses: ReadonlySet<string>
}

const holdersOf = (addresses: ReadonlyArray<string>): ReadonlyArray<Holder> =>
  [...Map.groupBy(addresses, (address) => accountOf(address) ?? address)].map(([name, those]) => {
    const isAccount = those[0] !== name
    return isAccount
      ? { path: `/accounts/${name}`, totalPath: `/accounts/${name}/addresses/total`, addresses: new Set(those) }
      : { path: `/addresses/${name}`, totalPath: `/addresses/${name}/total`, addresses: new Set(those) }
  })

const Quantity = Schema.String.check(Schema.isPattern(/^\d{1,20}$/))
const Total = Schema.Struct({
  sent_sum: Schema.Array(Schema.Struct({ unit: Schema.String, quantity: Quantity })),
  tx_count: Schema.Int
})

type Held = Pick<TransactionOutput, "assets" | "lovelace">

/** What an output counts for in a token (null: ADA), as the journal counts it. */
const unitsIn = (output: Held, token: string | null): bigint =>
  token === null
    ? isCarrier(output) ? 0n : output.lovelace
    : output.assets.find(({ unit }) => unit === token)?.quantity ?? 0n

/** What one holder had at a height; null: the server does not tell. */
const readHolder = Effect.fnUntraced(function*(
  api: Api,
  { addresses, path, totalPath }: Holder,
  tokens: ReadonlyArray<string | null>,
  height: bigint
): Effect.fn.Return<{ readonly units: ReadonlyArray<bigint>; readonly hasSent: boolean } | null, DriverError> {
  const before = yield* api.find(totalPath, Total)
  const raws = yield* readOutputsAt(api, `${path}/utxos`)
  // Nothing was ever paid to it, or the server has none of these routes.
  if (before === null) return raws === null ? { units: tokens.map(() => 0n), hasSent: false } : null
  const listed = yield* readTransactionsAt(api, path, height + 1n)
  if (listed === null) return null
  // Each once, however often a server shows it.
  const once = new Map((raws ?? []).map((raw) => [`${raw.tx_hash}#${raw.output_index}`, raw]))
  const held = [...once.values()].flatMap((raw) => {
    const output = unspentOf(raw, raw.address ?? [...addresses][0]!)
    return output === null || !addresses.has(output.address) ? [] : output
  })
  const later = yield* Effect.forEach(new Set(listed), (txHash) => readMovement(api, txHash, addresses))
  const after = yield* api.find(totalPath, Total)
  if (after?.tx_count !== before.tx_count) {
    const reason = `${api.name}: what a wallet holds changed while it was read`
    return yield* new DriverError({ network, reason, kind: "unavailable" })
  }
  const sum = (outputs: ReadonlyArray<Held>, token: string | null) =>
    outputs.reduce((all, output) => all + unitsIn(output, token), 0n)
  return {
    units: tokens.map((token) =>
      later.reduce((all, { received, spent }) => all - sum(received, token) + sum(spent, token), sum(held, token))
    ),
    hasSent: before.sent_sum.some(({ quantity }) => BigInt(quantity) > 0n)
  }
})

/** `ChainDriver.finalBalances`, by one server. */
export const readBalances = Effect.fnUntraced(function*(
  api: Api,
  environment: Environment,
  addresses: ReadonlyArray<string>,
  tokens: ReadonlyArray<string | null>
): Effect.fn.Return<FinalBalances | null, DriverError> {
  const holders = holdersOf(addresses)
  if (holders.length > maximumHolders) return null
  const tip = yield* readTip(api)
  const height = tip.height - BigInt(requiredDepth(network, environment, "final", 0n).blocks) + 1n
  const point = height === tip.height ? tip : yield* readSlot(api, height < 0n ? 0n : height)
  if (point === null) {
    const reason = `${api.name} has no block ${height}, which is the newest final one`
    return yield* new DriverError({ network, reason, kind: "pruned" })
  }
  const found = yield* Effect.forEach(holders, (holder) => readHolder(api, holder, tokens, point.height))
  const whole = found.filter((each) => each !== null)
  if (whole.length < found.length) return null
  return {
    point: { height: point.height, hash: point.hash, time: point.time },
    balances: tokens.map((_, place) => baseUnits(whole.reduce((all, { units }) => all + units[place]!, 0n))),
    hasSent: whole.some(({ hasSent }) => hasSent)
  }
})
