/**
 * Goal: no window holds more calls than the limit, whichever store counts them, and none is refused without need.
 * Method: each store is called over real time with a window of a test's own, by several callers at once.
 */
import { assert, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { type RateLimitResult, RateLimits, windowMillis } from "../../runtime/RateLimits.ts"

/** Milliseconds of the windows of tests that wait for one to end: short, and far longer than a call takes. */
export const span = 400

/**
 * Slack of one clock against another, 2.3 ms in 200 as measured on a virtual machine, and of timers that fire early.
 */
const slackMillis = 10

let callers = 0
const newcomer = () => `caller-${++callers}`

const take = (who: string, limit: number) => Effect.flatMap(RateLimits, (limits) => limits.take("key", who, limit))

interface Call {
  readonly verdict: RateLimitResult
  /** Around it, on this process's clock: what was accepted was so in between. */
  readonly before: number
  readonly after: number
}

const timed = (who: string, limit: number) =>
  Effect.gen(function*() {
    const before = performance.now()
    const verdict = yield* take(who, limit)
    return { verdict, before, after: performance.now() } satisfies Call
  })

const acceptedOf = (calls: ReadonlyArray<Call>) => calls.filter(({ verdict }) => verdict.accepted)

/** Accepted calls that certainly lie in one window: the last began less than `span` after the first ended. */
export const mostInOneWindow = (calls: ReadonlyArray<Call>): number => {
  const accepted = acceptedOf(calls)
  return Math.max(
    0,
    ...accepted.map((first) =>
      accepted.filter((call) => call.before >= first.before && call.after - first.before < span - slackMillis).length
    )
  )
}

/**
 * Refused calls although fewer than `limit` accepted ones can lie in the window before them. A store counts the wait
 * that it tells from its answer on, so a window may be longer by what the longest call took.
 */
const needlessRefusals = (calls: ReadonlyArray<Call>, limit: number): number => {
  const longest = Math.max(0, ...calls.map(({ after, before }) => after - before))
  const accepted = acceptedOf(calls)
  return calls.filter((refused) => {
    const from = refused.before - span - longest - slackMillis
    return !refused.verdict.accepted &&
      accepted.filter(({ after, before }) => before <= refused.after && after >= from).length < limit
  }).length
}

/**
 * Calls of several callers at once for four windows, and on until three windows' worth was accepted, however slow the
 * machine is: no window has more than `limit`, and none is refused that has room.
 */
export const assertFullUse = Effect.fnUntraced(function*(
  takes: ReadonlyArray<Effect.Effect<RateLimitResult>>,
  limit: number
) {
  const end = performance.now() + 4 * span
  const calls: Array<Call> = []
  const flood = (take: Effect.Effect<RateLimitResult>) =>
    Effect.gen(function*() {
      while (performance.now() < end || acceptedOf(calls).length < 3 * limit) {
        const before = performance.now()
        const verdict = yield* take
        calls.push({ verdict, before, after: performance.now() })
        yield* Effect.sleep(Math.floor(performance.now() * 1_000) % 25)
      }
    })
  yield* Effect.forEach(takes, flood, { concurrency: "unbounded" })
  assert.isAtMost(mostInOneWindow(calls), limit)
  assert.strictEqual(needlessRefusals(calls, limit), 0)
})

/** The promises of {@link RateLimits} over `store`, which makes one with windows of {@link span}, or of a minute. */
export const rateLimitsSuite = <E>(
  name: string,
  store: (options: { readonly span?: number }) => Layer.Layer<RateLimits, E>
) => {
  const promise = (what: string, body: Effect.Effect<unknown, unknown, RateLimits>, options = {}) =>
    it.live(`${name}: ${what}`, () => Effect.provide(body, store(options)))

  promise(
    "accepts up to the limit and says what is left",
    Effect.gen(function*() {
      const who = newcomer()
      const verdicts = yield* Effect.forEach([1, 2, 3, 4], () => take(who, 3))
      assert.deepStrictEqual(verdicts.map(({ accepted }) => accepted), [true, true, true, false])
      assert.deepStrictEqual(verdicts.map(({ remaining }) => remaining), [2, 1, 0, 0])
      for (const { resetMillis } of verdicts) {
        assert.isTrue(resetMillis > 0 && resetMillis <= windowMillis, String(resetMillis))
      }
    })
  )

  promise(
    "counts everybody, and every limit, apart",
    Effect.gen(function*() {
      const [a, b] = [newcomer(), newcomer()]
      assert.isTrue((yield* take(a, 1)).accepted)
      assert.isTrue((yield* take(b, 1)).accepted)
      assert.isTrue((yield* (yield* RateLimits).take("payor", a, 1)).accepted)
      assert.isFalse((yield* take(a, 1)).accepted)
    })
  )

  promise(
    "a refused call does not lengthen the wait, and the wait it is told is enough",
    Effect.gen(function*() {
      const who = newcomer()
      const accepted = yield* timed(who, 1)
      let last = yield* timed(who, 1)
      // A machine that stands still for the rest of the window has it begin anew.
      while (!last.verdict.accepted && last.after - accepted.after < span / 2) last = yield* timed(who, 1)
      if (last.verdict.accepted) assert.isAtLeast(last.after - accepted.before, span - slackMillis)
      else assert.isAtMost(last.verdict.resetMillis, span - (last.before - accepted.after) + slackMillis)
      yield* Effect.sleep(Math.ceil(last.verdict.resetMillis) + slackMillis)
      assert.isTrue((yield* take(who, 1)).accepted)
    }),
    { span }
  )

  promise(
    "200 at once on a limit of 20 are 20",
    Effect.gen(function*() {
      const who = newcomer()
      const verdicts = yield* Effect.forEach(Array.from({ length: 200 }), () => take(who, 20), { concurrency: 50 })
      assert.strictEqual(verdicts.filter(({ accepted }) => accepted).length, 20)
    })
  )

  promise(
    "no window holds more than the limit, and full use is possible, under a flood",
    Effect.gen(function*() {
      const call = (yield* RateLimits).take("key", newcomer(), 10)
      yield* assertFullUse([call, call, call, call], 10)
    }),
    { span }
  )
}
