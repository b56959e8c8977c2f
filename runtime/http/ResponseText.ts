/** Answers of servers that this one calls: their bodies are read up to a limit, whatever length they say they have. */
import { Effect, Stream } from "effect"
import type { HttpClientError, HttpClientResponse } from "effect/http"

/** The body. Reading stops where it has more than `maximumBytes`: then it fails with `tooLarge`. */
export const readBytes = <E>(
  response: HttpClientResponse.HttpClientResponse,
  maximumBytes: number,
  tooLarge: () => E
): Effect.Effect<Buffer, E | HttpClientError.HttpClientError> =>
  response.stream.pipe(
    Stream.runFoldEffect(
      () => ({ chunks: [] as Array<Uint8Array>, bytes: 0 }),
      ({ bytes, chunks }, chunk) =>
        bytes + chunk.length > maximumBytes
          ? Effect.fail(tooLarge())
          : Effect.sync(() => {
            chunks.push(chunk)
            return { chunks, bytes: bytes + chunk.length }
          })
    ),
    Effect.map(({ chunks }) => Buffer.concat(chunks))
  )

/** The body as UTF-8 text, within the limit of {@link readBytes}. */
export const readText = <E>(
  response: HttpClientResponse.HttpClientResponse,
  maximumBytes: number,
  tooLarge: () => E
): Effect.Effect<string, E | HttpClientError.HttpClientError> =>
  Effect.map(readBytes(response, maximumBytes, tooLarge), (bytes) => bytes.toString("utf8"))
