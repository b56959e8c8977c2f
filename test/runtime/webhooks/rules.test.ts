/** The pure parts of delivery: signatures, the retry rule, the first gate. */
import { parse } from "jsonc-parser"
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { createHmac } from "node:crypto"
import { Result } from "effect"
import { Webhook } from "standardwebhooks"
import { maximumAttempts, nextAttempt, type Outcome, retryAfterMillis } from "../../../runtime/webhooks/RetryPolicy.ts"
import { checkUrl, egressPolicy, isPublicAddress, receiverSet } from "../../../modules/transports/https/EgressGuard.ts"
import {
  deliveryHeaders,
  secretOf,
  serviceSignature,
  signingKey,
  standardSignature
} from "../../../runtime/webhooks/Signature.ts"

const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
const body = "{\"id\":\"evt_1700000000000-123\",\"object\":\"event\",\"type\":\"test.ping\"}"
const attempt = {
  deliveryId: "whd_1",
  eventId: "evt_1700000000000-123",
  eventType: "test.ping",
  environment: "devnet",
  attempt: 2,
  millis: 1_700_000_000_123,
  body,
  key: signingKey(secret),
  previousKey: null
} as const

describe("signatures", () => {
  it("equal the published test vector in both schemes", () => {
    assert.strictEqual(
      serviceSignature(signingKey(secret), 1_700_000_000_123, body),
      "c87865dec99bdf63d14272a7e2b987eb47f83b2f034181203970622d379f02f6"
    )
    assert.strictEqual(
      standardSignature(signingKey(secret), "evt_1700000000000-123", 1_700_000_000, body),
      "v1,nI32a5QjZqz2Ky8jYdoIwYq1kW2ZbK+coyC2g+jAMpc="
    )
  })

  it("come with exactly the published headers", () => {
    assert.deepStrictEqual(Object.keys(deliveryHeaders(attempt)), [
      "Content-Type",
      "User-Agent",
      "X-Service-Event",
      "X-Service-Event-ID",
      "X-Service-Timestamp",
      "X-Service-Signature",
      "X-Service-Network-Environment",
      "X-Service-Delivery-ID",
      "X-Service-Attempt",
      "webhook-id",
      "webhook-timestamp",
      "webhook-signature"
    ])
    assert.strictEqual(deliveryHeaders(attempt)["webhook-timestamp"], "1700000000")
    assert.strictEqual(deliveryHeaders(attempt)["X-Service-Timestamp"], "1700000000123")
  })

  it("name both secrets while a rotation overlaps, the old one in a header of its own", () => {
    const old = secretOf(Buffer.alloc(32, 7))
    const millis = Math.floor(performance.timeOrigin + performance.now())
    const headers = deliveryHeaders({ ...attempt, millis, previousKey: signingKey(old) })
    for (const each of [secret, old]) new Webhook(each).verify(body, headers as Record<string, string>)
    assert.match(headers["X-Service-Signature"]!, /^[0-9a-f]{64}$/)
    assert.strictEqual(
      headers["X-Service-Signature-Previous"],
      createHmac("sha256", old).update(`${millis}.${body}`).digest("hex")
    )
  })
})

const settings = { baseMillis: 60_000, factor: 8 }
const next = (outcome: Outcome, attempt = 1, random = 0.5, ageMillis = 0) =>
  nextAttempt({ attempt, outcome, settings, random, ageMillis })
const answered = (status: number, retryAfter: number | null = null): Outcome => ({
  _tag: "Answered",
  status,
  retryAfterMillis: retryAfter,
  body: ""
})

