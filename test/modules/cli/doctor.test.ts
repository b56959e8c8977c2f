/**
 * Goal: the doctor finds what keeps a deployment from working, and says for each thing what to do.
 * Method: faults of real parts where they can be made here (ports, servers, directories, configs), else the measurement
 * that they would give.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { FetchHttpClient } from "effect/http"
import { HDNodeWallet } from "ethers"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { defaultEnvironment } from "../../../modules/cli/commands/keys.ts"
import { examineWallets } from "../../../modules/cli/doctor/ConfiguredWallets.ts"
import {
  certificateFinding,
  clockFinding,
  directoryFinding,
  diskFinding,
  type Finding,
  hasFailed,
  healthFindings,
  nodeFinding,
  portFinding,
  webhookFindings
} from "../../../modules/cli/doctor/Findings.ts"
import { certificateAt, directoryState, portState } from "../../../modules/cli/doctor/Probes.ts"
import { load } from "../../../runtime/Config.ts"
import { freePort } from "../../support/Ports.ts"
import { runCommand } from "./CommandLine.ts"

const failed = (finding: Finding | undefined, what: RegExp, fix: RegExp) => {
  assert.strictEqual(finding?.verdict, "fail", JSON.stringify(finding))
  assert.match(finding!.what, what)
  assert.match(finding!.fix ?? "", fix)
}

/** A server that is no Tillwire and whose clock is wrong. */
const foreignServer = Effect.acquireRelease(
  Effect.callback<{ readonly port: number; readonly close: () => void }>((resume) => {
    const server = createServer((_, response) => {
      response.sendDate = false
      response.setHeader("date", "Thu, 01 Jan 2026 00:00:00 GMT").end("{}")
    })
    server.listen(0, "127.0.0.1", () => {
      const close = () => server.closeAllConnections() ?? server.close()
      resume(Effect.succeed({ port: (server.address() as AddressInfo).port, close }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

/** The recovery phrase of BIP-39's own tests: nobody's money. */
const phrase = "legal winner thank year wave sausage worth useful legal winner thank yellow"

describe("doctor", () => {
  it.live("shows the first addresses that another library derives for a wallet, while no node answers", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      const account = HDNodeWallet.fromPhrase(phrase, "", "m/44'/60'/0'")
      const chain = (network: string) => ({
        use: "evm",
        options: {
          network,
          environment: "devnet",
          rpc: ["http://127.0.0.1:1"],
          xpub: account.neuter().extendedKey,
          startIndex: 7
        }
      })
      yield* fs.writeFileString(
        `${folder}/c.json`,
        JSON.stringify({ environments: ["devnet"], chains: [chain("base"), chain("ethereum")] })
      )
      const { plugins } = yield* load({ file: `${folder}/c.json`, environment: {} })
      const findings = yield* examineWallets(plugins)
      assert.deepStrictEqual(findings.map(({ check }) => check), ["wallet of base, ethereum"])
      for (const index of [0, 1, 2]) {
        assert.include(findings[0]!.what, `${index}  ${account.derivePath(`0/${index}`).address}`)
      }
      assert.include(findings[0]!.what, "the first invoice gets number 7")
    }).pipe(Effect.scoped, Effect.provide([NodeServices.layer, FetchHttpClient.layer])))

  it("makes a key of the only environment that is served, and of play money where both are", () => {
    assert.strictEqual(defaultEnvironment(["mainnet"]), "mainnet")
    assert.strictEqual(defaultEnvironment(["devnet"]), "devnet")
    assert.strictEqual(defaultEnvironment(["mainnet", "devnet"]), "devnet")
  })

  it("finds a Node that is too old, a full disk, a wrong clock, a certificate that ends, endpoints that fail", () => {
    failed(nodeFinding("22.1.0"), /22\.1\.0 is too old/, /Install Node 24/)
    failed(diskFinding(100 * 1024 ** 2, "/d"), /0\.1 GiB free/, /Free space now/)
    assert.strictEqual(diskFinding(1024 ** 3, "/d").verdict, "warn")
    failed(clockFinding(-120, "node.example"), /120 s behind node\.example/, /synchronization/)
    failed(certificateFinding({ _tag: "NoTls" }, "pay.example", true), /without TLS/, /proxy with a certificate/)
    assert.strictEqual(certificateFinding({ _tag: "Valid", daysLeft: 3.5 }, "pay.example", true).verdict, "warn")
    const endpoint = { id: "we_1", url: "https://shop.example", status: "disabled", consecutive_failures: 9 }
    failed(webhookFindings([endpoint])[0], /we_1 is disabled/, /webhooks recover we_1/)
    assert.strictEqual(webhookFindings([{ ...endpoint, status: "enabled" }])[0]?.verdict, "warn")
  })

  it("takes what a running service says of its networks and prices, with what to do", () => {
    const findings = healthFindings({
      unavailable: [{ check: "writes", message: "Commits fail. Look at the database." }],
      degraded: [{ check: "networks", message: "base stands still: look at its nodes." }]
    })
    failed(findings[0], /Commits fail/, /Look at the database/)
    assert.deepStrictEqual(findings[1], {
      check: "networks",
      verdict: "warn",
      what: "base stands still",
      fix: "look at its nodes."
    })
    assert.isTrue(hasFailed(findings))
  })

  it.live("finds a port that another program has, a directory that is a file, a name without TLS behind it", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      yield* fs.writeFileString(`${folder}/file`, "")
      const { port } = yield* foreignServer
      const taken = yield* portState("127.0.0.1", port, false)
      failed(portFinding("public port", taken, "127.0.0.1:1", "http.port"), /another program/, /http\.port/)
      failed(directoryFinding(yield* directoryState(`${folder}/file`), folder), /is a file/, /data\.directory/)
      assert.strictEqual(yield* directoryState(`${folder}/none`), "absent")
      const certificate = yield* certificateAt(`https://127.0.0.1:${port}`, 0)
      failed(certificateFinding(certificate, "127.0.0.1", true), /127\.0\.0\.1: /, /Renew the certificate/)
      const nobody = yield* certificateAt(`https://127.0.0.1:${yield* freePort}`, 0)
      failed(certificateFinding(nobody, "127.0.0.1", true), /is not reached: .*ECONNREFUSED/, /start the proxy/)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

  it.live("lists every fault of a deployment at once, each with what to do, and ends with 1", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      const { port } = yield* foreignServer
      yield* fs.writeFileString(
        `${folder}/c.json`,
        JSON.stringify({
          environments: ["devnet"],
          http: { port, publicUrl: `https://127.0.0.1:${port}` },
          rpc: { port: yield* freePort },
          data: { directory: `${folder}/data` },
          store: { use: "postgres", options: { url: "postgres://u:p@127.0.0.1:1/none" } },
          chains: [{
            use: "evm",
            options: { network: "base", environment: "devnet", rpc: [`http://127.0.0.1:${port}`] }
          }],
          pricing: { quorum: 2 }
        })
      )
      const { code, stderr, stdout } = yield* runCommand(["doctor", "--json", "-c", `${folder}/c.json`])
      assert.strictEqual(code, 1, stderr)
      const { data } = JSON.parse(stdout) as { readonly data: ReadonlyArray<Finding> }
      const of = (check: string) => data.find((finding) => finding.check === check)
      failed(of("config"), /2 price sources must agree and 0 are listed/, /Correct the file/)
      failed(of("public port"), /another program/, /http\.port/)
      failed(of("database"), /127\.0\.0\.1:1|answer/, /store\.options\.url/)
      failed(of("nodes of base"), /./, /options of "evm"/)
      failed(of("tls"), /127\.0\.0\.1/, /certificate/)
      failed(of("clock"), /ahead of 127\.0\.0\.1/, /synchronization/)
      assert.strictEqual(of("internal port")?.verdict, "ok")
      assert.notInclude(stdout + stderr, "u:p@")
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))
})
