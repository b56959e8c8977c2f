/**
 * Goal: who asks for much and reads little takes neither the service's memory nor anybody's time.
 * Method: 40 raw connections that ask for the largest document 400 times each at once and read next to nothing, against a
 * running service; its memory is the system's figure.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { generousLimits } from "../../support/Limits.ts"
import { Target, target } from "./Target.ts"

const readers = 40
const asked = 400

/** Megabytes that the readers may cost beyond what the service has anyway; without the limits they cost over 1,000. */
const allowedMegabytes = 150

/**
 * Milliseconds that a health probe may wait on a machine that many tests share: one of them while the requests of all
 * readers are parsed, the others hardly at all. Without the limits one waited for 56 s.
 */
const longestMillis = 10_000
const usualMillis = 500

const residentMegabytes = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024

interface Reader {
  readonly socket: Socket
  closed: boolean
  text: string
}

/** Connections that send `request` and read `bytes` a second, none by default. */
const slowReaders = (url: string, count: number, request: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { hostname, port } = new URL(url)
      return Array.from({ length: count }, (): Reader => {
        const reader: Reader = { socket: connect(Number(port), hostname), closed: false, text: "" }
        reader.socket.on("error", () => {}).on("close", () => reader.closed = true).pause()
        reader.socket.write(request)
        return reader
      })
    }),
    (all) => Effect.sync(() => all.forEach(({ socket }) => socket.destroy()))
  )

layer(target(generousLimits), { excludeTestServices: true, timeout: "120 seconds" })("slow readers", (it) => {
  it.effect("of pipelined documents cost no memory worth mentioning, and health answers at once", () =>
    Effect.gen(function*() {
      const { service } = yield* Target
      for (const encoding of ["identity", "gzip", "br"]) {
        const warm = yield* service.call("/openapi.json", { headers: { "accept-encoding": encoding } })
        assert.strictEqual(warm.status, 200)
        const before = residentMegabytes(service.pid)
        const request = `GET /openapi.json HTTP/1.1\r\nhost: x\r\naccept-encoding: ${encoding}\r\n\r\n`.repeat(asked)
        const waits: Array<number> = []
        let most = 0
        yield* Effect.scoped(Effect.gen(function*() {
          yield* slowReaders(service.url, readers, request)
          const end = performance.now() + 5_000
          while (performance.now() < end) {
            const start = performance.now()
            assert.strictEqual((yield* service.call("/health/live")).status, 200)
            waits.push(performance.now() - start)
            most = Math.max(most, residentMegabytes(service.pid))
            yield* Effect.sleep(100)
          }
        }))
        waits.sort((a, b) => a - b)
        assert.isBelow(waits.at(-1)!, longestMillis, encoding)
        assert.isBelow(waits[Math.floor(waits.length / 2)]!, usualMillis, encoding)
        assert.isBelow(most - before, allowedMegabytes, encoding)
      }
    }))
})