describe("the retry rule", () => {
  it("takes any 2xx as success and nothing else", () => {
    for (let status = 100; status < 600; status++) {
      assert.strictEqual(next(answered(status))._tag === "Succeeded", status >= 200 && status < 300)
    }
    assert.strictEqual(next({ _tag: "Unanswered", reason: "", timedOut: false })._tag, "Retrying")
  })

  it("makes three retries after 1, 8 and 64 minutes, give or take a fifth, then fails", () => {
    const minute = 60_000
    for (const [made, millis] of [[1, minute], [2, 8 * minute], [3, 64 * minute]] as const) {
      const [low, middle, high] = [0, 0.5, 0.999999].map((random) => next(answered(500), made, random)) as Array<any>
      assert.strictEqual(middle.afterMillis, millis)
      assert.strictEqual(low.afterMillis, millis * 0.8)
      assert.isAtMost(high.afterMillis, millis * 1.2)
      assert.isAbove(high.afterMillis, millis * 1.19)
    }
    assert.strictEqual(maximumAttempts, 4)
    assert.deepStrictEqual(next(answered(500), 4), { _tag: "Failed", attempts: 4, gone: false })
  })

  it("waits as long as the receiver asks, up to an hour, and never shorter than planned", () => {
    const after = (asked: number) => (next(answered(503, asked)) as any).afterMillis
    assert.deepStrictEqual([after(0), after(120_000), after(86_400_000)], [60_000, 120_000, 3_600_000])
    assert.strictEqual(retryAfterMillis("120", 0), 120_000)
    assert.strictEqual(retryAfterMillis("Thu, 01 Jan 1970 00:01:00 GMT", 30_000), 30_000)
    assert.deepStrictEqual([retryAfterMillis("soon", 0), retryAfterMillis(null, 0)], [null, null])
  })

  it("spends no attempt on faults of our own, for 72 hours", () => {
    const own: Outcome = { _tag: "OwnFault", reason: "resolver" }
    assert.deepStrictEqual(next(own, 2), { _tag: "Retrying", attempts: 1, afterMillis: 5_000 })
    assert.deepStrictEqual(next(own, 4, 0.5, 72 * 3_600_000 - 1), { _tag: "Retrying", attempts: 3, afterMillis: 5_000 })
    assert.deepStrictEqual(next(own, 2, 0.5, 72 * 3_600_000), { _tag: "Failed", attempts: 1, gone: false })
  })

  it("ends at once when the receiver says it is gone", () => {
    assert.deepStrictEqual(next(answered(410)), { _tag: "Failed", attempts: 1, gone: true })
  })
})

const policy = {
  localHosts: new Set<string>(),
  ownPorts: new Set<string>(),
  devnetReceivers: new Set<string>(),
  ownHosts: new Set(["pay.example.com"]),
  ownAddresses: new Set(["8.8.4.4", "2606:4700::53"])
}
const verdict = (url: string) => checkUrl(url, policy)._tag

