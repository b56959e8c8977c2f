/**
 * Goal: where a module draws its refusals, a person meets a page and never an error body, whoever refuses and however
 * the address is written; everywhere else nothing changes.
 * Method: the door over a group of two routes whose refusals are drawn.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { ErrorPages, errors, FlatErrors } from "../../../runtime/Http.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { Api, apiLayer, kernel, settingsLayer } from "../../support/Api.ts"
import * as Operations from "../../../runtime/Operations.ts"

class LettersGroup extends HttpApiGroup.make("letters")
  .add(HttpApiEndpoint.get("read", "/letters/:id", {
    params: { id: Schema.String },
    success: Schema.String,
    error: errors("flat", "SERVICE_UNAVAILABLE")
  }))
  .add(
    HttpApiEndpoint.post("write", "/letters/:id", {
      params: { id: Schema.String },
      payload: Schema.Json,
      success: Schema.String
    })
  )
  .add(HttpApiEndpoint.get("beside", "/lettersbox", { success: Schema.String, error: errors("flat", "NOT_FOUND") }))
  .middleware(FlatErrors)
{}
class LettersApi extends HttpApi.make("letters-api").add(LettersGroup) {}

const letters = Operations.group(
  LettersApi,
  "letters",
  Effect.fn(function*(group) {
    const drawings = yield* ErrorPages
    yield* drawings.register(
      "/letters",
      ({ code }, { method }) => ({ html: `<p>${method} ${code}`, headers: { "x-drawn": "yes" } })
    )
    return group
      .handle("read", ({ params: { id } }) =>
        id === "broken"
          ? Effect.die(new Error("secret inside"))
          : Effect.fail(publicError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 3 })))
      .handle("write", () => Effect.succeed("written"))
      .handle("beside", () => Effect.fail(publicError("NOT_FOUND")))
  })
)

/** What refuses nearly everybody who names no credential. */
const strict = kernel([], settingsLayer({ limits: { anonymousPerMinute: 40 } }))

const served = apiLayer([LettersApi], HttpApiBuilder.layer(LettersApi).pipe(Layer.provide(letters)), strict)

layer(served as Layer.Layer<Api>)("refusals that are drawn", (it) => {
  it.effect("come in place of every error body below their path, with the refusal's own status and headers", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const cases = [
        ["GET", "/letters/a", {}, 503, "SERVICE_UNAVAILABLE", "retry-after", "3"],
        ["GET", "/letters/broken", {}, 500, "INTERNAL_ERROR"],
        ["PUT", "/letters/a", {}, 405, "METHOD_NOT_ALLOWED", "allow", "GET, HEAD, POST"],
        ["GET", "/letters", {}, 404, "NOT_FOUND"],
        ["GET", "/letters/", {}, 404, "NOT_FOUND"],
        ["GET", "/letters/a/b?c", {}, 404, "NOT_FOUND"],
        ["GET", "/letters/a;b", {}, 404, "NOT_FOUND"],
        ["GET", "//LETTERS//%61/b", {}, 404, "NOT_FOUND"],
        ["GET", "/%6cetters/%ff", {}, 400, "VALIDATION_ERROR"],
        ["GET", `/letters/${"a".repeat(200)}/b`, {}, 404, "NOT_FOUND"],
        ["GET", "/letters/%00", {}, 400, "VALIDATION_ERROR"],
        ["GET", "/letters/a", { headers: { "x-service-version": "never" } }, 400, "INVALID_VERSION"],
        ["POST", "/letters/a", { body: "{" }, 400, "INVALID_JSON"],
        [
          "POST",
          "/letters/a",
          { body: "{}", headers: { "content-type": "text/plain" } },
          415,
          "UNSUPPORTED_MEDIA_TYPE"
        ],
        ["POST", "/letters/a", { body: " ".repeat(262_145) }, 413, "PAYLOAD_TOO_LARGE"]
      ] as const
      for (const [method, path, sent, status, code, header = "x-drawn", value = "yes"] of cases) {
        const answer = yield* call(path, { method, ...sent })
        const what = `${method} ${path.slice(0, 40)} ${answer.text}`
        assert.deepStrictEqual([answer.status, answer.text], [status, `<p>${method} ${code}`], what)
        assert.strictEqual(answer.headers.get("content-type"), "text/html; charset=utf-8", what)
        assert.strictEqual(answer.headers.get(header), value, what)
        assert.deepStrictEqual([answer.headers.get("x-drawn"), answer.headers.get("cache-control")], [
          "yes",
          "no-store"
        ], what)
        assert.match(answer.headers.get("x-request-id")!, /^req_/, what)
      }
    }))

  it.effect("are nobody else's: a path that only begins alike keeps its errors", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      for (const path of ["/lettersbox", "/lettersx", "/", "/api/letters", "/?/letters/a"]) {
        const answer = yield* call(path)
        assert.deepStrictEqual([answer.status, answer.headers.get("content-type")], [404, "application/json"], path)
      }
    }))

  it.effect("are drawn for a caller over the limit too", () =>
    Effect.gen(function*() {
      const { call } = yield* Api
      const answers = yield* Effect.forEach(Array.from({ length: 41 }), () => call("/letters"))
      const last = answers.at(-1)!
      assert.deepStrictEqual([last.status, last.text], [429, "<p>GET RATE_LIMIT_EXCEEDED"])
      assert.isTrue(Number(last.headers.get("retry-after")) > 0)
    }))
})
