/**
 * Goal: a call through the published client happens once, or says why not; whatever the network does in between.
 * Method: a `fetch` that answers from a script and keeps what it was asked; time is the test's own.
 */
import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import { buildSync } from "esbuild"
import { gzipSync } from "node:zlib"
import { type ClientOptions, createClient, TillwireError } from "../../../modules/clients/fetch.ts"

type Scripted = Response | Error

const json = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } })

interface Asked {
  readonly url: string
  readonly method: string
  readonly headers: Headers
  readonly body: string | undefined
  readonly at: number
}

/** A client whose network answers `script` in order, the last for ever. */
const scripted = (script: ReadonlyArray<Scripted>, more: Partial<ClientOptions> = {}) => {
  const asked: Array<Asked> = []
  const start = Date.now()
  const client = createClient({
    baseUrl: "https://pay.test/",
    apiKey: "mk_dev_test",
    fetch: (url, init = {}) => {
      const answer = script[Math.min(asked.length, script.length - 1)]!
      asked.push({
        url: String(url),
        method: init.method ?? "",
        headers: new Headers(init.headers),
        body: init.body as string | undefined,
        at: Date.now() - start
      })
      init.signal?.throwIfAborted()
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer.clone())
    },
    ...more
  } as ClientOptions)
  return { asked, client }
}

/** Lets every pause of a call pass, and answers what became of it. */
const settled = async <A>(call: Promise<A>): Promise<A | TillwireError> => {
  const caught = call.catch((error: unknown) => error as TillwireError)
  await vi.runAllTimersAsync()
  return caught
}

const failed = async (call: Promise<unknown>): Promise<TillwireError> => {
  const error = await settled(call)
  assert.instanceOf(error, TillwireError)
  return error as TillwireError
}

const invoice = { invoice_id: "1" }
const create = { body: { amount_usd: 5 } }

