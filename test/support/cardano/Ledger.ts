/**
 * A Cardano chain in this process: the ledger rules of `scalus`, which check every transaction, and blocks above them
 * that can be rolled back, because each keeps the ledger's state as it was after it.
 */
import { ed25519 } from "@noble/curves/ed25519.js"
import { blake2b } from "@noble/hashes/blake2.js"
import { bytesToHex, concatBytes, hexToBytes } from "@noble/hashes/utils.js"
import { bech32 } from "@scure/base"
import { decode, encode } from "cborg"
import { createRequire } from "node:module"
import type * as Scalus from "scalus"

/** The package is CommonJS, which its types do not say. */
const { Emulator, SlotConfig }: typeof Scalus = createRequire(import.meta.url)("scalus")

/** What a transaction leaves: `assets` by policy id in hex and asset name. */
export interface RigOutput {
  readonly address: string
  readonly lovelace: bigint
  readonly assets?: ReadonlyMap<string, ReadonlyMap<string, bigint>>
  /** CBOR of an inline datum. */
  readonly datum?: Uint8Array
  /** What comes back of the collateral: on the chain only where the scripts failed. */
  readonly isCollateral?: boolean
}

export interface RigInput {
  readonly txHash: string
  readonly index: number
  readonly address: string
  readonly isCollateral?: boolean
}

export interface RigTransaction {
  readonly txHash: string
  /** Hex. */
  readonly cbor: string
  readonly inputs: ReadonlyArray<RigInput>
  readonly outputs: ReadonlyArray<RigOutput>
  /** Absent: it is, no script of it failed. */
  readonly isValid?: boolean
  /** Lovelace; absent: what the rig always pays. */
  readonly fee?: bigint
  /** Lines of its message (CIP-20); absent: it has none. */
  readonly message?: ReadonlyArray<string>
}

/** An output that nothing has spent; assets by policy and name in hex. */
export interface RigUnspent {
  readonly txHash: string
  readonly index: number
  readonly lovelace: bigint
  readonly assets: ReadonlyArray<{ readonly unit: string; readonly quantity: bigint }>
}

export interface RigBlock {
  readonly height: number
  readonly hash: string
  readonly previous: string
  readonly slot: number
  /** Epoch seconds. */
  readonly time: number
  readonly transactions: ReadonlyArray<RigTransaction>
  /** What an address holds after it. */
  readonly unspent: (address: string) => ReadonlyArray<RigUnspent>
  /** What all addresses hold whose last 28 bytes, in hex, are these: those of one stake key. */
  readonly unspentOfAccount: (stakeKey: string) => ReadonlyArray<RigUnspent & { readonly address: string }>
}

interface StoredBlock extends RigBlock {
  readonly ledger: Scalus.Emulator
}

/** A key that holds funds: by its private scalar and public key, as accounts derive them. */
export interface Signer {
  readonly publicKey: Uint8Array
  readonly sign: (message: Uint8Array) => Uint8Array
}

const hash28 = (bytes: Uint8Array) => blake2b(bytes, { dkLen: 28 })
const hash32 = (bytes: Uint8Array) => blake2b(bytes, { dkLen: 32 })
const textBytes = (text: string) => new TextEncoder().encode(text)

export const addressBytes = (address: string): Uint8Array =>
  bech32.fromWords(bech32.decode(address as `${string}1${string}`, 1_000).words)

/** Address of a key without a stake part (CIP-19, type 6), of the test networks. */
export const enterpriseAddress = (publicKey: Uint8Array): string =>
  bech32.encode("addr_test", bech32.toWords(concatBytes(Uint8Array.of(0x60), hash28(publicKey))), 1_000)

const tags = Array.from({ length: 1_500 }, () => (content: () => unknown) => content())
const readCbor = (bytes: Uint8Array): any => decode(bytes, { useMaps: true, tags, allowBigInt: true } as never)

/** An item that is CBOR already: `cborg` has no way to say so. */
class Encoded {
  readonly bytes: Uint8Array
  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }
}

const head = (major: number, count: number): Uint8Array =>
  count < 24
    ? Uint8Array.of(major << 5 | count)
    : count < 256
    ? Uint8Array.of(major << 5 | 24, count)
    : Uint8Array.of(major << 5 | 25, count >> 8, count & 0xff)

/** CBOR of arrays, maps, {@link Encoded} and what `cborg` knows. */
const write = (value: unknown): Uint8Array => {
  if (value instanceof Encoded) return value.bytes
  if (Array.isArray(value)) return concatBytes(head(4, value.length), ...value.map(write))
  if (value instanceof Map) {
    return concatBytes(head(5, value.size), ...[...value].flatMap(([key, each]) => [write(key), write(each)]))
  }
  return encode(value)
}

