/** A merchant of real money with people who have passkeys and wallets, and refunds that wait for them. */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts"
import { KeysByMaker } from "../../../modules/auth/service.ts"
import { IdentityApi } from "../../../modules/identity/api.ts"
import * as identityTables from "../../../modules/identity/migrations.ts"
import { plugin as identity } from "../../../modules/identity/plugin.ts"
import { plugin as cip8 } from "../../../modules/signins/cip8.ts"
import { plugin as siwe } from "../../../modules/signins/siwe.ts"
import { plugin as siws } from "../../../modules/signins/siws.ts"
import { plugin as suimessage } from "../../../modules/signins/suimessage.ts"
import { plugin as tonproof } from "../../../modules/signins/tonproof.ts"
import { TeamApi } from "../../../modules/team/api.ts"
import * as teamTables from "../../../modules/team/migrations.ts"
import { plugin as team, type TeamSession, TeamSignIn } from "../../../modules/team/plugin.ts"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { Environment } from "../../../schemas/Network.ts"
import { usdc } from "../../fixtures/tokens.ts"
import { assertion, type Circumstances, type Credential, register } from "../../support/Authenticator.ts"
import type { SigningKind } from "../../support/SigningWallets.ts"
import {
  callerOf,
  choose,
  invoiceServiceIn,
  mainnetUsdc,
  newInvoice,
  newMerchant,
  receiveTransfer
} from "../invoices/InvoiceService.ts"
import { callAs, dataAs, newColleague, type Services, signInByLink } from "../team/Deployment.ts"

export const publicUrl = "https://pay.example"

const none = undefined as never

/** Invoices and refunds of a deployment that serves mainnet, with its people. */
export const approvalServiceAt = (publicUrl: string) =>
  invoiceServiceIn({
    publicUrl,
    people: {
      apis: [IdentityApi, TeamApi],
      tables: [{ name: "identity", ...identityTables }, { name: "team", ...teamTables }],
      routes: team.layer(none).pipe(
        Layer.provideMerge(identity.layer({})),
        Layer.provideMerge(KeysByMaker.layer),
        Layer.provideMerge(Layer.mergeAll(
          siwe.layer(none),
          siws.layer(none),
          suimessage.layer(none),
          tonproof.layer(none),
          cip8.layer(none)
        ))
      )
    }
  }) as Layer.Layer<Layer.Success<ReturnType<typeof invoiceServiceIn>> | Services>

export const approvalService = approvalServiceAt(publicUrl)

/** All waits are over: of members, sessions, passkeys and wallets. */
export const endWaits = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* Effect.orDie(sql`UPDATE team_passkeys SET money_from = 0`)
  yield* Effect.orDie(sql`UPDATE team_sessions SET money_from = 0`)
  yield* Effect.orDie(sql`UPDATE members SET money_from = 0`)
  yield* Effect.orDie(sql`UPDATE sign_in_wallets SET money_from = 0`)
})

export interface Person {
  readonly session: TeamSession
  readonly credential: Credential
  readonly passkey: string
}

export const addPasskey = Effect.fnUntraced(function*(session: TeamSession, service: string = publicUrl) {
  const signIn = yield* TeamSignIn
  const { answer, credential } = register(yield* signIn.newPasskeyOptions(session), service)
  const { id } = yield* Effect.orDie(signIn.addPasskey(session, "Laptop", answer))
  const person: Person = { session, credential, passkey: id }
  return person
})

/** Links a wallet held by a key of the test to a session's person. */
export const addWallet = Effect.fnUntraced(function*(session: TeamSession, merchantId: number) {
  const account = privateKeyToAccount(generatePrivateKey())
  const { message } = yield* dataAs(session, merchantId, "POST", "/auth/wallets/nonce", {
    address: account.address,
    network: "base"
  })
  const signature = yield* Effect.promise(() => account.signMessage({ message }))
  yield* dataAs(session, merchantId, "POST", "/auth/wallets", { message, signature })
  return account
})

