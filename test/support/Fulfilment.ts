/** The fulfilment service of `fulfilmentProcess.ts`, in a process of its own, and its merchant's hand on it. */
import { Context, Effect, Layer } from "effect"
import { fork } from "node:child_process"
import { createHmac } from "node:crypto"
import { compileCache, exchange } from "./Service.ts"

const file = new URL("./fulfilmentProcess.ts", import.meta.url).pathname

/** What the next calls meet instead of an answer, each so many times. */
export interface FulfilmentFault {
  /** `status 503`, `wait long`, `redirect`, `cut`, `lost answer`, `drip`, `hang`, `huge`, `html` or `answer`. */
  readonly kind: string
  /** With `answer`: its text. */
  readonly answer?: string
  readonly times: number
  /** Only calls of this path; absent: of any. */
  readonly on?: string
}

/** A call as the fulfilment service met it; status 0 where it misbehaved. */
export interface FulfilmentCall {
  readonly method: string
  readonly path: string
  readonly key: string | null
  readonly status: number
}

/** Newest first. */
export const fulfilmentSecrets = [
  "ful_2f6c1f0f3a7e4e2b9b1d6a5c8e7f9012",
  "ful_0a9b8c7d6e5f40312233445566778899"
] as const

export class Fulfilment extends Context.Service<Fulfilment, {
  readonly baseUrl: string
  /** Of the next calls; an empty list ends those that are left. */
  readonly misbehave: (faults: ReadonlyArray<FulfilmentFault>) => Effect.Effect<void>
  readonly seen: Effect.Effect<{
    readonly calls: ReadonlyArray<FulfilmentCall>
    readonly orders: ReadonlyArray<{ readonly id: string; readonly body: any }>
    readonly keys: ReadonlyArray<string>
  }>
}>()("test/Fulfilment") {
  static readonly layer = Layer.effect(
    Fulfilment,
    Effect.gen(function*() {
      const child = yield* Effect.acquireRelease(
        Effect.sync(() =>
          fork(file, {
            silent: true,
            env: { ...process.env, NODE_COMPILE_CACHE: compileCache, SECRETS: fulfilmentSecrets.join(",") }
          })
        ),
        (running) => Effect.sync(() => running.kill())
      )
      const port = yield* Effect.callback<string>((resume) => {
        child.stdout!.once("data", (chunk) => resume(Effect.succeed(String(chunk).trim())))
        child.once("exit", (code) => resume(Effect.die(new Error(`the fulfilment service ended: ${code}`))))
      })
      const url = `http://127.0.0.1:${port}`
      return Fulfilment.of({
        baseUrl: `${url}/shop`,
        misbehave: (faults) => Effect.asVoid(exchange(url, "/control", { body: faults })),
        seen: Effect.map(exchange(url, "/control"), ({ json }) => json)
      })
    })
  )
}

/** The headers of a callback, as the guide says they are made. */
export const callbackHeaders = (
  orderId: string,
  body: string,
  { at = Date.now(), secret = fulfilmentSecrets[0] as string, target = `/callbacks/${orderId}`, method = "POST" } = {}
) => ({
  "x-service-timestamp": String(at),
  "x-service-signature": createHmac("sha256", secret).update(`${at}.${method}.${target}.${body}`).digest("hex")
})
