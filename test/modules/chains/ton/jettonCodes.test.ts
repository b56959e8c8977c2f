/**
 * Goal: the jetton that the tests of TON pay with is the one whose sources lie beside it. Method: it is compiled anew;
 * WRITE_CODES=1 stores what comes of it.
 */
import { assert, it } from "@effect/vitest"
import { compileFunc } from "@ton-community/func-js"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const folder = join(import.meta.dirname, "../../../support/ton")
const file = join(folder, "jettonCodes.json")

it("the jetton's code is what its sources compile to", async () => {
  const codes: Record<string, string> = {}
  for (const name of ["jettonMaster.fc", "jettonWallet.fc"]) {
    const sources = (path: string) => readFileSync(join(folder, path), "utf8")
    const result = await compileFunc({ targets: [name], sources })
    if (result.status === "error") throw new Error(result.message)
    codes[name] = result.codeBoc
  }
  if (process.env["WRITE_CODES"] !== undefined) writeFileSync(file, `${JSON.stringify(codes, null, 2)}\n`)
  assert.deepStrictEqual(JSON.parse(readFileSync(file, "utf8")), codes)
})
