/**
 * Goal: a member who came by a link links a wallet on the account page, and is told when it counts for real money.
 * Method: the service as it is started, its pages asked for as a browser does; the wallet is a key of the test's own.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts"
import { type Cookies, openDashboard } from "./DashboardVisits.ts"

it.live(
  "a wallet is linked and removed on the account page, waits a day for whom it must, and is nobody else's",
  () =>
    Effect.gen(function*() {
      const { joinAs, see, send, signIn } = yield* openDashboard()
      const owner = yield* signIn()
      const admin = yield* joinAs(owner, "admin")
      const viewer = yield* joinAs(owner, "viewer")
      const mine = privateKeyToAccount(generatePrivateKey())
      const accountOf = (who: Cookies) => Effect.map(see(who, "/account", "mainnet"), ({ text }) => text)
      const asked = (who: Cookies, address: string) =>
        send(who, "/account", { action: "wallet_nonce", address, chain: "0x2105" }, "mainnet")
      const link = Effect.fnUntraced(function*(who: Cookies, account: PrivateKeyAccount, by = account) {
        const message: string = JSON.parse((yield* asked(who, account.address)).text).message
        const signature: string = yield* Effect.promise<string>(() => by.signMessage({ message }))
        // A form sends each line break as two characters.
        const sent = message.replaceAll("\n", "\r\n")
        return {
          answer: yield* send(who, "/account", { action: "link_wallet", message: sent, signature }, "mainnet"),
          message: sent,
          signature
        }
      })

      const before = yield* accountOf(admin)
      assert.include(before, "You have neither a passkey nor a wallet.")
      assert.include(before, "24 hours after it was added")
      assert.match(before, /<ul class="wallets"[^>]* hidden><\/ul>/)
      assert.include(before, "Linking a wallet needs a script")
      assert.notInclude(yield* accountOf(viewer), "24 hours after it was added", "a viewer approves nothing")

      const stranger = privateKeyToAccount(generatePrivateKey())
      assert.isAtLeast((yield* link(admin, mine, stranger)).answer.status, 400)
      assert.isAtLeast((yield* asked(admin, "nobody")).status, 400)
      const linked = yield* link(admin, mine)
      assert.strictEqual(linked.answer.status, 303, linked.answer.text)
      const after = yield* accountOf(admin)
      assert.include(after, mine.address)
      assert.include(after, "Moves no money on Live until")
      assert.notInclude(after, "You have neither")
      const { message, signature } = linked
      const again = yield* send(admin, "/account", { action: "link_wallet", message, signature }, "mainnet")
      assert.isAtLeast(again.status, 400, "a message links once")
      assert.isAtLeast((yield* link(viewer, stranger, mine)).answer.status, 400)

      // An owner may see the wallets of all, but these are not the owner's own.
      assert.notInclude(yield* accountOf(owner), mine.address)
      assert.notInclude(yield* accountOf(viewer), mine.address)
      const own = privateKeyToAccount(generatePrivateKey())
      assert.strictEqual((yield* link(owner, own)).answer.status, 303)
      const first = (yield* accountOf(owner)).split("data-nonce")[0]!
      assert.include(first, own.address)
      assert.notInclude(
        first.slice(first.indexOf(own.address)),
        "Moves no money on Live until",
        "the first owner's counts at once"
      )

      const id = /name="id" value="(siw_[^"]+)"/.exec(after)![1]!
      assert.isAtLeast((yield* send(viewer, "/account", { action: "unlink_wallet", id }, "mainnet")).status, 400)
      assert.include(yield* accountOf(admin), mine.address)
      assert.strictEqual((yield* send(admin, "/account", { action: "unlink_wallet", id }, "mainnet")).status, 303)
      assert.include(yield* accountOf(admin), "You have neither a passkey nor a wallet.")
    }).pipe(Effect.scoped)
)
