/**
 * Goal: what one master seals only it opens; keys of one purpose are useless for another; mainnet never starts keyless.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer, Schema } from "effect"
import { randomBytes } from "node:crypto"
import { fromMasters, layer, MasterKeys, parseMaster, type SecretLabel, Secrets } from "../../runtime/Secrets.ts"
import { Settings, SettingsSchema } from "../../runtime/Settings.ts"

const settings = (dataDirectory: string, more: Record<string, unknown>) =>
  Settings.of({
    ...Schema.decodeUnknownSync(SettingsSchema)({ environments: ["devnet"], ...more }),
    publicUrl: "http://localhost",
    dataDirectory,
    instanceId: "test"
  })

const secretsOf = (dataDirectory: string, more: Record<string, unknown> = {}) =>
  Effect.provide(
    Effect.service(Secrets),
    layer.pipe(Layer.provide(Layer.succeed(Settings, settings(dataDirectory, more)))),
    { local: true }
  )

const folder = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
const labels: ReadonlyArray<SecretLabel> = ["session", "pepper", "webhook", "jwt", "reply", "personal", "receipt"]

describe("sealed text", () => {
  it.effect.prop(
    "opens to what it was, under the same label only",
    [Schema.String],
    ([text]) =>
      Effect.gen(function*() {
        // Half of a surrogate pair is no text: UTF-8 cannot hold it.
        const plain = text.toWellFormed()
        const secrets = yield* fromMasters([Buffer.alloc(32, 7)])
        const sealed = secrets.seal("webhook", plain)
        assert.strictEqual(secrets.open("webhook", sealed), plain)
        assert.isUndefined(secrets.open("reply", sealed))
      })
  )

  it.effect("does not open when any byte was changed or cut", () =>
    Effect.gen(function*() {
      const secrets = yield* fromMasters([Buffer.alloc(32, 7)])
      const bytes = Buffer.from(secrets.seal("reply", "{\"amount\":1}"), "base64")
      for (let at = 0; at < bytes.length; at++) {
        const changed = Buffer.from(bytes)
        changed[at] = changed[at]! ^ 1
        assert.isUndefined(secrets.open("reply", changed.toString("base64")), `byte ${at}`)
        assert.isUndefined(secrets.open("reply", bytes.subarray(0, at).toString("base64")), `cut at ${at}`)
      }
    }))

  it.effect("opens under an old master as long as it is configured, and is made under the newest", () =>
    Effect.gen(function*() {
      const [old, fresh] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
      const before = yield* fromMasters([old])
      const during = yield* fromMasters([fresh, old])
      const after = yield* fromMasters([fresh])
      assert.strictEqual(during.open("reply", before.seal("reply", "x")), "x")
      assert.isUndefined(after.open("reply", before.seal("reply", "x")))
      assert.strictEqual(after.open("reply", during.seal("reply", "y")), "y")
    }))
})

describe("derived keys", () => {
  it.effect("differ by label and by master, and stay the same for ever", () =>
    Effect.gen(function*() {
      const one = yield* fromMasters([Buffer.alloc(32, 1)])
      const two = yield* fromMasters([Buffer.alloc(32, 2)])
      const keys = [one, two].flatMap((each) => labels.map((label) => each.keys(label)[0].key.export().toString("hex")))
      assert.strictEqual(new Set(keys).size, keys.length)
      // A change of the derivation would lock everybody out of what is stored.
      assert.strictEqual(keys[0], "28570ff3acbbb5108f4c115d5fd7fcd44b310a5a3150ab8427912550aad10828")
    }))

  it.effect("of two masters whose ids collide are refused", () =>
    Effect.gen(function*() {
      const first = Buffer.alloc(32, 1)
      const id = (yield* fromMasters([first])).keys("jwt")[0].id
      let other = randomBytes(32)
      while ((yield* fromMasters([other])).keys("jwt")[0].id !== id) other = randomBytes(32)
      const refused = yield* Effect.flip(fromMasters([other, first]))
      assert.include(refused.reason, "have the same key id")
    }))
})

describe("a master", () => {
  it("is 32 bytes in hex or base64", () => {
    const bytes = Buffer.alloc(32, 250)
    for (const text of [bytes.toString("hex"), bytes.toString("base64"), bytes.toString("base64url")]) {
      assert.deepStrictEqual(parseMaster(text), parseMaster(bytes.toString("hex")))
      assert.strictEqual(parseMaster(text)._tag, "Some")
    }
    for (const text of ["", "00".repeat(31), "zz".repeat(32), Buffer.alloc(33).toString("base64")]) {
      assert.strictEqual(parseMaster(text)._tag, "None", text)
    }
  })

  it.effect("is made once on devnet, for its owner's eyes only, and kept once its database is known to fit it", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const data = `${yield* folder}/till`
      const begin = Layer.build(Layer.fresh(layer).pipe(Layer.provide(Layer.succeed(Settings, settings(data, {})))))
      const [one, two] = yield* Effect.scoped(Effect.gen(function*() {
        const both = yield* Effect.all([begin, begin], { concurrency: 2 })
        assert.notInclude(yield* fs.readDirectory(data), "master.key")
        for (const context of both) yield* Context.get(context, MasterKeys).keepDraft!
        // While the service runs: a killed one leaves no second copy.
        assert.deepStrictEqual(yield* fs.readDirectory(data), ["master.key"])
        return both.map((context) => Context.get(context, Secrets))
      }))
      const later = yield* secretsOf(data)
      assert.strictEqual(two!.open("reply", one!.seal("reply", "x")), "x")
      assert.strictEqual(later.open("reply", one!.seal("reply", "x")), "x")
      assert.strictEqual((yield* fs.stat(`${data}/master.key`)).mode & 0o777, 0o600)
      assert.deepStrictEqual(yield* fs.readDirectory(data), ["master.key"])
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

  it.effect("is needed on mainnet, and told how to make when absent or unreadable", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const data = yield* folder
      const absent = yield* Effect.flip(secretsOf(data, { environments: ["mainnet"] }))
      assert.match(absent.message, /mainnet needs a master key: set secrets\.master/)
      const wrong = yield* Effect.flip(secretsOf(data, { environments: ["mainnet"], secrets: { master: ["hunter2"] } }))
      assert.match(wrong.message, /secrets\.master\[0\] is not 32 bytes/)
      assert.notInclude(wrong.message, "hunter2")
      assert.deepStrictEqual(yield* fs.readDirectory(data), [])
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))
})
