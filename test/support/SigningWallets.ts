/** A wallet of each kind that signs approvals, and what a lie about each part of its signature looks like. */
import { base58 } from "@scure/base"
import { createHash } from "node:crypto"
import type { Network } from "../../schemas/Network.ts"
import { cardanoWallet, evmWallet, type SignInWallet, solanaWallet, suiWallet, tonWallet } from "./SignInWallets.ts"

export interface SigningKind {
  /** A network by which its family signs in. */
  readonly network: Network
  readonly wallet: SignInWallet
}

export const signingKinds: Readonly<Record<string, SigningKind>> = {
  "EVM": { network: "base", wallet: evmWallet },
  "Solana": { network: "solana", wallet: solanaWallet },
  "Sui, Ed25519": { network: "sui", wallet: suiWallet("Ed25519") },
  "Sui, secp256k1": { network: "sui", wallet: suiWallet("secp256k1") },
  "Sui, secp256r1": { network: "sui", wallet: suiWallet("secp256r1") },
  "TON, v3r2": { network: "ton", wallet: tonWallet("v3r2") },
  "TON, v4r2": { network: "ton", wallet: tonWallet("v4r2") },
  "TON, W5": { network: "ton", wallet: tonWallet("v5r1") },
  "Cardano, base address": { network: "cardano", wallet: cardanoWallet("base") },
  "Cardano, stake address": { network: "cardano", wallet: cardanoWallet("reward") }
}

/** What a wallet's page sends as the answer to a challenge; `now`: epoch seconds, by the wallet's clock. */
export const answerBy = async (
  account: ReturnType<SignInWallet>,
  family: string,
  challenge: { readonly id: string; readonly text: string },
  service: string,
  now: number
) => {
  const asked = {
    domain: new URL(service).host,
    nonce: createHash("sha256").update(challenge.text).digest("hex"),
    issuedAt: now
  }
  const { proof, publicKey, signature } = await account.sign(asked, challenge.text)
  const named = { family, address: account.address, signature, public_key: publicKey, proof }
  return { id: challenge.id, wallet: named }
}

const isHex = (text: string): boolean => /^(?:0x)?(?:[0-9a-f]{2})+$/u.test(text)

/** How each family writes bytes, so that the bytes are changed and not their spelling. */
const codecOf = (family: string, name: string, value: string) => {
  if (name === "signature" && family === "solana") {
    return { bytes: Buffer.from(base58.decode(value)), text: (bytes: Buffer) => base58.encode(bytes) }
  }
  if (name !== "address" && name !== "payload" && isHex(value)) {
    const [prefix, digits] = value.startsWith("0x") ? ["0x", value.slice(2)] : ["", value]
    return { bytes: Buffer.from(digits, "hex"), text: (bytes: Buffer) => `${prefix}${bytes.toString("hex")}` }
  }
  if (name === "signature" || name === "state_init") {
    return { bytes: Buffer.from(value, "base64"), text: (bytes: Buffer) => bytes.toString("base64") }
  }
  return { bytes: Buffer.from(value), text: (bytes: Buffer) => bytes.toString() }
}

/** Every text that differs from `value` in one bit of one of its bytes. */
const changedTexts = (family: string, name: string, value: string): ReadonlyArray<string> => {
  const { bytes, text } = codecOf(family, name, value)
  return [...bytes.keys()].map((place) => {
    const copy = Buffer.from(bytes)
    copy[place] = copy[place]! ^ (1 << (place % 8))
    return text(copy)
  })
}

/** Every value that differs from one of JSON in one bit of one of its parts; of a number, by one. */
const changedValues = (family: string, name: string, value: any): ReadonlyArray<any> => {
  if (value === null) return []
  if (typeof value === "number") return [value + 1, value - 1]
  if (typeof value === "string") return changedTexts(family, name, value)
  return Object.entries(value).flatMap(([part, each]) =>
    changedValues(family, part, each).map((changed) => ({ ...value, [part]: changed }))
  )
}

/** Approvals that each differ from a good one by a wallet in one bit of what is signed, or of what it is signed with. */
export const changedApprovals = (approval: any): ReadonlyArray<{ readonly what: string; readonly approval: any }> => {
  const { signature, text } = approval
  const texts = changedTexts(signature.family, "text", text).map((changed, place) => ({
    what: `text ${place}`,
    approval: { ...approval, text: changed }
  }))
  const parts = Object.entries(signature).filter(([name]) => name !== "type" && name !== "chain_id").flatMap((
    [name, value]
  ) =>
    changedValues(signature.family, name, value).map((changed, place) => ({
      what: `${name} ${place}`,
      approval: { ...approval, signature: { ...signature, [name]: changed } }
    }))
  )
  const named = ["id", "environment", "person"].map((name) => ({
    what: name,
    approval: { ...approval, [name]: `${approval[name]}0` }
  }))
  const { id, object } = approval.approves
  const others = [{ object: object === "batch" ? "refund" : "batch", id }, { object, id: `${id}0` }]
  const approves = others.map((other) => ({ what: "approves", approval: { ...approval, approves: other } }))
  return [...texts, ...parts, ...named, ...approves]
}
