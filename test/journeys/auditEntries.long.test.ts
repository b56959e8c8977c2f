/**
 * Goal: whoever does something about money, rights, keys or what is told of them leaves one entry in the audit log,
 * and nobody leaves any by what was refused. Method: every write that the API and the forms of the dashboard offer
 * stands in a table here, with its entries or why it has none; each is done once, and once wrongly.
 */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { pages } from "../../modules/dashboard/pages.ts"
import { localDeployment } from "../support/money/Deployments.ts"
import { type MoneyShop, newXpub, openShop } from "../support/money/Shop.ts"
import { exchange, type TestResponse } from "../support/Service.ts"
import { makeVisitor } from "./DashboardVisits.ts"
import { type Operation, operationsOf, plainPath } from "./Operations.ts"
import { assertStatus } from "./Shop.ts"

const wallet = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
const paying = "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"

type Answer = Effect.Effect<TestResponse>

interface Town {
  readonly shop: MoneyShop
  readonly document: unknown
  /** A call by a key of the merchant, or by its owner's wallet. */
  readonly call: (by: "key" | "jwt", method: string, path: string, body?: unknown) => Answer
  readonly visitor: ReturnType<typeof makeVisitor>
  readonly owner: string
  /** Actors, actions and objects of the entries of a request. */
  readonly entriesOf: (request: string) => Effect.Effect<ReadonlyArray<Entry>>
}

interface Entry {
  readonly actor: string
  readonly action: string
  readonly subject: string
}

class TheTown extends Context.Service<TheTown, Town>()("test/journeys/auditEntries/TheTown") {}

const town = Layer.effect(
  TheTown,
  Effect.gen(function*() {
    const deployment = yield* localDeployment
    const { internalUrl, query, url } = deployment
    const shop = yield* openShop(deployment, 1)
    const service = { rpcUrl: internalUrl, call: (path: string, sent = {}) => exchange(url, path, sent) }
    const visitor = makeVisitor({ service, merchant: shop.id, origin: new URL(url).origin })
    return TheTown.of({
      shop,
      document: (yield* exchange(url, "/openapi.json")).json,
      visitor,
      owner: yield* visitor.signIn(),
      call: (by, method, path, body) =>
        exchange(url, path, {
          method,
          headers: { ...shop[by], ...(method === "GET" ? {} : { "idempotency-key": randomUUID() }) },
          ...(body === undefined ? {} : { body })
        }),
      entriesOf: (request) =>
        Effect.map(
          query(`SELECT actor, action, subject ->> 'object' AS subject FROM audit_entries
            WHERE merchant_id = ${shop.id} AND request_id = '${request}' ORDER BY id`),
          (rows) => rows as unknown as ReadonlyArray<Entry>
        )
    })
  })
)

/** A write that leaves entries: what is done, and as whom. */
interface Write {
  readonly entries: ReadonlyArray<string>
  readonly by: "key" | "jwt"
  readonly act: (town: Town) => Answer
  /** A body that is refused; null: the call cannot be wrong. Default: one that is not whole, or of nothing. */
  readonly wrong?: unknown
}

const dataOf = (answer: TestResponse): any => {
  const body = assertStatus(200, answer)
  return body.data ?? body
}

const made = (answer: Answer) => Effect.map(answer, dataOf)

const paidInvoice = Effect.fnUntraced(function*({ call, shop }: Town, more = 0, customer = "cust") {
  const { invoice_id: id } = yield* made(
    call("key", "POST", "/api/v1/invoices", { amount: 20_000, customer_id: customer })
  )
  const usdc = shop.tokens.find(({ dollars }) => dollars === 1n)!
  yield* made(call("key", "POST", `/api/v1/devnet/invoices/${id}/simulate`, {
    action: "pay",
    network: "base",
    token_id: usdc.id,
    amount: 20_000 + more
  }))
  return { id: id as string, usdc }
})

const newRefund = Effect.fnUntraced(function*(town: Town, isApproved = false) {
  const { id } = yield* paidInvoice(town)
  return yield* made(town.call("jwt", "POST", "/api/v1/refunds", {
    invoice_id: id,
    amount_mode: "full",
    reason: "other",
    fee_bearer: "merchant",
    destination: { network: "base", address: wallet },
    auto_approve: isApproved
  }))
})

