/**
 * Goal: while a payor watches, the quote shown last is never about to end, and every change of it is told once, with
 * what it was before; nobody watching costs nothing.
 * Method: the renewal over a real database, with scripted prices, listeners and invoice, on virtual time.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { type Aggregate, Invoices } from "../../../modules/invoices/plugin.ts"
import { layer as quotesLayer } from "../../../modules/quotes/service.ts"
import { QuoteRenewal, renewal } from "../../../modules/quotes/service/QuoteRenewal.ts"
import { PaymentQuotes } from "../../../modules/quotes/plugin.ts"
import { Availability } from "../../../runtime/Availability.ts"
import { Commit } from "../../../runtime/Commit.ts"
import { EventBus, type EventHandler } from "../../../runtime/EventBus.ts"
import { Sockets } from "../../../runtime/Sockets.ts"
import { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { apiVersion } from "../../../schemas/Event.ts"
import { usdMillis } from "../../../schemas/Money.ts"
import { insertQuote, invoiceId, type Market, marketLayer, openInvoice, start } from "../../fixtures/quotes.ts"
import { catalogOf, ether, usdc } from "../../fixtures/tokens.ts"
import { migratedLayer } from "../../support/Database.ts"

/** One instance of the service as far as a renewal sees it; several may share a database. */
interface Instance {
  /** Invoices that somebody listens to. */
  listened: Array<string>
  /** What its listeners were told. */
  readonly told: Array<{ readonly invoiceId: string; readonly event: any }>
  /** Quotes it committed. */
  commits: number
  /** Makes the next commits fail. */
  broken: boolean
  greet: QuoteRenewal["Service"]["startWatch"]
}

interface World {
  /** Absent: new payments may use the token. */
  isEnabled?: boolean
  aggregate: Aggregate
  readonly market: Market
  readonly handlers: Array<EventHandler>
  /** What happens right after the invoice is read the next time. */
  afterFind: Effect.Effect<unknown>
  /** Whether tokens can be paid in, as the catalogue says. */
  active: boolean
  /** Instances whose looks wait for the next second or the next event. */
  atRest: number
}

/** What the renewal waits between two looks. */
const pauseMillis = 1_000

/** `base`, which counts the instances that rest. */
const countingRest = (base: Clock.Clock, world: World): Clock.Clock => ({
  currentTimeMillisUnsafe: () => base.currentTimeMillisUnsafe(),
  currentTimeMillis: base.currentTimeMillis,
  currentTimeNanosUnsafe: () => base.currentTimeNanosUnsafe(),
  currentTimeNanos: base.currentTimeNanos,
  monotonicTimeNanosUnsafe: () => base.monotonicTimeNanosUnsafe(),
  monotonicTimeNanos: base.monotonicTimeNanos,
  sleep: (duration) =>
    Duration.toMillis(duration) === pauseMillis
      ? Effect.acquireUseRelease(
        Effect.sync(() => world.atRest++),
        () => base.sleep(duration),
        () => Effect.sync(() => world.atRest--)
      )
      : base.sleep(duration)
})