describe("the egress guard", () => {
  it.each([
    "http://shop.example/hooks",
    "ftp://shop.example/",
    "shop.example",
    "https://",
    "//shop.example/",
    "",
    ...[
      "2130706433",
      "0x7f000001",
      "0177.0.0.1",
      "127.1",
      "0",
      "①②⑦.⓪.⓪.①",
      "127。0。0。1",
      "127.0.0.1",
      "127.0.0.1.",
      "134744072",
      "8.8.2056",
      "0x8.0x8.0x8.0x8"
    ].map((host) => `https://${host}/`),
    ...[
      "::1",
      "::",
      "::ffff:127.0.0.1",
      "::ffff:a9fe:a9fe",
      "64:ff9b::7f00:1",
      "2002:7f00:1::",
      "fe80::1",
      "fc00::1",
      "fd00:ec2::254",
      "::127.0.0.1",
      "::ffff:0:127.0.0.1",
      "2001::1",
      "2001:db8::1",
      "3fff::1",
      "ff02::1",
      "5f00::1"
    ].map((host) => `https://[${host}]/`),
    ...[
      "169.254.169.254",
      "100.100.100.200",
      "10.1.2.3",
      "172.16.0.1",
      "172.31.255.255",
      "192.168.1.1",
      "100.64.0.1",
      "198.18.0.1",
      "198.19.255.255",
      "0.1.2.3",
      "224.0.0.1",
      "240.0.0.1",
      "255.255.255.255",
      "192.0.2.1",
      "203.0.113.9",
      "168.63.129.16"
    ].map((host) => `https://${host}/`),
    ...[
      "localhost",
      "localhost.",
      "LOCALHOST",
      "foo.localhost",
      "db.internal",
      "printer.local",
      "redis",
      "shop",
      "x.onion",
      "router.lan",
      "a..example.com"
    ].map((host) => `https://${host}/`),
    "https://user:pass@shop.example/",
    "https://user@shop.example/",
    "https://@shop.example/",
    "https://shop.example/#x",
    "https://shop.example\\@evil.example/",
    "https://shop.example/\t",
    "https://shop.example/a\nb",
    "https://sh op.example/",
    ...[22, 25, 80, 5432, 6379, 27017].map((port) => `https://shop.example:${port}/`),
    "https://pay.example.com/api/v1/webhooks",
    "https://pay.example.com./",
    "https://8.8.4.4/",
    "https://[2606:4700:0:0::53]/",
    `https://shop.example/${"a".repeat(2048)}`
  ])("refuses %s", (url) => {
    assert.strictEqual(verdict(url), "Refused")
  })

  it.each([
    "https://shop.example/hooks",
    "https://shop.example:8443/hooks?a=b%20c",
    "https://8.8.8.8/",
    "https://[2606:4700::1111]/",
    "https://SHOP.example/hooks",
    "https://xn--bcher-kva.example/",
    "https://172.32.0.1/",
    "https://shop.example:443/"
  ])("allows %s", (url) => {
    assert.strictEqual(verdict(url), "Allowed")
  })

  it("lets configured receivers be local and plain, on their exact host and port only", () => {
    const local = { ...policy, devnetReceivers: receiverSet(["localhost:4000", "hooks", "[::1]:5000"]) }
    const judge = (url: string) => checkUrl(url, local)
    for (const url of ["http://localhost:4000/a", "https://localhost:4000/", "http://hooks/", "http://[::1]:5000/"]) {
      assert.deepInclude(judge(url), { _tag: "Allowed", local: true }, url)
    }
    for (const url of ["http://localhost:4001/", "http://localhost/", "http://127.0.0.1:4000/", "http://hooks:4000/"]) {
      assert.strictEqual(judge(url)._tag, "Refused", url)
    }
    assert.deepInclude(judge("https://shop.example/"), { local: false })
  })

  const deployment = {
    environments: ["devnet"],
    http: { host: "127.0.0.1", port: 8080, trustProxy: [] },
    publicUrl: "http://127.0.0.1:8080",
    rpc: { port: 8081 },
    webhooks: { devnetReceivers: ["localhost:*", "127.0.0.1:*", "[::1]:*"] }
  }
  const verdictOf = (change: object, url: string) => {
    const policy = egressPolicy({ ...deployment, ...change } as never)
    return policy._tag === "Success" ? checkUrl(url, policy.success)._tag : policy._tag
  }
  const onMachine = [
    "http://localhost:3000/hooks",
    "http://127.0.0.1:5173/",
    "http://[::1]:8000/",
    "http://localhost/",
    "https://localhost:4443/"
  ]

  it("lets any port of this machine be called on devnet, but those of the service itself", () => {
    for (const url of onMachine) assert.strictEqual(verdictOf({}, url), "Allowed", url)
    const refused = [
      "http://localhost:8080/api/v1/webhooks",
      "http://127.0.0.1:8081/rpc",
      "http://10.0.0.1:3000/",
      "http://foo.localhost:3000/",
      "http://127.0.0.2:3000/",
      "http://shop.example/",
      "http://user@localhost:3000/",
      "ftp://localhost:3000/",
      "http://localhost:0/"
    ]
    for (const url of refused) assert.strictEqual(verdictOf({}, url), "Refused", url)
    const own = checkUrl("http://localhost:8080/hooks", Result.getOrThrow(egressPolicy(deployment as never)))
    assert.deepInclude(own, { reason: "The port is 0 or the service's own: name the port of your receiver" })
    assert.strictEqual(verdictOf({}, "https://shop.example/hooks"), "Allowed")
  })

  it("lets no port of this machine be called where mainnet is served, or where others than its users reach the service", () => {
    const reached = [
      { environments: ["mainnet"], webhooks: {} },
      { environments: ["devnet", "mainnet"], webhooks: {} },
      { webhooks: {} },
      { http: { ...deployment.http, host: "0.0.0.0" } },
      { http: { ...deployment.http, trustProxy: ["10.0.0.0/8"] } },
      { publicUrl: "https://pay.example" }
    ]
    for (const change of reached) {
      for (const url of onMachine) {
        assert.strictEqual(verdictOf(change, url), "Refused", `${JSON.stringify(change)} ${url}`)
      }
      assert.strictEqual(verdictOf(change, "https://shop.example/hooks"), "Allowed")
    }
    const contradictions = [{ environments: ["mainnet"] }, { environments: ["devnet", "mainnet"] }, {
      webhooks: { devnetReceivers: ["10.0.0.1:*"] }
    }]
    for (const change of contradictions) {
      assert.strictEqual(verdictOf(change, onMachine[0]!), "Failure", JSON.stringify(change))
    }
  })

  it("is open to every port of this machine in the devnet config that the service starts with", () => {
    const text = readFileSync(new URL("../../../config/devnet.jsonc", import.meta.url), "utf8")
    const { webhooks } = parse(text)
    for (const url of onMachine) assert.strictEqual(verdictOf({ webhooks }, url), "Allowed", url)
  })

  it("takes no text for a public address that is none", () => {
    for (const text of ["", "shop.example", "8.8.8.8:443", "fe80::1%eth0", "[2606:4700::1111]"]) {
      assert.isFalse(isPublicAddress(text), text)
    }
  })
})
