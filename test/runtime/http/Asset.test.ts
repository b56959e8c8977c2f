/**
 * Goal: a body is sent in the best encoding its reader takes, once.
 * Method: every kind of Accept-Encoding and If-None-Match against one asset, the bodies unpacked by node:zlib.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { makeAsset, revalidate, serve } from "../../../runtime/http/Asset.ts"

const text = "the same line again and again\n".repeat(200)

const ask = (headers: Readonly<Record<string, string>>) =>
  Effect.gen(function*() {
    const asset = yield* makeAsset(text, "text/plain; charset=utf-8")
    const request = HttpServerRequest.fromWeb(new Request("http://till.test/", { headers }))
    const response = HttpServerResponse.toWeb(yield* serve(asset, request, revalidate))
    const bytes = Buffer.from(yield* Effect.promise(() => response.arrayBuffer()))
    return { status: response.status, headers: response.headers, bytes }
  })

const unpacked = ({ bytes, headers }: { readonly bytes: Buffer; readonly headers: Headers }) => {
  const encoding = headers.get("content-encoding")
  const body = encoding === "br" ? brotliDecompressSync(bytes) : encoding === "gzip" ? gunzipSync(bytes) : bytes
  return [encoding, body.toString()] as const
}

describe("an asset", () => {
  for (
    const [accepted, encoding] of [
      ["gzip, deflate, br", "br"],
      ["gzip;q=1.0, br;q=0", "gzip"],
      ["GZIP", "gzip"],
      ["br;q=0.000, gzip;q=0", null],
      ["identity", null],
      ["", null],
      ["brotli, xgzip", null]
    ] as const
  ) {
    it.effect(`is sent ${encoding ?? "unpacked"} to who takes "${accepted}"`, () =>
      Effect.gen(function*() {
        const answer = yield* ask({ "accept-encoding": accepted })
        assert.strictEqual(answer.status, 200)
        assert.deepStrictEqual(unpacked(answer), [encoding, text])
        assert.strictEqual(answer.headers.get("vary"), "accept-encoding")
        assert.strictEqual(answer.headers.get("content-type"), "text/plain; charset=utf-8")
      }))
  }

  it.effect("is not sent again to who has it", () =>
    Effect.gen(function*() {
      const etag = (yield* ask({})).headers.get("etag") ?? ""
      for (const known of [etag, `"other", ${etag}`, "*"]) {
        const answer = yield* ask({ "if-none-match": known, "accept-encoding": "br" })
        assert.deepStrictEqual([answer.status, answer.bytes.length, answer.headers.get("etag")], [304, 0, etag])
      }
      assert.strictEqual((yield* ask({ "if-none-match": "\"other\"" })).status, 200)
    }))
})
