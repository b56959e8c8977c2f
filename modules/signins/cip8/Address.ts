/** Addresses of Cardano (CIP-19), as far as one key answers for them. */
import { hexToBytes } from "@noble/hashes/utils.js"
import { bech32 } from "@scure/base"
import { Result } from "effect"

/** Longer than any address; Bech32 itself would stop at 90. */
const maximumBech32 = 128

/** Bytes of an address by its type, the upper half of its first byte: only those whose first credential is a key. */
const lengths: ReadonlyMap<number, number> = new Map([
  // Base: payment key with stake key, payment key with stake script.
  [0, 57],
  [2, 57],
  // Enterprise: payment key alone.
  [6, 29],
  // Reward ("stake"): stake key.
  [14, 29]
])

/** A payment key with a stake key. */
const baseType = 0
const stakeType = 14

const keyHashBytes = 28

export interface CardanoAddress {
  readonly bytes: Uint8Array
  /** Blake2b-224 of the key that answers for it: the payment key, or the stake key of a reward address. 28 bytes. */
  readonly keyHash: Uint8Array
  readonly network: "mainnet" | "testnet"
}

const parse = (bytes: Uint8Array): CardanoAddress | null => {
  const header = bytes[0] ?? 0xff
  const network = header & 0x0f
  if (lengths.get(header >> 4) !== bytes.length || network > 1) return null
  return { bytes, keyHash: bytes.slice(1, 29), network: network === 1 ? "mainnet" : "testnet" }
}

const prefixOf = ({ bytes, network }: CardanoAddress): string =>
  `${bytes[0]! >> 4 === stakeType ? "stake" : "addr"}${network === "mainnet" ? "" : "_test"}`

const readBech32 = (text: string): CardanoAddress | null => {
  const decoded = Result.getOrNull(Result.try(() => {
    const { prefix, words } = bech32.decode(text as `${string}1${string}`, maximumBech32)
    return { prefix, bytes: bech32.fromWords(words) }
  }))
  const address = decoded === null ? null : parse(decoded.bytes)
  return address !== null && prefixOf(address) === decoded?.prefix ? address : null
}

/**
 * Bech32 (`addr1…`, `stake_test1…`), or hex as CIP-30 wallets give it. Null for what is no address, and for one that a
 * script, a pointer or a Byron key stands behind: no single key signs for those.
 */
export const readCardanoAddress = (text: string): CardanoAddress | null => {
  return /^(?:[0-9a-f]{2}){1,64}$/i.test(text) ? parse(hexToBytes(text)) : readBech32(text)
}

/**
 * The addresses whose keys prove that somebody has an address: itself, and the reward address of its stake key, of
 * which a wallet has one for all its payment addresses. Each is given as on mainnet and as on test networks, because
 * the keys are the same there.
 */
export const accountsOfCardano = ({ bytes }: CardanoAddress): ReadonlyArray<CardanoAddress> => {
  const type = bytes[0]! >> 4
  const own = bytes.slice(1)
  const reward = type === baseType ? [{ type: stakeType, rest: own.slice(keyHashBytes) }] : []
  return [{ type, rest: own }, ...reward].flatMap(({ rest, type: of }) =>
    [0, 1].flatMap((network) => parse(Uint8Array.of((of << 4) | network, ...rest)) ?? [])
  )
}

export const cardanoAddressText = (address: CardanoAddress): string =>
  bech32.encode(prefixOf(address), bech32.toWords(address.bytes), maximumBech32)