const newBatch = Effect.fnUntraced(function*(town: Town) {
  const token = town.shop.tokens.find(({ dollars }) => dollars === 1n)!
  return yield* made(town.call("jwt", "POST", "/api/v1/batches", batchBody(token.id)))
})

const batchBody = (token: number) => ({
  kind: "payouts",
  network: "base",
  from: paying,
  lines: [{ token_id: token, token_amount: "1", destination: { address: wallet }, reference: "one" }]
})

const newKey = ({ call }: Town) => made(call("jwt", "POST", "/api/v1/api-keys", keyBody))
const keyBody = { name: "till", scope: "merchant", environment: "devnet" }

const newMember = Effect.fnUntraced(function*({ call }: Town) {
  const { url } = yield* made(call("jwt", "POST", "/api/v1/team/invitations", { role: "viewer" }))
  const { member } = yield* made(
    call("jwt", "POST", "/api/v1/team/invitations/accept", { token: url.split("#t=")[1], name: "Ines" })
  )
  return member as { readonly id: string }
})

/** The address is never called. */
const newEndpoint = ({ call }: Town) => made(call("jwt", "POST", "/api/v1/webhooks", endpointBody))
const endpointBody = { url: "https://93.184.215.14/hooks?secret=hunter2", enabled_events: ["commerce.order.created"] }

const newLink = ({ call }: Town) => made(call("key", "POST", "/api/v1/payment-links", linkBody))
const linkBody = { title: "Workshop", amount: 5_000 }

const newView = ({ call }: Town) => made(call("jwt", "POST", "/api/v1/team/views", viewBody))
const viewBody = { list: "payments", name: "Paid", query: "status=paid" }

const openException = Effect.fnUntraced(function*(town: Town) {
  const { id } = yield* paidInvoice(town, 50_000)
  const { data: [exception] } = yield* made(town.call("key", "GET", `/api/v1/exceptions?invoice_id=${id}`))
  return exception as { readonly id: string }
})

const walletProof = Effect.fnUntraced(function*({ call }: Town) {
  const account = privateKeyToAccount(generatePrivateKey())
  const { message } = yield* made(
    call("jwt", "POST", "/api/v1/auth/wallets/nonce", { address: account.address, network: "base" })
  )
  const signature = yield* Effect.promise(() => account.signMessage({ message }))
  return { message: message as string, signature }
})

const linkedWallet = (town: Town) =>
  Effect.flatMap(walletProof(town), (proof) => town.call("jwt", "POST", "/api/v1/auth/wallets", proof))

const write = (
  by: Write["by"],
  entry: string,
  act: (town: Town) => Answer,
  wrong?: unknown
): Write => ({ by, act, entries: [entry], ...(wrong === undefined ? {} : { wrong }) })

/** A call with a body, of nothing that has to be there before. */
const plain = (by: Write["by"], entry: string, method: string, path: string, body?: unknown, wrong?: unknown) =>
  write(by, entry, ({ call }) => call(by, method, path, body), wrong)

/** A call about a thing that is made for it. */
const about = <A extends { readonly id: string }>(
  by: Write["by"],
  entry: string,
  thing: (town: Town) => Effect.Effect<A>,
  method: string,
  path: (thing: A) => string,
  body?: unknown,
  wrong?: unknown
) =>
  write(
    by,
    entry,
    (town) => Effect.flatMap(thing(town), (found) => town.call(by, method, path(found), body)),
    wrong
  )

const ofTrade = "commerce of the shop, which its events tell of"
const ofPayors = "what payors do: the invoice's events tell of it"
const ofSignIn = "a sign-in by a wallet: the session's own row tells of it"
const ofPlay = "play money"
const again = "sends again what was told already"
const reads = "reads"
const ofReal = "takes real money; its own tests look for the entry: limits.long.test.ts, changes.long.test.ts"
const questions = "asks for what is signed next, and changes nothing"

const refundPath = ({ id }: { readonly id: string }, what = "") => `/api/v1/refunds/${id}${what}`
const batchPath = ({ id }: { readonly id: string }, what = "") => `/api/v1/batches/${id}${what}`

