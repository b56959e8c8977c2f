/**
 * Goal: the doctor finds a node that is silent, old or of another chain, prices that nobody can quote by, and a
 * database that the service cannot work with, while the service does not run.
 * Method: real nodes and databases; servers that answer as a price source does.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { FetchHttpClient } from "effect/http"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { load } from "../../../runtime/Config.ts"
import { databaseFindings, examineDatabase, replicaFinding } from "../../../modules/cli/doctor/DatabaseFacts.ts"
import type { Finding } from "../../../modules/cli/doctor/Findings.ts"
import { examineNodes, nodeFindings } from "../../../modules/cli/doctor/NodeHeads.ts"
import { examinePrices } from "../../../modules/cli/doctor/PriceSources.ts"
import { connectionError } from "../../../modules/cli/doctor/Probes.ts"
import { httpServer } from "../../fixtures/httpServer.ts"
import { anvil } from "../../support/Anvil.ts"
import { freshDatabase } from "../../support/Database.ts"
import { freePort } from "../../support/Ports.ts"
import { temporaryDirectory } from "../../support/Service.ts"

const loaded = (config: object) =>
  Effect.gen(function*() {
    const file = join(yield* temporaryDirectory, "config.json")
    writeFileSync(file, JSON.stringify({ environments: ["devnet"], ...config }))
    return yield* load({ file, environment: {} })
  })

const platform = Effect.provide([NodeServices.layer, FetchHttpClient.layer])

const find = (findings: ReadonlyArray<Finding>, check: string): Finding =>
  findings.find((one) => one.check === check) ?? assert.fail(`nothing about ${check} in ${JSON.stringify(findings)}`)

/** The finding is as bad as it should be, says what is wrong, and says what to do. */
const assertFault = (
  findings: ReadonlyArray<Finding>,
  check: string,
  verdict: Finding["verdict"],
  what: RegExp
) => {
  const finding = find(findings, check)
  assert.strictEqual(finding.verdict, verdict, JSON.stringify(finding))
  assert.match(finding.what, what)
  assert.isDefined(finding.fix)
}

const assertFine = (findings: ReadonlyArray<Finding>, check: string) =>
  assert.strictEqual(find(findings, check).verdict, "ok", JSON.stringify(find(findings, check)))

/** A price source as CoinGecko answers, with prices that are `ageSeconds` old. */
const priceServer = (ageSeconds: number, ether = 3500.5) =>
  httpServer((_request, response) => {
    const at = Math.floor(Date.now() / 1000) - ageSeconds
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify({
      "ethereum": { usd: ether, last_updated_at: at },
      "usd-coin": { usd: 1, last_updated_at: at }
    }))
  })

/** A price source as Kraken answers. */
const krakenServer = (ether: string) =>
  httpServer((_request, response) => {
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify({ error: [], result: { XETHZUSD: { a: [ether, "1", "1"], b: [ether, "1", "1"] } } }))
  })

const evm = (rpc: ReadonlyArray<string>) => ({ use: "evm", options: { network: "base", environment: "devnet", rpc } })

