/**
 * Goal: a batch of real money is approved by its own route, by a passkey and by a wallet of any family, and anybody can
 * check each approval later. Method: the whole service on mainnet's rules before a real EVM node; the check is the
 * script of the reference.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { HDKey } from "@scure/bip32"
import { Context, Effect, Layer, Redacted } from "effect"
import { RpcClient } from "effect/rpc"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { writeFileSync } from "node:fs"
import { AuthRpc } from "../../../modules/auth/rpc.ts"
import { TeamSessions, TeamSignIn } from "../../../modules/team/plugin.ts"
import { TeamRpc } from "../../../modules/team/rpc.ts"
import { boot, ServiceInfo } from "../../../runtime/boot.ts"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { load } from "../../../runtime/Config.ts"
import { LocalCalls } from "../../../runtime/LocalCalls.ts"
import * as InternalRpc from "../../../runtime/rpc/Client.ts"
import { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { familyOf } from "../../../schemas/Network.ts"
import { krakenServer } from "../../fixtures/priceSources/kraken.ts"
import { anvil } from "../../support/Anvil.ts"
import { approvalScript } from "../../support/ApprovalScript.ts"
import { chaosDeployment } from "../../support/chaos/Run.ts"
import { migratedDatabase } from "../../support/Database.ts"
import { rpcToken, temporaryDirectory } from "../../support/Service.ts"
import { answerBy, changedApprovals, signingKinds } from "../../support/SigningWallets.ts"
import { addAccount, addPasskey, byPasskey, endWaits } from "../refunds/ApprovalShop.ts"
import { callAs, type Services, tokenOf } from "../team/Deployment.ts"
import { freePort } from "../../support/Ports.ts"

const publicUrl = "https://till.test"

const from = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
const receiver = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"

const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(0x5e)).derive("m/44'/60'/0'").publicExtendedKey

type Town = ServiceInfo | Services | SqlClient.SqlClient | TeamSignIn | TokenCatalog

/** The service on mainnet's rules, in this process: what a test asks of it directly is all there. */
class MainnetTown extends Context.Service<MainnetTown, Context.Context<Town>>()("test/MainnetTown") {
  static readonly layer = Layer.effect(
    MainnetTown,
    Effect.gen(function*() {
      const node = yield* anvil("base", "mainnet")
      const other = node.url.replace("127.0.0.1", "localhost")
      const database = yield* migratedDatabase
      const deployment = chaosDeployment(database.url, { rpc: [node.url, other], xpub, pollMillis: 200 })
      const directory = yield* temporaryDirectory
      const kraken = yield* krakenServer
      const config = {
        ...deployment.config,
        http: { publicUrl, port: yield* freePort },
        rpc: { ...deployment.config.rpc, port: 0 },
        prices: [{ use: "kraken", options: { baseUrl: kraken.url } }],
        data: { directory: `${directory}/data` },
        telemetry: { logs: "json", level: "error" }
      }
      const file = `${directory}/config.json`
      writeFileSync(file, JSON.stringify(config))
      const { environment } = deployment
      const services = yield* Layer.build(boot(yield* load({ file, environment }), randomUUID()))
      return services as unknown as Context.Context<Town>
    })
  ).pipe(Layer.provide(NodeServices.layer), Layer.orDie)
}

const inTown = <A, E, R extends Town>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(MainnetTown, (services) => Effect.provide(effect, services as Context.Context<any>)) as Effect.Effect<
    A,
    E,
    MainnetTown
  >

/** An owner with a passkey, who may approve at once, and their merchant. */
const newOwner = Effect.gen(function*() {
  const { internalUrl } = yield* ServiceInfo
  const { merchant, url } = yield* Effect.gen(function*() {
    const { id } = yield* (yield* RpcClient.make(AuthRpc))["auth.merchants.create"]({ name: "Shop" })
    const link = yield* (yield* RpcClient.make(TeamRpc))["team.loginLink"]({ merchant_id: id })
    return { merchant: id, url: link.url }
  }).pipe(
    Effect.scoped,
    Effect.provide(InternalRpc.layer({ url: internalUrl, token: Redacted.make(rpcToken) })),
    Effect.orDie
  )
  const { session } = yield* (yield* TeamSignIn).byLink(tokenOf(url))
  const owner = yield* addPasskey(session, publicUrl)
  yield* endWaits
  return { merchant, owner }
})

type Owner = Effect.Success<typeof newOwner>

/** A batch of one payout of real money that waits for an approval. */
const newBatch = Effect.fnUntraced(function*({ merchant, owner }: Owner) {
  const ether = (yield* TokenCatalog).list("mainnet").find((each) => each.network === "base" && each.address === null)!
  const line = {
    token_id: ether.id,
    token_amount: "0.01",
    destination: { address: receiver, memo: null },
    reference: "supplier"
  }
  const grant = yield* (yield* TeamSessions).grantOf(owner.session, merchant)
  const made = yield* (yield* LocalCalls).call(grant!, {
    method: "POST",
    path: "/api/v1/batches?environment=mainnet",
    idempotencyKey: randomUUID(),
    body: { kind: "payouts", network: "base", from, lines: [line] }
  })
  assert.strictEqual(made.status, 200, JSON.stringify(made.body))
  const batch = (made.body as any).data
  assert.deepStrictEqual([batch.environment, batch.status], ["mainnet", "pending_approval"])
  return batch
})

