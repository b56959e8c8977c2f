/** Compiles Solidity sources with the exact compiler of `package.json`, which is JavaScript and needs no network. */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, concatBytes, hexToBytes } from "@noble/hashes/utils.js"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { basename, dirname, join } from "node:path"
import type { Abi } from "viem"
import { keylessDeployer } from "../../modules/chains/evm/Contracts.ts"
import type { CompiledContract } from "./ContractRig.ts"

/**
 * The settings of the frozen build. `paris` has no PUSH0, so that the code runs on chains that never got it; without
 * the CBOR appendix the bytes do not depend on comments or on where the sources lie.
 */
export const frozenSettings = {
  evmVersion: "paris",
  viaIR: true,
  optimizer: { enabled: true, runs: 1_000_000 },
  metadata: { appendCBOR: false, bytecodeHash: "none" }
} as const

export interface FrozenContract extends CompiledContract {
  readonly contract: string
  readonly compiler: string
  readonly settings: typeof frozenSettings
  /** SHA-256 of `bytecode`. */
  readonly creationSha256: string
  readonly deployer: string
  readonly salt: string
  /** Where the deployer creates it, in lower case. */
  readonly address: string
}

interface CompilerOutput {
  readonly errors?: ReadonlyArray<{ readonly severity: string; readonly formattedMessage: string }>
  readonly contracts: Record<string, Record<string, { abi: Abi; evm: { bytecode: { object: string } } }>>
}

const solc: { compile(input: string, callbacks: object): string; version(): string } = createRequire(
  import.meta.url
)("solc")

/** The contracts of one file that have code, by name. Only the file and what it imports is compiled. */
export const compileAlone = (path: string): Readonly<Record<string, CompiledContract>> => {
  const name = basename(path)
  const input = {
    language: "Solidity",
    sources: { [name]: { content: readFileSync(path, "utf8") } },
    settings: { ...frozenSettings, outputSelection: { [name]: { "*": ["abi", "evm.bytecode.object"] } } }
  }
  const imported = (file: string) => ({ contents: readFileSync(join(dirname(path), file), "utf8") })
  const output: CompilerOutput = JSON.parse(solc.compile(JSON.stringify(input), { import: imported }))
  const errors = (output.errors ?? []).filter(({ severity }) => severity === "error")
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join("\n"))
  return Object.fromEntries(
    Object.entries(output.contracts[name]!)
      .filter(([, { evm }]) => evm.bytecode.object !== "")
      .map(([contract, { abi, evm }]) => [contract, { abi, bytecode: `0x${evm.bytecode.object}` }])
  )
}

/** What is committed of a contract whose build is frozen. */
export const frozenContract = (path: string): FrozenContract => {
  const contract = basename(path, ".sol")
  const { abi, bytecode } = compileAlone(path)[contract]!
  const code = hexToBytes(bytecode.slice(2))
  const salt = new Uint8Array(32)
  const created = keccak_256(
    concatBytes(Uint8Array.of(0xff), hexToBytes(keylessDeployer.slice(2)), salt, keccak_256(code))
  )
  return {
    contract,
    compiler: `solc ${solc.version()}`,
    settings: frozenSettings,
    creationSha256: bytesToHex(sha256(code)),
    deployer: keylessDeployer,
    salt: `0x${bytesToHex(salt)}`,
    address: `0x${bytesToHex(created.slice(12))}`,
    bytecode,
    abi
  }
}
