/** Goal: no entry of a chain can be changed, left out or moved without showing it. Method: every such change, tried. */
import { assert, describe, it } from "@effect/vitest"
import { type AuditEntry, auditEntryObject } from "../../../modules/audit/rules.ts"
import { type ChainEnd, chainEntries as chainWith, emptyChain } from "../../../modules/audit/rules/Chain.ts"
import { canonicalJson, sha256 } from "../../../runtime/http/CanonicalJson.ts"
import { brokenPlace } from "./AuditChain.ts"

const entryOf = (number: number): AuditEntry => ({
  id: `aud_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a${number + 10}`,
  merchantId: 7,
  environment: number % 2 === 0 ? "devnet" : "mainnet",
  actor: "service:desk",
  action: "exception.resolve",
  subject: { object: "exception", id: `exc_${number}` },
  before: { status: "open", amount: number },
  after: { status: "resolved", note: "ä \"quoted\"\n", invoice_id: null },
  requestId: number === 1 ? null : `req_${number}`,
  createdAt: 1_766_320_496 + number
})

const chainEntries = (end: ChainEnd, from: ReadonlyArray<AuditEntry>) =>
  chainWith(end, from, (fields) => sha256(canonicalJson(fields)))

const wire = (links: ReturnType<typeof chainEntries>) => links.map(({ entry, link }) => auditEntryObject(entry, link))

const entries = Array.from({ length: 9 }, (_, number) => entryOf(number))
const whole = wire(chainEntries(emptyChain, entries))

describe("a chain of audit entries", () => {
  it("is whole as it was written, also where it was written in parts", () => {
    assert.isNull(brokenPlace(whole))
    for (let size = 0; size <= entries.length; size++) {
      const first = chainEntries(emptyChain, entries.slice(0, size))
      const rest = chainEntries(first.at(-1)?.link ?? emptyChain, entries.slice(size))
      assert.deepStrictEqual(wire([...first, ...rest]), whole)
    }
  })

  it("shows where an entry was changed, left out, or moved", () => {
    for (const [index, entry] of whole.entries()) {
      for (const key of Object.keys(entry)) {
        const changed = whole.with(index, { ...entry, [key]: "changed" })
        assert.strictEqual(brokenPlace(changed), index + 1, key)
      }
      if (index < whole.length - 1) {
        assert.strictEqual(brokenPlace(whole.toSpliced(index, 1)), index + 1)
        assert.strictEqual(brokenPlace(whole.toSpliced(index, 2, whole[index + 1]!, entry)), index + 1)
      }
    }
  })

  it("says of an entry that is not chained yet that it has no place", () => {
    assert.include(auditEntryObject(entryOf(1), null), { place: null, previous_hash: null, hash: null })
  })
})
