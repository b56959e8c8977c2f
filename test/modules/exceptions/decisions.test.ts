/**
 * Goal: every exception that the simulator can cause is decided on over HTTP by each action that the reference allows
 * for its type, and the books agree after each. Method: a table of what happens, on a whole devnet whose merchant has
 * wallets of its own; `journey.long.test.ts` has the other types, `test/modules/screening/journey.test.ts` the screened ones.
 */
import { HDKey } from "@scure/bip32"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import { base58 } from "@scure/base"
import { until } from "../../support/Service.ts"
import { assertBalanced, call, newInvoice, send, simulate } from "../ledger/Books.ts"
import { assertRefused, type DevnetMerchant, DevnetService, newDevnetMerchant } from "../simulator/DevnetService.ts"

const put = Effect.fnUntraced(function*({ merchant }: DevnetMerchant, path: string, body: object) {
  const { call } = yield* DevnetService
  const headers = { "x-api-key": merchant, "idempotency-key": randomUUID() }
  const { status, text } = yield* call(path, { method: "PUT", headers, body })
  assert.strictEqual(status, 200, text)
})

const newXpub = () => HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/0'").publicExtendedKey

/** A merchant whose money comes to wallets of its own: what names no invoice is its own to decide on, too. */
const newOwner = Effect.gen(function*() {
  const player = yield* newDevnetMerchant
  yield* put(player, "/api/v1/merchant/wallets/evm", { kind: "xpub", value: newXpub() })
  yield* put(player, "/api/v1/merchant/wallets/solana", { kind: "address", value: base58.encode(randomBytes(32)) })
  return player
})

const advance = (player: DevnetMerchant, seconds: number) => call(player, "/api/v1/devnet/clock/advance", { seconds })

/** The grace of a part, and more than a day past the end of an invoice. */
const graceSeconds = 604_800
const unseenSeconds = 700_000

/** Tries that follow the first one by themselves, and more than the longest pause before one of them. */
const settlementRetries = 5
const retrySeconds = 8_000

const failSettlement = Effect.fnUntraced(function*(player: DevnetMerchant, id: string) {
  yield* simulate(player, id, "pay")
  yield* simulate(player, id, "fail_settlement")
  for (let retry = 1; retry <= settlementRetries; retry++) {
    yield* advance(player, retrySeconds)
    yield* until(
      "the settlement is tried again",
      call(player, `/api/v1/invoices/${id}/payments`),
      ([payment]) => payment.settlement_status === "processing"
    )
    yield* simulate(player, id, "fail_settlement")
  }
})

type Happening = (player: DevnetMerchant, invoiceId: string) => Effect.Effect<unknown, never, DevnetService>

const table: ReadonlyArray<{
  readonly type: string
  readonly happen: Happening
  readonly allowed: ReadonlyArray<string>
  /** The status of the invoice after each decision. */
  readonly leaves: Readonly<Record<string, string>>
  readonly namesNoInvoice?: boolean
}> = [
  {
    type: "underpaid_expired",
    happen: (player, id) =>
      simulate(player, id, "partial").pipe(
        Effect.andThen(simulate(player, id, "expire")),
        Effect.andThen(advance(player, graceSeconds))
      ),
    allowed: ["accept", "refund", "ignore"],
    leaves: { accept: "paid", refund: "underpaid", ignore: "underpaid" }
  },
  {
    type: "below_dust",
    happen: (player, id) => simulate(player, id, "dust"),
    allowed: ["refund", "ignore"],
    leaves: { refund: "unpaid", ignore: "unpaid" }
  },
  {
    type: "settlement_failed",
    happen: failSettlement,
    allowed: ["ignore"],
    leaves: { ignore: "paid" }
  },
  {
    type: "expiry_unseen",
    happen: (player, id) =>
      // A transfer that is dropped again has shown the address on the network that cannot be read then.
      simulate(player, id, "pay", { confirmations: 0 }).pipe(
        Effect.andThen(simulate(player, id, "drop")),
        Effect.andThen(call(player, "/api/v1/devnet/networks/base/fault", { mode: "down" })),
        Effect.andThen(advance(player, unseenSeconds))
      ),
    allowed: ["ignore"],
    leaves: { ignore: "expired" }
  },
  {
    type: "unmatched_payment",
    happen: (player, id) => simulate(player, id, "unmatched"),
    allowed: ["refund", "credit", "assign", "ignore"],
    leaves: { refund: "unpaid", credit: "unpaid", assign: "paid", ignore: "unpaid" },
    namesNoInvoice: true
  },
  {
    type: "missing_memo",
    happen: (player, id) => simulate(player, id, "missing_memo", { network: "solana" }),
    allowed: ["refund", "credit", "assign", "ignore"],
    leaves: { refund: "unpaid", credit: "unpaid", assign: "paid", ignore: "unpaid" },
    namesNoInvoice: true
  }
]

layer(DevnetService.layer, { excludeTestServices: true })("an exception", (it) => {
  for (const { allowed, happen, leaves, namesNoInvoice = false, type } of table) {
    it.effect(`${type} is decided on by ${allowed.join(", ")}, and by nothing else`, () =>
      Effect.forEach(allowed, (action) =>
        Effect.gen(function*() {
          const player = yield* newOwner
          const id = yield* newInvoice(player)
          yield* happen(player, id)
          const { data: [exception, ...others] } = yield* until(
            `${type} opens`,
            call(player, `/api/v1/exceptions?status=open&type=${type}`),
            ({ data }) => data.length > 0
          )
          assert.deepStrictEqual(others, [])
          assert.deepInclude(exception, { type, invoice_id: namesNoInvoice ? null : id, allowed_actions: allowed })
          yield* assertBalanced(player.id)
          const path = `/api/v1/exceptions/${exception.id}/resolve`
          for (
            const other of ["accept", "refund", "credit", "assign", "ignore"].filter((one) => !allowed.includes(one))
          ) {
            const error = assertRefused(yield* send(player, path, { action: other }), 400, "VALIDATION_ERROR")
            assert.deepStrictEqual(error.details, { allowed_actions: allowed })
          }
          const body = { action, note: "looked at it", ...(action === "assign" ? { invoice_id: id } : {}) }
          const resolved = yield* call(player, path, body)
          assert.deepInclude(resolved, { status: "resolved", allowed_actions: [] })
          assert.deepInclude(resolved.resolution, { action, note: "looked at it" })
          assert.strictEqual((yield* call(player, `/api/v1/invoices/${id}`)).status, leaves[action], action)
          assertRefused(yield* send(player, path, body), 409, "EXCEPTION_ALREADY_RESOLVED")
          yield* assertBalanced(player.id)
        }), { concurrency: namesNoInvoice ? 1 : "unbounded", discard: true }))
  }

  it.effect("of no invoice leaves nothing to send a second time where it is assigned to one without an address", () =>
    Effect.gen(function*() {
      const player = yield* newOwner
      const [paid, other] = [yield* newInvoice(player), yield* newInvoice(player)]
      yield* simulate(player, paid, "unmatched")
      const { data: [exception] } = yield* call(player, "/api/v1/exceptions?status=open")
      yield* call(player, `/api/v1/exceptions/${exception.id}/resolve`, { action: "assign", invoice_id: other })
      const again = yield* send(player, `/api/v1/devnet/invoices/${other}/simulate`, { action: "duplicate" })
      assertRefused(again, 409, "INVALID_TRANSITION")
    }))
})
