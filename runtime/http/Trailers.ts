/**
 * HTTP trailers of a streamed answer: what is only certain when its last byte is written, such as a number of rows. The
 * answer names them in its `Trailer` header. They are lost with HTTP/1.0, which has no chunks, and with HEAD.
 */
import type { Stream } from "effect"

type Body = Stream.Stream<Uint8Array, unknown>

/** Beside the stream and not in the response, because every change of a response copies it, but not its stream. */
const trailersOfBodies = new WeakMap<Body, () => Readonly<Record<string, string>>>()

/** Sends `trailers` after the body. They are read when the stream has ended well; after a failure none are sent. */
export const withTrailers = <S extends Body>(body: S, trailers: () => Readonly<Record<string, string>>): S => {
  trailersOfBodies.set(body, trailers)
  return body
}

/** The trailers of a stream that has ended. */
export const trailersOf = (body: Body): Readonly<Record<string, string>> | undefined => trailersOfBodies.get(body)?.()
