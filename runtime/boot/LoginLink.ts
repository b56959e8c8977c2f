/** `login` of the command line: a link that signs somebody in, asked of the running service over its internal port. */
import { Effect, Schema } from "effect"
import { Rpc, RpcClient, RpcGroup } from "effect/rpc"
import { PublicError } from "../../schemas/Errors.ts"
import { EpochSeconds, MerchantId } from "../../schemas/Ids.ts"
import { isLocalPage } from "../../schemas/Web.ts"
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

/**
 * Whether a start may print such a link by itself: it opens play money only, and leads to an
 * address that means the reader's own machine.
 */
export const mayPrintLink = (
  { environments, publicUrl }: Pick<Settings["Service"], "environments" | "publicUrl">
): boolean => !environments.includes("mainnet") && isLocalPage(publicUrl)

/** The link, good once within 10 minutes. `internalUrl`: of the running service, else as the settings have it. */
export const loginLink = Effect.fnUntraced(function*({ member, merchantId }: LoginRequest, internalUrl?: string) {
  const { rpc } = yield* Settings
  const url = internalUrl ?? `http://${printHost(rpc.host)}:${rpc.port}`
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
