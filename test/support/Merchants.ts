/** Merchants of a running deployment, made as an operator makes them: over its internal port. */
import { Effect, Redacted } from "effect"
import { RpcClient } from "effect/rpc"
import { AuthRpc } from "../../modules/auth/rpc.ts"
import { IdentityRpc } from "../../modules/identity/rpc.ts"
import * as InternalRpc from "../../runtime/rpc/Client.ts"
import { MerchantId } from "../../schemas/Ids.ts"
import type { Network } from "../../schemas/Network.ts"
import { rpcToken, type Service } from "./Service.ts"

/** A merchant and a key of it. */
export interface Merchant {
  readonly id: number
  readonly key: string
}

/** Makes merchants as an operator does, each with a devnet key. */
export const makeMerchants = (
  service: Service,
  count: number,
  scope: "merchant" | "commerce" = "merchant"
): Effect.Effect<ReadonlyArray<Merchant>> =>
  Effect.scoped(Effect.gen(function*() {
    const client = yield* RpcClient.make(AuthRpc)
    return yield* Effect.forEach(Array.from({ length: count }), (_, index) =>
      Effect.gen(function*() {
        const { id } = yield* client["auth.merchants.create"]({ name: `Merchant ${index}` })
        const { key } = yield* client["auth.keys.create"]({
          merchant_id: id,
          name: "test",
          scope,
          environment: "devnet"
        })
        return { id, key }
      }), { concurrency: 8 })
  })).pipe(
    Effect.provide(InternalRpc.layer({ url: service.rpcUrl, token: Redacted.make(rpcToken) })),
    Effect.orDie
  )

/** Another devnet key of a merchant, which only these addresses may use. */
export const makeKey = (
  service: Service,
  merchantId: number,
  allowlist: ReadonlyArray<string>
): Effect.Effect<string> =>
  Effect.flatMap(
    RpcClient.make(AuthRpc),
    (client) =>
      client["auth.keys.create"]({
        merchant_id: MerchantId.make(merchantId),
        name: "test",
        scope: "merchant",
        environment: "devnet",
        ip_allowlist: allowlist
      })
  ).pipe(
    Effect.map(({ key }) => key),
    Effect.scoped,
    Effect.provide(InternalRpc.layer({ url: service.rpcUrl, token: Redacted.make(rpcToken) })),
    Effect.orDie
  )

/** Links a wallet to a merchant, on the operator's word. */
export const linkWallet = (service: Service, merchantId: number, network: Network, address: string) =>
  Effect.flatMap(
    RpcClient.make(IdentityRpc),
    (client) => client["identity.wallets.link"]({ merchant_id: MerchantId.make(merchantId), network, address })
  ).pipe(
    Effect.scoped,
    Effect.provide(InternalRpc.layer({ url: service.rpcUrl, token: Redacted.make(rpcToken) })),
    Effect.orDie
  )