describe("the fetch client", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  for (
    const [what, fault] of [
      ["a lost connection", new TypeError("fetch failed")],
      ["500", json(500, { error: "Something", code: "INTERNAL_ERROR" })],
      ["503", json(503, { error: "Later", code: "SERVICE_UNAVAILABLE" }, { "retry-after": "1" })],
      ["429", json(429, { error: "Too many requests", code: "RATE_LIMIT_EXCEEDED" }, { "retry-after": "2" })],
      [
        "409 in progress",
        json(409, { error: "Running", code: "IDEMPOTENCY_REQUEST_IN_PROGRESS" }, { "retry-after": "1" })
      ],
      ["a proxy's page", new Response("<html>", { status: 502 })]
    ] as const
  ) {
    it(`tries again after ${what}, with one Idempotency-Key and the same body`, async () => {
      const { asked, client } = scripted([fault, fault, json(200, invoice)])
      assert.deepStrictEqual(await settled(client.post("/api/v1/invoices", create) as Promise<unknown>), invoice)
      assert.strictEqual(asked.length, 3)
      const keys = new Set(asked.map(({ headers }) => headers.get("idempotency-key")))
      assert.strictEqual(keys.size, 1)
      assert.match([...keys][0] ?? "", /^[0-9a-f-]{36}$/)
      assert.deepStrictEqual(new Set(asked.map(({ body }) => body)), new Set(["{\"amount_usd\":5}"]))
      if (fault instanceof Response) {
        const least = Number(fault.headers.get("retry-after") ?? 0) * 1_000
        assert.isAtLeast(asked[1]!.at - asked[0]!.at, least)
      }
    })
  }

  for (const status of [400, 401, 403, 404, 409, 410, 422]) {
    it(`does not repeat ${status}`, async () => {
      const { asked, client } = scripted([
        json(status, { error: "No", code: "SOMETHING" }, { "x-request-id": "req_1" })
      ])
      const error = await failed(client.post("/api/v1/invoices", create))
      assert.deepStrictEqual([error.status, error.code, error.message, error.requestId], [
        status,
        "SOMETHING",
        "No",
        "req_1"
      ])
      assert.strictEqual(asked.length, 1)
    })
  }

  it("gives up after its tries, and before a pause that would be too long", async () => {
    const down = json(503, { error: "Later", code: "SERVICE_UNAVAILABLE" })
    const often = scripted([down])
    assert.strictEqual((await failed(often.client.get("/api/v1/events"))).code, "SERVICE_UNAVAILABLE")
    assert.strictEqual(often.asked.length, 4)
    const later = json(429, { error: "Later", code: "RATE_LIMIT_EXCEEDED" }, { "retry-after": "120" })
    const long = scripted([later])
    assert.strictEqual((await failed(long.client.get("/api/v1/events"))).retryAfterSeconds, 120)
    assert.strictEqual(long.asked.length, 1)
  })

  it("repeats no sign-in, whose answers are good once", async () => {
    const { asked, client } = scripted([json(503, { error: "Later", code: "SERVICE_UNAVAILABLE" })])
    await failed(client.post("/api/v1/auth/refresh", { body: { refresh_token: "rt_x" } }))
    assert.strictEqual(asked.length, 1)
  })

  it("reads errors of both families, and says NETWORK_ERROR when nothing was heard", async () => {
    const wrapped = json(400, {
      success: false,
      error: {
        code: "INVALID_CURSOR",
        message: "Both",
        param: "starting_after",
        details: { a: 1 },
        request_id: "req_2"
      }
    })
    const error = await failed(scripted([wrapped]).client.get("/api/v1/events"))
    assert.deepStrictEqual([error.code, error.param, error.details], ["INVALID_CURSOR", "starting_after", { a: 1 }])
    const lost = await failed(scripted([new TypeError("down")]).client.get("/api/v1/events"))
    assert.deepStrictEqual([lost.code, lost.status], ["NETWORK_ERROR", 0])
    assert.strictEqual((lost.cause as Error).message, "down")
  })

  it("stops when its caller does, during a pause too", async () => {
    const stop = new AbortController()
    const { asked, client } = scripted([
      json(503, { error: "Later", code: "SERVICE_UNAVAILABLE" }, { "retry-after": "9" })
    ])
    const call = client.get("/api/v1/events", { signal: stop.signal }).then(
      () => "answered",
      (reason: unknown) => reason
    )
    await vi.advanceTimersByTimeAsync(1_000)
    stop.abort("enough")
    assert.strictEqual(await call, "enough")
    assert.strictEqual(asked.length, 1)
  })

  it("asks for no other path than the one that was written", async () => {
    const { asked, client } = scripted([json(200, {})])
    for (const customer_id of ["..", ".", "", undefined, null]) {
      const call = client.get("/api/v1/invoices/{customer_id}", { path: { customer_id } as never })
      const error: unknown = await call.catch((caught: unknown) => caught)
      assert.match(String(error), /The path needs customer_id/)
    }
    assert.deepStrictEqual(asked, [])
  })

  it("spells path and query, sends the credential, and a key of one's own", async () => {
    const { asked, client } = scripted([json(200, {})], { version: "2026-01-15" })
    await settled(client.get("/api/v1/invoices/{customer_id}", { path: { customer_id: "a b/c" } }))
    await settled(client.get("/api/v1/events", { query: { type: "invoice.*", limit: 5 } }))
    await settled(client.post("/api/v1/invoices", { ...create, idempotencyKey: "mine" }))
    assert.deepStrictEqual(asked.map(({ method, url }) => `${method} ${url}`), [
      "GET https://pay.test/api/v1/invoices/a%20b%2Fc",
      "GET https://pay.test/api/v1/events?type=invoice.*&limit=5",
      "POST https://pay.test/api/v1/invoices"
    ])
    assert.deepStrictEqual(
      asked.map(({ headers }) =>
        ["x-api-key", "x-service-version", "idempotency-key", "content-type"].map((name) => headers.get(name))
      ),
      [
        ["mk_dev_test", "2026-01-15", null, null],
        ["mk_dev_test", "2026-01-15", null, null],
        ["mk_dev_test", "2026-01-15", "mine", "application/json"]
      ]
    )
  })

  it("walks a list page after page, and events forwards from the one that is known", async () => {
    const page = (ids: ReadonlyArray<string>, more: boolean) =>
      json(200, { object: "list", data: ids.map((id) => ({ id })), has_more: more })
    const list = scripted([page(["c", "b"], true), page(["a"], false)])
    const seen: Array<string> = []
    for await (const { id } of list.client.pages("/api/v1/invoices")) seen.push(id)
    assert.deepStrictEqual(seen, ["c", "b", "a"])
    assert.include(list.asked[1]!.url, "starting_after=b")

    const events = scripted([
      json(200, {
        success: true,
        data: { object: "list", data: [{ id: "evt_3-1" }, { id: "evt_2-1" }], has_more: true }
      }),
      json(200, { success: true, data: { object: "list", data: [{ id: "evt_4-1" }], has_more: false } })
    ])
    const told: Array<string> = []
    for await (const { id } of events.client.events.since("evt_1-1")) told.push(id)
    assert.deepStrictEqual(told, ["evt_2-1", "evt_3-1", "evt_4-1"])
    assert.deepStrictEqual(events.asked.map(({ url }) => new URL(url).searchParams.get("ending_before")), [
      "evt_1-1",
      "evt_3-1"
    ])
  })

  it("refuses a secret key in a browser, and takes a payment session there", () => {
    vi.stubGlobal("document", {})
    assert.throws(() => createClient({ baseUrl: "https://pay.test", apiKey: "mk_live_x" }), /browser/)
    assert.isObject(createClient({ baseUrl: "https://pay.test", session: { token: "pst_x", signature: "y" } }))
    vi.unstubAllGlobals()
  })

  it("refuses what the document does not have, before it runs", () => {
    const { client } = scripted([json(200, {})])
    const wrong = () => [
      // @ts-expect-error no such path
      client.get("/api/v1/nope"),
      // @ts-expect-error the path takes no POST
      client.post("/api/v1/invoices/totals"),
      // @ts-expect-error the path's parameter is missing
      client.get("/api/v1/invoices/{customer_id}"),
      // @ts-expect-error the body is missing
      client.post("/api/v1/webhooks"),
      // @ts-expect-error a list of an object that has no pages
      client.pages("/api/v1/invoices/totals")
    ]
    assert.isFunction(wrong)
  })
})

/** Bytes of what a merchant's bundle grows by, compressed. */
const packedBytes = (name: string) => {
  const { outputFiles } = buildSync({
    entryPoints: [new URL(`../../../modules/clients/${name}.ts`, import.meta.url).pathname],
    bundle: true,
    minify: true,
    format: "esm",
    write: false
  })
  const [file] = outputFiles
  return { bytes: gzipSync(file!.contents, { level: 9 }).length, text: file!.text }
}

describe("what is published for programs without Effect", () => {
  for (const name of ["fetch", "webhooks"]) {
    it(`is at most 5 KB of ${name}, compressed, and imports nothing`, () => {
      const { bytes, text } = packedBytes(name)
      assert.isAtMost(bytes, 5 * 1_024)
      assert.notMatch(text, /\bimport\b|\brequire\(|node:/)
    })
  }
})
