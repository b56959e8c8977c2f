/**
 * Signing in with an EVM wallet: ask for a message, sign it, be let in; beside bare recovery of the signer from such a
 * signature, the least that any check of it must do.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js"
import { keccak_256 } from "@noble/hashes/sha3.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { Agent, request } from "node:http"
import type { Bench } from "./Bench.ts"
import { cpuMicros, runRole, say, specification } from "../support/Process.ts"
import { median, type ReportLine } from "./Report.ts"
import * as Tillwire from "./Tillwire.ts"

const callers = 32
/** Each caller signs in with wallets of its own, again and again: most sign-ins are of wallets that are known. */
const walletsPerCaller = 10
const warmUpSeconds = 6
const seconds = 5

interface ClientSpec {
  readonly role: "client"
  readonly port: number
  readonly seconds: number
}

interface RecoverSpec {
  readonly role: "recover"
}

interface Rate {
  readonly count: number
  readonly perSecond: number
  readonly cpuEach: number
}

interface Wallet {
  readonly secret: Uint8Array
  readonly address: string
}

const addressOf = (publicKey: Uint8Array): string => `0x${bytesToHex(keccak_256(publicKey.slice(1)).slice(-20))}`

const newWallet = (): Wallet => {
  const secret = new Uint8Array(randomBytes(32))
  return { secret, address: addressOf(secp256k1.getPublicKey(secret, false)) }
}

/** What `personal_sign` hashes (EIP-191). */
const hashOf = (message: string): Uint8Array => {
  const bytes = Buffer.from(message)
  return keccak_256(Buffer.concat([Buffer.from(`\x19Ethereum Signed Message:\n${bytes.length}`), bytes]))
}

const signatureOf = (message: string, { secret }: Wallet): string => {
  const bytes = secp256k1.sign(hashOf(message), secret, { prehash: false, format: "recovered" })
  return `0x${bytesToHex(bytes.slice(1))}${(bytes[0]! + 27).toString(16)}`
}

const post = (agent: Agent, port: number, path: string, body: object) =>
  new Promise<any>((resolve, reject) => {
    const text = JSON.stringify(body)
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) }
    const asked = request({ agent, port, host: "127.0.0.1", path, method: "POST", headers }, (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.once("end", () => {
        const answer = Buffer.concat(chunks).toString("utf8")
        if (response.statusCode === 200) resolve(JSON.parse(answer).data)
        else reject(new Error(`${path} answered ${response.statusCode}: ${answer}`))
      })
    })
    asked.once("error", reject)
    asked.end(text)
  })

const client = async ({ port, seconds }: ClientSpec) => {
  const agent = new Agent({ keepAlive: true, maxSockets: callers })
  const start = performance.now()
  let count = 0
  await Promise.all(Array.from({ length: callers }, async () => {
    const wallets = Array.from({ length: walletsPerCaller }, newWallet)
    for (let turn = 0; performance.now() - start < seconds * 1_000; turn++) {
      const wallet = wallets[turn % walletsPerCaller]!
      const { message } = await post(agent, port, "/api/v1/auth/nonce", { address: wallet.address, network: "base" })
      await post(agent, port, "/api/v1/auth/verify", { message, signature: signatureOf(message, wallet) })
      count++
    }
  }))
  agent.destroy()
  say({ count, perSecond: count / ((performance.now() - start) / 1_000) })
  process.disconnect()
}

/** Texts as long as ours, each recovered once: hash, recover, compare. */
const recover = () => {
  const wallet = newWallet()
  const signed = Array.from({ length: 200 }, (_, at) => {
    const message = `${"m".repeat(300)}${at}`
    return { message, bytes: secp256k1.sign(hashOf(message), wallet.secret, { prehash: false, format: "recovered" }) }
  })
  const once = () => {
    for (const { bytes, message } of signed) {
      const parts = secp256k1.Signature.fromBytes(bytes, "recovered")
      if (addressOf(parts.recoverPublicKey(hashOf(message)).toBytes(false)) !== wallet.address) {
        throw new Error("not the signer")
      }
    }
  }
  for (const from = performance.now(); performance.now() - from < 1_000;) once()
  const start = performance.now()
  const before = cpuMicros(process.pid)
  let count = 0
  while (performance.now() - start < seconds * 1_000) {
    once()
    count += signed.length
  }
  const result: Rate = {
    count,
    perSecond: count / ((performance.now() - start) / 1_000),
    cpuEach: (cpuMicros(process.pid) - before) / count
  }
  say(result)
  process.disconnect()
}

/** Sign-ins for some seconds, and what the service spent on each. */
const drive = (pid: number, port: number, seconds: number): Effect.Effect<Rate> =>
  Effect.gen(function*() {
    const before = cpuMicros(pid)
    const spec: ClientSpec = { role: "client", port, seconds }
    const { count, perSecond } = yield* runRole<Omit<Rate, "cpuEach">>(new URL(import.meta.url), spec)
    return { count, perSecond, cpuEach: (cpuMicros(pid) - before) / count }
  })

export const signin = ({ progress, rounds, server }: Bench): Effect.Effect<ReadonlyArray<ReportLine>> =>
  Effect.scoped(Effect.gen(function*() {
    const deployment = yield* Tillwire.deploy(server, "signin_till")
    const ours: Array<Rate> = []
    const bare: Array<Rate> = []
    for (let round = 1; round <= rounds; round++) {
      yield* Effect.scoped(Effect.gen(function*() {
        const service = yield* Tillwire.start(deployment)
        yield* drive(service.pid, service.ports.http, warmUpSeconds)
        ours.push(yield* drive(service.pid, service.ports.http, seconds))
      }))
      const spec: RecoverSpec = { role: "recover" }
      bare.push(yield* runRole<Rate>(new URL(import.meta.url), spec))
      const [a, b] = [ours.at(-1)!, bare.at(-1)!]
      progress(
        `signin ${round}/${rounds}: ${a.perSecond.toFixed(0)} sign-ins/s, ${a.cpuEach.toFixed(0)} us CPU each; ` +
          `bare recovery ${b.perSecond.toFixed(0)}/s, ${b.cpuEach.toFixed(0)} us`
      )
    }
    const line = (what: string, side: ReadonlyArray<Rate>): ReportLine => ({
      section: "signin",
      what,
      value: median(side.map(({ perSecond }) => perSecond)),
      unit: "/s",
      cpuEach: median(side.map(({ cpuEach }) => cpuEach))
    })
    return [
      line(`nonce and verify over HTTP, ${callers} callers`, ours),
      line("bare recovery of the signer", bare),
      {
        section: "signin",
        what: "CPU of a whole sign-in against the recovery in it",
        value: median(ours.map(({ cpuEach }, at) => cpuEach / bare[at]!.cpuEach)),
        unit: "x",
        goal: { atMost: 4 },
        note: "two commits, five reads and one Ed25519 signature more"
      }
    ]
  }))

if (import.meta.main) {
  const spec = specification<ClientSpec | RecoverSpec>()
  await (spec.role === "client" ? client(spec) : recover())
}
