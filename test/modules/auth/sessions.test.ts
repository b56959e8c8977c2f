import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { createHmac, randomBytes, randomUUID } from "node:crypto"
import { PayorSessions } from "../../../modules/auth/plugin.ts"
import { fromMasters, Secrets } from "../../../runtime/Secrets.ts"

/** Two masters whose key ids differ, which is all but one pair in 256. */
const masters = Effect.gen(function*() {
  for (;;) {
    const pair = [randomBytes(32), randomBytes(32)] as const
    if (Result.isSuccess(yield* Effect.result(fromMasters(pair)))) return pair
  }
})

const under = <A, E>(keys: readonly [Buffer, ...Array<Buffer>], use: Effect.Effect<A, E, PayorSessions | Secrets>) =>
  use.pipe(Effect.provide(
    PayorSessions.layer.pipe(Layer.provideMerge(Layer.effect(Secrets, Effect.orDie(fromMasters(keys)))))
  ))

const opens = (sessionToken: string, signature: string) =>
  Effect.flatMap(PayorSessions, ({ check }) => Effect.result(check(sessionToken, signature)))

describe("payment sessions", () => {
  it.effect("have the form of the API reference, and open their invoice", () =>
    Effect.gen(function*() {
      const [master] = yield* masters
      yield* under(
        [master],
        Effect.gen(function*() {
          const id = randomUUID()
          const { mint } = yield* PayorSessions
          const key = (yield* Secrets).keys("session")[0]
          const { sessionToken, signature } = mint(id, 1766278800000)
          const named = Buffer.concat([Buffer.of(key.id), Buffer.from(id.replaceAll("-", ""), "hex")])
          const mac = createHmac("sha256", key.key).update(named).digest().subarray(0, 16)
          assert.strictEqual(sessionToken, `pst_${Buffer.concat([named, mac]).toString("base64url")}`)
          const signed = createHmac("sha256", key.key).update(`${sessionToken}.${id}.1766278800000`).digest("hex")
          assert.strictEqual(signature, `${signed}.1766278800000`)
          const opened = yield* opens(sessionToken, signature)
          assert.deepStrictEqual(opened, Result.succeed(id as never))
        })
      )
    }))

  it.effect("open nothing when any character is changed, added or lost, or halves of two are joined", () =>
    Effect.gen(function*() {
      const [master] = yield* masters
      yield* under(
        [master],
        Effect.gen(function*() {
          const { mint } = yield* PayorSessions
          const { sessionToken, signature } = mint(randomUUID(), 1766278800000)
          const other = mint(randomUUID(), 1766278800000)
          const later = mint(randomUUID(), 1766278800001)
          const changed = (text: string): ReadonlyArray<string> =>
            [
              ...[...text].map((char, at) => `${text.slice(0, at)}${char === "a" ? "b" : "a"}${text.slice(at + 1)}`),
              text.slice(0, -1),
              text.slice(1),
              `${text}=`,
              `${text} `,
              ` ${text}`,
              text.toUpperCase(),
              "",
              `${text}\n`
            ].filter((candidate) => candidate !== text)
          const pairs = [
            ...changed(sessionToken).map((token) => [token, signature] as const),
            ...changed(signature).map((sign) => [sessionToken, sign] as const),
            [sessionToken, other.signature],
            [other.sessionToken, signature],
            [sessionToken, later.signature]
          ] as ReadonlyArray<readonly [string, string]>
          for (const [token, sign] of pairs) {
            const opened = yield* opens(token, sign)
            assert.isTrue(Result.isFailure(opened) && opened.failure.code === "SESSION_INVALID", `${token} ${sign}`)
          }
        })
      )
    }))

  it.effect("outlive a new master, and end with the old one", () =>
    Effect.gen(function*() {
      const [old, fresh] = yield* masters
      const session = yield* under([old], Effect.map(PayorSessions, ({ mint }) => mint(randomUUID(), 1)))
      const check = opens(session.sessionToken, session.signature)
      assert.isTrue(Result.isSuccess(yield* under([fresh, old], check)))
      assert.isTrue(Result.isFailure(yield* under([fresh], check)))
      const minted = yield* under([fresh, old], Effect.map(PayorSessions, ({ mint }) => mint(randomUUID(), 1)))
      assert.isTrue(Result.isSuccess(yield* under([fresh], opens(minted.sessionToken, minted.signature))))
    }))
})
