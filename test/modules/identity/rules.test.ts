import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  accountName,
  decideRefresh,
  end,
  linkedWallet,
  maximumSessions,
  maximumWallets,
  objectionToLink,
  refreshSeconds,
  rotate,
  type SessionState,
  sessionsToDisplace,
  unlink,
  type WalletState
} from "../../../modules/identity/rules.ts"

const Seconds = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4_000_000_000 }))
const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 * maximumSessions }))
const Steps = Schema.Array(
  Schema.Struct({ use: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 })), wait: Count })
)

const session = (more: Partial<SessionState> = {}): SessionState => ({
  id: "ses_1",
  merchantId: 1,
  walletId: "siw_1",
  status: "active",
  endReason: null,
  refreshHash: "0",
  createdAt: 0,
  expiresAt: refreshSeconds,
  version: 1,
  ...more
})

const wallet = (more: Partial<WalletState> = {}): WalletState => ({
  id: "siw_1",
  merchantId: 1,
  family: "evm",
  address: "a",
  chainId: null,
  status: "linked",
  linkedAt: 0,
  signedInAt: null,
  person: null,
  moneyFrom: 0,
  version: 1,
  ...more
})

describe("a session's refresh tokens", () => {
  it.prop(
    "rotate only while current and in time; any older one ends the session, and nothing revives it",
    [Steps],
    ([steps]) => {
      let state = session()
      let now = 0
      let issued = 1
      let dead = false
      for (const { use, wait } of steps) {
        now += wait * 100_000
        const hash = String(use % issued)
        const verdict = decideRefresh(state, hash, now)
        const isCurrent = hash === state.refreshHash
        if (dead) assert.include(["TOKEN_INVALID", "REFRESH_REUSED"], verdict)
        else if (!isCurrent) assert.strictEqual(verdict, "reused")
        else assert.strictEqual(verdict, now < state.expiresAt ? "rotate" : "TOKEN_EXPIRED")
        if (verdict === "reused") {
          state = end(state, "reused")
          dead = true
        }
        if (verdict === "rotate") {
          const next = rotate(state, String(issued++), now)
          assert.strictEqual(next.version, state.version + 1)
          assert.strictEqual(next.expiresAt, now + refreshSeconds)
          state = next
        }
      }
    }
  )

  it.prop(
    "belong to so many sessions that one more fits, the oldest gone first",
    [Schema.Array(Seconds)],
    ([times]) => {
      const open = times.map((createdAt, at) => session({ id: `ses_${at}`, createdAt }))
      const gone = sessionsToDisplace(open)
      assert.strictEqual(gone.length, Math.max(0, open.length - maximumSessions + 1))
      const kept = open.filter((one) => !gone.includes(one))
      for (const one of gone) for (const other of kept) assert.isAtMost(one.createdAt, other.createdAt)
    }
  )
})

describe("a wallet", () => {
  it("is named by its family, its address and, as a contract, its chain: never two by one name", () => {
    const names = [
      { family: "evm", address: "x", chainId: null },
      { family: "evm", address: "x", chainId: "1" },
      { family: "evm", address: "x", chainId: "8453" },
      { family: "sui", address: "x", chainId: null },
      { family: "evm", address: "1 x", chainId: null }
    ] as const
    assert.strictEqual(new Set(names.map(accountName)).size, names.length)
  })

  it("is linked to one merchant at a time, again after it was unlinked, and by a row that goes on", () => {
    const others = Array.from({ length: maximumWallets - 1 }, (_, at) => wallet({ id: `siw_${at}` }))
    assert.isUndefined(objectionToLink(1, undefined, others))
    assert.strictEqual(objectionToLink(1, undefined, [...others, wallet()])?.code, "WALLET_LIMIT_REACHED")
    assert.isUndefined(objectionToLink(1, wallet(), [...others, wallet()]))
    assert.strictEqual(objectionToLink(2, wallet(), [])?.code, "WALLET_LINKED_ELSEWHERE")
    assert.isUndefined(objectionToLink(2, unlink(wallet()), []))
    const again = linkedWallet("siw_1", wallet(), 2, unlink(wallet()), 7)
    assert.deepInclude(again, { merchantId: 2, status: "linked", linkedAt: 7, signedInAt: null, version: 3 })
  })
})