/** Every write of the API by a credential: its entries, or why it has none. */
const writes: Readonly<Record<string, Write | string>> = {
  "POST /api/v1/api-keys": plain("jwt", "key.create api_key", "POST", "/api/v1/api-keys", keyBody),
  "PATCH /api/v1/api-keys/{id}": about(
    "jwt",
    "key.update api_key",
    newKey,
    "PATCH",
    ({ id }) => `/api/v1/api-keys/${id}`,
    {
      name: "shop"
    }
  ),
  "DELETE /api/v1/api-keys/{id}": about(
    "jwt",
    "key.revoke api_key",
    newKey,
    "DELETE",
    ({ id }) => `/api/v1/api-keys/${id}`
  ),
  // The old key's, and that of the new one.
  "POST /api/v1/api-keys/{id}/rotate": {
    ...about("jwt", "", newKey, "POST", ({ id }) => `/api/v1/api-keys/${id}/rotate`, {}),
    entries: ["key.rotate api_key", "key.create api_key"]
  },
  "POST /api/v1/auth/nonce": ofSignIn,
  "POST /api/v1/auth/verify": ofSignIn,
  "POST /api/v1/auth/refresh": ofSignIn,
  "POST /api/v1/auth/logout": ofSignIn,
  "POST /api/v1/auth/wallets/nonce": questions,
  "POST /api/v1/auth/wallets": write("jwt", "sign_in_wallet.link sign_in_wallet", linkedWallet),
  "DELETE /api/v1/auth/wallets/{id}": about(
    "jwt",
    "sign_in_wallet.unlink sign_in_wallet",
    (town) => made(linkedWallet(town)),
    "DELETE",
    ({ id }) => `/api/v1/auth/wallets/${id}`
  ),
  "PATCH /api/v1/team/members/{id}": about(
    "jwt",
    "member.update team_member",
    newMember,
    "PATCH",
    ({ id }) => `/api/v1/team/members/${id}`,
    { role: "support" }
  ),
  "DELETE /api/v1/team/members/{id}": about(
    "jwt",
    "member.remove team_member",
    newMember,
    "DELETE",
    ({ id }) => `/api/v1/team/members/${id}`
  ),
  "POST /api/v1/team/invitations": plain(
    "jwt",
    "invitation.create team_invitation",
    "POST",
    "/api/v1/team/invitations",
    {
      role: "viewer"
    }
  ),
  "DELETE /api/v1/team/invitations/{id}": about(
    "jwt",
    "invitation.revoke team_invitation",
    ({ call }) => made(call("jwt", "POST", "/api/v1/team/invitations", { role: "viewer" })),
    "DELETE",
    ({ id }) => `/api/v1/team/invitations/${id}`
  ),
  "POST /api/v1/team/invitations/{id}/approve": ofReal,
  "POST /api/v1/team/invitations/accept": "has its entry by the new member: members.long.test.ts",
  "PATCH /api/v1/team/me": plain("jwt", "person.update person", "PATCH", "/api/v1/team/me", { language: "de" }, {
    language: "tlh"
  }),
  "DELETE /api/v1/team/sessions": "a session of the dashboard: below, by its form",
  "DELETE /api/v1/team/sessions/{id}": "a session of the dashboard: below, by its form",
  "PATCH /api/v1/team/passkeys/{id}": "takes a passkey: passkeys.test.ts",
  "DELETE /api/v1/team/passkeys/{id}": "takes a passkey: passkeys.test.ts",
  "POST /api/v1/team/views": plain("jwt", "saved_view.create saved_view", "POST", "/api/v1/team/views", viewBody, {
    ...viewBody,
    query: "status=paid&evil=1"
  }),
  "DELETE /api/v1/team/views/{id}": about(
    "jwt",
    "saved_view.remove saved_view",
    newView,
    "DELETE",
    ({ id }) => `/api/v1/team/views/${id}`
  ),
  "POST /api/v1/team/recovery-codes": "takes a member with an e-mail address: recovery.test.ts",
  "PATCH /api/v1/merchant/settings": plain(
    "jwt",
    "settings.update merchant_settings",
    "PATCH",
    "/api/v1/merchant/settings",
    {
      late_window_seconds: 60
    },
    { late_window_seconds: -1 }
  ),
  "POST /api/v1/merchant/settings/changes/{id}/approve": ofReal,
  "DELETE /api/v1/merchant/settings/changes/{id}": ofReal,
  "PUT /api/v1/merchant/tokens/policy": plain(
    "jwt",
    "token_policy.change token_policy",
    "PUT",
    "/api/v1/merchant/tokens/policy",
    {
      acceptance_policy: "selective"
    }
  ),
  "POST /api/v1/merchant/tokens/{tokenId}/block": write(
    "key",
    "token_policy.change token_policy",
    ({ call, shop }) => call("key", "POST", `/api/v1/merchant/tokens/${shop.tokens[0]!.id}/block`, { blocked: true })
  ),
  "POST /api/v1/merchant/tokens/block-bulk": write(
    "key",
    "token_policy.change token_policy",
    ({ call, shop }) =>
      call("key", "POST", "/api/v1/merchant/tokens/block-bulk", {
        token_ids: shop.tokens.map(({ id }) => id),
        blocked: false
      })
  ),
  "PUT /api/v1/merchant/wallets/{family}": plain(
    "jwt",
    "wallet.set receiving_wallet",
    "PUT",
    "/api/v1/merchant/wallets/evm",
    {
      kind: "xpub",
      value: newXpub(2)
    }
  ),
  // Set anew: without a wallet nobody can pay.
  "DELETE /api/v1/merchant/wallets/{family}": write("jwt", "wallet.remove receiving_wallet", ({ call }) =>
    Effect.tap(
      call("jwt", "DELETE", "/api/v1/merchant/wallets/evm"),
      () => made(call("jwt", "PUT", "/api/v1/merchant/wallets/evm", { kind: "xpub", value: newXpub(3) }))
    ), null),
  "POST /api/v1/merchant/wallets/{family}/changes/{id}/approve": ofReal,
  "DELETE /api/v1/merchant/wallets/{family}/changes/{id}": ofReal,
  "POST /api/v1/merchant/wallets/{family}/recovery/confirm": ofReal,
  "POST /api/v1/invoices": ofTrade,
  "PATCH /api/v1/invoices/{customer_id}": ofTrade,
  "POST /api/v1/invoices/{id}/cancel": ofTrade,
  "POST /api/v1/quotes": reads,
  "POST /api/v1/quotes/batch": reads,
  "POST /api/v1/payments/payment-addresses": ofPayors,
  "POST /api/v1/payments/customer-email": ofPayors,
  "POST /api/v1/payments/refund-address": ofPayors,
  "PUT /api/v1/merchant/settlement-preference": plain(
    "jwt",
    "settlement_preference.change settlement_preference",
    "PUT",
    "/api/v1/merchant/settlement-preference",
    { settlement_preference: "stables_only" }
  ),
  "PUT /api/v1/merchant/settlement-token": "takes null only, which is what there is",
  "POST /api/v1/reconciliation/close": "takes a month that is over: journey.test.ts of reconciliation",
  "POST /api/v1/reconciliation/adjustments": write(
    "jwt",
    "reconciliation.adjust adjustment",
    (town) =>
      Effect.flatMap(paidInvoice(town), ({ usdc }) =>
        town.call("jwt", "POST", "/api/v1/reconciliation/adjustments", {
          asset: usdc.asset,
          token_amount: "-0.5",
          note: "counted"
        }))
  ),
  "POST /api/v1/refunds": write(
    "key",
    "refund.create refund",
    (town) =>
      Effect.flatMap(paidInvoice(town), ({ id }) =>
        town.call("key", "POST", "/api/v1/refunds", {
          invoice_id: id,
          amount_mode: "full",
          reason: "other",
          fee_bearer: "merchant"
        }))
  ),
  "POST /api/v1/refunds/{id}/approve/challenge": questions,
  "POST /api/v1/refunds/{id}/approve": about(
    "jwt",
    "refund.approve refund",
    newRefund,
    "POST",
    (it) => refundPath(it, "/approve"),
    {}
  ),
  "POST /api/v1/refunds/{id}/cancel": about(
    "key",
    "refund.cancel refund",
    newRefund,
    "POST",
    (it) => refundPath(it, "/cancel"),
    {}
  ),
  "POST /api/v1/refunds/{id}/claim-link": write("key", "refund.claim_link refund", (town) =>
    Effect.gen(function*() {
      const { id } = yield* paidInvoice(town)
      const refund = yield* made(town.call("key", "POST", "/api/v1/refunds", {
        invoice_id: id,
        amount_mode: "full",
        reason: "other",
        fee_bearer: "merchant",
        destination: "claim"
      }))
      return yield* town.call("key", "POST", refundPath(refund, "/claim-link"), {})
    })),
  "POST /api/v1/refunds/{id}/claim-link/email": "takes a deployment that sends mail: claimMail.test.ts",
  "POST /api/v1/refunds/{id}/retry": write("key", "refund.retry refund", (town) =>
    Effect.gen(function*() {
      const refund = yield* newRefund(town, true)
      yield* made(town.call("key", "POST", `/api/v1/devnet/refunds/${refund.id}/simulate`, { outcome: "failed" }))
      return yield* town.call("key", "POST", refundPath(refund, "/retry"), {})
    })),
  "POST /api/v1/exceptions/{id}/resolve": about(
    "key",
    "exception.resolve exception",
    openException,
    "POST",
    ({ id }) => `/api/v1/exceptions/${id}/resolve`,
    { action: "credit", note: "kept" }
  ),
  "POST /api/v1/batches": write(
    "key",
    "batch.create batch",
    ({ call, shop }) =>
      call("key", "POST", "/api/v1/batches", batchBody(shop.tokens.find(({ dollars }) => dollars === 1n)!.id))
  ),
  "POST /api/v1/batches/{id}/approve/challenge": questions,
  "POST /api/v1/batches/{id}/approve": about(
    "jwt",
    "batch.approve batch",
    newBatch,
    "POST",
    (it) => batchPath(it, "/approve"),
    {}
  ),
  "POST /api/v1/batches/{id}/cancel": about(
    "key",
    "batch.cancel batch",
    newBatch,
    "POST",
    (it) => batchPath(it, "/cancel"),
    {}
  ),
  "POST /api/v1/batches/{id}/export": write("jwt", "batch.export batch", (town) =>
    Effect.gen(function*() {
      const batch = yield* newBatch(town)
      yield* made(town.call("jwt", "POST", batchPath(batch, "/approve"), {}))
      return yield* town.call("jwt", "POST", batchPath(batch, "/export"), { part: 1, format: "eip5792" })
    })),
  "POST /api/v1/batches/{id}/release": "takes a list that is out for 7 days: release.test.ts",
  "POST /api/v1/batches/{id}/sent": "says where to look, and proves nothing",
  "POST /api/v1/payment-links": plain(
    "key",
    "payment_link.create payment_link",
    "POST",
    "/api/v1/payment-links",
    linkBody
  ),
  "PATCH /api/v1/payment-links/{id}": about(
    "key",
    "payment_link.update payment_link",
    newLink,
    "PATCH",
    ({ id }) => `/api/v1/payment-links/${id}`,
    { active: false }
  ),
  "POST /api/v1/customers/{id}/export": write(
    "jwt",
    "customer.export customer",
    (town) => Effect.andThen(paidInvoice(town), town.call("jwt", "POST", "/api/v1/customers/cust/export", {})),
    null
  ),
  "POST /api/v1/customers/{id}/erase": write(
    "jwt",
    "customer.erase customer",
    (town) =>
      Effect.andThen(paidInvoice(town, 0, "gone"), town.call("jwt", "POST", "/api/v1/customers/gone/erase", {})),
    null
  ),
  "POST /api/v1/webhooks": plain("jwt", "webhook.create webhook_endpoint", "POST", "/api/v1/webhooks", endpointBody),
  "PATCH /api/v1/webhooks/{id}": about(
    "jwt",
    "webhook.update webhook_endpoint",
    newEndpoint,
    "PATCH",
    ({ id }) => `/api/v1/webhooks/${id}`,
    { url: "https://93.184.215.14/other" }
  ),
  "DELETE /api/v1/webhooks/{id}": about(
    "jwt",
    "webhook.delete webhook_endpoint",
    newEndpoint,
    "DELETE",
    ({ id }) => `/api/v1/webhooks/${id}`
  ),
  "POST /api/v1/webhooks/{id}/rotate-secret": about(
    "jwt",
    "webhook.rotate_secret webhook_endpoint",
    newEndpoint,
    "POST",
    ({ id }) => `/api/v1/webhooks/${id}/rotate-secret`,
    {}
  ),
  "POST /api/v1/webhooks/{id}/test": again,
  "POST /api/v1/webhooks/{id}/replay": again,
  "POST /api/v1/webhooks/deliveries/{delivery_id}/redeliver": again,
  "POST /api/v1/ws/token": reads
}

