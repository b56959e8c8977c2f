// @effect-diagnostics missingLayerContext:off
/**
 * Goal: a plugin cannot ask for a service the runtime does not promise; the compiler says so, not the first request.
 * Method: plugins that ask for a foreign service stand under `@ts-expect-error`; `npm run check` fails if one compiles.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { Commit } from "../../runtime/Commit.ts"
import * as Plugin from "../../runtime/Plugin.ts"

class Foreign extends Context.Service<Foreign, { readonly value: number }>()("test/Foreign") {}
class Offered extends Context.Service<Offered, { readonly value: number }>()("test/Offered") {}

const asksForeign = Layer.effectDiscard(Effect.asVoid(Foreign))
const asksKernel = Layer.effectDiscard(Effect.asVoid(Commit))
const asksOffered = Layer.effectDiscard(Effect.asVoid(Offered))

describe("Plugin.make", () => {
  it("refuses a layer that asks for a service outside the kernel", () => {
    Plugin.make({
      name: "a",
      slot: "modules",
      // @ts-expect-error Foreign is not in the kernel
      layer: () => asksForeign
    })
    Plugin.make({
      name: "b",
      slot: "modules",
      needs: {},
      // @ts-expect-error Foreign is not in the kernel, empty needs or none
      layer: () => asksForeign
    })
    Plugin.make({
      name: "c",
      slot: "modules",
      options: Schema.Struct({ url: Schema.String }),
      needs: { offering: Offered },
      // @ts-expect-error Foreign is not in the kernel nor needed
      layer: () => asksForeign
    })
    Plugin.make({
      name: "d",
      slot: "modules",
      // @ts-expect-error Offered is not named in needs
      layer: () => asksOffered
    })
  })

  it("takes what the kernel has and what is needed, and types the options", () => {
    const plugin = Plugin.make({
      name: "e",
      slot: "modules",
      options: Schema.Struct({ count: Schema.Int }),
      needs: { offering: Offered },
      layer: (options) => {
        const count: number = options.count
        return Layer.mergeAll(asksKernel, asksOffered, Layer.effectDiscard(Effect.succeed(count)))
      }
    })
    assert.strictEqual(plugin.name, "e")
  })

  it("offers the service its layer provides", () => {
    const plugin = Plugin.make({ name: "f", slot: "modules", layer: () => Layer.succeed(Offered, { value: 1 }) })
    assert.strictEqual(plugin.slot, "modules")
  })
})
