/** Reads what a person gives to the recovery page: the document of a wallet, and tokens. */
import { readEvmAddress } from "../../../../schemas/EvmAddress.ts"
import { collector, forwarderHash } from "../Contracts.ts"

/** What the page needs of a recovery document. */
export interface RecoveryDocument {
  readonly payee: string
  /** 64 hexadecimal digits behind `0x`. */
  readonly seed: string
  readonly nextIndex: number
}

interface JsonObject {
  readonly [name: string]: unknown
}

const parse = (text: string): JsonObject | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value as JsonObject : undefined
  } catch {
    return undefined
  }
}

/** Reads a document as the service gave it. Returns a sentence for people when it cannot be used. */
export const readRecoveryDocument = (text: string): RecoveryDocument | string => {
  const fields = parse(text)
  if (fields === undefined) return "This is no recovery document: paste the whole JSON text, from { to }."
  const { collector: writtenCollector, init_code_hash: hash, next_index: nextIndex, payee, seed } = fields
  const readPayee = typeof payee === "string" ? readEvmAddress(payee) : null
  if (readPayee === null) return "payee is no address with a right checksum (EIP-55): copy the document again."
  if (typeof seed !== "string" || !/^0x[0-9a-f]{64}$/i.test(seed)) {
    return "seed must be 0x and 64 hexadecimal digits: copy the document again."
  }
  if (typeof nextIndex !== "number" || !Number.isSafeInteger(nextIndex) || nextIndex < 0) {
    return "next_index must be a whole number from 0 on."
  }
  const isOurs = String(writtenCollector).toLowerCase() === collector.address.toLowerCase() && hash === forwarderHash
  if (!isOurs) {
    return `The document is for the Collector ${String(writtenCollector)}, this page is for ${collector.address}: ` +
      "use the page of the version that made the document."
  }
  return { payee: readPayee, seed, nextIndex }
}

/** Reads addresses of tokens, one a line. Returns a sentence for people when one of them is no address. */
export const readTokens = (text: string): ReadonlyArray<string> | string => {
  const entries = text.split(/[\s,;]+/).filter((entry) => entry !== "")
  const addresses = entries.map(readEvmAddress)
  const wrong = addresses.indexOf(null)
  if (wrong !== -1) return `${entries[wrong]} is no address of a token with a right checksum (EIP-55).`
  return [...new Set(addresses as ReadonlyArray<string>)]
}
