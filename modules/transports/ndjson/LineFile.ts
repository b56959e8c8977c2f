/**
 * A file that only grows by whole lines. What many ask for at once is one write and one flush to disk. Each write looks
 * first whether the file is still there: one that was moved away, as log rotation does, is made anew.
 */
import { constants } from "node:fs"
import { type FileHandle, open, stat } from "node:fs/promises"
import { Effect, Result, type Scope } from "effect"
import * as Batch from "../../../runtime/http/CallBatcher.ts"
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
    isOurFault: true,
    timedOut: false
  })

const io = <A>(run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: ownFault })

interface OpenFile {
  readonly handle: FileHandle
  readonly inode: bigint
}

/**
 * Opens for appending. A line that a crash cut off gets its newline first: it stays as it is, and whole lines follow. A
 * pipe or a device is refused: only a file keeps what it was given.
 */
const openFile = (path: string): Effect.Effect<OpenFile, TransportFailed> =>
  Effect.gen(function*() {
    const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK
    const handle = yield* io(() => open(path, flags, mode))
    const prepare = Effect.gen(function*() {
      const { ino, size, isFile } = yield* io(() => handle.stat({ bigint: true })).pipe(
        Effect.map((found) => ({ ino: found.ino, size: Number(found.size), isFile: found.isFile() }))
      )
      if (!isFile) {
        return yield* new TransportFailed({ reason: "the path is no file", isOurFault: true, timedOut: false })
      }
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
    let currentFile: OpenFile | undefined = yield* openFile(path)
    const closeCurrent = Effect.suspend(() => {
      const handle = currentFile?.handle
      currentFile = undefined
      return handle === undefined ? Effect.void : close(handle)
    })
    yield* Effect.addFinalizer(() => closeCurrent)

    /**
     * The open file and its size; opened again after a fault, and where another file or none stands at the path now.
     */
    const ensureOpen = Effect.gen(function*() {
      const found = yield* Effect.promise(() => stat(path, { bigint: true }).then((each) => each, () => undefined))
      if (currentFile !== undefined && found?.ino === currentFile.inode) {
        return { handle: currentFile.handle, size: Number(found.size) }
      }
      yield* closeCurrent
      currentFile = yield* openFile(path)
      const { handle } = currentFile
      return { handle, size: (yield* io(() => handle.stat())).size }
    })

    const write = (lines: ReadonlyArray<string>) =>
      Effect.gen(function*() {
        const { handle, size } = yield* ensureOpen
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
          each ? Result.succeed(undefined) : Result.fail(fileFull(maximumBytes))
        )
      }).pipe(
        // What is on disk after a fault nobody knows: the next write opens anew and ends a line that was cut off.
        Effect.tapError(() => closeCurrent),
        Effect.uninterruptible
      )

    const appendLine = yield* Batch.make(1, write)
    return (line) => Effect.flatMap(appendLine(line), Effect.fromResult)
  })

const fileFull = (maximumBytes: number) =>
  new TransportFailed({
    reason: `the file is full: it may have ${maximumBytes} bytes`,
    isOurFault: false,
    timedOut: false
  })
