/** Networks that the project does not have, and a copy of the project to which somebody has added one. */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname)

/** Polygon PoS and its test network Amoy (docs.polygon.technology). */
export const polygon = {
  name: "polygon",
  label: "Polygon",
  coin: { symbol: "POL", asset: "polygon-ecosystem-token" },
  devnetChainId: 80_002,
  explorer: "https://amoy.polygonscan.com/tx/"
}

const descriptor = `/** Polygon PoS. Blocks come every 2 s. */
import { evmFamily } from "./families/evm.ts"
import type { EvmNetworkDescriptor } from "./NetworkDescriptor.ts"

export const polygon: EvmNetworkDescriptor<"polygon"> = {
  name: "polygon",
  family: evmFamily,
  label: "${polygon.label}",
  paymentListRank: 45,
  coin: {
    symbol: "${polygon.coin.symbol}",
    names: { mainnet: "Polygon", devnet: "Polygon (Amoy)" },
    decimals: 18,
    asset: "${polygon.coin.asset}",
    requiresMemo: false
  },
  standardDepth: { blocks: 15, finalized: true },
  finalBlocks: 128,
  transactionUrl: {
    mainnet: (txHash) => \`https://polygonscan.com/tx/\${txHash}\`,
    devnet: (txHash) => \`${polygon.explorer}\${txHash}\`
  },
  refundFeeUsdMillis: 70,
  payoutStablecoins: ["USDC", "USDT"],
  chainIds: { mainnet: 137, devnet: ${polygon.devnetChainId} },
  pollMillis: 1_000,
  standstillSeconds: 30,
  blockMillis: 2_000,
  transferFee: { unit: "gas", coin: 21_000n, token: 65_000n },
  publicRpcUrls: { mainnet: ["https://polygon-rpc.com"], devnet: ["https://rpc-amoy.polygon.technology"] }
}
`

const replaceOnce = (text: string, before: string, after: string): string => {
  if (text.split(before).length !== 2) throw new Error(`expected once: ${before}`)
  return text.replace(before, after)
}

/** Adds a descriptor's line to the list of networks. */
const listNetwork = (copy: string, name: string): void => {
  const list = join(copy, "schemas/networks/all.ts")
  const text = replaceOnce(
    readFileSync(list, "utf8"),
    "import { solana }",
    `import { ${name} } from "./${name}.ts"\nimport { solana }`
  )
  writeFileSync(list, replaceOnce(text, "\n] as const", `,\n  ${name}\n] as const`))
}

/** Does step 1 of "Add a network" in `CONTRIBUTING.md` in a copy of the tree, and nothing else. */
export const addPolygon = (copy: string): void => {
  writeFileSync(join(copy, "schemas/networks/polygon.ts"), descriptor)
  listNetwork(copy, polygon.name)
}

/**
 * Does what "Add a family" in `CONTRIBUTING.md` asks for before the config, and nothing else: the files of the driver,
 * and the descriptor with its line. They are as deep in the tree here as there, so that what they import is found.
 */
export const addBitcoin = (copy: string): void => {
  const own = (path: string) => join(root, "test/support", path)
  cpSync(own("bitcoin.ts"), join(copy, "modules/chains/bitcoin.ts"))
  cpSync(own("bitcoin"), join(copy, "modules/chains/bitcoin"), { recursive: true })
  cpSync(own("BitcoinNetwork.ts"), join(copy, "schemas/networks/bitcoin.ts"))
  listNetwork(copy, "bitcoin")
}

/** Does what step 3 asks of the reference, for {@link addPolygon} and then {@link addBitcoin}. */
export const addToReference = (copy: string): void => {
  const page = join(copy, "modules/docs/reference/networks.md")
  const lastRow = "| `sui` | `sui` | Sui | SUI | 1 | 1 | 20 |\n"
  const rows = "| `polygon` | `evm` | Polygon | POL | `finalized`, else 15 | 128 | 70 |\n"
    + "| `bitcoin` | `bitcoin` | Bitcoin | BTC | 6 | 100 | 2,000 |\n"
  writeFileSync(page, replaceOnce(readFileSync(page, "utf8"), lastRow, `${lastRow}${rows}`))
}

/** Copies what the service runs from into an empty directory; answers the program that starts it. */
export const copyProgram = (directory: string): string => {
  for (const name of ["schemas", "runtime", "modules", "config", "package.json"]) {
    cpSync(join(root, name), join(directory, name), { recursive: true })
  }
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"))
  return join(directory, "runtime/main.ts")
}
