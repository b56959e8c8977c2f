/**
 * Goal: an approval by a wallet of any family is checked by anybody with nothing but what the API gives. Method:
 * wallets of other libraries sign real money away; the script of the reference checks it, and refuses every change.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { getAddress } from "viem"
import { privateKeyToAccount } from "viem/accounts"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { familyOf } from "../../../schemas/Network.ts"
import { anvil } from "../../support/Anvil.ts"
import { approvalScript } from "../../support/ApprovalScript.ts"
import { contractWalletCode, evmKeyOf } from "../../support/SignInWallets.ts"
import { answerBy, changedApprovals, type SigningKind, signingKinds } from "../../support/SigningWallets.ts"
import {
  addAccount,
  approvalService,
  approvalServiceAt,
  callOn,
  challengeOf,
  endWaits,
  newShopAt,
  openRefund,
  publicUrl
} from "./ApprovalShop.ts"

/** A refund of real money that a wallet of a kind has approved on pages of an address. */
const approvedBy = Effect.fnUntraced(function*(kind: SigningKind, service = publicUrl) {
  const { merchant, owner } = yield* newShopAt(service)
  const account = yield* addAccount(owner.session, merchant, kind, service)
  yield* endWaits
  const refund = yield* openRefund(merchant)
  const challenge = yield* challengeOf(owner, merchant, refund.id)
  const now = yield* nowSeconds
  const proof = yield* Effect.promise(() => answerBy(account, familyOf(kind.network), challenge, service, now))
  const { body, status } = yield* callOn(owner, merchant, refund.id, "/approve", { proof })
  assert.strictEqual(status, 200, JSON.stringify(body))
  const found = yield* callOn(owner, merchant, refund.id, "/approvals")
  const [approval] = (found.body as any).data.data
  assert.strictEqual(approval.signature.family, familyOf(kind.network))
  return approval
})

layer(approvalService)("the check of an approval", (it) => {
  for (const [name, kind] of Object.entries(signingKinds)) {
    it.effect(`takes one by a wallet (${name}), and refuses it with any part of it changed`, () =>
      Effect.gen(function*() {
        const approval = yield* approvedBy(kind)
        const check = yield* approvalScript
        assert.isTrue(yield* Effect.promise(() => check(approval)), approval.text)
        const passed: Array<string> = []
        for (const { approval: changed, what } of changedApprovals(approval)) {
          if (yield* Effect.promise(() => check(changed))) passed.push(what)
        }
        assert.deepStrictEqual(passed, [])
        for (const family of ["constructor", "toString", "bitcoin"]) {
          const strange = { ...approval, signature: { ...approval.signature, family } }
          assert.isFalse(yield* Effect.promise(() => check(strange)), family)
        }
      }).pipe(Effect.scoped))
  }

  it.effect("takes the word of no family for another's: each signature is of its own", () =>
    Effect.gen(function*() {
      const approvals = yield* Effect.forEach(
        ["Solana", "TON, v4r2", "Cardano, base address", "Sui, Ed25519"],
        (name) => approvedBy(signingKinds[name]!)
      )
      const check = yield* approvalScript
      for (const one of approvals) {
        for (const other of approvals.filter((each) => each !== one)) {
          const mixed = { ...one, signature: other.signature }
          assert.isFalse(yield* Effect.promise(() => check(mixed)), `${one.signature.family} ${other.signature.family}`)
        }
      }
    }).pipe(Effect.scoped))
})

layer(approvalServiceAt("http://127.0.0.1:8080"))("a service of its own machine", (it) => {
  for (const [name, kind] of Object.entries(signingKinds)) {
    it.effect(`has one name, in the text and for the wallet that signs it (${name})`, () =>
      Effect.gen(function*() {
        const approval = yield* approvedBy(kind, "http://localhost:8080")
        assert.include(approval.text, "\nService: http://localhost:8080\n")
        const check = yield* approvalScript
        assert.isTrue(yield* Effect.promise(() => check(approval)), approval.text)
      }).pipe(Effect.scoped))
  }
})

layer(approvalService, { excludeTestServices: true })("an account that is a contract", (it) => {
  it.effect("is checked by a node of its chain alone, and never without one", () =>
    Effect.gen(function*() {
      const approval = yield* approvedBy(signingKinds["EVM"]!)
      const owner = privateKeyToAccount(evmKeyOf(19))
      const node = yield* anvil("base", "mainnet")
      const address = getAddress(`0x${"c0".repeat(20)}`)
      yield* node.rpc("anvil_setCode", address, contractWalletCode(owner.address))
      const signature = yield* Effect.promise(() => owner.signMessage({ message: approval.text }))
      const signed = { ...approval.signature, address, chain_id: String(node.chainId), signature }
      const check = yield* approvalScript
      const isGood = (changed: object, url?: string) => Effect.promise(() => check({ ...approval, ...changed }, url))
      assert.isFalse(yield* isGood({ signature: signed }), "no node, no answer")
      assert.isTrue(yield* isGood({ signature: signed }, node.url))
      assert.isFalse(yield* isGood({ signature: { ...signed, chain_id: "1" } }, node.url), "a node of another chain")
      assert.isFalse(yield* isGood({ signature: { ...signed, chain_id: null } }, node.url), "it has no key")
      const text = approval.text.replace("900.000", "9.000")
      assert.isFalse(yield* isGood({ text, signature: signed }, node.url), "another text")
      yield* node.rpc("anvil_setCode", address, contractWalletCode(`0x${"0d".repeat(20)}`))
      assert.isFalse(yield* isGood({ signature: signed }, node.url), "its owner is another now")
    }).pipe(Effect.scoped))
})
