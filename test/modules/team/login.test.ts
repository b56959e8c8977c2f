/**
 * Goal: an operator gets somebody in. Method: what the command `login` does, against the internal port of a running
 * service.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { loginLink } from "../../../runtime/boot/LoginLink.ts"
import { Settings } from "../../../runtime/Settings.ts"
import { rpcToken } from "../../support/Service.ts"
import { DevnetService, newDevnetMerchant } from "../simulator/DevnetService.ts"

const linkOf = Effect.fnUntraced(function*(merchantId: number, member?: string) {
  const { hostname, port } = new URL((yield* DevnetService).internalUrl)
  const settings = {
    environments: ["devnet"],
    rpc: { host: hostname, port: Number.parseInt(port, 10), token: rpcToken }
  }
  return yield* Effect.provideService(loginLink({ merchantId, member }), Settings, settings as never)
}, Effect.provide(NodeServices.layer))

const failure = <A, R>(attempt: Effect.Effect<A, { readonly message: string }, R>) =>
  Effect.match(attempt, { onFailure: ({ message }) => message, onSuccess: () => "a link" })

layer(DevnetService.layer, { excludeTestServices: true })("the command login", (it) => {
  it.effect("answers a link of a merchant's first owner, another one each time", () =>
    Effect.gen(function*() {
      const { id } = yield* newDevnetMerchant
      const [first, second] = [yield* linkOf(id), yield* linkOf(id)]
      assert.match(first, /^http:\/\/localhost:\d+\/dashboard\/signin\/link#t=[\w-]{43}$/)
      assert.notStrictEqual(first, second)
    }))

  it.effect("says that there is no such merchant or member", () =>
    Effect.gen(function*() {
      const { id } = yield* newDevnetMerchant
      assert.strictEqual(yield* failure(linkOf(999_999)), "No such merchant")
      assert.match(yield* failure(linkOf(id, "nobody@shop.example")), /no such member/)
    }))
})
