/**
 * What wallets hold of jettons, at a block that is named. Of the coin nobody can say whether the books agree: gas that
 * comes with jettons, and what storage takes, move it without a transfer that is followed.
 */
import { Effect } from "effect"
import { DriverError, type FinalBalances } from "../../../runtime/Chains.ts"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { baseUnits } from "../../../schemas/Money.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { readAccountKey } from "./Account.ts"
import { jettonsOf, type JettonWallets } from "./JettonWallets.ts"
import { numberAt, readMasterchain, runGetMethod, type Toncenter } from "./Toncenter.ts"

/** Milliseconds for which an API may know less of blocks than of accounts: methods run on the newest state there is. */
const blockLagMillis: Readonly<Record<Environment, number>> = { mainnet: 10_000, devnet: 0 }

/** Units of a jetton in the account that keeps it for an owner. */
const readUnits = Effect.fnUntraced(function*(
  client: Toncenter,
  jettonWallets: JettonWallets,
  owner: string,
  token: string,
  now: number
): Effect.fn.Return<bigint, DriverError> {
  const [jetton] = jettonsOf([token])
  const account = jetton === undefined ? null : yield* jettonWallets.resolve(client, owner, jetton, now)
  const data = account === null ? null : yield* runGetMethod(client, account, "get_wallet_data")
  return (data === null ? null : numberAt(data, 0)) ?? 0n
})

/** Whether a wallet has sent anything: each signature raises its sequence number. */
const hasSigned = (client: Toncenter, owner: string): Effect.Effect<boolean, DriverError> =>
  Effect.map(
    runGetMethod(client, owner, "seqno"),
    (stack) => stack !== null && (numberAt(stack, 0) ?? 0n) > 0n
  )

/** `ChainDriver.finalBalances`, by one endpoint: null of the coin. */
export const readBalances = Effect.fnUntraced(function*(
  client: Toncenter,
  environment: Environment,
  jettonWallets: JettonWallets,
  addresses: ReadonlyArray<string>,
  tokens: ReadonlyArray<string | null>
): Effect.fn.Return<FinalBalances | null, DriverError> {
  const jettons = tokens.flatMap((token) => token ?? [])
  if (jettons.length < tokens.length) return null
  const owners = addresses.flatMap((address) => readAccountKey(address) ?? [])
  const now = yield* nowSeconds
  const read = Effect.forEach(jettons, (token) =>
    Effect.map(
      Effect.forEach(owners, (owner) => readUnits(client, jettonWallets, owner, token, now)),
      (units) => units.reduce((sum, each) => sum + each, 0n)
    ))
  // What is the same before and after a block was so in that block.
  const before = yield* read
  yield* Effect.sleep(blockLagMillis[environment])
  const { last } = yield* readMasterchain(client)
  const after = yield* read
  if (before.some((units, place) => units !== after[place])) {
    const reason = `${client.name}: what a wallet holds changed while it was read`
    return yield* new DriverError({ network: client.network, reason, kind: "unavailable" })
  }
  return {
    point: { height: last.height, hash: last.hash, time: last.time },
    balances: after.map(baseUnits),
    hasSent: (yield* Effect.forEach(owners, (owner) => hasSigned(client, owner))).includes(true)
  }
})
