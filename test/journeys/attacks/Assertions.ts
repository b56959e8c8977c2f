/** What every attack's answer is checked for, whatever it is about: no fault of ours, and nothing of our insides. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Service, TestRequest, TestResponse } from "../../support/Service.ts"

/** Text of a stack, a source file, a driver or a statement. */
const insides =
  /\bat (?:async )?[\w.<>]+ \(|node_modules|\.ts:\d+|SqlError|syntax error|pg_|SELECT .* FROM|tillwire\/(?:modules|runtime)/

/** Asserts what holds for every answer. */
export const assertHarmless = (answer: TestResponse, what: string): TestResponse => {
  assert.isBelow(answer.status, 500, `${what}: ${answer.text}`)
  assert.notMatch(answer.text, insides, what)
  return answer
}

/** {@link assertHarmless} for the answers of a service. */
export const attack = (service: Service, path: string, sent: TestRequest = {}) =>
  Effect.map(service.call(path, sent), (answer) => assertHarmless(answer, `${sent.method ?? ""} ${path}`.slice(0, 200)))

/** Asserts a refusal in the flat family. */
export const assertRefusedFlat = (answer: TestResponse, status: number, code: string, what = "") => {
  assert.deepStrictEqual([answer.status, answer.json?.code], [status, code], `${what} ${answer.text}`)
  assert.deepStrictEqual(Object.keys(answer.json), ["error", "code"])
}
