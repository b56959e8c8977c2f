/** Goal: what an archive has is told from what it lacks, and nothing in it is ever replaced. */
import { assert, describe, it } from "@effect/vitest"
import { generateX25519Identity, identityToRecipient } from "age-encryption"
import { Effect } from "effect"
import { mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { continuationOf, nextSegment, readArchivedName, recoveryFaultOf } from "../../../runtime/backup/Segments.ts"
import { archiveFindings, archiveSpool } from "../../../runtime/backup/WalArchive.ts"
import { spoolFolder } from "../../../runtime/store/embedded/Spool.ts"
import { temporaryDirectory } from "../../support/Service.ts"

const first = "000000010000000000000001"

describe("the segments of an archive", () => {
  it("follow each other over the end of a log", () => {
    assert.strictEqual(nextSegment(first), "000000010000000000000002")
    assert.strictEqual(nextSegment("0000000200000000000000FF"), "000000020000000100000000")
  })

  it("continue a backup up to the first that is missing, which is named", () => {
    const names = ["000000010000000000000002", "000000010000000000000003", "000000010000000000000005"]
    assert.deepEqual(continuationOf(first, names), {
      segments: names.slice(0, 2),
      missing: "000000010000000000000004"
    })
    assert.deepEqual(continuationOf(first, names.slice(0, 2)), { segments: names.slice(0, 2), missing: undefined })
    assert.deepEqual(continuationOf(first, ["000000020000000000000002", first]), { segments: [], missing: undefined })
  })

  it("are known by their names, and unfinished files are none of them", () => {
    const digest = "a".repeat(32)
    assert.deepEqual(readArchivedName(`${first}-${digest}.age`), { name: first, digest })
    assert.isUndefined(readArchivedName(`${first}-${digest}.age.unfinished`))
    assert.isUndefined(readArchivedName(`../${first}-${digest}.age`))
  })
})

describe("a recovery that did not reach its moment", () => {
  it("tells the last transaction that the archive has", () => {
    const messages = "LOG:  last completed transaction was at log time 2026-11-28 18:23:33.521394+00\n"
      + "FATAL:  recovery ended before configured recovery target was reached\n"
    assert.deepEqual(recoveryFaultOf(messages), { _tag: "Ended", lastTime: "2026-11-28T18:23:33.521394Z" })
    assert.deepEqual(
      recoveryFaultOf("FATAL:  requested recovery stop point is before consistent recovery point\n"),
      { _tag: "BeforeBackup" }
    )
    assert.isUndefined(recoveryFaultOf("FATAL:  could not access file\n"))
  })
})

describe("the spool", () => {
  it.effect("is archived once and whole, also again after a kill, and refuses other bytes of the same segment", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryDirectory
      const recipient = yield* Effect.promise(async () => identityToRecipient(await generateX25519Identity()))
      const spool = join(folder, spoolFolder)
      mkdirSync(spool)
      const series = { name: "series", directory: join(folder, "archive") }
      const archived = join(series.directory, series.name)
      const spoolAgain = (text: string) => {
        writeFileSync(join(spool, first), text)
        writeFileSync(join(spool, "archtemp.1"), "unfinished")
        return archiveSpool(folder, series, [recipient])
      }
      assert.strictEqual(yield* Effect.promise(() => spoolAgain("one")), 1)
      const [name] = readdirSync(archived)
      assert.notInclude(readdirSync(spool), first)
      // A kill after the archive had it, and one in the middle of writing the next.
      writeFileSync(join(archived, `${name}.unfinished`), "half")
      yield* Effect.promise(() => spoolAgain("one"))
      assert.notInclude(readdirSync(spool), first)
      const refused = yield* Effect.flip(Effect.tryPromise({ try: () => spoolAgain("two"), catch: String }))
      assert.include(refused, "has other bytes of")
      assert.include(readdirSync(spool), first, "what was refused stays")
    }).pipe(Effect.scoped))

  it("that waits for five times the lag degrades health by a sentence that says how much waits and why", () => {
    const options = { directory: "/archive", maximumLagSeconds: 60 }
    assert.deepEqual(archiveFindings({ files: 5, oldestMillis: 0 }, options, 300_000, null), [])
    assert.deepEqual(archiveFindings({ files: 0, oldestMillis: null }, options, 900_000, null), [])
    const [finding] = archiveFindings({ files: 6, oldestMillis: 0 }, options, 301_000, "no space left on device")
    assert.strictEqual(finding?.effect, "degraded")
    assert.include(finding?.message, "/archive since 301 s, and some 101 MB")
    assert.include(finding?.message, "no space left on device")
  })
})
