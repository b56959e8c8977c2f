/**
 * A merchant of a history of money: who asks in its name, and what its chain and its own notes say. All of it is known
 * from what was asked and answered over HTTP, and from nothing that the service computes.
 */
import { Effect } from "effect"
import { HDKey } from "@scure/bip32"
import { createHash } from "node:crypto"
import { privateKeyToAccount } from "viem/accounts"
import { unlistedPlayToken } from "../../../schemas/PlayMoney.ts"
import type { TestRequest, TestResponse } from "../Service.ts"
import { seededRandom } from "../Crash.ts"

/** The service that a history runs against. */
export interface MoneyDeployment {
  /** Asks the instance of that number; undefined: it gave no answer. */
  readonly ask: (instance: number, path: string, sent: TestRequest) => Effect.Effect<TestResponse | undefined>
  readonly instances: number
  /** Kills the last instance in the middle of whatever it does, and starts it again; null: nobody can. */
  readonly kill: Effect.Effect<void> | null
  /** What the service's own check of the books finds wrong with those of a merchant. */
  readonly check: (merchantId: number) => Effect.Effect<ReadonlyArray<unknown>>
  /** Runs a statement on the service's database. */
  readonly query: (text: string) => Effect.Effect<ReadonlyArray<Record<string, any>>>
}

/** A token that is paid with. */
export interface PaidToken {
  /** As `GET /api/v1/tokens` numbers it. */
  readonly id: number
  readonly asset: string
  readonly decimals: number
  /** Dollars of one token. */
  readonly dollars: bigint
}

/** A transfer that was sent, as long as the chain has it. */
export interface SentTransfer {
  /** Its place among all that was sent. */
  readonly order: number
  readonly asset: string
  readonly units: bigint
  isOnChain: boolean
  isWaiting: boolean
}

/** An invoice and what was sent for it, the oldest first. */
export interface PaidInvoice {
  readonly id: string
  /** It is always paid in this one, but for what comes by mistake. */
  readonly token: PaidToken
  sent: Array<SentTransfer>
  /** A transfer was asked for and nobody answered: only the chain knows. */
  isUncertain: boolean
}

export interface SentRefund {
  readonly id: string
  claimToken: string | null
  /** Its payout was asked for. */
  isSent: boolean
}

/** A merchant, what it did, and what was wrong with the answers. */
export interface MoneyShop {
  readonly id: number
  readonly key: Readonly<Record<string, string>>
  readonly jwt: Readonly<Record<string, string>>
  readonly tokens: ReadonlyArray<PaidToken>
  readonly startedAt: number
  /** Seconds that its clock is ahead. */
  aheadSeconds: number
  readonly invoices: Array<PaidInvoice>
  readonly refunds: Map<string, SentRefund>
  /** Decisions that were acknowledged, by the exception. */
  readonly decisions: Map<string, string>
  /** Transfers that name no invoice: once one is assigned, it is one of its invoice's. */
  readonly unmatched: Array<SentTransfer>
  /** Transfers so far. */
  sentCount: number
  /** What adjustments moved, by asset: coins that came or went by the merchant's own hand. */
  readonly adjusted: Map<string, bigint>
  /** Bytes of closed months. */
  readonly closed: Map<string, string>
  /** What was done, in order. */
  readonly steps: Array<string>
  readonly faults: Array<string>
  /** Answers by what was asked and how it ended. */
  readonly answers: Map<string, number>
}

