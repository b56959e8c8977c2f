/** What ends the service in order besides SIGINT and SIGTERM: its terminal was closed, or nobody reads its output any more. */

/**
 * Errors of an output that has no reader any more: a pipe whose other end is closed, a terminal that is gone. Any other
 * one, as a full disk under a log file, costs log lines and must not cost the service.
 */
const readerGone: ReadonlySet<string> = new Set(["EPIPE", "EIO"])

/**
 * From now on SIGHUP and an output without a reader do what SIGTERM does. Without this Node ends at once, and the
 * embedded database server, a process of its own, is left behind. Call it once for a process.
 */
export const stopOnHangUp = (): void => {
  let isAsked = false
  const stop = () => {
    if (isAsked) return
    isAsked = true
    process.emit("SIGTERM", "SIGTERM")
  }
  process.on("SIGHUP", stop)
  for (const output of [process.stdout, process.stderr]) {
    // It stays: every line written during the stop fails as well.
    output.on("error", (error: NodeJS.ErrnoException) => {
      if (readerGone.has(error.code ?? "")) stop()
    })
  }
}