const instanceLayer = (world: World, instance: Instance) => {
  const kernel = Layer.mergeAll(
    marketLayer(world.market),
    Layer.effect(
      TokenCatalog,
      Effect.map(TokenCatalog, (all) => ({
        ...all,
        get: (id: number) => {
          const token = all.get(id)
          return token === undefined ? undefined : { ...token, active: world.active }
        }
      }))
    ).pipe(Layer.provide(catalogOf(usdc, ether))),
    Layer.succeed(Availability, {
      isNetworkEnabled: () => true,
      stateOf: () => ({ isEnabled: true, reason: null, changedAt: null }),
      set: () => Effect.die("not of this test"),
      objectionTo: () => world.isEnabled === false ? publicError("UNSUPPORTED_NETWORK") : null
    }),
    Layer.mock(Sockets, {
      watchedInvoices: () => instance.listened,
      send: (invoiceId, frame) =>
        Effect.sync(() => void instance.told.push({ invoiceId, event: JSON.parse(frame(apiVersion)) }))
    }),
    Layer.mock(EventBus, {
      subscribe: (_, handler) => Effect.sync(() => void world.handlers.push(handler)),
      nextPosition: () => Effect.succeed({ ms: BigInt(start) * 1000n, seq: BigInt(instance.told.length + 1) }),
      staleMillis: () => 0
    }),
    Layer.mock(Invoices, {
      find: () =>
        Effect.suspend(() => {
          const { afterFind, aggregate } = world
          world.afterFind = Effect.void
          return Effect.as(afterFind, aggregate)
        })
    }),
    Layer.effect(
      Commit,
      Effect.map(Effect.context<SqlClient.SqlClient>(), (context) =>
        Commit.of({
          append: ({ writes }) =>
            Effect.suspend(() => {
              if (instance.broken) return Effect.die(new Error("no database"))
              return insertQuote(writes[0]!).pipe(
                Effect.provideContext(context),
                Effect.orDie,
                Effect.map(() => (instance.commits++, { events: [] }))
              )
            })
        }))
    )
  )
  const known = Layer.effectDiscard(Effect.map(QuoteRenewal, ({ startWatch }) => void (instance.greet = startWatch)))
  const clock = Layer.effect(Clock.Clock, Effect.map(Clock.Clock, (base) => countingRest(base, world)))
  return known.pipe(
    Layer.provide(Layer.provide(renewal, clock)),
    Layer.provideMerge(quotesLayer),
    Layer.provide(kernel)
  )
}

const instanceCount = 2

const newInstance = (): Instance => ({
  listened: [],
  told: [],
  commits: 0,
  broken: false,
  greet: () => Effect.succeed(null)
})

/** A payor connects: the hub has the connection, and it is greeted. */
const connect = (instance: Instance) =>
  Effect.suspend(() => {
    instance.listened = [invoiceId]
    return Effect.map(instance.greet(invoiceId), (greeting) => greeting?.quote ?? null)
  })

const request = {
  merchantId: 7,
  invoiceId,
  environment: "devnet",
  token: ether,
  amountRemaining: usdMillis(49_990n),
  isShown: true
} as const

/** Shows the payor a quote for ether at $2,000. */
const show = Effect.gen(function*() {
  const issued = yield* (yield* PaymentQuotes).issue(request)
  yield* insertQuote(issued.write)
  return issued
})

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Waits, in real time, until no look is under way: virtual time moves no socket, and a busy machine answers late. */
const rest = (world: World) =>
  Effect.promise(async () => {
    // What was asked for only now begins in the next turn.
    await turn()
    while (world.atRest < instanceCount) await turn()
  })

/** Seconds pass one by one, and what each has started is over before the next. */
const pass = (world: World, seconds: number) =>
  Effect.gen(function*() {
    yield* rest(world)
    for (let second = 0; second < seconds; second++) {
      yield* TestClock.adjust("1 second")
      yield* rest(world)
    }
  })

const underpaidInvoice: Aggregate = {
  ...openInvoice,
  invoice: { ...openInvoice.invoice, status: "underpaid", amountPaid: usdMillis(20_000n) }
}

const running = <A, E>(
  test: (world: World, one: Instance, two: Instance) => Effect.Effect<A, E, PaymentQuotes | SqlClient.SqlClient>
) => {
  const world: World = {
    aggregate: openInvoice,
    market: { text: "2000", down: [] },
    handlers: [],
    afterFind: Effect.void,
    active: true,
    atRest: 0
  }
  const one = newInstance()
  const two = newInstance()
  const layers = Layer.mergeAll(
    instanceLayer(world, one),
    Layer.fresh(instanceLayer(world, two))
  ).pipe(Layer.provideMerge(migratedLayer))
  return Effect.andThen(TestClock.setTime(start * 1000), Effect.provide(test(world, one, two), layers))
}

/** An event of the invoice, as the bus tells it to every instance. */
const changed = (world: World) =>
  Effect.forEach(world.handlers, (handler) => handler([{ invoiceId, type: "invoice.updated" } as never]))

const objectsOf = ({ told }: Instance) => told.map(({ event }) => event.data.object)