/** Seeds of accounts: no two merchants link the same wallet. */
let seeds = 20

/** Links an account of a kind to a session's person, as its wallet's page does. */
export const addAccount = Effect.fnUntraced(function*(
  session: TeamSession,
  merchantId: number,
  { network, wallet }: SigningKind,
  service: string = publicUrl
) {
  const account = wallet(seeds++)
  const { message, nonce } = yield* dataAs(session, merchantId, "POST", "/auth/wallets/nonce", {
    address: account.address,
    network
  })
  const issuedAt = yield* nowSeconds
  const asked = { domain: new URL(service).host, nonce, issuedAt }
  const { proof, publicKey, signature } = yield* Effect.promise(() => account.sign(asked, message))
  yield* dataAs(session, merchantId, "POST", "/auth/wallets", {
    message,
    signature,
    ...(publicKey === null ? {} : { public_key: publicKey }),
    ...(proof === null ? {} : { proof })
  })
  return account
})

export const openRefund = Effect.fnUntraced(function*(
  merchant: number,
  { address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", dollars = 900n, environment = "mainnet" }: {
    readonly address?: string | null
    readonly dollars?: bigint
    readonly environment?: Environment
  } = {}
) {
  const caller = callerOf(merchant, "merchant", environment, crypto.randomUUID())
  const token = environment === "mainnet" ? mainnetUsdc : usdc
  const invoice = yield* newInvoice(caller, { amount: Number(dollars) * 1_000 })
  yield* choose(invoice.id, token)
  yield* receiveTransfer(invoice, token, dollars * 1_000_000n)
  const { data } = yield* caller.ok("/api/v1/refunds", {
    body: {
      invoice_id: invoice.id,
      amount_mode: "full",
      reason: "other",
      fee_bearer: "merchant",
      ...(address === null ? {} : { destination: { network: "base", address } })
    },
    headers: { "idempotency-key": crypto.randomUUID() }
  })
  return data
})

/** A merchant whose owner and admin have a passkey each, and may approve at once. */
export const newShopAt = Effect.fnUntraced(function*(service: string) {
  const merchant = yield* newMerchant
  const owner = yield* addPasskey((yield* signInByLink(merchant)).session, service)
  const admin = yield* addPasskey((yield* newColleague(owner.session, merchant, "admin")).session, service)
  yield* endWaits
  return { merchant, owner, admin }
})

export const newShop = newShopAt(publicUrl)

const pathOf = (object: string, rest: string, environment: Environment) =>
  `/${object}${rest}?environment=${environment}`

/** A call about a refund by a person, in an environment. */
export const callOn = (
  { session }: Pick<Person, "session">,
  merchant: number,
  id: string,
  rest: string,
  body?: object,
  environment: Environment = "mainnet"
) =>
  callAs(
    session,
    merchant,
    body === undefined ? "GET" : "POST",
    pathOf(`refunds/${id}`, rest, environment),
    body
  )

/** What the person is asked to sign. */
export const challengeOf = (person: Pick<Person, "session">, merchant: number, id: string, environment?: Environment) =>
  Effect.map(callOn(person, merchant, id, "/approve/challenge", {}, environment), ({ body, status }) => {
    if (status !== 200) throw new Error(JSON.stringify(body))
    return body.data
  })

/** The answer of a person's passkey to a challenge. */
export const byPasskey = (
  { credential }: Person,
  challenge: any,
  lies: Partial<Circumstances> = {},
  service: string = publicUrl
) => ({
  id: challenge.id,
  passkey: assertion(credential, challenge.passkey, service, lies)
})

export const byWallet = (account: PrivateKeyAccount, challenge: any, text: string = challenge.text) =>
  Effect.promise(async () => ({
    id: challenge.id,
    wallet: { family: "evm", address: account.address, signature: await account.signMessage({ message: text }) }
  }))
