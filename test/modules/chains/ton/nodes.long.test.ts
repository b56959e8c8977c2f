/**
 * Goal: endpoints that are wrong, slow, behind, cut off, oversized, limited or lying cost time and no money.
 * Method: two endpoints in front of one chain, of which one goes wrong in each way.
 */
import { assert, describe, it } from "@effect/vitest"
import { Address, toNano } from "@ton/core"
import { Effect, type Scope, Stream } from "effect"
import { FetchHttpClient, type HttpClient } from "effect/http"
import { makeDriver } from "../../../../modules/chains/ton.ts"
import { readTransactions } from "../../../../modules/chains/ton/Toncenter.ts"
import type {
  ChainDriver,
  ChainEvent,
  ChainPoint,
  LocatedTransfer,
  SharedWallet,
  WatchSet
} from "../../../../runtime/Chains.ts"
import { watching } from "../../../support/Drivers.ts"
import { sharedWalletKey, tonOptions, walletsOf } from "../../../support/ton/Driver.ts"
import { type EndpointFaults, type TonEndpoint, type TonJetton, TonRig } from "../../../support/TonRig.ts"

interface Town {
  readonly rig: TonRig
  readonly first: TonEndpoint
  readonly second: TonEndpoint
  readonly driver: ChainDriver
  readonly jetton: TonJetton
  readonly shared: SharedWallet
  readonly wallet: Address
  readonly watch: WatchSet
  readonly start: ChainPoint
}

/** Two endpoints in front of one chain, and a driver that follows one wallet there. */
const town = (more: object = {}) =>
  Effect.gen(function*() {
    const rig = yield* Effect.promise(() => TonRig.make())
    const [first, second] = [yield* rig.serve(), yield* rig.serve()]
    const jetton = yield* Effect.promise(() => rig.deployJetton())
    const driver = yield* Effect.orDie(makeDriver(tonOptions([first.url, second.url], more), { absenceMillis: 0 }))
    const { shared } = yield* walletsOf(driver, sharedWalletKey, `0:${"b1".repeat(32)}`)
    const keys = Array.from({ length: 10 }, (_, number) => shared.targetOf(`inv_${number}`).matchKey)
    const watch = watching([...keys, shared.accountKey], {
      accounts: [{ key: shared.accountKey, isOpen: true }],
      tokens: [jetton.address.toString()]
    })
    const [head] = yield* Effect.orDie(driver.follow([], watch).pipe(Stream.take(1), Stream.runCollect))
    const start = head?._tag === "Forward" ? head.point : { height: 0n, hash: "" }
    const made: Town = {
      rig,
      first,
      second,
      driver,
      jetton,
      shared,
      start,
      wallet: Address.parse(sharedWalletKey),
      watch
    }
    return made
  })

const promise = (
  title: string,
  work: (town: Town) => Effect.Effect<void, unknown, HttpClient.HttpClient | Scope.Scope>,
  more: object = {}
) =>
  it.live(
    title,
    () => Effect.flatMap(town(more), work).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer))
  )

const payInvoice = ({ rig, shared, wallet }: Town, invoice: number, value = toNano("1")) =>
  Effect.promise(() => rig.pay(wallet, value, { text: shared.targetOf(`inv_${invoice}`).memo }))

/** Follows from the start until `count` transfers were told. */
const tellUntil = ({ driver, start, watch }: Town, count: number) =>
  driver.follow([start], watch).pipe(
    Stream.scan((): ReadonlyArray<LocatedTransfer> => [], (all, event) =>
      event._tag === "Forward" ? [...all, ...event.transfers as ReadonlyArray<LocatedTransfer>] : all),
    Stream.filter((all) =>
      new Set(all.map(({ txHash }) => txHash)).size >= count
    ),
    Stream.runHead,
    Effect.map((found) => found._tag === "Some" ? found.value : [])
  )

const faults: ReadonlyArray<readonly [what: string, fault: Partial<EndpointFaults>]> = [
  ["answers with an error", { status: 500 }],
  ["asks for fewer calls", { status: 429 }],
  ["does not know the key", { status: 401 }],
  ["breaks off in the middle of an answer", { isCut: true }],
  ["answers with more than is read", { ballast: 70 * 1024 * 1024 }],
  ["answers with something else", { lie: () => ({ transactions: [{ nothing: true }], last: 5 }) }],
  ["answers with null", { lie: () => null }]
]

