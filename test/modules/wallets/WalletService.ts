/**
 * Receiving wallets as merchants call them: the real routes, commit log and chains over PostgreSQL. Chains are
 * simulated, and read wallets as the families' own drivers do. Two of these on one database are two instances.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { base58 } from "@scure/base"
import { randomBytes } from "node:crypto"
import * as Actors from "../../../runtime/Actors.ts"
import { type ChainDriver, Chains, type WalletRef } from "../../../runtime/Chains.ts"
import * as ChainsJournal from "../../../runtime/chains/TransferJournal.ts"
import { Credentials } from "../../../runtime/Http.ts"
import { type Member, Members } from "../../../runtime/Members.ts"
import { Timers } from "../../../runtime/Timers.ts"
import { readWallet as readCardano } from "../../../modules/chains/cardano/Wallet.ts"
import { make as makeSimulated, type SimulatedChain } from "../../../modules/chains/simulated.ts"
import { readWallet as readSolana } from "../../../modules/chains/solana/Wallet.ts"
import { readWallet as readSui } from "../../../modules/chains/sui/Wallet.ts"
import { readWallet as readTon } from "../../../modules/chains/ton/Wallet.ts"
import { WalletsApi } from "../../../modules/wallets/api.ts"
import { migrations, tables } from "../../../modules/wallets/migrations.ts"
import { plugin } from "../../../modules/wallets/plugin.ts"
import type { Principal } from "../../../schemas/Auth.ts"
import { toChecksumAddress } from "../../../schemas/EvmAddress.ts"
import { type Environment, type Family, familyOf } from "../../../schemas/Network.ts"
import { cardanoTestAddress } from "../../../schemas/PlayMoney.ts"
import { tonAddressText } from "../../../schemas/TonAddress.ts"
import type { WalletKind } from "../../../schemas/Wallet.ts"
import { catalogOf } from "../../fixtures/tokens.ts"
import { type Answer, Api, apiLayer, kernel, settingsLayer } from "../../support/Api.ts"
import { connect, type TestDatabase } from "../../support/Database.ts"
import { operatorKey, solePerson } from "../../fixtures/authorities.ts"

/**
 * `<merchant>` on devnet, `<merchant>m` on mainnet: there a person who signed in, whom alone a wallet is taken from;
 * with `p` before it a person on devnet too, with `k` a key. `<merchant>m-<role><place>` is a person in that role.
 */
const verify = (key: string) => {
  const [, who, merchant, what, person, role] = /^([pk]?)(\d+)(m?)(?:-(([a-z]+)\d+))?$/.exec(key) ?? []
  const isPerson = who === "p" || (what === "m" && who !== "k")
  return Effect.succeed(
    merchant === undefined ? null : {
      merchantId: Number.parseInt(merchant, 10),
      environment: what === "m" ? "mainnet" : "devnet",
      scope: "merchant",
      kind: isPerson ? "wallet" : "key",
      credential: isPerson ? `wallet_${person ?? merchant}` : `key_${key}`,
      apiVersion: "2026-01-15",
      ...(isPerson ? solePerson : operatorKey),
      ...(person === undefined ? {} : { person, role })
    } as Principal
  )
}

type Reader = (environment: Environment, kind: WalletKind, value: string) => Effect.Effect<WalletRef | string>

/** How the drivers of each family but EVM's read wallets; the simulated one reads those of EVM as its driver does. */
const readers: Partial<Record<Family, Reader>> = {
  solana: readSolana,
  ton: (environment, kind, value) => readTon(environment)(kind, value),
  sui: (_, kind, value) => readSui(kind, value),
  cardano: (environment, kind, value) => readCardano(kind, value, environment)
}

const asItsFamily = (driver: ChainDriver, environment: Environment): ChainDriver => {
  const read = readers[familyOf(driver.network)]
  return {
    ...driver,
    environment,
    ...(read === undefined ? {} : { readWallet: (kind, value) => read(environment, kind, value) })
  }
}

export const networks = ["base", "solana", "ton", "sui", "cardano"] as const

