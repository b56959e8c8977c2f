/** Formats of endpoints that read something else than events, by their names. */
import { Effect, type Scope } from "effect"
import type { WebhookFormat } from "../Webhooks.ts"

export interface Formats {
  readonly register: (format: WebhookFormat) => Effect.Effect<void, never, Scope.Scope>
  readonly find: (name: string) => WebhookFormat | undefined
}

export const makeFormats = (): Formats => {
  const formats = new Map<string, WebhookFormat>()
  return {
    register: (format) =>
      Effect.acquireRelease(
        Effect.sync(() => void formats.set(format.name, format)),
        () =>
          Effect.sync(() => {
            if (formats.get(format.name) === format) formats.delete(format.name)
          })
      ),
    find: (name) => formats.get(name)
  }
}