/** A form of the dashboard: where it is sent, with what, and what it leaves. */
interface Form {
  readonly entries: ReadonlyArray<string>
  readonly send: (town: Town) => Effect.Effect<readonly [path: string, fields: Readonly<Record<string, string>>]>
}

const form = (
  entry: string,
  path: string | ((town: Town) => Effect.Effect<string>),
  fields: Readonly<Record<string, string>> | ((town: Town) => Effect.Effect<Readonly<Record<string, string>>>) = {}
): Form => ({
  entries: entry.split(", "),
  send: (town) =>
    Effect.all([
      typeof path === "string" ? Effect.succeed(path) : path(town),
      typeof fields === "function" ? fields(town) : Effect.succeed(fields)
    ])
})

const named = (name: string, thing: (town: Town) => Effect.Effect<{ readonly id: string }>) => (town: Town) =>
  Effect.map(thing(town), ({ id }) => ({ [name]: id }))

const at = (section: string, thing: (town: Town) => Effect.Effect<{ readonly id: string }>) => (town: Town) =>
  Effect.map(thing(town), ({ id }) => `/${section}/${id}`)

const newInvitation = ({ call }: Town) => made(call("jwt", "POST", "/api/v1/team/invitations", { role: "viewer" }))

const refundFields = { amount_mode: "full", reason: "other", fee_bearer: "merchant" }

