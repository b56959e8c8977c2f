/**
 * Goal: who asks for much and reads little takes neither the service's memory nor anybody's time. Method: 40 raw
 * connections that ask for the largest document 400 times each at once and read next to nothing, against a running
 * service; its memory is the system's figure.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { connect, type Socket } from "node:net"
import { generousLimits } from "../../support/Limits.ts"
import { cpuMicros, residentMegabytes } from "../../support/Process.ts"
import { until } from "../../support/Service.ts"
import { AttackedService, attackedService } from "./AttackedService.ts"

const readers = 40
const asked = 400

/** Megabytes that the readers may cost beyond what the service has anyway; without the limits they cost over 1,000. */
const allowedMegabytes = 150

/**
 * Seconds of the service's own processor time that the readers may cost until health has answered and five seconds are
 * over: enough to read their 16,000 requests once. Unlike a wait it is the same on a busy machine; without the limits a
 * probe waited for 56 s, because the loop was busy making answers.
 */
const allowedCpuSeconds = 5

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

layer(attackedService(generousLimits, undefined, true), { excludeTestServices: true })(
  "slow readers",
  (it) => {
    it.effect("of pipelined documents cost no memory worth mentioning, and health answers at once", () =>
      Effect.gen(function*() {
        const { service } = yield* AttackedService
        for (const encoding of ["identity", "gzip", "br"]) {
          // On a busy machine what the readers before asked for keeps it from an answer in time.
          const warm = service.call("/openapi.json", { headers: { "accept-encoding": encoding } })
          yield* until("the document is made", warm, ({ status }) => status === 200)
          const before = residentMegabytes(service.pid)
          const request = `GET /openapi.json HTTP/1.1\r\nhost: x\r\naccept-encoding: ${encoding}\r\n\r\n`.repeat(asked)
          const cpuBefore = cpuMicros(service.pid)
          let most = 0
          yield* Effect.scoped(Effect.gen(function*() {
            yield* slowReaders(service.url, readers, request)
            const end = performance.now() + 5_000
            while (performance.now() < end) {
              assert.strictEqual((yield* service.call("/health/live")).status, 200)
              most = Math.max(most, residentMegabytes(service.pid))
              yield* Effect.sleep(100)
            }
          }))
          assert.isBelow((cpuMicros(service.pid) - cpuBefore) / 1_000_000, allowedCpuSeconds, encoding)
          assert.isBelow(most - before, allowedMegabytes, encoding)
        }
      }))
  }
)
