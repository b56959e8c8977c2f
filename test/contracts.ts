/**
 * `npm run contracts`: compiles the Solidity sources and writes what is committed of them. The frozen builds of
 * modules/chains/evm/contracts/ come out as they are; where they do not, another source or compiler made another
 * contract, with another address, and `test/modules/chains/evm/contracts.long.test.ts` fails.
 */
import { createHash } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { compileAlone, frozenContract } from "./support/Solidity.ts"

const root = decodeURIComponent(new URL("..", import.meta.url).pathname)

for (const name of ["Collector", "Payer"]) {
  const path = `${root}modules/chains/evm/contracts/${name}`
  const frozen = frozenContract(`${path}.sol`)
  writeFileSync(`${path}.json`, `${JSON.stringify(frozen, null, 2)}\n`)
  console.log(`${name} ${frozen.address}, SHA-256 ${frozen.creationSha256}`)
}

const fixtures = `${root}test/fixtures/contracts`
const files = ["Tokens.sol", "Receivers.sol", "Wallets.sol", "Alternatives.sol"]
const sources = Object.fromEntries(
  files.map((file) => [file, createHash("sha256").update(readFileSync(`${fixtures}/${file}`)).digest("hex")])
)
const contracts = Object.assign({}, ...files.map((file) => compileAlone(`${fixtures}/${file}`)))
writeFileSync(`${fixtures}/compiled.json`, `${JSON.stringify({ sources, contracts })}\n`)
console.log(`${Object.keys(contracts).length} contracts for tests`)
