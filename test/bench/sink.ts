/**
 * A receiver of webhooks as a process of its own, cheap enough not to be what is measured: raw sockets, the least
 * parsing, one answer of fixed bytes. What is sent to a path that begins with `/tarpit` is never answered.
 */
import { Effect, type Scope } from "effect"
import { readFileSync } from "node:fs"
import type { AddressInfo, Socket } from "node:net"
import { createServer } from "node:tls"
import { answerQuestions, say, serveRole } from "../support/Process.ts"

/** What arrived since the last reset, tarpits apart. */
export interface ArrivedRequest {
  readonly count: number
  /** Milliseconds of the epoch, with their fraction. */
  readonly firstAt: number
  readonly lastAt: number
}

type Question =
  | { readonly ask: "reset" }
  | { readonly ask: "reached"; readonly count: number }
  | { readonly ask: "delays" }
  | { readonly ask: "tarpits" }

export interface Sink {
  readonly pid: number
  /** `host:port`, as `webhooks.devnetReceivers` takes it. */
  readonly host: string
  readonly url: (path: string) => string
  readonly reset: Effect.Effect<void>
  /** Waits until so many have arrived since the last reset. */
  readonly reached: (count: number) => Effect.Effect<ArrivedRequest>
  /** Milliseconds from each event's commit (its id holds the clock reading inside the flush) to its first byte here. */
  readonly delays: Effect.Effect<ReadonlyArray<number>>
  /** Requests that ran into a tarpit since the last reset. */
  readonly tarpits: Effect.Effect<number>
}

const now = () => performance.timeOrigin + performance.now()
const ok = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"

const listen = () => {
  let count = 0
  let firstAt = 0
  let lastAt = 0
  let tarpits = 0
  let delays: Array<number> = []
  let wanted: { readonly count: number; readonly tell: (arrived: ArrivedRequest) => void } | undefined
  const arrived = (): ArrivedRequest => ({ count, firstAt, lastAt })

  const arrive = (head: string, startedAt: number): void => {
    const committed = /^webhook-id: evt_(\d+)-/im.exec(head)?.[1]
    if (committed !== undefined) delays.push(startedAt - Number(committed))
    if (count++ === 0) firstAt = startedAt
    lastAt = now()
    if (wanted === undefined || count < wanted.count) return
    wanted.tell(arrived())
    wanted = undefined
  }

  const serve = (socket: Socket) => {
    let head = ""
    let left = -1
    let startedAt = 0
    socket.on("error", () => undefined)
    socket.on("data", (chunk) => {
      if (left < 0) {
        if (head === "") startedAt = now()
        head += chunk.toString("latin1")
        const end = head.indexOf("\r\n\r\n")
        if (end < 0) return
        left = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0) - (head.length - end - 4)
      } else left -= chunk.length
      if (left > 0) return
      if (head.startsWith("POST /tarpit")) tarpits++
      else {
        socket.write(ok)
        arrive(head, startedAt)
      }
      head = ""
      left = -1
    })
  }

  answerQuestions<Question>((question) => {
    switch (question.ask) {
      case "reset":
        count = 0
        tarpits = 0
        delays = []
        return {}
      case "reached":
        return count >= question.count
          ? arrived()
          : new Promise((tell) => {
            wanted = { count: question.count, tell }
          })
      case "delays":
        return delays
      case "tarpits":
        return { tarpits }
    }
  })

  const pem = (name: string) => readFileSync(new URL(`../support/tls/${name}.pem`, import.meta.url))
  const server = createServer({ key: pem("key"), cert: pem("cert") }, serve)
  server.listen(0, "127.0.0.1", () => say(server.address() as AddressInfo))
}

/** Starts a receiver; it speaks https with the tests' own certificate. */
export const makeSink: Effect.Effect<Sink, never, Scope.Scope> = Effect.gen(function*() {
  const { ask, pid, said } = yield* serveRole<AddressInfo>(new URL(import.meta.url), {})
  const question = <A>(what: Question) => ask<A>(what)
  const host = `localhost:${said.port}`
  return {
    pid,
    host,
    url: (path) => `https://${host}${path}`,
    reset: Effect.asVoid(question({ ask: "reset" })),
    reached: (count) => question<ArrivedRequest>({ ask: "reached", count }),
    delays: question<ReadonlyArray<number>>({ ask: "delays" }),
    tarpits: Effect.map(question<{ readonly tarpits: number }>({ ask: "tarpits" }), ({ tarpits }) => tarpits)
  }
})

if (import.meta.main) listen()
