/** A `forwarder` wallet as its owner gives it: the address that every receiving address pays to. Pure. */
import { hexToBytes } from "@noble/hashes/utils.js"
import type { IndexedWallet } from "../../../runtime/Chains.ts"
import { readEvmAddress } from "../../../schemas/EvmAddress.ts"
import { evmFamily } from "../../../schemas/networks/families/evm.ts"
import { collector, forwarderHash, keylessDeployer } from "./Contracts.ts"
import { forwarders } from "./Forwarder.ts"

/** Addresses that are nobody's wallet. */
const nobodys: ReadonlySet<string> = new Set([...evmFamily.burnAddresses ?? [], ...evmFamily.ownContracts ?? []])

/** The payee in its one spelling, or a sentence for people. */
const readPayee = (text: string): { readonly payee: string } | string => {
  if (/^(0x)?[0-9a-f]{64}$/i.test(text)) {
    return "this looks like a PRIVATE key: move the funds it holds, and give your wallet's address instead"
  }
  if (/^0x0+$/i.test(text)) return "this is the zero address, which nobody owns: give your wallet's own"
  const payee = readEvmAddress(text)
  if (payee === null) return "this is not an address with a right checksum (EIP-55)"
  return !evmFamily.isWallet(payee) || nobodys.has(evmFamily.accountKey(payee))
    ? "nobody could take the money from this address: give your wallet's own"
    : { payee }
}

/**
 * The wallet whose addresses pay to an address of its owner's. `seed`: 32 random bytes, hex. A sentence for people
 * where the text is no address that could be paid.
 */
export const forwarderOf = (text: string, seed: string): IndexedWallet | string => {
  const read = readPayee(text.trim())
  if (typeof read === "string") return read
  const { payee } = read
  const { address, fingerprint, salt } = forwarders(payee, hexToBytes(seed))
  return {
    _tag: "IndexedWallet",
    fingerprint,
    derive: (index) => {
      const own = address(index)
      return { address: own, matchKey: own.toLowerCase(), memo: null }
    },
    startIndex: 0,
    size: null,
    gapLimit: null,
    forwarder: {
      payee,
      seed,
      collector: collector.address,
      deployer: keylessDeployer,
      initCodeHash: forwarderHash,
      saltOf: salt
    }
  }
}
