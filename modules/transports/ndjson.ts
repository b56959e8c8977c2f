/**
 * Delivers webhooks to files of the operator's: one line of JSON for each delivery, on disk before it counts. For an
 * audit trail, a queue that another program follows, or a merchant without a server. An endpoint's URL is
 * `ndjson://<name>`.
 */
import { Effect, Layer, Schema } from "effect"
import { isAbsolute } from "node:path"
import * as Plugin from "../../runtime/Plugin.ts"
import {
  type DeliveryRequest,
  type EndpointOwner,
  TransportFailed,
  UrlRefused,
  Webhooks
} from "../../runtime/Webhooks.ts"
import { type Append, lineOf, openLineFile } from "./ndjson/LineFile.ts"

/** Bytes of a file, at most, unless configured: 1 GiB. Past it deliveries fail until the file is moved away. */
export const defaultMaximumBytes = 1_073_741_824

const FileOptions = Schema.Struct({
  /** Implements `ndjson://`. */
  name: Schema.String.check(Schema.isPattern(/^[a-z0-9][a-z0-9-]{0,62}$/, { expected: "a-z, 0-9 and dashes" })),
  /** Absolute, in a directory that exists; of one instance alone. Made with mode 600 if absent. */
  path: Schema.String.check(Schema.makeFilter(isAbsolute, { expected: "an absolute path" })),
  /** The merchants that may use it. Absent: all. */
  merchants: Schema.optionalKey(Schema.NonEmptyArray(Schema.Int)),
  /** Default {@link defaultMaximumBytes}. */
  maximumBytes: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0)))
})

const Options = Schema.Struct({
  files: Schema.NonEmptyArray(FileOptions).check(Schema.makeFilter(
    (files) =>
      new Set(files.map(({ name }) => name)).size === files.length &&
      new Set(files.map(({ path }) => path)).size === files.length,
    { expected: "files that differ in name and path" }
  ))
})

const make = (options: typeof Options.Type) =>
  Effect.gen(function*() {
    const webhooks = yield* Webhooks
    const files = new Map<string, { readonly append: Append; readonly merchants: ReadonlyArray<number> | undefined }>(
      yield* Effect.forEach(options.files, (file) =>
        Effect.map(
          openLineFile(file.path, file.maximumBytes ?? defaultMaximumBytes),
          (append) => [`ndjson://${file.name}`, { append, merchants: file.merchants }] as const
        ))
    )

    /** The file of a URL; one that the merchant may not use is told from none by nobody. */
    const fileOf = (url: string, { merchantId }: EndpointOwner) => {
      const file = files.get(url)
      return file === undefined || file.merchants?.includes(merchantId) === false ? undefined : file
    }
    const unknown = "There is no such file here: the operator names them as ndjson://<name>"

    yield* webhooks.register({
      name: "ndjson",
      schemes: ["ndjson:"],
      check: (url, owner) =>
        Effect.suspend(() =>
          fileOf(url, owner) === undefined ? Effect.fail(new UrlRefused({ reason: unknown })) : Effect.void
        ),
      send: (request: DeliveryRequest) =>
        Effect.gen(function*() {
          const file = fileOf(request.url, request)
          if (file === undefined) {
            return yield* new TransportFailed({ reason: unknown, isOurFault: false, timedOut: false })
          }
          yield* file.append(lineOf(request)).pipe(Effect.timeoutOrElse({
            duration: request.timeoutMillis,
            orElse: () =>
              Effect.fail(
                new TransportFailed({
                  reason: `not on disk in ${request.timeoutMillis} ms`,
                  isOurFault: true,
                  timedOut: false
                })
              )
          }))
          return { status: 200, retryAfter: null, body: "" }
        })
    })
  })

export const plugin = Plugin.make({
  name: "ndjson",
  slot: "transports",
  options: Options,
  layer: (options) => Layer.effectDiscard(make(options))
})