describe("renewal of quotes", () => {
  it.effect(
    "goes on once the token is active again, as it is after a start",
    () =>
      running((world, one) =>
        Effect.gen(function*() {
          yield* show
          yield* connect(one)
          world.active = false
          yield* pass(world, 280)
          assert.strictEqual(one.commits, 0)
          world.active = true
          yield* pass(world, 6)
          assert.strictEqual(one.commits, 1)
          yield* pass(world, 6)
          assert.deepStrictEqual([one.told.length, one.commits], [1, 1])
        })
      )
  )

  it.effect(
    "gives no new quote of what an operator has disabled, and goes on once it is enabled again",
    () =>
      running((world, one) =>
        Effect.gen(function*() {
          yield* show
          yield* connect(one)
          world.isEnabled = false
          yield* pass(world, 280)
          assert.strictEqual(one.commits, 0)
          world.isEnabled = true
          yield* pass(world, 6)
          assert.strictEqual(one.commits, 1)
        })
      )
  )

  it.effect(
    "tells a new quote 30 s before the end of the old one, by one commit, with what changed",
    () =>
      running((world, one) =>
        Effect.gen(function*() {
          yield* show
          yield* connect(one)
          world.market.text = "2500"
          yield* pass(world, 269)
          assert.deepStrictEqual([one.told, one.commits], [[], 0])
          yield* pass(world, 2)
          assert.isAbove(one.told.length, 0)
          assert.deepStrictEqual([one.told.length, one.commits], [1, 1])
          const { event } = one.told[0]!
          assert.deepStrictEqual([event.type, event.object, event.livemode, event.pending_webhooks, event.request], [
            "payment_quote.updated",
            "event",
            false,
            0,
            { id: null, idempotency_key: null }
          ])
          assert.match(event.id, /^evt_\d+-1$/)
          const { object, previous_attributes: previous } = event.data
          assert.deepStrictEqual([object.exchange_rate, object.estimated_token_amount_remaining, object.quote_status], [
            "2500",
            "0.019996000000000000",
            "available"
          ])
          assert.strictEqual(previous.exchange_rate, "2000")
          assert.strictEqual(previous.estimated_token_amount_remaining, "0.024995000000000000")
          assert.notProperty(previous, "amount_remaining")
          assert.notProperty(previous, "quote_status")
          const current = yield* (yield* PaymentQuotes).current(invoiceId)
          assert.strictEqual(current?.exchange_rate, "2500", "it is the quote shown last")
          yield* pass(world, 268)
          assert.strictEqual(one.commits, 1)
          yield* pass(world, 4)
          assert.isAbove(one.told.length, 1)
          assert.strictEqual(one.commits, 2)
        })
      )
  )

  it.effect(
    "costs nothing while nobody listens, and stops when the last one leaves",
    () =>
      running((world, one) =>
        Effect.gen(function*() {
          yield* show
          yield* pass(world, 280)
          assert.deepStrictEqual([one.told.length, one.commits], [0, 0])
          yield* connect(one)
          yield* pass(world, 2)
          assert.isAbove(one.told.length, 0)
          assert.strictEqual(one.commits, 1, "a payor who comes late gets a fresh one")
          one.listened = []
          yield* pass(world, 300)
          assert.strictEqual(one.commits, 1)
        })
      )
  )

  it.effect(
    "says once that a price was lost, and once that it is back",
    () =>
      running((world, one) =>
        Effect.gen(function*() {
          yield* show
          yield* connect(one)
          yield* pass(world, 5)
          world.market.text = null
          yield* pass(world, 267)
          assert.isAbove(one.told.length, 0)
          assert.deepStrictEqual(objectsOf(one).map((quote) => [quote.quote_status, quote.retry_after_seconds]), [
            ["unavailable", 15]
          ])
          yield* pass(world, 40)
          assert.strictEqual(one.told.length, 1)
          world.market.text = "2100"
          yield* pass(world, 17)
          assert.isAbove(one.told.length, 1)
          assert.deepStrictEqual(objectsOf(one).map((quote) => quote.quote_status), ["unavailable", "available"])
          const { object, previous_attributes: previous } = one.told[1]!.event.data
          assert.deepStrictEqual({ ...object, ...previous }, objectsOf(one)[0], "what was told before, exactly")
          assert.strictEqual(one.commits, 1)
        })
      )
  )

  it.effect(
    "tells what is left after a part was paid at once, and nothing after the rest was",
    () =>
      running((world, one) =>
        Effect.gen(function*() {
          yield* show
          yield* connect(one)
          yield* pass(world, 10)
          const { invoice } = openInvoice
          world.aggregate = {
            ...openInvoice,
            invoice: { ...invoice, status: "underpaid", amountPaid: usdMillis(20_000n) }
          }
          yield* changed(world)
          yield* pass(world, 2)
          assert.isAbove(one.told.length, 0)
          assert.deepStrictEqual(objectsOf(one).map((quote) => quote.amount_remaining), [29_990])
          assert.strictEqual(one.told[0]!.event.data.previous_attributes.amount_remaining, 49_990)
          world.aggregate = { ...openInvoice, invoice: { ...invoice, status: "paid", amountPaid: usdMillis(49_990n) } }
          yield* changed(world)
          yield* pass(world, 300)
          assert.deepStrictEqual([one.told.length, one.commits], [1, 1])
        })
      )
  )

  it.effect(
    "tells at once of a part that is paid while a quote is being renewed",
    () =>
      running((world, one) =>
        Effect.gen(function*() {
          yield* show
          yield* connect(one)
          yield* pass(world, 10)
          const { invoice } = openInvoice
          world.afterFind = Effect.suspend(() => {
            world.aggregate = {
              ...openInvoice,
              invoice: { ...invoice, status: "underpaid", amountPaid: usdMillis(20_000n) }
            }
            return changed(world)
          })
          yield* changed(world)
          yield* pass(world, 4)
          assert.isAbove(one.told.length, 0)
          assert.deepStrictEqual(objectsOf(one).map((quote) => quote.amount_remaining), [29_990])
        })
      )
  )

  it.effect(
    "looks again as soon as a slow renewal ends during which a part was paid, not a second later",
    () =>
      running((world, one) =>
        Effect.gen(function*() {
          yield* show
          yield* connect(one)
          yield* pass(world, 10)
          world.afterFind = Effect.suspend(() => {
            world.aggregate = underpaidInvoice
            return Effect.andThen(
              changed(world),
              Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 200)))
            )
          })
          yield* changed(world)
          // No virtual time passes: a look that waits for the next second is never made.
          yield* rest(world)
          assert.isAbove(one.told.length, 0)
          assert.deepStrictEqual(objectsOf(one).map((quote) => quote.amount_remaining), [29_990])
        })
      )
  )

  it.effect(
    "offers nothing that cannot be paid: not in a greeting, nor by a renewal that was under way",
    () =>
      running((world, one, two) =>
        Effect.gen(function*() {
          yield* show
          yield* connect(one)
          yield* pass(world, 3)
          const { invoice } = openInvoice
          const paid: Aggregate = {
            ...openInvoice,
            invoice: { ...invoice, status: "paid", amountPaid: usdMillis(49_990n) }
          }
          world.market.text = "2500"
          yield* pass(world, 266)
          world.afterFind = Effect.suspend(() => {
            world.aggregate = paid
            return changed(world)
          })
          yield* pass(world, 4)
          assert.strictEqual(one.commits, 1)
          yield* pass(world, 4)
          assert.deepStrictEqual(one.told, [], "the renewal has begun before the payment and ends after it")
          for (const status of ["paid", "expired", "canceled"] as const) {
            world.aggregate = { ...paid, invoice: { ...paid.invoice, status } }
            assert.isNull(yield* connect(two), status)
          }
          yield* pass(world, 3)
          world.aggregate = { ...openInvoice, invoice: { ...invoice, expiresAt: start } }
          assert.isNull(yield* connect(two), "it has ended, though nobody has said so yet")
          yield* pass(world, 3)
          assert.deepStrictEqual([...one.told, ...two.told], [])
          world.aggregate = openInvoice
          yield* changed(world)
          yield* pass(world, 3)
          assert.isAbove(one.told.length, 0)
          assert.isAbove(two.told.length, 0)
          for (const instance of [one, two]) {
            assert.deepStrictEqual(
              objectsOf(instance).map((quote) => quote.quote_status),
              ["available"],
              "it is open again"
            )
            assert.deepStrictEqual(instance.told[0]!.event.data.previous_attributes, {})
          }
        })
      )
  )

  it.effect(
    "misses nothing that happens between the greeting and its first look, on both instances",
    () =>
      running((world, one, two) =>
        Effect.gen(function*() {
          yield* show
          assert.strictEqual((yield* connect(one))?.amount_remaining, 49_990)
          assert.strictEqual((yield* connect(two))?.amount_remaining, 49_990)
          world.aggregate = {
            ...openInvoice,
            invoice: { ...openInvoice.invoice, status: "underpaid", amountPaid: usdMillis(20_000n) }
          }
          two.broken = true
          yield* pass(world, 2)
          assert.isAbove(one.told.length, 0)
          two.broken = false
          yield* pass(world, 7)
          assert.isAbove(two.told.length, 0)
          for (const instance of [one, two]) {
            assert.deepStrictEqual(objectsOf(instance).map((quote) => quote.amount_remaining), [29_990])
            assert.strictEqual(instance.told[0]!.event.data.previous_attributes.amount_remaining, 49_990)
          }
          assert.deepStrictEqual([one.commits, two.commits], [1, 0])
        })
      )
  )

  it.effect(
    "tells nobody anew what its greeting says, however long the greeting takes",
    () =>
      running((world, one) =>
        Effect.gen(function*() {
          yield* show
          one.listened = [invoiceId]
          yield* pass(world, 3)
          yield* one.greet(invoiceId)
          yield* pass(world, 3)
          assert.deepStrictEqual(one.told, [])
        })
      )
  )

  it.effect(
    "tells a payor who listened before a quote was shown of the first one",
    () =>
      running((world, one) =>
        Effect.gen(function*() {
          assert.isNull(yield* connect(one))
          yield* pass(world, 2)
          const { quote } = yield* show
          yield* pass(world, 32)
          assert.isAbove(one.told.length, 0)
          assert.deepStrictEqual(
            [objectsOf(one)[0].exchange_rate, one.told[0]!.event.data.previous_attributes, one.commits],
            [quote.exchange_rate, {}, 0]
          )
        })
      )
  )

  it.effect(
    "retries a price that was lost when a part was paid, although the old quote has not ended",
    () =>
      running((world, one) =>
        Effect.gen(function*() {
          yield* show
          yield* connect(one)
          yield* pass(world, 3)
          world.market.text = null
          world.aggregate = {
            ...openInvoice,
            invoice: { ...openInvoice.invoice, status: "underpaid", amountPaid: usdMillis(20_000n) }
          }
          yield* changed(world)
          yield* pass(world, 2)
          assert.isAbove(one.told.length, 0)
          world.market.text = "2000"
          yield* pass(world, 17)
          assert.isAbove(one.told.length, 1)
          assert.deepStrictEqual(objectsOf(one).map((quote) => quote.quote_status), ["unavailable", "available"])
        })
      )
  )

  it.effect(
    "makes one quote for two payors on two instances, and tells both",
    () =>
      running((world, one, two) =>
        Effect.gen(function*() {
          yield* show
          yield* connect(one)
          yield* connect(two)
          world.market.text = "2500"
          // The second instance's turn comes a little later than the first's.
          two.broken = true
          yield* pass(world, 271)
          assert.isAbove(one.commits, 0)
          two.broken = false
          yield* pass(world, 8)
          assert.isAbove(two.told.length, 0)
          assert.deepStrictEqual([one.commits, two.commits], [1, 0])
          assert.deepStrictEqual(objectsOf(one).map(({ exchange_rate }) => exchange_rate), ["2500"])
          assert.deepStrictEqual(objectsOf(two).map(({ exchange_rate }) => exchange_rate), ["2500"])
        })
      )
  )

  it.effect("tries again after a commit that failed", () =>
    running((world, one) =>
      Effect.gen(function*() {
        yield* show
        yield* connect(one)
        one.broken = true
        yield* pass(world, 272)
        assert.strictEqual(one.told.length, 0)
        one.broken = false
        yield* pass(world, 6)
        assert.isAbove(one.told.length, 0)
        assert.deepStrictEqual([one.told.length, one.commits], [1, 1])
      })
    ))
})
