/** Private keys of Cardano accounts for tests, by libraries that the service does not use. */
import { createRequire } from "node:module"
import type { Signer } from "./Ledger.ts"

/** Strica's library, which the Cardano Foundation's verifier of signatures is built on. */
const require = createRequire(
  createRequire(import.meta.url).resolve("@cardano-foundation/cardano-verify-datasignature")
)
const { Bip32PrivateKey } = require("@stricahq/bip32ed25519")
const typhon = require("@stricahq/typhonjs")

export interface TestAccount {
  /** Public key and chain code. */
  readonly publicBytes: Uint8Array
  /** The root's private key: what nobody may paste. */
  readonly privateBytes: Uint8Array
  /** Base address `0/index`, by the library. */
  readonly address: (index: number, environment: "mainnet" | "devnet") => string
  readonly signer: (index: number) => Signer
}

const hardened = 0x8000_0000

/** Accounts m/1852'/1815'/n' of a wallet with this entropy, which its recovery phrase writes; n from 0. */
export const accountsOf = async (entropy: Uint8Array, count: number): Promise<ReadonlyArray<TestAccount>> => {
  const root = await Bip32PrivateKey.fromEntropy(Buffer.from(entropy))
  const coin = root.derive(hardened + 1852).derive(hardened + 1815)
  return Array.from({ length: count }, (_, place) => testAccount(coin.derive(hardened + place)))
}

/** The first of {@link accountsOf}. */
export const accountOf = async (entropy: Uint8Array): Promise<TestAccount> => (await accountsOf(entropy, 1))[0]!

const testAccount = (account: any): TestAccount => {
  const { BaseAddress } = typhon.address
  const hashOf = (role: number, index: number) =>
    account.derive(role).derive(index).toBip32PublicKey().toPublicKey().hash()
  const credential = (role: number, index: number) => ({
    type: typhon.types.HashType.ADDRESS,
    hash: hashOf(role, index).toString("hex")
  })
  return {
    publicBytes: Uint8Array.from(account.toBip32PublicKey().toBytes()),
    privateBytes: Uint8Array.from(account.toBytes()),
    address: (index, environment) =>
      new BaseAddress(environment === "mainnet" ? 1 : 0, credential(0, index), credential(2, 0)).getBech32(),
    signer: (index) => {
      const key = account.derive(0).derive(index).toPrivateKey()
      return {
        publicKey: Uint8Array.from(key.toPublicKey().toBytes()),
        sign: (message) => Uint8Array.from(key.sign(Buffer.from(message)))
      }
    }
  }
}
