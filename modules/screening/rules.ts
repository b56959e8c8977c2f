/** How screened addresses are compared, and how a file of them is read. Pure. */
import { Result } from "effect"
import { readAddress } from "../../schemas/Address.ts"
import { descriptorOf, Network, networks } from "../../schemas/Network.ts"

/** Lines of a file are quoted in a message up to this many characters. */
const quotedCharacters = 60

/**
 * The text that all spellings of one address share, on every network of its family: whoever holds the key of an address
 * holds it on all of them. Null: it is no address of the network.
 */
export const addressKey = (network: Network, text: string): string | null => {
  const { family } = descriptorOf(network)
  const address = readAddress(network, "mainnet", text) ?? readAddress(network, "devnet", text)
  return address === null ? null : `${family.name} ${family.accountKey(address)}`
}

const isNetwork = (text: string): text is Network => (networks as ReadonlyArray<string>).includes(text)

const readLine = (line: string): Result.Result<string, string> => {
  const [network = "", address, ...rest] = line.split(/\s+/)
  if (!isNetwork(network)) return Result.fail(`"${network}" is no network: write one of ${networks.join(", ")}`)
  if (address === undefined || rest.length > 0) {
    return Result.fail("write a network, a space and one address; a comment begins with #")
  }
  const key = addressKey(network, address)
  return key === null ? Result.fail(`"${address}" is no address of ${network}: correct it`) : Result.succeed(key)
}

/**
 * The keys of a file with a line `<network> <address>` for each address; what follows `#` is a comment. A file is read
 * whole or not at all: a line that was left out would be an address that passes. A file without any address is refused
 * too, because a file is empty while another program writes it.
 */
export const parseList = (text: string): Result.Result<ReadonlySet<string>, string> => {
  const keys = new Set<string>()
  for (const [index, whole] of text.replace(/^\uFEFF/, "").split(/\r?\n/).entries()) {
    const line = whole.replace(/#.*$/, "").trim()
    if (line === "") continue
    const key = readLine(line.slice(0, 1_000))
    if (Result.isFailure(key)) {
      return Result.fail(`line ${index + 1} (${line.slice(0, quotedCharacters)}): ${key.failure}`)
    }
    keys.add(key.success)
  }
  return keys.size === 0
    ? Result.fail("it has no address: write one a line, or use \"screening/none\" to let everybody pass")
    : Result.succeed(keys)
}
