/**
 * A file that only grows by whole lines. What many ask for at once is one write and one flush to disk. Each write looks
 * first whether the file is still there: one that was moved away, as log rotation does, is made anew.
 */
import { constants } from "node:fs"
import { type FileHandle, open, stat } from "node:fs/promises"
import { Effect, Result, type Scope } from "effect"
import * as Batch from "../../../runtime/http/Batch.ts"
import { type DeliveryRequest, TransportFailed } from "../../../runtime/Webhooks.ts"

/** Appends lines and answers when they are on disk, all in one go. */
export type Append = (line: string) => Effect.Effect<void, TransportFailed>

/** One delivery as a line: `body` is the event's exact text, so that its signatures can be verified. */
export const lineOf = (request: DeliveryRequest): string =>
  JSON.stringify({
    delivery_id: request.deliveryId,
    event_id: request.eventId,
    attempt: request.attempt,
    headers: request.headers,
    body: request.body
  })

/** Only its owner reads and writes it: events tell who paid whom. */
const mode = 0o600

const newline = 10

/** The disk, or what stands at the path: nothing that the merchant could mend. */
const ownFault = (cause: unknown) =>
  new TransportFailed({
    reason: `the file cannot be written (${(cause as NodeJS.ErrnoException).code ?? "error"})`,
    own: true,
    timedOut: false
  })

const io = <A>(run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: ownFault })

interface Opened {
  readonly handle: FileHandle
  readonly inode: bigint
}

/**
 * Opens for appending. A line that a crash cut off gets its newline first: it stays as it is, and whole lines follow. A
 * pipe or a device is refused: only a file keeps what it was given.
 */
const openFile = (path: string): Effect.Effect<Opened, TransportFailed> =>
  Effect.gen(function*() {
    const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK
    const handle = yield* io(() => open(path, flags, mode))
    const prepare = Effect.gen(function*() {
      const { ino, size, isFile } = yield* io(() => handle.stat({ bigint: true })).pipe(
        Effect.map((found) => ({ ino: found.ino, size: Number(found.size), isFile: found.isFile() }))
      )
      if (!isFile) return yield* new TransportFailed({ reason: "the path is no file", own: true, timedOut: false })
      if (size > 0) {
        const { buffer } = yield* io(() => handle.read(Buffer.alloc(1), 0, 1, size - 1))
        if (buffer[0] !== newline) yield* io(() => handle.appendFile("\n"))
      }
      return { handle, inode: ino }
    })
    return yield* Effect.onError(prepare, () => close(handle))
  })

const close = (handle: FileHandle) => Effect.promise(() => handle.close().then(() => undefined, () => undefined))

/** Opens the file, and closes it with the scope. Fails where it cannot be written from the start. */
export const openLineFile = (path: string, maximumBytes: number): Effect.Effect<Append, TransportFailed, Scope.Scope> =>
  Effect.gen(function*() {
    let opened: Opened | undefined = yield* openFile(path)
    const forget = Effect.suspend(() => {
      const handle = opened?.handle
      opened = undefined
      return handle === undefined ? Effect.void : close(handle)
    })
    yield* Effect.addFinalizer(() => forget)

    /** The open file and its size; opened again after a fault, and where another file or none stands at the path now. */
    const current = Effect.gen(function*() {
      const found = yield* Effect.promise(() => stat(path, { bigint: true }).then((each) => each, () => undefined))
      if (opened !== undefined && found?.ino === opened.inode) return { handle: opened.handle, size: Number(found.size) }
      yield* forget
      opened = yield* openFile(path)
      const { handle } = opened
      return { handle, size: (yield* io(() => handle.stat())).size }
    })

    const write = (lines: ReadonlyArray<string>) =>
      Effect.gen(function*() {
        const { handle, size } = yield* current
        let end = size
        const fits = lines.map((line) => {
          const after = end + Buffer.byteLength(line) + 1
          if (after > maximumBytes) return false
          end = after
          return true
        })
        const text = lines.filter((_, index) => fits[index]).map((line) => `${line}\n`).join("")
        if (text !== "") {
          yield* io(() => handle.appendFile(text))
          yield* io(() => handle.datasync())
        }
        return fits.map((each): Result.Result<void, TransportFailed> =>
          each ? Result.succeed(undefined) : Result.fail(full(maximumBytes)))
      }).pipe(
        // What is on disk after a fault nobody knows: the next write opens anew and ends a line that was cut off.
        Effect.tapError(() => forget),
        Effect.uninterruptible
      )

    const ask = yield* Batch.make(1, write)
    return (line) => Effect.flatMap(ask(line), Effect.fromResult)
  })

const full = (maximumBytes: number) =>
  new TransportFailed({ reason: `the file is full: it may have ${maximumBytes} bytes`, own: false, timedOut: false })
