/** A promise of a port that can be checked on any driver, by whichever test runner its author uses. */
import { Effect, Schema, type Scope } from "effect"
import { isDeepStrictEqual } from "node:util"

/** The driver does not keep a promise of its port. */
export class PromiseBroken extends Schema.TaggedError<PromiseBroken>()("PromiseBroken", { what: Schema.String }) {
  override get message() {
    return this.what
  }
}

/**
 * One promise of a port.
 *
 * @example
 * import { test } from "node:test" // or "vitest"
 * for (const { name, run } of priceSourceChecks(subject)) test(name, run)
 */
export interface PortCheck {
  /** The promise, as the name of a test. */
  readonly name: string
  /** Checks it; rejects with what is broken. */
  readonly run: () => Promise<void>
  /** The same as an effect. */
  readonly effect: Effect.Effect<void, unknown, Scope.Scope>
}

/** A check of `name`; whatever it acquires is released at its end. */
export const portCheck = (name: string, body: Effect.Effect<unknown, unknown, Scope.Scope>): PortCheck => {
  const effect = Effect.asVoid(body)
  return { name, effect, run: () => Effect.runPromise(Effect.scoped(effect)) }
}

const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) => typeof each === "bigint" ? `${each}n` : each) ?? String(value)

/** Fails with `what` unless it holds. */
export const ensure = (holds: boolean, what: string): Effect.Effect<void, PromiseBroken> =>
  holds ? Effect.void : Effect.fail(new PromiseBroken({ what }))

/** Fails unless the two are deeply equal. */
export const ensureSame = (actual: unknown, expected: unknown, what: string): Effect.Effect<void, PromiseBroken> =>
  ensure(isDeepStrictEqual(actual, expected), `${what}: expected ${textOf(expected)}, and it is ${textOf(actual)}`)

/** The failure of what must fail; `what` says of what, where it succeeds. */
export const failureOf = <A, E, R>(effect: Effect.Effect<A, E, R>, what: string): Effect.Effect<E, PromiseBroken, R> =>
  Effect.matchEffect(effect, {
    onFailure: (error) => Effect.succeed(error),
    onSuccess: (value) =>
      Effect.fail(new PromiseBroken({ what: `${what}: it must fail, and answers ${textOf(value)}` }))
  })
