/** A line to a test's database that can be cut or held, as by a broken network or a server that was stopped. */
import { Effect, type Scope } from "effect"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"
import { type TestDatabase, urlOf } from "./Database.ts"

/**
 * `through`: as if it was not there; `held`: takes everything, passes nothing on; `cut`: ends what is open and what
 * comes.
 */
export type ProxyMode = "through" | "held" | "cut"

export interface DatabaseProxy {
  /** Connection string of the database at the other end. */
  readonly url: string
  /** What becomes of the connections that are open and of those that come. */
  readonly set: (way: ProxyMode) => Effect.Effect<void>
}

const reach = ({ host, port }: TestDatabase): Socket =>
  host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)

/**
 * A line to `database`, open at first; it passes on everything `delayMillis` later, so a round trip takes twice that.
 */
export const makeDatabaseProxy = (
  database: TestDatabase,
  delayMillis = 0
): Effect.Effect<DatabaseProxy, never, Scope.Scope> =>
  Effect.gen(function*() {
    const ends = new Set<Socket>()
    let way: ProxyMode = "through"

    const obey = (end: Socket) => {
      if (way === "cut") end.destroy()
      else if (way === "held") end.pause()
      else end.resume()
    }

    const join = (end: Socket, other: Socket) => {
      ends.add(end)
      const pass = (bytes: Buffer) => void other.write(bytes)
      end.on("data", (bytes: Buffer) => delayMillis === 0 ? pass(bytes) : void setTimeout(pass, delayMillis, bytes))
        .on("error", () => end.destroy())
        .once("close", () => {
          ends.delete(end)
          other.destroy()
        })
      obey(end)
    }

    const server = yield* Effect.acquireRelease(
      Effect.callback<Server>((resume) => {
        const made = createServer((near) => {
          const far = reach(database)
          join(near, far)
          join(far, near)
        })
        made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
      }),
      (made) =>
        Effect.callback<void>((resume) => {
          for (const end of ends) end.destroy()
          made.close(() => resume(Effect.void))
        })
    )
    const { port } = server.address() as AddressInfo
    return {
      url: urlOf({ ...database, host: "127.0.0.1", port }, database.database),
      set: (next) =>
        Effect.sync(() => {
          way = next
          for (const end of ends) obey(end)
        })
    }
  })
