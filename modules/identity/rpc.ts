/** Wallets of merchants for internal services: definitions only. */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { PublicError } from "../../schemas/Errors.ts"
import { MerchantId } from "../../schemas/Ids.ts"
import { Network } from "../../schemas/Network.ts"
import { SignInWallet } from "./api.ts"

export class IdentityRpc extends RpcGroup.make(
  /** Oldest first, at most 20. */
  Rpc.make("identity.wallets.list", {
    payload: { merchant_id: MerchantId },
    success: Schema.Array(SignInWallet),
    error: PublicError
  }),
  /**
   * Lets a wallet sign in for a merchant, on the caller's word. `contract`: the account is a contract on that network
   * (EIP-1271). Linking twice is the same as once. Errors: `NOT_FOUND` without such a merchant, `UNSUPPORTED_NETWORK`
   * without a driver for it, `WALLET_ADDRESS_INVALID`, `WALLET_LINKED_ELSEWHERE`, `WALLET_LIMIT_REACHED`.
   */
  Rpc.make("identity.wallets.link", {
    payload: {
      merchant_id: MerchantId,
      network: Network,
      address: Schema.NonEmptyString.check(Schema.isMaxLength(255)),
      contract: Schema.optionalKey(Schema.Boolean)
    },
    success: SignInWallet,
    error: PublicError
  }),
  /** Also the last one. Its tokens are refused everywhere within 5 s. `NOT_FOUND` without such a wallet. */
  Rpc.make("identity.wallets.unlink", {
    payload: { merchant_id: MerchantId, wallet_id: Schema.String },
    success: SignInWallet,
    error: PublicError
  })
) {}