describe("doctor, of what the service stands on", () => {
  it.live("tells a good node from one of another chain, one that is a day behind and one that is silent", () =>
    Effect.gen(function*() {
      const yesterday = String(Math.floor(Date.now() / 1000) - 86_400)
      const [good, stranger, old] = yield* Effect.all([
        anvil(),
        anvil("base", "devnet", undefined, 5),
        anvil("base", "devnet", undefined, undefined, ["--timestamp", yesterday])
      ], { concurrency: "unbounded" })
      const silent = `http://127.0.0.1:${yield* freePort}/?key=secret-of-the-node`
      const { plugins } = yield* loaded({ chains: [evm([good.url, stranger.url, old.url, silent])] })
      const findings = yield* examineNodes(plugins)
      assertFine(findings, "nodes of base, rpc 1 of 4")
      assert.match(find(findings, "nodes of base, rpc 1 of 4").what, /^Block \d+, \d+ s old, answered in \d+ ms\.$/)
      assertFault(findings, "nodes of base, rpc 2 of 4", "fail", /rpc 2 of 4 is on chain 5/)
      assertFault(findings, "nodes of base, rpc 3 of 4", "fail", /older than that of another node/)
      assertFault(findings, "nodes of base, rpc 4 of 4", "warn", /rpc 4 of 4/)
      assert.match(find(findings, "nodes of base, rpc 4 of 4").fix!, /chains\[0\]\.options\.rpc\[3\]/)
      assert.notInclude(JSON.stringify(findings), "secret-of-the-node")
      const alone = yield* examineNodes((yield* loaded({ chains: [evm([silent])] })).plugins)
      assertFault(alone, "nodes of base", "fail", /rpc 1 of 1/)
    }).pipe(platform))

  it("finds a mainnet network whose newest block is old, and one that trusts a single node", () => {
    const judge = (time: number, count: number) =>
      nodeFindings({
        label: "nodes of base",
        use: "evm",
        environment: "mainnet",
        standstillSeconds: 30,
        now: 1_000,
        nodes: Array.from({ length: count }, (_, place) => ({
          name: `rpc ${place + 1} of ${count}`,
          path: `chains[0].options.rpc[${place}]`,
          reading: { _tag: "Head", height: 7n, time, millis: 20 }
        }))
      })
    assertFault(judge(900, 2), "nodes of base, rpc 1 of 2", "fail", /100 s old/)
    assert.deepStrictEqual(judge(990, 2).map(({ verdict }) => verdict), ["ok", "ok"])
    assert.deepStrictEqual(judge(990, 1).map(({ verdict }) => verdict), ["ok", "warn"])
  })

  it.live("finds price sources that are silent, old or at odds, and says where nothing can be quoted", () =>
    Effect.gen(function*() {
      const coingecko = (baseUrl: string) => ({ use: "coingecko", options: { baseUrl } })
      const kraken = (baseUrl: string) => ({ use: "kraken", options: { baseUrl } })
      const examine = (prices: ReadonlyArray<object>, quorum: number) =>
        Effect.flatMap(loaded({ prices, pricing: { quorum } }), examinePrices)

      const fine = yield* examine([coingecko(yield* priceServer(5)), kraken(yield* krakenServer("3501"))], 2)
      for (const check of ["price source coingecko", "price source kraken", "prices (devnet)"]) assertFine(fine, check)

      const silent = yield* httpServer((_request, response) => {
        response.statusCode = 500
        response.end()
      })
      const faulty = yield* examine([coingecko(yield* priceServer(600)), kraken(silent)], 1)
      assertFault(faulty, "price source coingecko", "warn", /60\d s old/)
      assertFault(faulty, "price source kraken", "warn", /HTTP status 500/)
      assertFault(faulty, "prices (devnet)", "fail", /Too few price sources answered, so nothing can be quoted/)

      const atOdds = yield* examine([coingecko(yield* priceServer(5)), kraken(yield* krakenServer("5000"))], 2)
      assertFault(atOdds, "prices (devnet)", "fail", /disagree/)
    }).pipe(platform))

  it.live("reads a database without a start, says when it is away, and finds a proxy that is away", () =>
    Effect.gen(function*() {
      const away = yield* freePort
      const examine = (url: string) =>
        Effect.flatMap(loaded({ store: { use: "postgres", options: { url } } }), examineDatabase)
      // The suite's server runs without fsync, and only that is to be said of it.
      const found = yield* examine((yield* freshDatabase).url)
      assert.deepStrictEqual(
        found.map(({ check, verdict, what }) => [check, verdict, /fsync/.test(what)]),
        [["database", "warn", true], ["database tables", "ok", false]]
      )
      const missing = yield* examine(`postgresql://till:secret-of-the-store@127.0.0.1:${away}/till`)
      assertFault(missing, "database", "fail", /cannot be reached/)
      assert.notInclude(JSON.stringify(missing), "secret-of-the-store")
      assert.strictEqual(yield* connectionError("127.0.0.1", away), "ECONNREFUSED")
    }).pipe(platform))

  it("finds a database that is too old, read-only, closed to its role, full of connections or of another time", () => {
    const facts = {
      version: 170_002,
      version_text: "17.2",
      encoding: "UTF8",
      standby: false,
      durable: true,
      may_create: true,
      connections: 97,
      used: 3,
      now_millis: 0
    }
    const judge = (changes: Partial<typeof facts>, skewSeconds = 0) =>
      databaseFindings("db/till", { ...facts, ...changes }, 10, skewSeconds).map(({ verdict, what }) =>
        `${verdict} ${what}`
      )
    assert.deepStrictEqual(judge({}), ["ok PostgreSQL 17.2 at db/till."])
    assert.match(judge({ version: 140_001, version_text: "14.1" })[0]!, /^fail PostgreSQL 14\.1 is too old/)
    assert.match(judge({ standby: true })[0]!, /^fail The server is a read-only standby/)
    assert.match(judge({ may_create: false })[0]!, /^fail The role may not make tables/)
    assert.match(judge({ used: 90 })[0]!, /^warn 90 of its 97 connections/)
    assert.match(judge({}, 20)[0]!, /^warn Its clock is 20 s ahead/)
    assert.match(judge({}, -90)[0]!, /^fail Its clock is 90 s behind/)
  })

  it("says how far a replica is behind, and warns where reads have long gone to the primary", () => {
    const judge = (bytes: number | null) => {
      const { verdict, what } = replicaFinding("db-2/till", bytes)
      return `${verdict} ${what}`
    }
    assert.strictEqual(judge(0), "ok A standby at db-2/till, 0 bytes behind.")
    assert.match(judge(40 * 1024 ** 2), /^warn .* 40 MiB behind: reads go to the primary\.$/)
    assert.match(judge(null), /^warn .* shows nothing yet\.$/)
  })
})
