/**
 * No request waits for ever: what hangs on a database that accepts and never answers is refused in time, and while it
 * hangs the next requests are refused sooner.
 */
import { Effect, Fiber } from "effect"
import type { HttpServerResponse } from "effect/http"

/** Longest a route may take: above every wait of its own (a first request under way 5 s, a commit 5 s). */
export const requestLimitMillis = 9_000

/** The limit from the first request that met {@link requestLimitMillis} until one is answered again. */
export const suspiciousLimitMillis = 2_500

/** How long routes may take; starts with the long limit. */
export interface TimeLimits {
  readonly usualMillis: number
  readonly suspiciousMillis: number
}

type App<E> = Effect.Effect<HttpServerResponse.HttpServerResponse, E>

/**
 * Answers with `refusal` when the route takes longer than the limit. The route is interrupted but not waited for: its
 * interruption may hang on the same connection. An interrupted caller withdraws the route the same way.
 */
export const make = ({ suspiciousMillis, usualMillis }: TimeLimits = {
  usualMillis: requestLimitMillis,
  suspiciousMillis: suspiciousLimitMillis
}) => {
  let limitMillis = usualMillis
  return <E>(app: App<E>, refusal: () => HttpServerResponse.HttpServerResponse): App<E> =>
    Effect.withFiber((parent) =>
      Effect.callback<HttpServerResponse.HttpServerResponse, E>((resume) => {
        const route: Fiber.Fiber<HttpServerResponse.HttpServerResponse, E> = Effect.runForkWith(parent.context)(app)
        const timer = setTimeout(() => {
          limitMillis = suspiciousMillis
          resume(Effect.succeed(refusal()))
          route.interruptUnsafe()
        }, limitMillis)
        route.addObserver((exit) => {
          clearTimeout(timer)
          if (exit._tag === "Success" && exit.value.status < 300) limitMillis = usualMillis
          resume(exit)
        })
        return Effect.sync(() => route.interruptUnsafe())
      })
    )
}
