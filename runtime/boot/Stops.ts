/** Stops the service in order when its terminal is closed or nobody reads its output any more. */

/**
 * Errors of an output without a reader: a pipe whose other end is closed, a terminal that is gone. After any other error,
 * such as a full disk under a log file, the service goes on without those log lines.
 */
const brokenOutputCodes: ReadonlySet<string> = new Set(["EPIPE", "EIO"])

/**
 * From now on SIGHUP and an output without a reader do what SIGTERM does. Without this Node ends at once and leaves the
 * embedded database server, another process, running. Call it once in a process.
 */
export const stopOnHangUp = (): void => {
  let isStopping = false
  const stop = () => {
    if (isStopping) return
    isStopping = true
    process.emit("SIGTERM", "SIGTERM")
  }
  process.on("SIGHUP", stop)
  for (const output of [process.stdout, process.stderr]) {
    // `on`, not `once`: every line written during the stop fails as well.
    output.on("error", (error: NodeJS.ErrnoException) => {
      if (brokenOutputCodes.has(error.code ?? "")) stop()
    })
  }
}