/** Tokens of Base's test network, by their contracts, with the prices of the deployment (`fixed` of its config). */
const paidWith: Readonly<Record<string, Pick<PaidToken, "decimals" | "dollars"> & { readonly address: string }>> = {
  USDC: { address: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", decimals: 6, dollars: 1n },
  WETH: { address: "0x4200000000000000000000000000000000000006", decimals: 18, dollars: 3_500n },
  ETH: { address: "native", decimals: 18, dollars: 3_500n }
}

/** Pause before something is asked again that got no answer, and how often. */
const againMillis = 100
const tries = 100

/** Whole numbers from 0 to below `below`. */
export type Roll = (below: number) => number

export const rollOf = (seed: number): Roll => {
  const random = seededRandom(seed)
  return (below) => Math.floor(random() * below)
}

export const chooseOne = <A>(roll: Roll, from: ReadonlyArray<A>): A | undefined => from[roll(from.length)]

/** Base units of so many usd_millis of a token, rounded up as a payor's wallet does. */
export const unitsOf = ({ decimals, dollars }: Pick<PaidToken, "decimals" | "dollars">, millis: number): bigint => {
  const one = 1_000n * dollars
  return (BigInt(millis) * 10n ** BigInt(decimals) + one - 1n) / one
}

/** The token that comes by mistake. */
export const unlisted = { asset: `base:${unlistedPlayToken("base")!.address}`, decimals: 18 }

/** One request by an instance chosen at random. */
export const askOnce = (
  { ask, instances }: MoneyDeployment,
  roll: Roll,
  credential: Readonly<Record<string, string>>,
  path: string,
  sent: { readonly method?: string; readonly body?: unknown; readonly idempotencyKey?: string }
): Effect.Effect<TestResponse | undefined> =>
  ask(roll(instances), path, {
    ...(sent.method === undefined ? {} : { method: sent.method }),
    ...(sent.body === undefined ? {} : { body: sent.body }),
    headers: {
      ...credential,
      ...(sent.idempotencyKey === undefined ? {} : { "idempotency-key": sent.idempotencyKey })
    }
  })

/** Says that nobody answered, or that the same call is still being dealt with. */
const isUnanswered = (answer: TestResponse | undefined): answer is undefined =>
  answer === undefined || answer.status === 503 || answer.json?.error?.code === "IDEMPOTENCY_REQUEST_IN_PROGRESS"

/** The same request with the same key until somebody answers, as clients must. */
export const askUntilAnswered = Effect.fnUntraced(function*(
  deployment: MoneyDeployment,
  roll: Roll,
  credential: Readonly<Record<string, string>>,
  path: string,
  sent: { readonly method?: string; readonly body?: unknown; readonly idempotencyKey?: string } = {}
) {
  let last: TestResponse | undefined
  for (let tried = 0; tried < tries; tried++) {
    const answer = yield* askOnce(deployment, roll, credential, path, sent)
    if (!isUnanswered(answer)) return answer
    last = answer ?? last
    yield* Effect.sleep(againMillis)
  }
  return yield* Effect.die(new Error(`${path} was not answered in ${tries} tries; last: ${last?.text}`))
})

const uuidFrom = (roll: Roll): string => {
  const hex = (digits: number) => Array.from({ length: digits }, () => roll(16).toString(16)).join("")
  return `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`
}

/** An idempotency key of its own. */
export const newKey = uuidFrom

/** A write by a key or, with `jwt`, by a person. */
export const write = (
  deployment: MoneyDeployment,
  shop: MoneyShop,
  roll: Roll,
  path: string,
  body: unknown,
  credential: "key" | "jwt" = "key",
  method = "POST"
) =>
  Effect.tap(
    askUntilAnswered(deployment, roll, shop[credential], path, { method, body, idempotencyKey: newKey(roll) }),
    (answer) => Effect.sync(() => count(shop, path, answer))
  )

export const read = (deployment: MoneyDeployment, shop: MoneyShop, roll: Roll, path: string) =>
  Effect.flatMap(
    askUntilAnswered(deployment, roll, shop.key, path),
    (answer) =>
      answer.status === 200
        ? Effect.succeed(answer.json?.data ?? answer.json)
        : Effect.die(new Error(`${path}: ${answer.status} ${answer.text}`))
  )

/** Every refusal that no client can have caused is a fault. */
export const count = (shop: MoneyShop, path: string, { json, status, text }: TestResponse): void => {
  const code = status === 200 ? "done" : json?.error?.code ?? json?.code ?? String(status)
  const what = `${path.replace(/\/[^/]*[0-9a-f]{8}-[^/]*/g, "/…").replace(/\?.*/, "")} ${code}`
  shop.answers.set(what, (shop.answers.get(what) ?? 0) + 1)
  if (status >= 500) shop.faults.push(`${path}: ${status} ${text}`)
}

/** The wallet that receives on EVM networks is the merchant's own: money that names no invoice is the merchant's too. */
export const newXpub = (seed: number) =>
  HDKey.fromMasterSeed(createHash("sha256").update(`history of money ${seed}`).digest())
    .derive("m/44'/60'/0'").publicExtendedKey

/** A merchant of its own: signs in, makes a key, sets its wallet. */
export const openShop = Effect.fnUntraced(function*(deployment: MoneyDeployment, seed: number) {
  const roll = rollOf(seed ^ 0x5eed)
  const account = privateKeyToAccount(`0x${createHash("sha256").update(`shop ${seed}`).digest("hex")}`)
  const ok = (path: string, sent: { method?: string; body?: unknown }, credential = {}) =>
    Effect.flatMap(
      askUntilAnswered(deployment, roll, credential, path, { ...sent, idempotencyKey: newKey(roll) }),
      (answer) =>
        answer.status === 200
          ? Effect.succeed(answer.json.data ?? answer.json)
          : Effect.die(new Error(`${path}: ${answer.status} ${answer.text}`))
    )
  const { message } = yield* ok("/api/v1/auth/nonce", { body: { address: account.address, network: "base" } })
  const signature = yield* Effect.promise(() => account.signMessage({ message }))
  const session = yield* ok("/api/v1/auth/verify", { body: { message, signature } })
  const jwt = { authorization: `Bearer ${session.access_token}` }
  const { key } = yield* ok(
    "/api/v1/api-keys",
    { body: { name: "history", scope: "merchant", environment: "devnet" } },
    jwt
  )
  yield* ok("/api/v1/merchant/wallets/evm", { method: "PUT", body: { kind: "xpub", value: newXpub(seed) } }, jwt)
  const settings = {
    late_payment_policy: chooseOne(roll, ["manual", "spot_rate"]),
    overpay_tolerance_amount: chooseOne(roll, [0, 1_000]),
    underpaid_grace_seconds: 3_600
  }
  yield* ok("/api/v1/merchant/settings", { method: "PATCH", body: settings }, jwt)
  const { tokens: listed } = yield* ok("/api/v1/merchant/tokens?environment=devnet", {}, { "x-api-key": key })
  const tokens = listed.flatMap(({ id, network, token_symbol: symbol }: any): ReadonlyArray<PaidToken> => {
    const known = paidWith[symbol]
    return known === undefined || network !== "base" ? [] : [{ ...known, id, asset: `${network}:${known.address}` }]
  })
  const shop: MoneyShop = {
    id: session.merchant.id,
    key: { "x-api-key": key },
    jwt,
    tokens,
    startedAt: Math.floor(Date.now() / 1000),
    aheadSeconds: 0,
    invoices: [],
    refunds: new Map(),
    decisions: new Map(),
    unmatched: [],
    sentCount: 0,
    adjusted: new Map(),
    closed: new Map(),
    steps: [],
    faults: [],
    answers: new Map()
  }
  return shop
})
