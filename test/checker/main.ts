/**
 * `node test/checker/main.ts --service URL --key KEY --node URL --network base --period 2026-11 --addresses FILE`: checks a
 * merchant's month by its exports and the chain (`Checker.ts`). The file has the wallet's addresses, one a line. It
 * ends with 1 where anything does not agree.
 */
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { check } from "./Checker.ts"

const { values } = parseArgs({
  options: {
    service: { type: "string", default: "http://127.0.0.1:8080" },
    key: { type: "string" },
    node: { type: "string" },
    network: { type: "string", default: "base" },
    period: { type: "string" },
    addresses: { type: "string" }
  }
})
const { addresses, key, node, period } = values
if (key === undefined || node === undefined || period === undefined || addresses === undefined) {
  console.error("--key, --node, --period and --addresses are needed; see the first lines of test/checker/main.ts")
  process.exit(2)
}
const { findings, rollForwards } = await check({
  ...values,
  key,
  node,
  period,
  addresses: readFileSync(addresses, "utf8").split(/\s+/).filter((line) => line !== "")
})
for (const { account, asset, into, opening, out } of rollForwards) {
  console.log(`${asset} of ${account}: ${opening} + ${into} - ${out} = ${opening + into - out}`)
}
findings.forEach((finding) => console.error(finding))
console.log(findings.length === 0 ? "everything agrees" : `${findings.length} do not agree`)
process.exit(findings.length === 0 ? 0 : 1)
