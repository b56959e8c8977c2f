import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { crc32 as referenceCrc32 } from "node:zlib"
import { createHash } from "node:crypto"
import {
  changedKeys,
  crc32,
  formKey,
  formTaggedKey,
  hasTag,
  isUsable,
  isWellFormedKey,
  type KeyState,
  newKey,
  randomCharacters,
  revoke,
  revokeWithChildren,
  successorRequest
} from "../../../modules/auth/rules.ts"
import { KeyScope } from "../../../schemas/Auth.ts"
import { Environment } from "../../../schemas/Network.ts"

const Seed = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 247 })))
  .check(Schema.isMinLength(32), Schema.isMaxLength(64))

describe("API keys", () => {
  it.prop(
    "are well formed as made, and not after any change of one character",
    [KeyScope, Environment, Seed],
    ([scope, environment, seed]) => {
      const key = formKey(scope, environment, randomCharacters(Uint8Array.from(seed)))
      assert.isTrue(isWellFormedKey(key))
      assert.strictEqual(
        key.length,
        scope === "merchant" || scope === "commerce" ? (environment === "mainnet" ? 46 : 45) : 0
      )
      for (let at = 0; at < key.length; at++) {
        assert.isFalse(isWellFormedKey(`${key.slice(0, at)}${key[at] === "x" ? "y" : "x"}${key.slice(at + 1)}`))
      }
    }
  )

  const tagUnder = (secret: string) => (text: string) => createHash("sha256").update(`${secret} ${text}`).digest()

  it.prop(
    "prove by their tag who made them, and nobody else can make one",
    [KeyScope, Environment, Seed],
    ([scope, environment, seed]) => {
      const random = randomCharacters(Uint8Array.from(seed))
      const key = formTaggedKey(scope, environment, random, tagUnder("ours"))
      const plain = formKey(scope, environment, random)
      assert.isTrue(isWellFormedKey(key))
      assert.strictEqual(key.length, plain.length)
      assert.strictEqual(key.slice(0, -14), plain.slice(0, -14))
      assert.isTrue(hasTag(key, tagUnder("ours")))
      assert.isFalse(hasTag(key, tagUnder("theirs")))
      // Any other text with a right checksum, as whoever guesses would send it; a key from before there were tags as
      // well.
      const start = key.length - 38
      const changed = `${key[start] === "x" ? "y" : "x"}${key.slice(start + 1, start + 32)}`
      assert.isFalse(hasTag(formKey(scope, environment, changed), tagUnder("ours")))
      for (const text of ["", "x", key.slice(1), `${key}0`, key.slice(0, -1)]) {
        assert.isFalse(
          hasTag(text, tagUnder("ours")),
          text
        )
      }
    }
  )

  it("carry the standard CRC-32", () => {
    for (const text of ["", "a", "123456789", "mk_live_0123456789abcdefghijklmnopqrstuv"]) {
      assert.strictEqual(crc32(text), referenceCrc32(text))
    }
  })

  it("draw every character equally often", () => {
    const characters = randomCharacters(Uint8Array.from({ length: 256 }, (_, byte) => byte))
    assert.strictEqual(characters.length, 32)
    assert.strictEqual(randomCharacters(Uint8Array.from([248, 255, 0])), "0")
  })

  it("open nothing once revoked or expired", () => {
    const key = { status: "active", expiresAt: 100, version: 1 } as KeyState
    assert.isTrue(isUsable(key, 99))
    assert.isFalse(isUsable(key, 100))
    assert.isTrue(isUsable({ ...key, expiresAt: null }, 1e12))
    assert.isFalse(isUsable(revoke(key), 0))
    assert.strictEqual(revoke(key).version, 2)
  })

  it("are revoked alone or with the keys created with them, and only what changed is written", () => {
    const request = { merchantId: 1, name: "shop", scope: "merchant", environment: "devnet", expiresAt: 500 } as const
    const identity = { id: "key_1", key: "sk_dev_0123456789abcdef", hash: "h" }
    const key = newKey(request, identity, "2026-01-01", 100)
    assert.deepStrictEqual(key, {
      ...request,
      id: "key_1",
      prefix: "sk_dev_01234",
      last4: "cdef",
      hash: "h",
      status: "active",
      ipAllowlist: [],
      apiVersion: "2026-01-01",
      replacedBy: null,
      creatorKey: null,
      use: null,
      makerPerson: null,
      permissions: ["read", "write", "refund"],
      roleLimits: [],
      lastUsedAt: null,
      createdAt: 100,
      version: 1
    })
    assert.deepStrictEqual(successorRequest(key, "key_0", null), {
      ...request,
      ipAllowlist: [],
      creatorKey: "key_0",
      use: null,
      makerPerson: null,
      roleLimits: [],
      permissions: key.permissions
    })
    const child = { ...key, id: "key_2", creatorKey: "key_1" }
    const kept = revokeWithChildren(key, [child], "keep")
    assert.deepStrictEqual(kept, { state: revoke(key), children: [child] })
    assert.deepStrictEqual(changedKeys([key, child], [kept.state, ...kept.children]), [revoke(key)])
    const again = revokeWithChildren(kept.state, [child], "revoke")
    assert.deepStrictEqual(changedKeys([kept.state, child], [again.state, ...again.children]), [revoke(child)])
  })
})
