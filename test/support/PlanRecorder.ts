/**
 * The plans that a server really ran for a service, read off the wire: `auto_explain` sends each as a notice, with what
 * the nodes returned and read. It stands between the service and its database, so it sees every statement of every
 * connection, those inside functions included.
 */
import { Effect, type Scope } from "effect"
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"
import { Client } from "pg"
import { type TestDatabase, urlOf } from "./Database.ts"

/** A node of a plan, as `EXPLAIN (FORMAT JSON)` writes it, with the fields that tests read. */
export interface PlanNode {
  readonly "Node Type": string
  readonly "Relation Name"?: string
  readonly "Index Name"?: string
  readonly "Actual Rows"?: number
  readonly "Actual Loops"?: number
  readonly "Shared Hit Blocks"?: number
  readonly "Shared Read Blocks"?: number
  readonly "Rows Removed by Filter"?: number
  readonly "Subplan Name"?: string
  readonly Plans?: ReadonlyArray<PlanNode>
}

/** One execution of a statement. */
export interface ExecutedPlan {
  readonly text: string
  readonly plan: PlanNode
}

/** A node and all below it. */
export const nodesOf = (node: PlanNode): ReadonlyArray<PlanNode> => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

export interface PlanRecorder {
  /** Connection string for the service. */
  readonly url: string
  /** Takes what was executed since the last call. */
  readonly take: Effect.Effect<ReadonlyArray<ExecutedPlan>>
}

/** Settings of every session of the database; the one who tests is its superuser. */
const settings: Readonly<Record<string, string>> = {
  session_preload_libraries: "auto_explain",
  client_min_messages: "log",
  "auto_explain.log_min_duration": "0",
  "auto_explain.log_nested_statements": "on",
  "auto_explain.log_analyze": "on",
  "auto_explain.log_buffers": "on",
  "auto_explain.log_timing": "off",
  "auto_explain.log_format": "json",
  "auto_explain.log_parameter_max_length": "0"
}

const reach = ({ host, port }: TestDatabase): Socket =>
  host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)

/** Bytes of a message's head: its type, and its length without the type. */
const headBytes = 5

/** Gives `notice` the text of each notice in a server's messages, whatever pieces they arrive in. */
const noticeReader = (notice: (text: string) => void) => {
  let pending: Buffer = Buffer.alloc(0)
  return (bytes: Buffer): void => {
    pending = pending.length === 0 ? bytes : Buffer.concat([pending, bytes])
    let at = 0
    while (pending.length - at >= headBytes) {
      const end = at + 1 + pending.readInt32BE(at + 1)
      if (end > pending.length) break
      if (pending[at] === "N".charCodeAt(0)) {
        const fields = pending.toString("utf8", at + headBytes, end).split("\0")
        const message = fields.find((field) => field.startsWith("M"))
        if (message !== undefined) notice(message.slice(1))
      }
      at = end
    }
    pending = pending.subarray(at)
  }
}

/** Records the plans of whoever connects to `database` by the recorder's URL. */
export const makePlanRecorder = (database: TestDatabase): Effect.Effect<PlanRecorder, never, Scope.Scope> =>
  Effect.gen(function*() {
    yield* Effect.promise(async () => {
      const client = new Client({ connectionString: database.url })
      await client.connect()
      for (const [name, value] of Object.entries(settings)) {
        await client.query(`alter database ${database.database} set ${name} = '${value}'`)
      }
      await client.end()
    })
    const sockets = new Set<Socket>()
    let executed: Array<ExecutedPlan> = []
    const record = (message: string): void => {
      const json = message.indexOf("{")
      if (!message.startsWith("duration:") || json < 0) return
      const { Plan: plan, "Query Text": text } = JSON.parse(message.slice(json)) as {
        readonly "Query Text": string
        readonly Plan: PlanNode
      }
      executed.push({ text, plan })
    }
    const track = (socket: Socket, other: Socket) => {
      sockets.add(socket)
      socket.on("error", () => socket.destroy()).once("close", () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
    const server = yield* Effect.acquireRelease(
      Effect.callback<Server>((resume) => {
        const made = createServer((near) => {
          const far = reach(database)
          track(near, far)
          track(far, near)
          near.pipe(far)
          far.pipe(near)
          far.on("data", noticeReader(record))
        })
        made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
      }),
      (made) =>
        Effect.callback<void>((resume) => {
          for (const socket of sockets) socket.destroy()
          made.close(() => resume(Effect.void))
        })
    )
    const { port } = server.address() as AddressInfo
    return {
      url: urlOf({ ...database, host: "127.0.0.1", port }, database.database),
      take: Effect.sync(() => {
        const taken = executed
        executed = []
        return taken
      })
    }
  })
