/** Goal: what is wrong with a file that is named as a backup is said as what it is. */
import { assert, describe, it } from "@effect/vitest"
import { generateX25519Identity } from "age-encryption"
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { readArchive } from "../../../runtime/backup/Archive.ts"
import { temporaryDirectory } from "../../support/Service.ts"

const messageOf = (path: string, identity: string) =>
  Effect.promise(() => readArchive(path, [identity]).next().then(() => "read", (cause: Error) => cause.message))

describe("a backup that is read", () => {
  it.live("is told from a file that is not there, and from one that is no backup", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryDirectory
      const identity = yield* Effect.promise(() => generateX25519Identity())
      const missing = yield* messageOf(join(folder, "none.backup"), identity)
      assert.match(missing, /none\.backup cannot be read: ENOENT/)
      assert.notMatch(missing, /cut or changed/)
      writeFileSync(join(folder, "text.backup"), "some text")
      assert.match(yield* messageOf(join(folder, "text.backup"), identity), /is no backup/)
    }).pipe(Effect.scoped))
})
