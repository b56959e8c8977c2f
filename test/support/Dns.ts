/** A name server on this machine: answers A, AAAA and TXT questions from a table that a test changes as it goes. */
import { Effect, type Scope } from "effect"
import { createSocket } from "node:dgram"
import { isIPv6 } from "node:net"

export interface Dns {
  /** `address:port`. */
  readonly server: string
  /**
   * The addresses of a name from now on, `SERVFAIL`, or null: no answer at all. With several lists each question for
   * IPv4 addresses takes the next one, and the last for good. A name never set does not exist.
   */
  readonly set: (name: string, ...answers: ReadonlyArray<ReadonlyArray<string> | "SERVFAIL" | null>) => void
  /** The TXT records of a name from now on, each of one string; null: no answer at all. */
  readonly setTexts: (name: string, texts: ReadonlyArray<string> | null) => void
  /** IPv4 questions so far for a name. */
  readonly asked: (name: string) => number
}

const bytesOf = (address: string): Buffer => {
  if (!isIPv6(address)) return Buffer.from(address.split(".").map(Number))
  const [head = "", tail] = address.split("::")
  const groups = (text: string) => text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16))
  const [left, right] = [groups(head), groups(tail ?? "")]
  const all = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right]
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 255]))
}

/** Types of questions, and codes of answers (RFC 1035, RFC 3596). */
const [typeA, typeText, typeAaaa] = [1, 16, 28]
const [noError, serverFailure, noSuchName] = [0, 2, 3]

export const makeDns: Effect.Effect<Dns, never, Scope.Scope> = Effect.gen(function*() {
  const names = new Map<string, ReadonlyArray<ReadonlyArray<string> | "SERVFAIL" | null>>()
  const asked = new Map<string, number>()
  const texts = new Map<string, ReadonlyArray<string> | null>()
  const socket = yield* Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createSocket>>((resume) => {
      const made = createSocket("udp4")
      made.bind(0, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (made) => Effect.callback<void>((resume) => void made.close(() => resume(Effect.void)))
  )
  socket.on("message", (question, from) => {
    const labels: Array<string> = []
    let at = 12
    while (question[at] !== 0) {
      labels.push(question.toString("latin1", at + 1, at + 1 + question[at]!))
      at += question[at]! + 1
    }
    const name = labels.join(".").toLowerCase()
    const type = question.readUInt16BE(at + 1)
    const number = asked.get(name) ?? 0
    if (type === typeA) asked.set(name, number + 1)
    if (type === typeText && texts.get(name) === null) return
    const lists = type === typeText && texts.has(name) ? [[]] : names.get(name)
    const list = lists?.[Math.min(type === typeA ? number : Math.max(0, number - 1), lists.length - 1)]
    if (list === null) return
    const found = Array.isArray(list) ? list.filter((address) => isIPv6(address) === (type === typeAaaa)) : []
    const header = Buffer.alloc(12)
    question.copy(header, 0, 0, 2)
    header.writeUInt16BE(0x8180 | (lists === undefined ? noSuchName : list === "SERVFAIL" ? serverFailure : noError), 2)
    header.writeUInt16BE(1, 4)
    const data = type === typeText
      ? (texts.get(name) ?? []).map((text) => Buffer.concat([Buffer.from([text.length]), Buffer.from(text, "latin1")]))
      : found.map(bytesOf)
    header.writeUInt16BE(data.length, 6)
    const answers = data.map((bytes) => {
      const record = Buffer.alloc(12)
      record.writeUInt16BE(0xc00c, 0)
      record.writeUInt16BE(type, 2)
      record.writeUInt16BE(1, 4)
      record.writeUInt16BE(bytes.length, 10)
      return Buffer.concat([record, bytes])
    })
    socket.send(Buffer.concat([header, question.subarray(12, at + 5), ...answers]), from.port, from.address)
  })
  return {
    server: `127.0.0.1:${socket.address().port}`,
    set: (name, ...answers) => {
      names.set(name, answers)
      asked.delete(name)
    },
    setTexts: (name, list) => void texts.set(name, list),
    asked: (name) => asked.get(name) ?? 0
  }
})
