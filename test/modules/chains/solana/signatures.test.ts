/**
 * Goal: an account's transactions are listed without a gap, or the list is refused.
 * Method: a scripted index of 2,300 transactions whose answers go wrong at the seams of pages.
 */
import { assert, describe, it } from "@effect/vitest"
import { base58 } from "@scure/base"
import { Effect, Schema } from "effect"
import type { DriverError } from "../../../../runtime/Chains.ts"
import type { JsonRpcClient } from "../../../../runtime/nodes/JsonRpc.ts"
import { listSince } from "../../../../modules/chains/solana/Signatures.ts"

interface Entry {
  readonly signature: string
  readonly slot: number
  readonly err: null
}

const account = "1".repeat(32)

const signatureOf = (place: number) => {
  const bytes = new Uint8Array(64).fill(7)
  new DataView(bytes.buffer).setUint32(0, place)
  return base58.encode(bytes)
}

/** Newest first; `perSlot` of them in each slot. */
const entriesOf = (count: number, perSlot = 1): ReadonlyArray<Entry> =>
  Array.from({ length: count }, (_, place) => ({
    signature: signatureOf(place),
    slot: 10_000 - Math.floor(place / perSlot),
    err: null
  }))

type Page = (options: { readonly limit: number; readonly before?: string }) => ReadonlyArray<Entry>

/** As a node pages: what is older than `before`. */
const pagesOf = (entries: ReadonlyArray<Entry>): Page => ({ before, limit }) => {
  const start = before === undefined ? 0 : entries.findIndex(({ signature }) => signature === before) + 1
  return entries.slice(start, start + limit)
}

const nodeOf = (page: Page): JsonRpcClient => {
  const unused = () => Effect.die(new Error("not called"))
  return {
    network: "solana",
    place: 0,
    name: "rpc 1 of 1",
    call: (_, params, codec) =>
      Effect.suspend(() => Effect.orDie(Schema.decodeUnknownEffect(codec)(page(params[1] as never)))),
    ask: unused,
    resultOf: unused
  }
}

const list = (page: Page, from = 0n): Effect.Effect<ReadonlyArray<string>, DriverError> =>
  Effect.map(listSince(nodeOf(page), account, from), (found) => found.map(({ signature }) => signature))

const signaturesIn = (entries: ReadonlyArray<Entry>) => entries.map(({ signature }) => signature)

describe("the transactions of an account of Solana", () => {
  it.effect("are listed over pages of 1,000, each once, down to a slot", () =>
    Effect.gen(function*() {
      const entries = entriesOf(2_300)
      assert.deepStrictEqual(yield* list(pagesOf(entries)), signaturesIn(entries))
      assert.deepStrictEqual(yield* list(pagesOf(entries), 8_500n), signaturesIn(entries).slice(0, 1_501))
    }))

  it.effect("are listed whole where pages end within a slot, and where a provider gives shorter ones", () =>
    Effect.gen(function*() {
      for (const perSlot of [3, 7, 2_300]) {
        const entries = entriesOf(2_300, perSlot)
        assert.deepStrictEqual(yield* list(pagesOf(entries)), signaturesIn(entries))
        const whole = pagesOf(entries)
        const short: Page = (options) => whole({ ...options, limit: Math.min(options.limit, 700) })
        assert.deepStrictEqual(yield* list(short), signaturesIn(entries))
      }
    }))

  it.effect("are refused where a page leaves out what the one before it ended with", () =>
    Effect.gen(function*() {
      const entries = entriesOf(2_300)
      // The page after the first thousand is asked for from its last but one, and begins with its last.
      const end = signaturesIn(entries)[1_017]
      const whole = pagesOf(entries)
      const faults: ReadonlyArray<Page> = [
        // The index of the node that answers has a hole there.
        (options) => options.before === end ? whole(options).slice(1) : whole(options),
        // It does not know the signature, and gives none, or the newest.
        (options) => options.before === end ? [] : whole(options),
        ({ before, limit }) =>
          before === end ? whole({ limit }) : whole({ limit, ...before === undefined ? {} : { before } }),
        // It has the transactions of a slot in another order.
        (options) => options.before === end ? whole(options).toReversed() : whole(options)
      ]
      for (const fault of faults) {
        const refusal = yield* Effect.flip(Effect.as(list(fault), "not refused"))
        assert.match(refusal.reason, /does not go on where the last one ended|are in no order/)
      }
      const sameSlot = entriesOf(2_300, 2_300)
      const inOrder = pagesOf(sameSlot)
      const shuffled: Page = (options) =>
        options.before === undefined ? inOrder(options) : inOrder(options).toReversed()
      const refusal = yield* Effect.flip(Effect.as(list(shuffled), "not refused"))
      assert.match(refusal.reason, /does not go on where the last one ended/)
    }))
})
