/** The team for the operator: definitions only. */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { PublicError } from "../../schemas/Errors.ts"
import { EpochSeconds, MerchantId } from "../../schemas/Ids.ts"

export class TeamRpc extends RpcGroup.make(
  /**
   * A link that signs somebody in to the dashboard, once, within 10 minutes: the member named by id or e-mail address,
   * else the merchant's first owner, who is made where nobody is a member. Errors: `NOT_FOUND` without such a merchant
   * or member.
   */
  Rpc.make("team.loginLink", {
    payload: {
      merchant_id: MerchantId,
      member: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(254)))
    },
    success: Schema.Struct({ url: Schema.String, expires_at: EpochSeconds }),
    error: PublicError
  })
) {}
