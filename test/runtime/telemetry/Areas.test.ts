/** Goal: an operator hears more of one part of the service, or less, and every entry says of which part it is. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, References } from "effect"
import { existsSync } from "node:fs"
import { areaProblems } from "../../../runtime/config/Check.ts"
import { areaOfPlugin, inArea, kernelAreas } from "../../../runtime/telemetry/Areas.ts"

class Part extends Context.Service<Part, { readonly work: Effect.Effect<void> }>()("test/Part") {}

/** A part that logs while it is built, in a fiber that it starts, and in a call that others make. */
const part = Layer.effect(
  Part,
  Effect.gen(function*() {
    const logAll = (where: string) =>
      Effect.all([
        Effect.logDebug(`debug ${where}`),
        Effect.logInfo(`info ${where}`),
        Effect.logWarning(`warn ${where}`)
      ])
    yield* logAll("built")
    yield* Effect.forkScoped(logAll("forked"), { startImmediately: true })
    return { work: Effect.asVoid(logAll("called")) }
  })
)

/** What is logged by a part of this area, and by its caller, as `area message`. */
const entriesWith = (telemetry: Parameters<typeof inArea>[0], area: string) =>
  Effect.gen(function*() {
    const entries: Array<string> = []
    const logger = Logger.make(({ fiber, message }) => {
      const annotations = fiber.getRef(References.CurrentLogAnnotations)
      entries.push(`${String(annotations["area"])} ${String(message)}`)
    })
    yield* Effect.gen(function*() {
      const { work } = yield* Part
      yield* work
    }).pipe(
      Effect.provide(inArea(telemetry, area)(part)),
      Effect.provide([Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, "Info")])
    )
    return entries
  })

describe("an area", () => {
  it.effect("has a level of its own, and so has all that it starts", () =>
    Effect.gen(function*() {
      const entries = yield* entriesWith({ level: "info", levels: { webhooks: "debug" } }, "webhooks")
      assert.includeMembers(entries, ["webhooks debug built", "webhooks debug forked", "webhooks warn forked"])
      // A call is its caller's.
      assert.include(entries, "undefined info called")
      assert.notInclude(entries, "undefined debug called")
    }))

  it.effect("can be quieter than the rest", () =>
    Effect.gen(function*() {
      const entries = yield* entriesWith({ level: "info", levels: { chains: "warn" } }, "chains")
      assert.deepStrictEqual(entries.filter((entry) => entry.startsWith("chains")), [
        "chains warn built",
        "chains warn forked"
      ])
    }))

  it.effect("without a level has that of all", () =>
    Effect.gen(function*() {
      const entries = yield* entriesWith({ level: "info", levels: { chains: "debug" } }, "webhooks")
      assert.include(entries, "webhooks info built")
      assert.notInclude(entries, "webhooks debug built")
    }))

  it("of the kernel is a folder or a file of runtime/", () => {
    const root = new URL("../../../runtime/", import.meta.url).pathname
    const port = (area: string) => area[0]!.toUpperCase() + area.slice(1)
    for (const area of kernelAreas) {
      assert.isTrue(existsSync(`${root}${area}`) || existsSync(`${root}${port(area)}.ts`), area)
    }
  })

  it("of a driver is that of its port, and of a module its own name", () => {
    assert.strictEqual(areaOfPlugin({ name: "evm", slot: "chains" }), "chains")
    assert.strictEqual(areaOfPlugin({ name: "https", slot: "transports" }), "webhooks")
    assert.strictEqual(areaOfPlugin({ name: "refunds", slot: "modules" }), "refunds")
    assert.strictEqual(areaOfPlugin({ name: "settlement/direct", slot: "modules" }), "settlement")
  })

  it("that this deployment has not is a problem of its config, which names those it has", () => {
    const [problem, ...others] = areaProblems({ webhook: "debug", chains: "warn" }, [])
    assert.deepStrictEqual(others, [])
    assert.deepStrictEqual(problem?.path, ["telemetry", "levels", "webhook"])
    assert.include(problem?.message, "webhooks")
  })
})
