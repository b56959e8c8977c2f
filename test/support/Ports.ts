/** Ports for programs that a test starts and that must be told theirs. */
import { Effect } from "effect"
import { createServer } from "node:net"

/**
 * Below what systems give to a connection that asks for any port (32768 on Linux, 49152 elsewhere): nobody gets one of
 * these by chance between the look at it and the program's start, nor while a service that it belongs to is down. Above
 * the last one that browsers refuse (10080; WHATWG Fetch, "bad port").
 */
const lowest = 10_240
const share = 2_600
const shares = 8

/** Each worker of a run has a share of its own, and runs at the same time most likely begin at different places. */
const first = lowest + (Number(process.env["VITEST_POOL_ID"] ?? 0) % shares) * share
let given = process.pid

/** A port that nobody listens on, and that this process has not given before its share is used up. */
export const freePort: Effect.Effect<number> = Effect.callback((resume) => {
  const look = () => {
    const port = first + given++ % share
    const server = createServer()
    server.once("error", (error: NodeJS.ErrnoException) => error.code === "EADDRINUSE" ? look() : resume(Effect.die(error)))
    server.listen(port, "127.0.0.1", () => server.close(() => resume(Effect.succeed(port))))
  }
  look()
})
