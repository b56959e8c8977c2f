import { assert, describe, it } from "@effect/vitest"
import { announcement, versionHeaders } from "../../../runtime/http/Versions.ts"
import { newestVersion, versions } from "../../../schemas/Version.ts"

describe("the headers of a version", () => {
  it("name it, and once its end is announced say since when and until when", () => {
    // 2027-01-01T00:00:00Z and 2028-02-29T12:30:00Z.
    const deprecation = { announcedAt: 1_798_761_600, sunsetAt: 1_835_440_200 }
    assert.deepStrictEqual(announcement({ version: "2026-01-15", deprecation, downgrades: {} }), {
      "x-service-version": "2026-01-15",
      deprecation: "@1798761600",
      sunset: "Tue, 29 Feb 2028 12:30:00 GMT"
    })
    assert.deepStrictEqual(announcement({ version: "2026-01-15", deprecation: null, downgrades: {} }), {
      "x-service-version": "2026-01-15"
    })
  })

  it("are known for every version, and say nothing of an end of the newest", () => {
    for (const { version } of versions) assert.strictEqual(versionHeaders(version)["x-service-version"], version)
    assert.deepStrictEqual(Object.keys(versionHeaders(newestVersion)), ["x-service-version"])
  })
})
