/** `login` of the command line: a link that signs somebody in, asked of the running service over its internal port. */
import { Effect, Schema } from "effect"
import { Rpc, RpcClient, RpcGroup } from "effect/rpc"
import { PublicError } from "../../schemas/Errors.ts"
import { EpochSeconds, MerchantId } from "../../schemas/Ids.ts"
import { printHost } from "./Listener.ts"
import { Settings } from "../Settings.ts"
import * as Client from "../rpc/Client.ts"
import { rpcToken } from "../rpc/Credential.ts"

/** The call of whichever module knows the people of merchants. */
class LoginRpc extends RpcGroup.make(
  Rpc.make("team.loginLink", {
    payload: { merchant_id: MerchantId, member: Schema.optionalKey(Schema.String) },
    success: Schema.Struct({ url: Schema.String, expires_at: EpochSeconds }),
    error: PublicError
  })
) {}

/** Whom a link is for: the member named by id or e-mail address, else the merchant's first owner. */
export interface LoginRequest {
  readonly merchantId: number
  readonly member: string | undefined
}

/** The service does not answer, or knows no people. */
export class LoginFailed extends Schema.TaggedError<LoginFailed>()("LoginFailed", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

/** The link, good once within 10 minutes. */
export const loginLink = Effect.fnUntraced(function*({ member, merchantId }: LoginRequest) {
  const { rpc } = yield* Settings
  const url = `http://${printHost(rpc.host)}:${rpc.port}`
  const token = yield* rpcToken
  const call = Effect.gen(function*() {
    const client = yield* RpcClient.make(LoginRpc)
    return yield* client["team.loginLink"]({
      merchant_id: MerchantId.make(merchantId),
      ...(member === undefined ? {} : { member })
    })
  })
  const answer = yield* call.pipe(
    Effect.scoped,
    Effect.provide(Client.layer({ url, token })),
    Effect.mapError((error) =>
      error instanceof PublicError
        ? error
        : new LoginFailed({
          reason:
            `the service does not answer at ${url}: start it with this config file, which must have the module team`
        })
    )
  )
  return answer.url
})
