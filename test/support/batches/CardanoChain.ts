/**
 * The ledger rules of Cardano on a devnet behind three servers of Blockfrost's API of which one may be wrong. Blocks
 * come on purpose; on a devnet one is final at once, so none is rolled back.
 */
import { ed25519 } from "@noble/curves/ed25519.js"
import { encode } from "cborg"
import { Effect, type Scope } from "effect"
import { createHash } from "node:crypto"
import { blockfrost, type BlockfrostFault, refusal } from "../cardano/Blockfrost.ts"
import { addressBytes, enterpriseAddress, Ledger, type Signer } from "../cardano/Ledger.ts"
import { readSigned, rewritePayout, signPayout } from "../cardano/SignedPayout.ts"
import { rigXpub } from "../cardano/Rig.ts"
import { coseKey } from "../SignInWallets.ts"
import type { MovedMoney, PaidToken, PayingChain } from "./PayingChain.ts"

const endpointCount = 3

/** A slot takes a second, and a block of the rig 20 slots. */
const secondsPerBlock = 20

/** Outputs that a wallet owns, each enough for a few parts. */
const outputsOfWallet = 24
const lovelaceOfOutput = 1_000_000_000n

const behindBlocks = 6
const aheadBlocks = 900

const tokens: ReadonlyArray<PaidToken> = [{ symbol: "ADA", decimals: 6, address: null, dollars: 1n }]

const secretOf = (seed: string): Uint8Array => createHash("sha256").update(seed).digest()
const addressOf = (seed: string): string => enterpriseAddress(ed25519.getPublicKey(secretOf(seed)))
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

const absent = refusal(404, "Not Found", "The requested component has not been found.")

const answersTo = (wanted: RegExp, edit: (body: any) => unknown): BlockfrostFault => ({ path }, answer) => {
  const found = answer()
  return found.status === 200 && wanted.test(path) ? { ...found, body: edit(found.body) } : found
}

const missing = (wanted: RegExp): BlockfrostFault => ({ path }, answer) => wanted.test(path) ? absent : answer()

const faults: Readonly<Record<string, BlockfrostFault | { readonly lag: number }>> = {
  behind: { lag: behindBlocks },
  ahead: answersTo(/^\/blocks\/latest$/, (block) => ({ ...block, height: block.height + aheadBlocks })),
  hidden: answersTo(/^\/addresses\/\w+\/transactions$/, () => []),
  unlisted: missing(/^\/addresses\/\w+\/transactions$/),
  holes: missing(/^\/txs\//),
  poor: missing(/^\/addresses\/\w+\/utxos$/),
  nameless: answersTo(/^\/txs\/\w+\/metadata$/, () => []),
  doubled: (_, answer) => {
    const { body, ...rest } = answer()
    return { ...rest, body: Array.isArray(body) ? body.flatMap((each) => [each, each]) : body }
  },
  cut: "cut",
  errors: () => refusal(503, "Service Unavailable", "Try again.")
}

export interface CardanoPayingChain extends PayingChain {
  readonly urls: ReadonlyArray<string>
  /** Public key of the deployment's account, to which invoices are paid. */
  readonly xpub: string
}

/** Ends with the scope. */
export const cardanoPayingChain: Effect.Effect<CardanoPayingChain, never, Scope.Scope> = Effect.gen(function*() {
  const ledger = new Ledger(() => Math.floor(Date.now() / 1000))
  const servers = yield* Effect.all(Array.from({ length: endpointCount }, () => blockfrost(ledger)))
  const signers = new Map<string, Signer>()

  const mine = (blocks: number) => Effect.sync(() => ledger.mine(blocks))
  const setFault = (place: number, fault: BlockfrostFault | { readonly lag: number }) => {
    const lag = typeof fault === "object" ? fault.lag : 0
    servers[place]!.lag(() => lag)
    servers[place]!.set(typeof fault === "object" ? "right" : fault)
  }

  const moved = (wallet: string): ReadonlyArray<MovedMoney> =>
    ledger.blocks.flatMap(({ height, transactions }) =>
      transactions.filter(({ inputs }) => inputs[0]?.address === wallet).flatMap(({ message = [], outputs, txHash }) =>
        outputs.filter(({ address }) => address !== wallet).map(({ address, lovelace }) => ({
          txHash,
          to: address,
          token: null,
          units: lovelace,
          isFinal: true,
          height,
          guard: message[0] ?? null,
          // Whatever was made of an export spends what that export spends.
          isGuarded: message.length > 0
        }))
      )
    )

  const chain: CardanoPayingChain = {
    urls: servers.map(({ url }) => url),
    xpub: yield* rigXpub,
    network: "cardano",
    environment: "devnet",
    tokens,
    formats: ["cardano"],
    isListing: false,
    changes: ["changed_destination", "added_instruction"],
    isGuardedChanged: true,
    receivingKind: null,
    finality: 1,
    validitySeconds: Effect.succeed(300),
    newWallet: (seed) =>
      Effect.sync(() => {
        const secret = secretOf(`wallet ${seed}`)
        const signer: Signer = {
          publicKey: ed25519.getPublicKey(secret),
          sign: (message) => ed25519.sign(message, secret)
        }
        const address = enterpriseAddress(signer.publicKey)
        signers.set(address, signer)
        ledger.pay(Array.from({ length: outputsOfWallet }, () => ({ address, lovelace: lovelaceOfOutput })))
        return address
      }),
    // As `signData` of CIP-30 does it.
    proveWallet: (wallet, message) =>
      Effect.sync(() => {
        const payload = Buffer.from(message)
        const header = encode(new Map<unknown, unknown>([[1, -8], ["address", addressBytes(wallet)]]))
        const signer = signers.get(wallet)!
        const signature = signer.sign(encode(["Signature1", header, new Uint8Array(), payload]))
        return {
          signature: hex(encode([header, new Map([["hashed", false]]), payload, signature])),
          public_key: hex(encode(new Map(coseKey(signer.publicKey))))
        }
      }),
    newReceiver: (seed) => addressOf(`receiver ${seed}`),
    newHash: (roll) => hex(Uint8Array.from({ length: 32 }, () => roll(256))),
    thief: (seed) => addressOf(`thief ${seed}`),
    guardOf: (batchId, part) => `${batchId.replaceAll("-", "")}/${part}`,
    sign: (wallet, payload, how, thief) =>
      Effect.sync(() => {
        const written = how === "as_given"
          ? payload
          : rewritePayout(payload, how === "changed_destination" ? thief : undefined)
        ledger.submit(readSigned(signPayout(written, signers.get(wallet)!), wallet))
      }),
    payLine: () => Effect.die(new Error("a batch on Cardano is given out as no list")),
    receive: (address, _token, lovelace) =>
      Effect.andThen(Effect.sync(() => ledger.pay([{ address, lovelace }])), mine(1)),
    mine,
    reorganise: () => Effect.void,
    pass: (seconds) => mine(Math.ceil(seconds / secondsPerBlock)),
    moved: (wallet) => Effect.sync(() => moved(wallet)),
    time: Effect.sync(() => ledger.tip.time),
    head: Effect.sync(() => ledger.tip.height),
    disturb: (roll) => {
      const names = Object.keys(faults)
      const name = names[roll(names.length)]!
      const place = roll(endpointCount)
      servers.forEach((_, other) => setFault(other, other === place ? faults[name]! : "right"))
      return `${name} ${place + 1}`
    },
    heal: () => servers.forEach((_, place) => setFault(place, "right"))
  }
  return chain
})