const callOn = ({ merchant, owner }: Owner, { id }: { readonly id: string }, rest: string, body?: object) =>
  callAs(
    owner.session,
    merchant,
    body === undefined ? "GET" : "POST",
    `/batches/${id}${rest}?environment=mainnet`,
    body
  )

const outcomeOf = ({ body, status }: { readonly body: any; readonly status: number }) =>
  status === 200 ? body.data.status as string : `${status} ${body.error.code}`

const challengeOf = (owner: Owner, batch: { readonly id: string }) =>
  Effect.map(callOn(owner, batch, "/approve/challenge", {}), ({ body }) => body.data)

/** Approves, and gives the only approval there is then. */
const approve = Effect.fnUntraced(function*(owner: Owner, batch: { readonly id: string }, proof: object) {
  assert.strictEqual(outcomeOf(yield* callOn(owner, batch, "/approve", { proof })), "ready")
  const { body } = yield* callOn(owner, batch, "/approvals")
  assert.lengthOf(body.data.data, 1)
  return body.data.data[0]
})

layer(MainnetTown.layer, { excludeTestServices: true })("a batch of real money", (it) => {
  it.effect("is approved by a passkey, by its own route, and by nothing that is signed of another one", () =>
    inTown(
      Effect.gen(function*() {
        const owner = yield* newOwner
        const [batch, other] = [yield* newBatch(owner), yield* newBatch(owner)]
        assert.strictEqual(outcomeOf(yield* callOn(owner, batch, "/approve", {})), "403 APPROVAL_PROOF_REQUIRED")
        const challenge = yield* challengeOf(owner, batch)
        assert.includeMembers(challenge.text.split("\n"), [
          `Service: ${publicUrl}`,
          "Environment: mainnet",
          `Batch: ${batch.id}`,
          `Content: ${batch.content_hash}`
        ])
        const answer = byPasskey(owner.owner, challenge, {}, publicUrl)
        assert.strictEqual(outcomeOf(yield* callOn(owner, other, "/approve", { proof: answer })), "401 NONCE_INVALID")
        const forged = { ...byPasskey(owner.owner, yield* challengeOf(owner, other), {}, publicUrl), id: challenge.id }
        assert.strictEqual(
          outcomeOf(yield* callOn(owner, batch, "/approve", { proof: forged })),
          "401 SIGNATURE_INVALID"
        )
        const approval = yield* approve(owner, batch, answer)
        assert.strictEqual(
          outcomeOf(yield* callOn(owner, batch, "/approve", { proof: answer })),
          "409 INVALID_TRANSITION"
        )
        assert.deepStrictEqual(approval.approves, { object: "batch", id: batch.id })

        const check = yield* approvalScript
        const isGood = (changed: object = {}) => Effect.promise(() => check({ ...approval, ...changed }))
        assert.isTrue(yield* isGood())
        assert.isFalse(yield* isGood({ text: approval.text.replace(batch.content_hash, other.content_hash) }))
        assert.isFalse(yield* isGood({ approves: { object: "refund", id: batch.id } }))
        assert.isFalse(yield* isGood({ approves: { object: "batch", id: other.id } }))
        assert.isFalse(yield* isGood({ environment: "devnet" }))
        const elsewhere = { ...approval.signature, origin: "https://evil.example", rp_id: "evil.example" }
        assert.isFalse(yield* isGood({ signature: elsewhere }))
      }).pipe(Effect.scoped)
    ))

  for (const [name, kind] of Object.entries(signingKinds)) {
    it.effect(`is approved by a wallet (${name}), and checked without the service`, () =>
      inTown(
        Effect.gen(function*() {
          const owner = yield* newOwner
          const account = yield* addAccount(owner.owner.session, owner.merchant, kind, publicUrl)
          yield* endWaits
          const batch = yield* newBatch(owner)
          const challenge = yield* challengeOf(owner, batch)
          const now = yield* nowSeconds
          const answer = yield* Effect.promise(() =>
            answerBy(account, familyOf(kind.network), challenge, publicUrl, now)
          )
          const approval = yield* approve(owner, batch, answer)
          const check = yield* approvalScript
          assert.isTrue(yield* Effect.promise(() => check(approval)))
          // Every bit is changed in test/modules/refunds/approvalFamilies.long.test.ts.
          const passed: Array<string> = []
          for (const { approval: changed, what } of changedApprovals(approval).filter((_, place) => place % 7 === 0)) {
            if (yield* Effect.promise(() => check(changed))) passed.push(what)
          }
          assert.deepStrictEqual(passed, [])
        }).pipe(Effect.scoped)
      ))
  }
})