export interface WalletService {
  readonly call: (
    key: string,
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>
  ) => Effect.Effect<Answer>
  readonly put: (key: string, family: Family, kind: WalletKind, value: string, more?: object) => Effect.Effect<Answer>
  readonly chains: Chains["Service"]
  readonly simulated: SimulatedChain["Service"]
  readonly sql: SqlClient.SqlClient
  readonly timers: Timers["Service"]
}

const hash = () => new Uint8Array(randomBytes(32))

/** A family that these tests make addresses of. One that is added later brings tests of its own. */
export type AddressFamily = "cardano" | "evm" | "solana" | "sui" | "ton"

/** An address of devnet that nobody has, as wallets show it. */
export const newAddress: Readonly<Record<AddressFamily, () => string>> = {
  evm: () => toChecksumAddress(`0x${randomBytes(20).toString("hex")}`),
  solana: () => base58.encode(hash()),
  ton: () => tonAddressText({ workchain: 0, hash: hash() }, { bounceable: false, testOnly: true }),
  sui: () => `0x${randomBytes(32).toString("hex")}`,
  cardano: () => cardanoTestAddress(hash().subarray(0, 28), hash().subarray(0, 28))
}

export const addressFamilies = Object.keys(newAddress) as ReadonlyArray<AddressFamily>

export const newAddresses = (family: AddressFamily, count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, newAddress[family])

/** One network of each family, which several instances may follow. */
export const simulatedNetworks = makeSimulated({ networks: [...networks], blockMillis: 3_600_000 })

/**
 * An instance on a database, for as long as the scope lives; on networks of its own where none are given. `isPaidInto`:
 * merchants without a wallet are paid into the deployment's on mainnet too.
 */
export const instanceOn = (
  database: TestDatabase,
  chain: Effect.Effect<Effect.Success<typeof simulatedNetworks>, never, Scope.Scope> = simulatedNetworks,
  mainnetForwarders = false,
  team?: ReadonlyMap<number, ReadonlyArray<Member>>,
  isPaidInto = false
): Effect.Effect<WalletService, never, Scope.Scope> =>
  Effect.gen(function*() {
    const { drivers, service } = yield* chain
    const registered = Layer.effectDiscard(Effect.gen(function*() {
      const chains = yield* Chains
      for (const driver of drivers) {
        yield* chains.register(asItsFamily(driver, "devnet"))
        yield* chains.register({ ...asItsFamily(driver, "mainnet"), wallet: isPaidInto ? driver.wallet : null })
      }
    }))
    const served = apiLayer(
      [WalletsApi],
      Layer.mergeAll(
        plugin.layer({ mainnetForwarders } as never),
        Layer.effectDiscard(Effect.flatMap(Credentials, (credentials) => credentials.register(verify))),
        team === undefined ? Layer.empty : Layer.effectDiscard(Effect.flatMap(Members, ({ register }) =>
          register({
            find: () => Effect.succeed(null),
            list: (merchant) => Effect.sync(() => team.get(merchant) ?? []),
            actorsOf: () => Effect.succeed([])
          })))
      ) as never,
      registered.pipe(
        Layer.provideMerge(ChainsJournal.layer),
        Layer.provideMerge(Layer.mergeAll(Actors.layer, catalogOf())),
        Layer.provideMerge(
          kernel(
            [{ name: "wallets", migrations, tables }],
            settingsLayer({ environments: ["devnet", "mainnet"] }),
            connect(database) as never
          )
        )
      )
    ) as unknown as Layer.Layer<Api | Chains | SqlClient.SqlClient | Timers>
    const context = yield* Layer.build(Layer.fresh(served))
    const api = Context.get(context, Api)
    const call: WalletService["call"] = (key, method, path, body, headers = {}) =>
      api.call(`/api/v1/merchant/wallets${path}`, {
        method,
        headers: { "x-api-key": key, ...headers },
        ...(body === undefined ? {} : { body })
      })
    return {
      call,
      put: (key, family, kind, value, more = {}) => call(key, "PUT", `/${family}`, { kind, value, ...more }),
      chains: Context.get(context, Chains),
      simulated: service,
      sql: Context.get(context, SqlClient.SqlClient),
      timers: Context.get(context, Timers)
    }
  })
