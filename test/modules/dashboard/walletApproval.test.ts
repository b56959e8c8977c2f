/** Goal: nobody approves another receiving wallet without having ticked each of its addresses. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { en } from "../../../modules/dashboard/pages/texts/en.ts"
import { wallets } from "../../../modules/dashboard/pages/Wallets.ts"

/** What the page calls for a form, and what it answers. */
const approve = (form: Readonly<Record<string, string>>, payee: string | null = null) => {
  const calls: Array<string> = []
  const visit = {
    texts: en,
    api: {
      get: () =>
        Effect.succeed({
          wallets: [],
          pending_wallets: [{ first_addresses: ["0x1", "0x2", "0x3"], payee, pending_change: { id: "chg_1" } }]
        }),
      send: (_method: string, path: string) => Effect.sync(() => void calls.push(path))
    }
  } as never
  const sent = new URLSearchParams({ action: "approve", family: "evm", change: "chg_1", ...form })
  const result = Effect.runSync(Effect.result(wallets.actions!["approve"]!(visit, sent)))
  return { calls, said: result._tag === "Failure" ? result.failure.message : null }
}

it("an approval needs a tick for each address that the wallet has, whatever the form says of their number", () => {
  const all = { matches_0: "on", matches_1: "on", matches_2: "on" }
  assert.deepStrictEqual(approve(all), { calls: ["/api/v1/merchant/wallets/evm/changes/chg_1/approve"], said: null })
  for (
    const form of [{}, { addresses: "0" }, { addresses: "x" }, { addresses: "1e9" }, {
      matches_0: "on",
      matches_1: "on"
    }]
  ) {
    assert.deepStrictEqual(approve(form), { calls: [], said: en.faults.compareFirst }, JSON.stringify(form))
  }
})

it("an approval of a forwarder needs a tick for its payee, which is what the owner's wallet has", () => {
  assert.strictEqual(approve({}, "0x4").said, en.faults.compareFirst)
  assert.isNull(approve({ matches_0: "on" }, "0x4").said)
})
