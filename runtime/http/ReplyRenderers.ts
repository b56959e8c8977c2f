/** Which module renders which kind of stored reply again. */
import { Effect, Layer } from "effect"
import { type RenderReply, ReplyRenderers } from "../Http.ts"

/** Kept in memory: modules register when they start. */
export const layer: Layer.Layer<ReplyRenderers> = Layer.sync(ReplyRenderers, () => {
  const renderers = new Map<string, RenderReply>()
  return ReplyRenderers.of({
    register: (kind, render) => Effect.sync(() => void renderers.set(kind, render)),
    render: (merchantId, reference) => {
      const [kind = ""] = reference.split(" ", 1)
      const render = renderers.get(kind)
      return render === undefined
        ? Effect.die(
          new Error(`No module makes stored replies of the kind "${kind}": is a module or a release missing?`)
        )
        : render(merchantId, reference.slice(kind.length + 1))
    }
  })
})
