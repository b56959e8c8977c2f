/** A chain of TON as a rig of the conformance suite. */
import { Address } from "@ton/core"
import { Effect, type Scope } from "effect"
import { FetchHttpClient } from "effect/http"
import { makeDriver } from "../../../modules/chains/ton.ts"
import type { ReceiveTarget } from "../../../runtime/Chains.ts"
import { readTonAddress, tonAddressText } from "../../../schemas/TonAddress.ts"
import { disturbancesOf } from "../../conformance/chains/Disturbances.ts"
import type { TestedChain } from "../../conformance/chains.ts"
import { type EndpointFaults, TonRig } from "../TonRig.ts"
import { sharedWalletKey, tonOptions, walletsOf } from "./Driver.ts"

const addressCount = 10

const poolText = Array.from({ length: addressCount }, (_, place) => `0:${`b${place}`.repeat(32)}`).join("\n")

/** Changes what an endpoint shows of transactions. */
const withTransactions =
  (edit: (list: ReadonlyArray<unknown>) => ReadonlyArray<unknown>): EndpointFaults["lie"] => (route, answer) =>
    route === "transactions" ? { ...answer, transactions: edit(answer.transactions) } : answer

/** What an endpoint is that does nothing wrong. */
const honest: Partial<EndpointFaults> = { lagBlocks: 0, indexLagBlocks: 0, isCut: false, status: null, lie: null }

const faults = {
  lag: () => ({ lagBlocks: 2 }),
  index_lag: () => ({ indexLagBlocks: 3 }),
  duplicates: () => ({ lie: withTransactions((list) => list.flatMap((each) => [each, each])) }),
  holes: () => ({ lie: withTransactions((list) => list.filter((_, place) => place % 2 === 1)) }),
  cut: () => ({ isCut: true }),
  errors: () => ({ status: 503 })
} satisfies Record<string, () => Partial<EndpointFaults>>

/** A rig whose invoices are paid by memo, or each at an address of its own. */
export const tonChain = (kind: "address" | "pool"): Effect.Effect<TestedChain, never, Scope.Scope> =>
  Effect.gen(function*() {
    const rig = yield* Effect.promise(() => TonRig.make())
    const { faults: current, url } = yield* rig.serve()
    const jetton = yield* Effect.promise(() => rig.deployJetton())
    rig.mine()
    const withoutWallet = makeDriver(tonOptions([url])).pipe(Effect.provide(FetchHttpClient.layer), Effect.orDie)
    const { pool, shared } = yield* walletsOf(yield* withoutWallet, sharedWalletKey, poolText)
    const openDriver = Effect.map(withoutWallet, (driver) => ({
      ...driver,
      wallet: kind === "address" ? shared : pool
    }))
    // The rig has it raw, the catalogue as a wallet shows it.
    const token = tonAddressText(readTonAddress(jetton.address.toRawString())!, { bounceable: true, testOnly: false })
    const send = ({ address, memo }: Pick<ReceiveTarget, "address" | "memo">, asset: string | null, amount: bigint) =>
      Effect.promise(() =>
        asset === null
          ? rig.pay(Address.parse(address), amount, { text: memo })
          : rig.payJetton(jetton, Address.parse(address), amount, { text: memo })
      ).pipe(Effect.map((txHash) => ({ txHash })))
    const made: TestedChain = {
      driver: yield* openDriver,
      openDriver,
      unit: 10_000_000n,
      token,
      hasCoinBalances: false,
      target: (invoice) => kind === "address" ? shared.targetOf(`inv_${invoice}`) : pool.derive(invoice),
      pay: send,
      mine: (blocks) =>
        Effect.sync(() => {
          for (let count = 0; count < blocks; count++) rig.mine()
        }),
      // Each receiver has a transaction of its own.
      payMany: null,
      rollback: null,
      dropTransaction: null,
      disturbances: disturbancesOf<Partial<EndpointFaults>>(
        (fault) => void Object.assign(current, honest, fault),
        faults
      ),
      shared: kind === "pool" ? null : {
        accountKey: shared.accountKey,
        payWithoutMemo: (asset, amount) => send({ address: shared.address, memo: null }, asset, amount)
      },
      payWithFee: null,
      payInVain: ({ address, memo }, amount) =>
        Effect.promise(() => rig.pay(Address.parse(address), amount, { text: memo, bounce: true })).pipe(
          Effect.map((txHash) => ({ txHash }))
        )
    }
    return made
  })
