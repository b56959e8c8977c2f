/**
 * Goal: who says where money is received compares addresses first, and cannot give away a key by mistake.
 * Method: the service as it is started, its pages asked for without the script; its output is searched for secrets.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { HDKey } from "viem/accounts"
import { openDashboard } from "./DashboardVisits.ts"

/** An account's public key that nobody else here has. */
const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(7)).derive("m/44'/60'/0'").publicExtendedKey

const phrase = "legal winner thank year wave sausage worth useful legal winner thank yellow"

it.live("a receiving wallet is set, compared address by address, and removed", () =>
  Effect.gen(function*() {
    const { joinAs, see, send, signIn } = yield* openDashboard()
    const owner = yield* signIn()
    const viewer = yield* joinAs(owner, "viewer")
    const set = (who: string, value: string) =>
      send(who, "/wallets", { action: "set", family: "evm", kind: "xpub", value, start_index: "" })
    assert.strictEqual((yield* set(viewer, xpub)).status, 403)
    assert.notInclude((yield* see(viewer, "/wallets")).text, "name=\"value\"")
    const wrong = yield* set(owner, "not a wallet")
    assert.strictEqual(wrong.status, 400)
    assert.notInclude(wrong.text, "not a wallet", "what was typed may be a secret of a form that nobody knows")
    const made = yield* set(owner, xpub)
    assert.strictEqual(made.status, 303, made.text)
    const { text } = yield* see(owner, "/wallets?notice=wallet_set")
    assert.strictEqual(text.match(/<input type="checkbox"><span class="mono wrap">0x[0-9a-fA-F]{40}</g)?.length, 3)
    for (const fact of ["Next address", "Compare its addresses"]) assert.include(text, fact)
    const removed = yield* send(owner, "/wallets", { action: "remove", family: "evm" })
    assert.strictEqual(removed.status, 303, removed.text)
    assert.include((yield* see(owner, "/wallets")).text, "No receiving wallet yet")
  }).pipe(Effect.scoped))

it.live(
  "a private key or a recovery phrase goes no further than the form, and is shown and logged nowhere",
  () =>
    Effect.gen(function*() {
      const { see, send, service, signIn } = yield* openDashboard()
      const owner = yield* signIn()
      assert.match((yield* see(owner, "/wallets")).text, /<input name="value" required [^>]*pattern="[^"]+"/)
      const key = `0x${"5f3a".repeat(16)}`
      for (const secret of [phrase, key]) {
        service.guard(secret)
        const fields = { action: "set", family: "evm", kind: "xpub", value: secret, start_index: "" }
        const refused = yield* send(owner, "/wallets", fields)
        assert.strictEqual(refused.status, 400)
        assert.notInclude(refused.text, secret)
        assert.include(refused.text, "private key or a recovery phrase")
      }
    }).pipe(Effect.scoped)
)