const valueOf = ({ assets, lovelace }: RigOutput): unknown =>
  assets === undefined ? lovelace : [
    lovelace,
    new Map(
      [...assets].map(([policy, names]) => [
        hexToBytes(policy),
        new Map([...names].map(([name, quantity]) => [textBytes(name), quantity]))
      ])
    )
  ]

const outputOf = (output: RigOutput): unknown =>
  output.datum === undefined
    ? [addressBytes(output.address), valueOf(output)]
    : new Map<number, unknown>([
      [0, addressBytes(output.address)],
      [1, valueOf(output)],
      [2, [1, new Encoded(concatBytes(Uint8Array.of(0xd8, 0x18), encode(output.datum)))]]
    ])

const addressText = (bytes: Uint8Array): string => bech32.encode("addr_test", bech32.toWords(bytes), 1_000)

/** What addresses hold by the ledger's own word. `isOwn`: by an address's bytes in hex. */
const unspentOf = (
  emulator: Scalus.Emulator,
  isOwn: (hex: string) => boolean
): ReadonlyArray<RigUnspent & { readonly address: string }> => {
  const all: Map<[Uint8Array, number], any> = readCbor(emulator.getUtxosCbor())
  return [...all].flatMap(([[txHash, index], output]) => {
    const [to, value] = Array.isArray(output) ? output : [output.get(0), output.get(1)]
    if (!isOwn(bytesToHex(to))) return []
    const [lovelace, policies] = Array.isArray(value) ? value : [value, new Map()]
    const assets = [...policies as Map<Uint8Array, Map<Uint8Array, number>>].flatMap(([policy, names]) =>
      [...names].map(([name, quantity]) => ({
        unit: `${bytesToHex(policy)}${bytesToHex(name)}`,
        quantity: BigInt(quantity)
      }))
    )
    return [{ address: addressText(to), txHash: bytesToHex(txHash), index, lovelace: BigInt(lovelace), assets }]
  })
}

const isAddress = (address: string) => {
  const own = bytesToHex(addressBytes(address))
  return (hex: string): boolean => hex === own
}

/** Lovelace that a transaction of the rig pays: far above what its size asks for. */
export const fee = 600_000n
const secondsPerBlock = 20
const genesisTime = 1_655_683_200

export class Ledger {
  private readonly funds: Signer
  /** Where the rig's own money is. */
  readonly address: string
  private emulator: Scalus.Emulator
  private stored: Array<StoredBlock> = []
  private pending: Array<RigTransaction> = []
  private slot = 1_000
  private salt = 0
  private readonly secondsNow: () => number | null

  /** `secondsNow`: epoch seconds of each block that is mined; absent: 20 s after the one before, years ago. */
  constructor(secondsNow: () => number | null = () => null) {
    const secret = ed25519.utils.randomSecretKey()
    this.secondsNow = secondsNow
    this.funds = { publicKey: ed25519.getPublicKey(secret), sign: (message) => ed25519.sign(message, secret) }
    this.address = enterpriseAddress(this.funds.publicKey)
    this.emulator = Emulator.withAddresses([this.address], SlotConfig.preprod, 40_000_000_000_000n)
    this.emulator.setSlot(this.slot)
    this.append([])
  }

  get blocks(): ReadonlyArray<RigBlock> {
    return this.stored
  }

  get tip(): RigBlock {
    return this.stored.at(-1)!
  }

  /** Policy of the rig's own tokens: whatever its key signs. */
  get policy(): string {
    return bytesToHex(hash28(concatBytes(Uint8Array.of(0), encode(this.policyScript))))
  }

  private get policyScript() {
    return [0, hash28(this.funds.publicKey)]
  }

  private append(transactions: ReadonlyArray<RigTransaction>) {
    const previous = this.stored.at(-1)?.hash ?? "00".repeat(32)
    const height = this.stored.length
    const ledger = this.emulator.snapshot()
    const content = `${previous}${height}${transactions.map(({ txHash }) => txHash).join()}${this.salt++}`
    this.stored.push({
      height,
      hash: bytesToHex(hash32(textBytes(content))),
      previous,
      slot: this.slot,
      time: this.secondsNow() ?? genesisTime + this.slot,
      transactions,
      unspent: (address) => unspentOf(ledger, isAddress(address)),
      unspentOfAccount: (stakeKey) => unspentOf(ledger, (hex) => hex.length === 114 && hex.endsWith(stakeKey)),
      ledger
    })
  }

