/** Goal: no entry of a backup, whoever made it, is written anywhere but where backups have files. */
import { assert, describe, it } from "@effect/vitest"
import { placeOf } from "../../../runtime/backup/Description.ts"

describe("an entry of a backup", () => {
  it("has a place below the server's files, or is one of the few files beside them", () => {
    assert.deepStrictEqual(placeOf("postgres/base/5/1247"), { folder: "postgres", path: "base/5/1247" })
    assert.deepStrictEqual(placeOf("postgres/pg_wal/"), { folder: "postgres", path: "pg_wal" })
    assert.deepStrictEqual(placeOf("beside/master.key"), { folder: "beside", path: "master.key" })
  })

  for (
    const name of [
      "postgres/../../etc/passwd",
      "postgres//etc/passwd",
      "postgres",
      "/etc/passwd",
      "beside/../config.json",
      "beside/restored.json",
      "beside/keys/master.key",
      "elsewhere/file",
      `postgres/${"x".repeat(300)}`,
      "postgres/a\u0000b"
    ]
  ) {
    it(`named ${JSON.stringify(name.slice(0, 40))} has none`, () => assert.isNull(placeOf(name)))
  }
})
