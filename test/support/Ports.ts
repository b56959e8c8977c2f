/** Ports for programs that a test starts and that must be told theirs. */
import { Effect } from "effect"
import { createSocket } from "node:dgram"
import { createServer } from "node:net"

/**
 * Below what systems give to a connection that asks for any port (32768 on Linux, 49152 elsewhere): nobody gets one of
 * these by chance between the look at it and the program's start, nor while the program is down. Above the last one
 * that browsers refuse (10080; WHATWG Fetch, "bad port").
 */
const lowest = 10_240
const beyond = 32_768

let given = lowest + Math.floor(Math.random() * (beyond - lowest))

/**
 * Takes the UDP port of the same number for as long as this process lives: no other process that asks here is given it.
 */
const reserve = (port: number): Effect.Effect<boolean> =>
  Effect.callback((resume) => {
    const socket = createSocket("udp4")
    socket.once("error", (error: NodeJS.ErrnoException) =>
      resume(error.code === "EADDRINUSE" ? Effect.succeed(false) : Effect.die(error)))
    socket.bind({ port, address: "127.0.0.1", exclusive: true }, () => {
      socket.unref()
      resume(Effect.succeed(true))
    })
  })

const isFree = (port: number): Effect.Effect<boolean> =>
  Effect.callback((resume) => {
    const server = createServer()
    server.once("error", (error: NodeJS.ErrnoException) =>
      resume(error.code === "EADDRINUSE" ? Effect.succeed(false) : Effect.die(error)))
    server.listen(port, "127.0.0.1", () =>
      server.close(() => resume(Effect.succeed(true))))
  })

/** A port that nobody listens on, and that nobody else is given while this process lives. */
export const freePort: Effect.Effect<number> = Effect.suspend(() => {
  const port = given
  given = given + 1 < beyond ? given + 1 : lowest
  return Effect.flatMap(
    reserve(port),
    (isOurs) => isOurs ? Effect.flatMap(isFree(port), (is) => is ? Effect.succeed(port) : freePort) : freePort
  )
})