const theirOwn = "of one person: language, passkeys and codes, as by the API"

/** Every form of the dashboard: its entries, or why it has none. */
const forms: Readonly<Record<string, Form | string>> = {
  ...Object.fromEntries(
    ["payments", "todo", "refunds", "events", "audit"].flatMap((page) => [
      [`${page} save_view`, form("saved_view.create saved_view", `/${page}`, { name: "Open" })],
      [`${page} remove_view`, form("saved_view.remove saved_view", `/${page}`, named("id", newView))]
    ])
  ),
  "payments/new create": ofTrade,
  "payments/:id simulate": ofPlay,
  "payments/:id advance": ofPlay,
  "payments/:id cancel": ofTrade,
  "payments/:id/refund create": form(
    "refund.create refund",
    (town) => Effect.map(paidInvoice(town), ({ id }) => `/payments/${id}/refund`),
    { ...refundFields, where: "claim" }
  ),
  "todo resolve": form(
    "exception.resolve exception",
    "/todo",
    (town) => Effect.map(openException(town), ({ id }) => ({ exception: id, decision: "credit", note: "kept" }))
  ),
  "links/new create": form("payment_link.create payment_link", "/links/new", { title: "Workshop", amount_usd: "5" }),
  "links/:id off": form("payment_link.update payment_link", at("links", newLink)),
  "links/:id on": form("payment_link.update payment_link", (town) =>
    Effect.gen(function*() {
      const { id } = yield* newLink(town)
      yield* made(town.call("key", "PATCH", `/api/v1/payment-links/${id}`, { active: false }))
      return `/links/${id}`
    })),
  "refunds/:id challenge": questions,
  "refunds/:id approve": form("refund.approve refund", at("refunds", newRefund)),
  "refunds/:id cancel": form("refund.cancel refund", at("refunds", newRefund)),
  "refunds/:id retry": form("refund.retry refund", (town) =>
    Effect.gen(function*() {
      const { id } = yield* newRefund(town, true)
      yield* made(town.call("key", "POST", `/api/v1/devnet/refunds/${id}/simulate`, { outcome: "failed" }))
      return `/refunds/${id}`
    })),
  "refunds/:id simulate": ofPlay,
  "refunds/:id claim_link": form("refund.claim_link refund", (town) =>
    Effect.gen(function*() {
      const { id } = yield* paidInvoice(town)
      const body = { ...refundFields, invoice_id: id, destination: "claim" }
      return `/refunds/${(yield* made(town.call("key", "POST", "/api/v1/refunds", body))).id}`
    })),
  "refunds/:id email_claim_link": "takes a deployment that sends mail: claimMail.test.ts",
  "batches pay_refunds": form("batch.create batch", (town) => Effect.as(newRefund(town, true), "/batches"), {
    network: "base",
    from: paying
  }),
  "batches/:id challenge": questions,
  "batches/:id approve": form("batch.approve batch", at("batches", newBatch)),
  "batches/:id cancel": form("batch.cancel batch", at("batches", newBatch)),
  "batches/:id export": "answers a wallet's script; as by the API",
  "batches/:id sent": "says where to look, and proves nothing",
  "collect collect": "takes money on addresses of a forwarder: collects.long.test.ts",
  "periods close": "takes a month that is over; as by the API",
  "webhooks create": form("webhook.create webhook_endpoint", "/webhooks", {
    url: "https://93.184.215.14/hooks",
    enabled_events: "commerce.order.created"
  }),
  "webhooks/:id redeliver": again,
  "webhooks/:id test": again,
  "webhooks/:id rotate": form("webhook.rotate_secret webhook_endpoint", at("webhooks", newEndpoint)),
  "webhooks/:id disable": form("webhook.update webhook_endpoint", at("webhooks", newEndpoint)),
  "webhooks/:id enable": form("webhook.update webhook_endpoint", at("webhooks", newEndpoint)),
  "keys create": form("key.create api_key", "/keys", { name: "till", scope: "merchant", permission_read: "on" }),
  "keys roll": form("key.rotate api_key, key.create api_key", "/keys", named("key", newKey)),
  "keys revoke": form("key.revoke api_key", "/keys", named("key", newKey)),
  "simulator pay": ofPlay,
  "simulator advance": ofPlay,
  "simulator fault": ofPlay,
  // The list, then the policy: two calls of the API.
  "tokens save": form("token_policy.change token_policy, token_policy.change token_policy", "/tokens", {
    policy: "accept_none"
  }),
  "tokens bulk": form("token_policy.change token_policy", "/tokens", { network: "base", blocked: "false" }),
  "wallets set": form("wallet.set receiving_wallet", "/wallets", { family: "evm", kind: "xpub", value: newXpub(4) }),
  "wallets remove": form("wallet.remove receiving_wallet", "/wallets", { family: "evm" }),
  "wallets approve": ofReal,
  "wallets cancel": ofReal,
  "branding save": form("settings.update merchant_settings", "/branding", { name: "Anew", accent: "#335577" }),
  "branding save_domain": form("settings.update merchant_settings", "/branding", { domain: "shop.invalid" }),
  "limits save": form("settings.update merchant_settings", "/limits", {
    auto_approve_limit: "123",
    auto_approve_limit_day: "2000",
    payout_limit_batch: "",
    payout_limit_day: ""
  }),
  "limits approve": ofReal,
  "limits cancel": ofReal,
  "team invite": form("invitation.create team_invitation", "/team", { role: "viewer" }),
  "team change": form(
    "member.update team_member",
    "/team",
    (town) => Effect.map(newMember(town), ({ id }) => ({ member: id, role: "support" }))
  ),
  "team remove": form("member.remove team_member", "/team", named("member", newMember)),
  "team revoke": form("invitation.revoke team_invitation", "/team", named("invitation", newInvitation)),
  "account add_passkey": theirOwn,
  "account save_pages": form("person.update person", "/account", { language: "es", time_zone: "UTC" }),
  "account wallet_nonce": questions,
  "account link_wallet": form("sign_in_wallet.link sign_in_wallet", "/account", walletProof),
  "account unlink_wallet": form(
    "sign_in_wallet.unlink sign_in_wallet",
    "/account",
    (town) => made(linkedWallet(town))
  ),
  "account save_notices": theirOwn,
  "account remove_passkey": theirOwn,
  "account end_session": theirOwn,
  "account make_codes": theirOwn,
  // The last one: its sender is signed in no more.
  "account end_sessions": form("session.end team_session", "/account")
}