  /**
   * Pays from `from`, the rig's own money without it; what is left goes back. The ledger has it when this returns, no
   * block does. `mint`: the rig's tokens by name. `mutate`: what the transaction holds before it is signed.
   */
  pay(outputs: ReadonlyArray<RigOutput>, more: {
    readonly from?: { readonly address: string; readonly signer: Signer }
    readonly mint?: ReadonlyMap<string, bigint>
  } = {}): RigTransaction {
    const { address, signer } = more.from ?? { address: this.address, signer: this.funds }
    const [coin] = unspentOf(this.emulator, isAddress(address)).filter(({ assets }) => assets.length === 0)
      .toSorted((one, other) => Number(other.lovelace - one.lovelace))
    const { index, lovelace: value, txHash } = coin!
    const rest = value - fee - outputs.reduce((sum, { lovelace }) => sum + lovelace, 0n)
    const all = [...outputs, { address, lovelace: rest }]
    const body = new Map<number, unknown>([[0, [[hexToBytes(txHash), index]]], [1, all.map(outputOf)], [2, fee]])
    if (more.mint !== undefined) {
      const names = new Map([...more.mint].map(([name, quantity]) => [textBytes(name), quantity]))
      body.set(9, new Map([[hexToBytes(this.policy), names]]))
    }
    const raw = write(body)
    const witness = new Map<number, unknown>([[0, [[signer.publicKey, signer.sign(hash32(raw))]]]])
    if (more.mint !== undefined) witness.set(1, [this.policyScript])
    const cbor = concatBytes(Uint8Array.of(0x84), raw, write(witness), Uint8Array.of(0xf5, 0xf6))
    const result = this.emulator.submitTx(cbor)
    if (!result.isSuccess) throw new Error(result.error)
    const transaction: RigTransaction = {
      txHash: result.txHash!,
      cbor: bytesToHex(cbor),
      inputs: [{ txHash, index, address }],
      outputs: all
    }
    this.pending.push(transaction)
    return transaction
  }

  /** Takes a transaction that somebody signed elsewhere, if the ledger's rules allow it; answers why not, or null. */
  submit(transaction: RigTransaction): string | null {
    const result = this.emulator.submitTx(hexToBytes(transaction.cbor))
    if (!result.isSuccess) return result.error ?? "refused"
    this.pending.push(transaction)
    return null
  }

  /** Lets time pass until a slot, without a block. */
  wait(slot: number) {
    this.slot = slot
    this.emulator.setSlot(slot)
  }

  /** Puts a transaction that left the chain back to those that wait for a block. */
  resubmit(transaction: RigTransaction) {
    const refusal = this.submit(transaction)
    if (refusal !== null) throw new Error(refusal)
  }

  /**
   * A transaction whose scripts failed: it would have paid `address`, and gives `returned` of its collateral back
   * there. The ledger has not seen it, because it would take a script.
   */
  insertFailed(address: string, lovelace: bigint, returned: bigint | null = null): RigTransaction {
    const input = hash32(textBytes(`failed ${this.salt++}`))
    const body = new Map<number, unknown>([
      [0, [[input, 0]]],
      [1, [[addressBytes(address), lovelace]]],
      [2, fee],
      [13, [[input, 1]]]
    ])
    if (returned !== null) body.set(16, [addressBytes(address), returned])
    const raw = write(body)
    const collateral = returned === null ? [] : [{ address, lovelace: returned, isCollateral: true }]
    const spent = { txHash: bytesToHex(input), address: this.address }
    const transaction: RigTransaction = {
      txHash: bytesToHex(hash32(raw)),
      cbor: bytesToHex(concatBytes(Uint8Array.of(0x84), raw, Uint8Array.of(0xa0, 0xf4, 0xf6))),
      isValid: false,
      inputs: [{ ...spent, index: 0 }, { ...spent, index: 1, isCollateral: true }],
      outputs: [{ address, lovelace }, ...collateral]
    }
    this.insert(transaction)
    return transaction
  }

  /** A transaction that no rule of the ledger has seen: for what the emulator cannot make. */
  insert(transaction: RigTransaction) {
    this.pending.push(transaction)
  }

  /** `count` blocks; the first holds what waits. */
  mine(count = 1) {
    for (let block = 0; block < count; block++) {
      this.slot += secondsPerBlock
      this.emulator.setSlot(this.slot)
      this.append(this.pending.splice(0))
    }
  }

  /** The chain as it was `depth` blocks ago; answers the transactions that are gone. */
  rollback(depth: number): ReadonlyArray<RigTransaction> {
    const gone = this.stored.splice(-depth)
    this.emulator = this.stored.at(-1)!.ledger.snapshot()
    this.pending = []
    return gone.flatMap(({ transactions }) => transactions)
  }
}
