/**
 * Merchants' receivers in a process of their own, over https: each path behaves as its first part says, and everything
 * that arrived is kept for whoever asks. Signatures are verified on arrival, by `standardwebhooks`, which is not ours.
 */
import { Effect, type Scope } from "effect"
import { createHash, createHmac } from "node:crypto"
import { readFileSync } from "node:fs"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import { Webhook } from "standardwebhooks"
import { answerQuestions, say, serveRole, specification } from "./Process.ts"

/** How a path answers; `dead` does not: nobody listens there. */
export const receiverKinds = [
  "healthy",
  "slow",
  "flaky",
  "dead",
  "redirecting",
  "resetting",
  "tarpit",
  "huge",
  "failing",
  "gone"
] as const
export type ReceiverKind = typeof receiverKinds[number]

/** One request to a receiver. Times are milliseconds of the epoch, with their fraction. */
export interface ReceivedDelivery {
  readonly path: string
  readonly eventId: string
  readonly deliveryId: string
  readonly attempt: number
  /** Lower-case hex of the SHA-256 of the body. */
  readonly hash: string
  /** What is wrong with its signatures or their age; empty when nothing is. */
  readonly objection: string
  readonly startedAt: number
  /** When the answer began, before which its sender knows nothing of it; null for one that gets none. */
  answeredAt: number | null
  /** When the answer or the connection was seen to be over, which a busy machine sees late; null while it lasts. */
  endedAt: number | null
  /** The status answered; null when the peer went away before, or was cut off. */
  status: number | null
}

/** What the receivers have seen. */
export interface ReceiverRecords {
  readonly arrivals: ReadonlyArray<ReceivedDelivery>
  /** The body of each event, as it arrived first. */
  readonly bodies: ReadonlyMap<string, string>
  /** Requests that followed a redirect: there must be none. */
  readonly followed: number
}

export interface ReceiversSpec {
  /** How long a `slow` one takes to answer. */
  readonly slowMillis: number
}

type Question =
  | { readonly ask: "trust"; readonly path: string; readonly secret: string }
  | { readonly ask: "seen" }

export interface Receivers {
  /** `host:port`, as `webhooks.devnetReceivers` takes it: where they listen, and where nobody does. */
  readonly hosts: ReadonlyArray<string>
  readonly url: (kind: ReceiverKind, n: number) => string
  /** Tells the secret that what arrives at a path is signed with. */
  readonly trust: (path: string, secret: string) => Effect.Effect<void>
  readonly seen: Effect.Effect<ReceiverRecords>
}

/** Beyond what a sender reads of an answer. */
const hugeBytes = 4 * 1024 * 1024

/** A signature is made for its attempt: older than this at its arrival, it was not. */
const freshMillis = 5_000

/** How often a delivery fails at a `flaky` one, and how many do: few enough for no breaker to open. */
const flakyFailures = 2
const flakyShare = 1 / 4

const now = () => performance.timeOrigin + performance.now()

const objectionTo = (secret: string | undefined, headers: Readonly<Record<string, string>>, body: string): string => {
  if (secret === undefined) return "nobody told its secret"
  try {
    new Webhook(secret).verify(body, headers)
  } catch (cause) {
    return String(cause)
  }
  const millis = headers["x-service-timestamp"]
  const hex = createHmac("sha256", secret).update(`${millis}.`).update(body).digest("hex")
  if (hex !== headers["x-service-signature"]) return "X-Service-Signature is wrong"
  const age = now() - Number(millis)
  return age > freshMillis ? `signed ${age.toFixed(0)} ms ago` : ""
}

const listen = ({ slowMillis }: ReceiversSpec) => {
  const arrivals: Array<ReceivedDelivery> = []
  const bodies = new Map<string, string>()
  const secrets = new Map<string, string>()
  const failures = new Map<string, number>()
  let followed = 0

  const answer = (kind: string, arrival: ReceivedDelivery, response: ServerResponse): void => {
    const { deliveryId } = arrival
    const say = (status: number, headers = {}, body: Buffer | string = "") => {
      arrival.answeredAt = now()
      response.writeHead(status, headers).end(body)
    }
    switch (kind) {
      case "slow":
        setTimeout(() => say(200), slowMillis)
        return
      case "redirecting":
        return say(302, { location: "/followed/0" })
      case "resetting":
        arrival.answeredAt = now()
        return void response.socket?.destroy()
      case "tarpit":
        return
      case "huge":
        return say(200, {}, Buffer.alloc(hugeBytes, "x"))
      case "flaky": {
        const unlucky = Number.parseInt(deliveryId.slice(-2), 16) < 256 * flakyShare
        const failed = failures.get(deliveryId) ?? 0
        failures.set(deliveryId, failed + 1)
        return say(unlucky && failed < flakyFailures ? 503 : 200)
      }
      case "failing":
        return say(500)
      case "gone":
        return say(410)
      default:
        return say(200)
    }
  }

  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const startedAt = now()
    const chunks: Array<Buffer> = []
    request.on("error", () => undefined)
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const path = request.url!
      const [, kind = ""] = path.split("/")
      if (kind === "followed") followed++
      const headers = request.headers as Record<string, string>
      const bytes = Buffer.concat(chunks)
      const body = bytes.toString("utf8")
      const arrival: ReceivedDelivery = {
        path,
        eventId: headers["webhook-id"]!,
        deliveryId: headers["x-service-delivery-id"]!,
        attempt: Number(headers["x-service-attempt"]),
        hash: createHash("sha256").update(bytes).digest("hex"),
        objection: objectionTo(secrets.get(path), headers, body),
        startedAt,
        answeredAt: null,
        endedAt: null,
        status: null
      }
      arrivals.push(arrival)
      if (!bodies.has(arrival.eventId)) bodies.set(arrival.eventId, body)
      response.once("finish", () => {
        arrival.status = response.statusCode
      })
      response.once("close", () => {
        arrival.endedAt = now()
      })
      answer(kind, arrival, response)
    })
  }

  answerQuestions<Question>((question) => {
    switch (question.ask) {
      case "trust":
        secrets.set(question.path, question.secret)
        return {}
      case "seen":
        return { arrivals, bodies, followed } satisfies ReceiverRecords
    }
  })
  const pem = (name: string) => readFileSync(new URL(`tls/${name}.pem`, import.meta.url))
  const nobody = createServer()
  nobody.listen(0, "127.0.0.1", () => {
    const dead = (nobody.address() as AddressInfo).port
    nobody.close()
    const server = createServer({ key: pem("key"), cert: pem("cert") }, serve)
    server.listen(0, "127.0.0.1", () => say({ port: (server.address() as AddressInfo).port, dead }))
  })
}

/** Starts the receivers. */
export const makeReceivers = (spec: ReceiversSpec): Effect.Effect<Receivers, never, Scope.Scope> =>
  Effect.map(
    serveRole<{ readonly port: number; readonly dead: number }>(new URL(import.meta.url), spec),
    ({ ask, said: { dead, port } }) => ({
      hosts: [`localhost:${port}`, `localhost:${dead}`],
      url: (kind, n) => `https://localhost:${kind === "dead" ? dead : port}/${kind}/${n}`,
      trust: (path, secret) => Effect.asVoid(ask({ ask: "trust", path, secret } satisfies Question)),
      seen: ask<ReceiverRecords>({ ask: "seen" } satisfies Question)
    })
  )

if (import.meta.main) listen(specification<ReceiversSpec>())
