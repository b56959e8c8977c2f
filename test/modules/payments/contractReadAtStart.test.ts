/**
 * Goal: a payor who asks for an address just after the start of an instance, which still reads the contracts of its
 * tokens, gets one and no error. Method: a catalogue whose token is active once its contract was read.
 */
import { assert, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { awaitContractRead } from "../../../modules/payments/service/PaymentRoutes.ts"
import { MachineClock, machineMillis } from "../../../runtime/Clock.ts"
import type { TokenCatalog } from "../../../runtime/TokenCatalog.ts"
import { usdc } from "../../fixtures/tokens.ts"

/** A catalogue that has read the contract of `usdc` once `isRead`; its decimals are those of the list. */
const catalogWith = (isRead: () => boolean, hasListedDecimals: boolean): TokenCatalog["Service"] => ({
  declare: () => Effect.void,
  sync: () => Effect.void,
  requireVerifiedDecimals: () => Effect.void,
  recordDecimals: () => Effect.void,
  unverifiedTokens: () => isRead() ? [] : [usdc],
  get: () => ({ ...usdc, active: isRead() && hasListedDecimals }),
  find: () => undefined,
  list: () => []
})

/**
 * The answer, `ageMillis` after a start, about a contract that is read `readMillis` from now, and whether it comes
 * before any time has passed.
 */
const ask = Effect.fnUntraced(
  function*(readMillis: number, ageMillis: number, hasListedDecimals = true) {
    const millis = yield* machineMillis
    const start = millis()
    const catalog = catalogWith(() => millis() - start >= readMillis, hasListedDecimals)
    const asking = yield* Effect.forkChild(
      awaitContractRead({ catalog, startedAtMillis: start - ageMillis }, usdc.id),
      { startImmediately: true }
    )
    const isWithoutWait = asking.pollUnsafe() !== undefined
    yield* TestClock.adjust("1 second")
    return { isActive: yield* Fiber.join(asking), isWithoutWait }
  },
  (asked) => Effect.flatMap(Clock.Clock, (clock) => Effect.provideService(asked, MachineClock, clock))
)

it.effect("a contract that is read right after a start is waited for", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* ask(300, 0), { isActive: true, isWithoutWait: false })
    assert.deepStrictEqual(yield* ask(0, 0), { isActive: true, isWithoutWait: true })
  }))

it.effect("a contract with other decimals than the list, or not read long after a start, is not waited for", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* ask(0, 0, false), { isActive: false, isWithoutWait: true })
    assert.deepStrictEqual(yield* ask(10_000, 6_000), { isActive: false, isWithoutWait: true })
  }))