/** Calls of a shop's software about its orders, and of play money. */
const isElsewhere = ({ path }: Operation): string | undefined =>
  path.includes("/devnet/") ? ofPlay : path.startsWith("/api/commerce/") ? ofTrade : undefined

const operationName = ({ method, path }: Operation): string => `${method} ${path}`

const requestOf = ({ headers }: TestResponse): string => String(headers["x-request-id"])

const wordsOf = (entries: ReadonlyArray<Entry>) => entries.map(({ action, subject }) => `${action} ${subject}`)

layer(town, { excludeTestServices: true })("the audit log", (it) => {
  it.effect(
    "has the entries of every write of the API about money, rights, keys or settings, and none of one that is refused",
    () =>
      Effect.gen(function*() {
        const found = yield* TheTown
        const operations = operationsOf(found.document).filter(({ method }) => method !== "GET" && method !== "HEAD")
        const own = operations.filter((operation) => isElsewhere(operation) === undefined)
        assert.deepStrictEqual(own.map(operationName).toSorted(), Object.keys(writes).toSorted())
        const faults: Array<string> = []
        for (const operation of own) {
          const name = operationName(operation)
          const row = writes[name]!
          if (typeof row === "string") continue
          if (row.wrong !== null) {
            const path = plainPath(operation)
            const body = row.wrong ?? (operation.body === undefined ? undefined : {})
            const refused = yield* found.call(row.by, operation.method, path, body)
            if (refused.status < 400) faults.push(`${name} took ${JSON.stringify(body)}: ${refused.text}`)
            const left = wordsOf(yield* found.entriesOf(requestOf(refused)))
            if (left.length > 0) faults.push(`${name}, refused, left ${left.join(", ")}`)
          }
          const done = yield* row.act(found)
          if (done.status !== 200) faults.push(`${name}: ${done.status} ${done.text}`)
          const entries = yield* found.entriesOf(requestOf(done))
          if (wordsOf(entries).join() !== row.entries.join()) {
            faults.push(`${name} left ${wordsOf(entries).join(", ") || "nothing"}, and not ${row.entries.join(", ")}`)
          }
          // What a person does for itself is kept under the member, whichever way it signed in.
          const expected = row.by === "key" ? /^key_/ : row.entries[0] === "person.update person" ? /^mem_/ : /^siw_/
          const others = entries.filter(({ actor }) => !expected.test(actor))
          if (others.length > 0) faults.push(`${name} by a ${row.by} was done by ${others[0]!.actor}`)
        }
        assert.strictEqual(faults.join("\n"), "")
      })
  )

  it.effect(
    "has the entries of every form of the dashboard about money, rights, keys or settings, and none of one that is refused",
    () =>
      Effect.gen(function*() {
        const found = yield* TheTown
        const offered = pages.flatMap(({ actions = {}, path }) =>
          Object.keys(actions).map((action) => `${path} ${action}`)
        )
        assert.deepStrictEqual(offered.toSorted(), Object.keys(forms).toSorted())
        const faults: Array<string> = []
        for (const [name, row] of Object.entries(forms)) {
          if (typeof row === "string") continue
          const action = name.split(" ")[1]!
          const [path, fields] = yield* row.send(found)
          const stranger = yield* found.visitor.send("", path, { ...fields, action })
          assert.strictEqual(stranger.status, 303, "nobody is signed in")
          const unknown = yield* found.visitor.send(found.owner, path, { ...fields, action: `${action}?` })
          assert.strictEqual(unknown.status, 400, name)
          for (const refused of [stranger, unknown]) {
            const left = wordsOf(yield* found.entriesOf(requestOf(refused)))
            if (left.length > 0) faults.push(`${name}, refused, left ${left.join(", ")}`)
          }
          const done = yield* found.visitor.send(found.owner, path, { ...fields, action })
          if (done.status !== 200 && done.status !== 303) faults.push(`${name}: ${done.status} ${done.text}`)
          const entries = yield* found.entriesOf(requestOf(done))
          if (wordsOf(entries).join() !== row.entries.join()) {
            faults.push(`${name} left ${wordsOf(entries).join(", ") || "nothing"}, and not ${row.entries.join(", ")}`)
          }
          for (const { actor } of entries) if (!actor.startsWith("mem_")) faults.push(`${name} was done by ${actor}`)
        }
        assert.strictEqual(faults.join("\n"), "")
      })
  )

  it.effect(
    "has an entry of who was refused for want of a right, by the API and by a form",
    () =>
      Effect.gen(function*() {
        const found = yield* TheTown
        const viewer = yield* found.visitor.joinAs(yield* found.visitor.signIn(), "viewer")
        const refused = yield* found.visitor.send(viewer, "/keys", {
          action: "create",
          name: "mine",
          scope: "merchant"
        })
        assert.strictEqual(refused.status, 403, refused.text)
        const entries = yield* found.entriesOf(requestOf(refused))
        assert.deepStrictEqual(entries.map(({ action }) => action), ["access.denied"])
        assert.match(entries[0]!.actor, /^mem_/)
      })
  )
})
