/**
 * Goal: an operator who is woken because a node fails reads in the log which one it is, once. Method: the pool after
 * what nodes showed, reported again and again on virtual time.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { reportEndpoints } from "../../../runtime/nodes/EndpointGauges.ts"
import {
  absenceMillis,
  emptyPool,
  type EndpointPool,
  type EndpointStanding,
  type Observation,
  step
} from "../../../runtime/nodes/EndpointPool.ts"

const owner = { network: "base", environment: "mainnet" } as const
const standstillMillis = 60_000

const makeRig = Effect.sync(() => {
  const entries: Array<unknown> = []
  const logger = Logger.make<unknown, void>(({ message }) => void entries.push(message))
  let standings: ReadonlyArray<EndpointStanding> = []
  let pool: EndpointPool = emptyPool(2, { standstillMillis, lagMillis: standstillMillis }, 0)
  return {
    entries,
    observe: (...observations: ReadonlyArray<Observation>) => void (pool = observations.reduce(step, pool)),
    report: Effect.suspend(() => reportEndpoints(owner, pool, standings)).pipe(
      Effect.map((now) => {
        standings = now
      }),
      Effect.provide(Logger.layer([logger]))
    )
  }
})

const changeOf = (node: string, from: string, to: string) => [
  "the condition of a node changed",
  { ...owner, node, from, to }
]

it.effect("a node that fails, stands still or is back is named in the log by its place, once", () =>
  Effect.gen(function*() {
    const { entries, observe, report } = yield* makeRig
    const head = (place: number, height: bigint, at: number): Observation => ({
      _tag: "Head",
      place,
      head: { height, hash: String(height), time: at / 1_000 },
      at
    })
    observe({ _tag: "Failed", place: 0, isTimeout: false, at: 0 }, head(1, 1n, 0))
    yield* report
    assert.deepStrictEqual(entries, [], "a call that fails is no news")

    yield* TestClock.adjust(absenceMillis)
    yield* report
    yield* report
    assert.deepStrictEqual(entries.splice(0), [changeOf("1 of 2", "ok", "failing")])

    observe({ _tag: "Answered", place: 0, at: absenceMillis })
    yield* report
    assert.deepStrictEqual(entries.splice(0), [changeOf("1 of 2", "failing", "ok")])

    yield* TestClock.adjust(standstillMillis)
    yield* report
    yield* report
    assert.deepStrictEqual(entries.splice(0), [changeOf("2 of 2", "ok", "frozen")])
  }))