describe("endpoints of TON", () => {
  for (const [what, fault] of faults) {
    promise(`an endpoint that ${what} leaves the look to the next`, (made) =>
      Effect.gen(function*() {
        yield* payInvoice(made, 1)
        Object.assign(made.first.faults, fault)
        const told = yield* tellUntil(made, 1)
        assert.deepStrictEqual(told.map(({ amount }) => BigInt(amount)), [toNano("1")])
      }))
  }

  for (
    const [what, ahead] of [
      ["a block that the chain has not reached", { seqno: 1_000_000, gen_utime: 0 }],
      ["a time that has not come", { seqno: 1, gen_utime: 86_400 }]
    ] as const
  ) {
    promise(
      `an endpoint that names ${what} leaves the look to the next, and ends no following`,
      (made) =>
        Effect.gen(function*() {
          made.first.faults.lie = (route, answer) => {
            if (route !== "masterchainInfo") return answer
            const { gen_utime: time, seqno } = answer.last
            return {
              ...answer,
              last: { ...answer.last, seqno: seqno + ahead.seqno, gen_utime: `${+time + ahead.gen_utime}` }
            }
          }
          yield* payInvoice(made, 1)
          const told: Array<Extract<ChainEvent, { _tag: "Forward" }>> = []
          yield* made.driver.follow([made.start], made.watch).pipe(
            Stream.takeUntil((event) => {
              if (event._tag === "Forward") told.push(event)
              return event._tag === "Forward" && event.transfers.length > 0
            }),
            Stream.runDrain
          )
          assert.isAtMost(Number(told.at(-1)!.point.height), made.rig.head.seqno)
          assert.isAtMost(told.at(-1)!.time, made.rig.head.time)
        })
    )
  }

  promise(
    "an endpoint of another network is refused at the start, and named without its key",
    ({ rig }) =>
      Effect.gen(function*() {
        const other = yield* Effect.promise(() => TonRig.make(-239))
        const { url } = yield* other.serve()
        const own = yield* rig.serve()
        const error = yield* Effect.flip(makeDriver(tonOptions([own.url, `${url}?key=secret`])))
        assert.match(error.message, /api 2 of 2 is on the network -239, but ton is -3 here/)
        assert.notInclude(error.message, "secret")
      })
  )

  promise(
    "an endpoint that runs methods wrongly hides no jettons while another runs them well",
    (made) =>
      Effect.gen(function*() {
        const { first, jetton, rig, shared, wallet } = made
        first.faults.lie = (route, answer) => /runGetMethod/.test(route) ? { exit_code: 9, stack: [] } : answer
        const { memo } = shared.targetOf("inv_1")
        yield* Effect.promise(() => rig.payJetton(jetton, wallet, 5n, { text: memo }))
        const told = yield* tellUntil(made, 1)
        assert.deepStrictEqual(told.map(({ amount }) => BigInt(amount)), [5n])
      })
  )

  promise("the key of an endpoint goes to it in its header", ({ rig }) =>
    Effect.gen(function*() {
      const { lastHeaders, url } = yield* rig.serve()
      yield* makeDriver(tonOptions([], { api: [{ url, apiKey: "k-1" }] }))
      assert.strictEqual(lastHeaders()["x-api-key"], "k-1")
    }))

  promise("what an index shows later than its blocks is found all the same", (made) =>
    Effect.gen(function*() {
      made.first.faults.indexLagBlocks = 20
      yield* payInvoice(made, 1)
      const events: Array<ChainEvent> = []
      const told = yield* made.driver.follow([made.start], made.watch).pipe(
        Stream.tap((event) =>
          Effect.sync(() => {
            made.rig.mine()
            events.push(event)
          })
        ),
        Stream.filter((event) => event._tag === "Forward" && event.transfers.length > 0),
        Stream.runHead
      )
      assert.strictEqual(told._tag, "Some")
      for (const event of events) {
        if (event._tag === "Forward") assert.isAtMost(event.seenUntil!, event.time - 30)
      }
    }))

  promise(
    "answers that are too large or over a limit are divided until nothing is left out",
    (made) =>
      Effect.gen(function*() {
        made.first.faults.maximumLimit = 3
        for (let number = 0; number < 10; number++) yield* payInvoice(made, number)
        assert.lengthOf(yield* tellUntil(made, 10), 10)
      })
  )

  promise(
    "pages begin in the last second of the page before, and the second of many is read to its end",
    (made) =>
      Effect.gen(function*() {
        for (let number = 0; number < 9; number++) yield* payInvoice(made, number)
        const { rig } = made
        const client: any = {
          network: "ton",
          name: "api",
          place: 0,
          get: (path: string) =>
            Effect.map(
              Effect.promise(() =>
                rig.answer("transactions", new URL(path, "http://rig").searchParams, null, {
                  ...made.first.faults,
                  maximumLimit: 2
                })
              ),
              ([status, answer]) => status === 200 ? answer as any : null
            ).pipe(Effect.flatMap((answer) =>
              answer === null
                ? Effect.fail({ kind: "refused", reason: "limit is not allowed" } as never)
                : Effect.succeed(answer)
            ))
        }
        const { transactions } = yield* readTransactions(client, [made.shared.accountKey], 0, rig.head.time)
        assert.strictEqual(new Set(transactions.map(({ hash }) => hash)).size, 9)
      })
  )

  promise(
    "a chain that stands still is told as frozen, and as sound again when it moves (trap 12)",
    (made) =>
      Effect.gen(function*() {
        const { driver, rig, start, watch } = made
        const conditions = yield* driver.follow([start], watch).pipe(
          Stream.tap((event) =>
            Effect.sync(() => event._tag === "Condition" && event.condition === "frozen" ? rig.mine(1) : null)
          ),
          Stream.filter((event) => event._tag === "Condition"),
          Stream.map(({ condition }) => condition),
          Stream.takeUntil((condition, index) => condition === "ok" && index > 0),
          Stream.runCollect
        )
        assert.deepStrictEqual(conditions.slice(-2), ["frozen", "ok"])
      }),
    { frozenSeconds: 2 }
  )

  promise(
    "a payment that only one endpoint shows is not confirmed, and one that both show is",
    (made) =>
      Effect.gen(function*() {
        const { driver, first, jetton, rig, second, shared, wallet, watch } = made
        const { memo } = shared.targetOf("inv_2")
        const hash = yield* Effect.promise(() => rig.payJetton(jetton, wallet, 5n, { text: memo }))
        const [transfer] = yield* tellUntil(made, 1)
        const ask = (isThorough: boolean) =>
          driver.corroborate!({ height: transfer!.at.height, hash: transfer!.at.hash }, watch, isThorough, [hash])
        const agreed = yield* ask(true)
        assert.strictEqual(agreed._tag, "Agreed")
        if (agreed._tag === "Agreed") {
          assert.deepStrictEqual(agreed.readings.map((reading) => reading.map(({ amount }) => BigInt(amount))), [[5n], [
            5n
          ]])
        }
        for (let count = 0; count < 300; count++) rig.mine()
        // The other endpoint has never heard of it.
        const hide = (route: string, answer: any) => route === "transactions" ? { transactions: [] } : answer
        second.faults.lie = hide
        assert.strictEqual((yield* ask(false))._tag, "Disagreed")
        second.faults.lie = null
        // One that names another account as the merchant's jetton wallet shows no transfer.
        first.faults.lie = hide
        assert.strictEqual((yield* ask(true))._tag, "Disagreed")
        first.faults.status = 500
        assert.oneOf((yield* ask(false))._tag, ["Agreed", "Alone"])
      })
  )

  promise("one endpoint alone does not say that blocks or a transaction are gone", (made) =>
    Effect.gen(function*() {
      const { driver, first, rig, second, start, watch } = made
      if (driver.history._tag !== "AccountHistory") throw new Error("not by account")
      const { readTransaction, readTransfers, timeOf } = driver.history
      const hash = yield* payInvoice(made, 1)
      rig.mine(10)
      const forget = (route: string, answer: any) => {
        switch (route) {
          case "blocks":
            return { blocks: [] }
          case "masterchainInfo":
            return { ...answer, first: answer.last }
          case "transactions":
            return { transactions: [] }
          default:
            return answer
        }
      }
      const outcomes = Effect.gen(function*() {
        const time = yield* Effect.result(timeOf(start.height))
        const range = yield* Effect.result(readTransfers(start.height, start.height + 1n, watch))
        const transfers = yield* Effect.result(readTransaction(hash, watch, start.height))
        return [
          time._tag === "Failure" ? "unknown" : time.success === null ? "gone" : "there",
          range._tag === "Success" ? range.success.length : range.failure.condition ?? "unknown",
          transfers._tag === "Success" ? transfers.success.length : "unknown"
        ]
      })
      first.faults.lie = forget
      assert.deepStrictEqual(yield* outcomes, ["there", 1, 1])
      second.faults.status = 500
      assert.deepStrictEqual(yield* outcomes, ["unknown", "unknown", "unknown"])
      Object.assign(second.faults, { status: null, lie: forget })
      // A node shows what is final a while after its block.
      assert.deepStrictEqual(yield* outcomes, ["gone", "block_pruned", "unknown"])
      for (let block = 0; block < 300; block++) rig.mine()
      assert.deepStrictEqual(yield* outcomes, ["gone", "block_pruned", 0])
    }))

  promise(
    "a cursor whose block is another one now, or is not there, stops following with a reason",
    (made) =>
      Effect.gen(function*() {
        const { driver, rig, start, watch } = made
        for (let count = 0; count < 3; count++) rig.mine()
        const wrong = { height: start.height, hash: "another" }
        const error = yield* Effect.flip(driver.follow([wrong], watch).pipe(Stream.take(2), Stream.runDrain))
        assert.strictEqual(error.condition, "no_common_block")
      })
  )

  promise("24 hours are caught up in stretches, each told when it is read", (made) =>
    Effect.gen(function*() {
      const { driver, rig, start, watch } = made
      for (let hour = 1; hour <= 24; hour++) {
        rig.mine(3_600)
        yield* payInvoice(made, hour % 10, toNano(`${hour}`))
      }
      const events = yield* driver.follow([start], watch).pipe(
        Stream.filter((event) => event._tag === "Forward"),
        Stream.takeUntil(({ isCatchingUp }) => !isCatchingUp),
        Stream.runCollect
      )
      assert.isAbove(events.length, 10)
      assert.lengthOf(new Set(events.flatMap(({ transfers }) => transfers.map(({ txHash }) => txHash))), 24)
    }))
})
