/**
 * Invoices as a merchant and a chain see them, without a socket or a chain: the real router, commit log, settings,
 * invoices, quotes and payments; transfers, prices and due timers come when the test says so.
 */
import { assert } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { type HttpApi, HttpApiBuilder } from "effect/http-api"
import { SqlClient, type SqlError } from "effect/sql"
import { randomUUID } from "node:crypto"
import { Keys } from "../../../modules/auth/actor.ts"
import { Merchants, PayorSessions } from "../../../modules/auth/service.ts"
import { migrations as authMigrations, tables as authTables } from "../../../modules/auth/migrations.ts"
import { ExceptionsApi } from "../../../modules/exceptions/api.ts"
import { handlers as exceptionHandlers } from "../../../modules/exceptions/handlers.ts"
import { InvoicesApi } from "../../../modules/invoices/api.ts"
import { migrations as invoiceMigrations, tables as invoiceTables } from "../../../modules/invoices/migrations.ts"
import {
  type InvoiceHooks,
  Invoices,
  invoiceStates,
  plugin as invoicesPlugin
} from "../../../modules/invoices/plugin.ts"
import { PayorDetails } from "../../../modules/payments/actor.ts"
import { Payments } from "../../../modules/payments/service.ts"
import { InvoiceTerms } from "../../../modules/payments/service/InvoiceTerms.ts"
import { PayorApi } from "../../../modules/payments/service/PayorApi.ts"
import { RefundClaims } from "../../../modules/payments/service/RefundClaims.ts"
import { PaymentsApi } from "../../../modules/payments/api.ts"
import { handlers as paymentHandlers, sessionLayer } from "../../../modules/payments/handlers.ts"
import { migrations as paymentMigrations, tables as paymentTables } from "../../../modules/payments/migrations.ts"
import { layer as paymentQuotes } from "../../../modules/quotes/service.ts"
import { QuotesApi } from "../../../modules/quotes/api.ts"
import { handlers as quoteHandlers } from "../../../modules/quotes/handlers.ts"
import { migrations as quoteMigrations } from "../../../modules/quotes/migrations.ts"
import { migrations as refundMigrations, tables as refundTables } from "../../../modules/refunds/migrations.ts"
import { RefundsApi } from "../../../modules/refunds/api.ts"
import { plugin as refundsPlugin, type Refunds } from "../../../modules/refunds/plugin.ts"
import { SettingsApi } from "../../../modules/settings/api.ts"
import { migrations as settingsMigrations, tables as settingsTables } from "../../../modules/settings/migrations.ts"
import { plugin as settingsPlugin } from "../../../modules/settings/plugin.ts"
import { migrations as tokenMigrations, tables as tokenTables } from "../../../modules/tokens/migrations.ts"
import { TokenPolicies } from "../../../modules/tokens/plugin.ts"
import * as Actors from "../../../runtime/Actors.ts"
import type { Members } from "../../../runtime/Members.ts"
import { type AllocatedTarget, Chains, type JournalEntry, type TransactionReading } from "../../../runtime/Chains.ts"
import { transferWrite } from "../../../runtime/chains/ChainsRepo.ts"
import { type Commit, systemMerchant } from "../../../runtime/Commit.ts"
import { Credentials } from "../../../runtime/Http.ts"
import type { Leases } from "../../../runtime/Leases.ts"
import { LinkedWallets } from "../../../runtime/LinkedWallets.ts"
import { MerchantClock } from "../../../runtime/MerchantClock.ts"
import { Prices, PriceUnavailable } from "../../../runtime/Prices.ts"
import type { Screening } from "../../../runtime/Screening.ts"
import type { Mail } from "../../../runtime/Mail.ts"
import type { Secrets } from "../../../runtime/Secrets.ts"
import * as SignIns from "../../../runtime/SignIns.ts"
import { type DueSource, Timers } from "../../../runtime/Timers.ts"
import { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import type { KeyScope } from "../../../schemas/Auth.ts"
import { baseUnits, readRate } from "../../../schemas/Money.ts"
import { type Environment, Family } from "../../../schemas/Network.ts"
import type { Token } from "../../../schemas/Token.ts"
import { catalogOf, etherListing, token, usdc, usdcListing } from "../../fixtures/tokens.ts"
import { type Answer, Api, apiLayer, type Call, kernel, settingsLayer, type TestTables } from "../../support/Api.ts"
import type { migratedLayer } from "../../support/Database.ts"
import { operatorKey, solePerson } from "../../fixtures/authorities.ts"

export const ether = token(2, etherListing)
export const mainnetUsdc = token(3, usdcListing, { environment: "mainnet" })

/** Dollars per token, as a test last set them. */
const prices = new Map<string, string>()

/** Resets what one test must not inherit from another. */
export const usualPrices = () => {
  prices.set("usd-coin", "1").set("ethereum", "2000")
}
usualPrices()

export const setPrice = (asset: string, dollars: string) => void prices.set(asset, dollars)

/** From now on nobody knows what the asset is worth. */
export const losePrice = (asset: string) => void prices.delete(asset)

const spotOf = ({ asset }: Token, at: number) => {
  const text = prices.get(asset ?? "")!
  return { rate: readRate(text)!, text, source: "test", at }
}

const quotes = Layer.mock(Prices, {
  spot: Effect.fnUntraced(function*(asked) {
    if (!prices.has(asked.asset ?? "")) {
      return yield* new PriceUnavailable({ symbol: asked.symbol, reason: "Rate data is stale", retryAfterSeconds: 15 })
    }
    return spotOf(asked, Math.floor((yield* Clock.currentTimeMillis) / 1000))
  }),
  latest: (asked) => spotOf(asked, 0)
})

/** What the fakes hold of the code under test. */
const held = {
  onTransfer: null as ((entry: JournalEntry) => Effect.Effect<void, unknown>) | null,
  due: new Map<string, DueSource>(),
  /** The journal as it was handed over last, by id. */
  entries: new Map<string, JournalEntry>()
}

const targetOf = (invoiceId: string, refusedTokens: ReadonlyArray<number> = []): AllocatedTarget => ({
  address: `0x${invoiceId}`,
  matchKey: `0x${invoiceId}`,
  memo: null,
  refusedTokens,
  fingerprint: "wallet"
})

/** Addresses given out, by invoice and family. */
const targets = new Map<string, AllocatedTarget>()

/** Whether merchants have a wallet to receive in. */
let hasWallet = true
export const setWallet = (there: boolean) => void (hasWallet = there)

/** What transactions brought to addresses that are none of ours, by hash. */
const transactions = new Map<string, TransactionReading>()
export const setTransaction = (txHash: string, reading: TransactionReading) => void transactions.set(txHash, reading)

/** An address that is of no receiving wallet. */
export const stranger = `0x${"5".repeat(40)}`

/** Wallets that people have linked to merchants, by address. */
const linkedWallets = new Map<string, ReadonlySet<number>>()
export const linkWallet = (address: string, ...merchantIds: ReadonlyArray<number>) =>
  void linkedWallets.set(address, new Set(merchantIds))

/** Merchants that alone receive at an address, by its match key; every other address is of the deployment's wallet. */
const receivers = new Map<string, number>()
export const setReceiver = (matchKey: string, merchantId: number) => void receivers.set(matchKey, merchantId)

/** Chains that hold what a test gives them: every network was seen up to any time. */
const givenChains = Layer.mock(Chains, {
  driver: (network, environment) => ({ network, environment, paymentUri: () => "ethereum:0x0" }) as never,
  status: () => [],
  coverage: () => Effect.succeed(new Map()),
  wallet: ({ family }) => Effect.sync(() => hasWallet && family === "evm" ? {} as never : null),
  readWallet: () => Effect.succeed(null),
  targets: (invoiceId) =>
    Effect.sync(() =>
      new Map(Family.literals.flatMap((family) => {
        const target = targets.get(`${invoiceId} ${family}`)
        return target === undefined ? [] : [[family, target] as const]
      }))
    ),
  target: (invoiceId, family) => Effect.sync(() => targets.get(`${invoiceId} ${family}`) ?? null),
  allocate: ({ family, invoiceId, refusedTokens }) =>
    Effect.sync(() => {
      const target = targetOf(invoiceId, refusedTokens)
      targets.set(`${invoiceId} ${family}`, target)
      return target
    }),
  isReceiveAddress: (_, __, address) =>
    Effect.sync(() => [...targets.values()].some((target) => target.address.toLowerCase() === address.toLowerCase())),
  obstacleTo: () => Effect.succeed(null),
  isTokenAccount: () => Effect.succeed(false),
  walletReceiver: (_, __, matchKey) =>
    Effect.succeed(
      matchKey === stranger
        ? null
        : {
          merchantId: receivers.get(matchKey) ?? systemMerchant,
          isAccount: false,
          fingerprint: "wallet",
          walletIndex: 0
        }
    ),
  readTransaction: ({ txHash }) =>
    Effect.sync(() => transactions.get(txHash) ?? { _tag: "Transaction", isFinal: true, transfers: [] }),
  reconcile: () => Effect.void,
  assignEntry: (entry, { invoiceId, merchantId }) =>
    transferWrite({ ...entry, invoiceId, merchantId, version: entry.version + 1 }),
  journalEntry: (id) => Effect.sync(() => held.entries.get(id) ?? null),
  onTransfer: (handler) => Effect.sync(() => void (held.onTransfer = handler)),
  markHandled: (entry, requiredDepth) => transferWrite({ ...entry, handledStatus: entry.status, requiredDepth })
})

/** Ids of tokens whose contracts nobody has asked yet, as it is for a moment after every start. */
const unasked = new Set<number>()

/** Whether the contract of a token was asked for its decimals; a token is inactive until then. */
export const setAttested = ({ id }: Token, asked: boolean) => void (asked ? unasked.delete(id) : unasked.add(id))

const judged = (one: Token | undefined) => one !== undefined && unasked.has(one.id) ? { ...one, active: false } : one

const catalog = Layer.effect(
  TokenCatalog,
  Effect.map(TokenCatalog, (all) => ({
    ...all,
    get: (id) => judged(all.get(id)),
    find: (...wanted) => judged(all.find(...wanted)),
    unverifiedTokens: (_, environment) => all.list(environment).filter(({ id }) => unasked.has(id))
  }))
).pipe(Layer.provide(catalogOf(usdc, ether, mainnetUsdc)))

const timers = Layer.mock(Timers, {
  // Gone with its service: another file of the same process would run it over a database that is closed.
  register: (source) =>
    Effect.acquireRelease(
      Effect.sync(() => void held.due.set(source.name, source)),
      () => Effect.sync(() => held.due.get(source.name) === source && held.due.delete(source.name))
    ),
  wake: () => Effect.void
})

/** Keys of the tests: `<merchant id> <scope> <environment> <which of them>`. */
const verify = (key: string) => {
  const [merchant, scope, environment] = key.split(" ")
  return Effect.succeed(
    scope === undefined ? null : {
      merchantId: Number.parseInt(merchant!, 10),
      scope,
      environment,
      kind: "key",
      credential: key,
      apiVersion: "2026-11-01",
      ...operatorKey
    } as never
  )
}

/** Wallets of the tests: `wallet-<merchant id>`; they act where the merchant says, unless a call says otherwise. */
const verifyWallet = Effect.map(Merchants, (merchants) =>
  Effect.fnUntraced(function*(token: string) {
    const merchantId = Number.parseInt(token.slice("wallet-".length), 10)
    const environment = (yield* merchants.get(merchantId))!.defaultEnvironment
    return {
      merchantId,
      scope: "merchant",
      environment,
      kind: "wallet",
      credential: token,
      apiVersion: "2026-11-01",
      ...solePerson
    } as never
  }))

const keys = Layer.effectDiscard(Effect.flatMap(Credentials, ({ register }) => register(verify)))

const wallets = Layer.effectDiscard(Effect.gen(function*() {
  const { registerBearer } = yield* Credentials
  yield* registerBearer(yield* verifyWallet)
}))

const directory = Layer.effectDiscard(
  Effect.flatMap(LinkedWallets, ({ register }) =>
    register({
      linkedOf: (merchantId, _, addresses) =>
        Effect.sync(() => new Set(addresses.filter((each) => linkedWallets.get(each)?.has(merchantId)))),
      merchantsOf: (_, address) => Effect.sync(() => linkedWallets.get(address) ?? new Set())
    }))
)

/** Wallets that prove nothing: each is its merchant's one owner. */
const trustedWallets = Layer.merge(wallets, directory)

const routesWith = (people: Layer.Layer<any, any, any>) =>
  Layer.mergeAll(
    keys,
    people,
    HttpApiBuilder.layer(PaymentsApi).pipe(Layer.provide(paymentHandlers.pipe(Layer.provide(sessionLayer)))),
    HttpApiBuilder.layer(QuotesApi).pipe(Layer.provide(quoteHandlers)),
    HttpApiBuilder.layer(ExceptionsApi).pipe(Layer.provide(exceptionHandlers))
  ).pipe(
    Layer.provideMerge(PayorApi.layer),
    Layer.provideMerge(refundsPlugin.layer({})),
    Layer.provideMerge(Layer.mergeAll(Payments.layer, PayorDetails.layer, RefundClaims.layer)),
    Layer.provideMerge(InvoiceTerms.layer),
    Layer.provideMerge(invoicesPlugin.layer(undefined as never)),
    Layer.provideMerge(paymentQuotes),
    Layer.provideMerge(settingsPlugin.layer(undefined as never))
  )

/** What an instance of the till does not have of its own. */
interface Deployment {
  readonly database?: Layer.Layer<Layer.Success<typeof migratedLayer>, SqlError.SqlError>
  readonly publicUrl?: string
  readonly secrets?: Layer.Layer<Secrets>
  /** Registers a driver of screening before payments begin; absent: everybody passes. */
  readonly screening?: Layer.Layer<never, never, Screening>
  /** Modules that know people and how they sign in, in place of wallets that prove nothing. */
  readonly people?: {
    readonly apis: ReadonlyArray<HttpApi.Constraint>
    readonly routes: Layer.Layer<any, any, any>
    readonly tables: ReadonlyArray<TestTables>
  }
  /** Registers who sends mail, with the tables of that; absent: nobody does. */
  readonly mail?: {
    readonly layer: Layer.Layer<never, never, Mail | Secrets | SqlClient.SqlClient | Timers>
    readonly tables: TestTables
  }
}

/** Puts everything back that tests may have changed in the fakes. */
const forget = () => {
  usualPrices()
  held.onTransfer = null
  hasWallet = true
  for (const left of [held.due, held.entries, targets, transactions, linkedWallets, receivers, unasked]) left.clear()
}

/** The file of tests that runs in this process, where others ran before it. */
const testFile = (): unknown =>
  (globalThis as { readonly __vitest_worker__?: { readonly filepath?: string } }).__vitest_worker__?.filepath

let lastFile: unknown

/** The first service of a file finds the fakes as the first file did; a restart within the file finds what it left. */
const forgetOtherFiles = Layer.effectDiscard(Effect.sync(() => {
  if (lastFile !== testFile()) forget()
  lastFile = testFile()
}))

/** The till over some chains. */
export const invoiceServiceOn = (
  chains: Layer.Layer<Chains, never, SqlClient.SqlClient | Commit | Leases | TokenCatalog>,
  { database, mail, people, publicUrl, screening = Layer.empty, secrets }: Deployment = {}
) =>
  apiLayer(
    [InvoicesApi, SettingsApi, QuotesApi, PaymentsApi, ExceptionsApi, RefundsApi, ...people?.apis ?? []],
    routesWith((people?.routes ?? trustedWallets) as never) as never,
    Layer.mergeAll(
      Keys.layer,
      Merchants.layer,
      PayorSessions.layer,
      TokenPolicies.layer,
      screening,
      mail?.layer ?? Layer.empty
    ).pipe(
      Layer.provideMerge(
        Layer.mergeAll(Actors.layer, chains, quotes, SignIns.layer, timers).pipe(
          Layer.provideMerge(catalog),
          Layer.provideMerge(forgetOtherFiles)
        )
      ),
      Layer.provideMerge(kernel(
        [
          ...(mail === undefined ? [] : [mail.tables]),
          { name: "auth", migrations: authMigrations, tables: authTables },
          { name: "settings", migrations: settingsMigrations, tables: settingsTables },
          { name: "tokens", migrations: tokenMigrations, tables: tokenTables },
          { name: "quotes", migrations: quoteMigrations, tables: ["quotes"] },
          { name: "payments", migrations: paymentMigrations, tables: paymentTables },
          { name: "refunds", migrations: refundMigrations, tables: refundTables },
          { name: "invoices", migrations: invoiceMigrations, tables: invoiceTables, rollups: [invoiceStates] },
          ...people?.tables ?? []
        ],
        settingsLayer({
          environments: ["devnet", "mainnet"],
          ...(publicUrl === undefined ? {} : { publicUrl })
        }),
        database,
        secrets
      ))
    )
  ) as unknown as Layer.Layer<
    | Api
    | Chains
    | Keys
    | InvoiceHooks
    | Invoices
    | Members
    | MerchantClock
    | Payments
    | PayorApi
    | PayorDetails
    | Refunds
    | SqlClient.SqlClient
    | TokenPolicies
  >

export const invoiceService = invoiceServiceOn(givenChains)

/** An instance of a deployment of several. */
export const invoiceServiceIn = (deployment: Deployment) => invoiceServiceOn(givenChains, deployment)

/** A merchant that calls the API with one of its keys. */
export interface Caller {
  readonly id: number
  readonly call: (path: string, call?: Call) => Effect.Effect<Answer, never, Api>
  /** The body of an answer with status 200. */
  readonly ok: (path: string, call?: Call) => Effect.Effect<any, never, Api>
}

/** `which`: merchants have many keys, and each may call 100 times a minute. */
export const callerOf = (
  id: number,
  scope: KeyScope = "merchant",
  environment: Environment = "devnet",
  which: number | string = 0
): Caller => {
  const key = `${id} ${scope} ${environment} ${which}`
  const call: Caller["call"] = (path, more = {}) =>
    Effect.flatMap(Api, (api) => api.call(path, { ...more, headers: { "x-api-key": key, ...more.headers } }))
  return { id, call, ok: (path, more) => Effect.map(call(path, more), (answer) => (ok(answer), answer.json)) }
}

/** The merchant's wallet, signed in. */
export const walletOf = (id: number): Caller => {
  const call: Caller["call"] = (path, more = {}) =>
    Effect.flatMap(
      Api,
      (api) => api.call(path, { ...more, headers: { authorization: `Bearer wallet-${id}`, ...more.headers } })
    )
  return { id, call, ok: (path, more) => Effect.map(call(path, more), (answer) => (ok(answer), answer.json)) }
}

export const ok = (answer: Answer) => assert.strictEqual(answer.status, 200, answer.text)

/** A flat refusal: exactly `{error, code}`. */
export const refused = (answer: Answer, status: number, code: string, says = "") => {
  assert.deepStrictEqual([answer.status, answer.json?.code], [status, code], answer.text)
  assert.sameMembers(Object.keys(answer.json), ["error", "code"])
  assert.include(answer.json.error, says)
}

/** A new merchant's id. */
export const newMerchant = Effect.flatMap(
  Keys,
  (keys) => Effect.map(Effect.orDie(keys.createMerchant("Demo Store", null)), ({ id }) => id)
)

export const post = (body: unknown, key: string = randomUUID()): Call => ({ body, headers: { "idempotency-key": key } })

export const newInvoice = (caller: Caller, body: object) =>
  Effect.map(caller.ok("/api/v1/invoices", post(body)), ({ invoice }) => invoice)

/** Gives the payor an address for a token, and so a quote; fails as the route of the payment page does. */
export const choose = Effect.fnUntraced(function*(invoiceId: string, { id, network }: Token) {
  const found = yield* (yield* Invoices).find(invoiceId)
  return yield* (yield* Payments).route(found!, network, id)
})

let transfers = 0

/** A transfer to the invoice that the journal holds now: deep enough unless `status` says otherwise. */
export const transferTo = Effect.fnUntraced(function*(
  invoice: { readonly id: string; readonly merchant_id: number; readonly environment: Environment },
  asked: Token,
  units: bigint,
  status: "seen" | "confirmed" = "confirmed"
) {
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const txHash = `0x${(++transfers).toString(16).padStart(64, "0")}`
  const entry: JournalEntry = {
    id: `${asked.network}:${asked.environment}:${txHash}:0`,
    network: asked.network,
    environment: asked.environment,
    txHash,
    index: 0,
    kind: "direct",
    merchantId: invoice.merchant_id,
    invoiceId: invoice.id,
    matchKey: targetOf(invoice.id).matchKey,
    tokenAddress: asked.address,
    amount: baseUnits(units),
    from: "0xpayer",
    height: 1n,
    blockHash: "0x1",
    blockTime: now,
    observedAt: now,
    status,
    handledStatus: "none",
    requiredDepth: null,
    confirmations: 1,
    attempts: 0,
    version: 1
  }
  return entry
})

/** The journal hands a transfer over for the first time. */
export const handOverTransfer = (entry: JournalEntry) =>
  Effect.suspend(() => {
    held.entries.set(entry.id, entry)
    return held.onTransfer!(entry)
  })

/** A transfer reaches the invoice now, see {@link transferTo}. */
export const receiveTransfer = (...sent: Parameters<typeof transferTo>) =>
  Effect.tap(transferTo(...sent), handOverTransfer)

/** The journal hands a transfer over once more, as it does when it cannot know that it was dealt with. */
export const reportAgain = Effect.fnUntraced(function*(entry: JournalEntry) {
  const next = { ...entry, version: entry.version + 1 }
  yield* held.onTransfer!(next)
  return next
})

/** Lets the clock do what is due now: expiry, ends of grace, refunds that wait. */
export const runDue = Effect.gen(function*() {
  const now = yield* Clock.currentTimeMillis
  for (const { run } of held.due.values()) while ((yield* run(now, 100)) === 100) continue
})

/** Moves a merchant's devnet clock, and lets what is due come to pass. {@link TestClock} would run every timer for days. */
export const passDays = Effect.fnUntraced(function*({ id }: Pick<Caller, "id">, days: number) {
  yield* (yield* MerchantClock).advance(id, days * 86_400)
  yield* runDue
})

export const openExceptions = (invoiceId: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* Effect.orDie(sql<{ type: string }>`
      SELECT type FROM exceptions WHERE invoice_id = ${invoiceId}::uuid AND status = 'open' ORDER BY created_at, id`)
    return rows.map(({ type }) => type) as ReadonlyArray<string>
  })

/** Types of the events told of an invoice, oldest first. */
export const eventsOf = (invoiceId: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* Effect.orDie(sql<{ type: string; data: string; idempotency_key: string | null }>`
      SELECT type, data, idempotency_key FROM events WHERE invoice_id = ${invoiceId} ORDER BY ms, seq`)
    return rows.map(({ data, ...rest }) => ({ ...rest, data: JSON.parse(data) }))
  })
