/** Checks a chain of audit entries as an auditor would: from the answers of the API alone, with code of its own. */
import { createHash } from "node:crypto"

/** RFC 8785 for what entries hold: sorted keys, no white space, whole numbers. */
const canonical = (value: unknown): string =>
  Array.isArray(value)
    ? `[${value.map(canonical).join(",")}]`
    : typeof value === "object" && value !== null
    ? `{${
      Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join(",")
    }}`
    : JSON.stringify(value)

/** The place of the first entry that is not as it was written, oldest first; null: the chain is whole. */
export const brokenPlace = (entries: ReadonlyArray<Readonly<Record<string, unknown>>>): number | null => {
  let previous = "0".repeat(64)
  for (const [index, { hash, ...rest }] of entries.entries()) {
    const found = createHash("sha256").update(canonical(rest)).digest("hex")
    if (rest["place"] !== index + 1 || rest["previous_hash"] !== previous || hash !== found) return index + 1
    previous = found
  }
  return null
}
