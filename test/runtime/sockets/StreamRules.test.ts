/** Goal: limits and endings of streams are what the reference says, whatever order things happen in. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { CommittedEvent } from "../../../runtime/Commit.ts"
import { makeConnectionIndex } from "../../../runtime/sockets/ConnectionIndex.ts"
import { closeReasons } from "../../../runtime/sockets/Frames.ts"
import {
  closeTimeAfter,
  credentialEnding,
  isTerminal,
  joinRefusal,
  maximumPerKey,
  maximumPerSession,
  terminalMillis
} from "../../../runtime/sockets/StreamRules.ts"

describe("who may join a stream", () => {
  it("is limited per payment session and per key", () => {
    assert.isUndefined(joinRefusal({ stream: "payment" }, maximumPerSession - 1))
    assert.strictEqual(joinRefusal({ stream: "payment" }, maximumPerSession), closeReasons.tooManyOfSession)
    assert.isUndefined(joinRefusal({ stream: "merchant" }, maximumPerKey - 1))
    assert.strictEqual(joinRefusal({ stream: "commerce" }, maximumPerKey), closeReasons.tooManyOfKey)
  })
})

describe("when a payor's stream ends by its invoice", () => {
  const event = (type: string, status: string) =>
    isTerminal({ event: { type } as CommittedEvent, object: () => ({ status }) })

  it("is told by events of the invoice only", () => {
    assert.isTrue(event("invoice.paid", "paid"))
    assert.isTrue(event("invoice.updated", "canceled"))
    assert.isFalse(event("invoice.updated", "partially_paid"))
    assert.isUndefined(event("invoice_payment.updated", "paid"))
  })

  it("is 60 s after the first end, and never while the invoice goes on", () => {
    assert.strictEqual(closeTimeAfter(null, true, 1_000), 1_000 + terminalMillis)
    assert.strictEqual(closeTimeAfter(5_000, true, 9_000), 5_000)
    assert.isNull(closeTimeAfter(5_000, false, 9_000))
    assert.strictEqual(closeTimeAfter(5_000, undefined, 9_000), 5_000)
    assert.isNull(closeTimeAfter(null, undefined, 9_000))
  })
})

describe("when a credential ends", () => {
  it("tells keys from sessions, and an end that is not certain from one that is", () => {
    assert.strictEqual(credentialEnding("key_1", "ended"), closeReasons.keyEnded)
    assert.strictEqual(credentialEnding("ses_1", "ended"), closeReasons.sessionEnded)
    assert.strictEqual(credentialEnding("key_1", "unknown"), closeReasons.restart)
  })
})

describe("the index of connections", () => {
  const filters = {
    types: null,
    invoiceId: null,
    invoiceType: null,
    customerId: null,
    orderId: null,
    walletAddress: null,
    walletNetwork: null
  }
  const Operations = Schema.Array(Schema.Struct({
    joins: Schema.Boolean,
    stream: Schema.Literals(["payment", "merchant"]),
    about: Schema.Literals([1, 2]),
    credential: Schema.NullOr(Schema.Literals(["key_1", "key_2"])),
    member: Schema.Literals([0, 1, 2, 3])
  }))

  it.prop("finds exactly those that joined and did not leave", [Operations], ([operations]) => {
    const index = makeConnectionIndex<ReturnType<typeof memberOf>>()
    const memberOf = ({ about, credential, stream }: (typeof operations)[number]) => ({
      subscription: {
        audience: stream === "payment"
          ? { stream, invoiceId: `i${about}` }
          : { stream, merchantId: about, environment: "devnet" as const, filters },
        holder: `holder ${about}`,
        revocableAs: credential
      }
    })
    const open = new Map<number, ReturnType<typeof memberOf>>()
    const ofCredential = (credential: string | null) =>
      [...open.values()].filter(({ subscription }) => subscription.revocableAs === credential).length
    for (const operation of operations) {
      const current = open.get(operation.member)
      if (operation.joins && current === undefined) {
        const member = memberOf(operation)
        const isFirst = operation.credential !== null && ofCredential(operation.credential) === 0
        assert.strictEqual(index.add(member), isFirst)
        open.set(operation.member, member)
      } else if (!operation.joins && current !== undefined) {
        open.delete(operation.member)
        const { revocableAs } = current.subscription
        assert.strictEqual(index.remove(current), revocableAs !== null && ofCredential(revocableAs) === 0)
      }
    }
    const members = [...open.values()]
    assert.sameMembers([...index.all()], members)
    for (const about of [1, 2]) {
      const holders = members.filter(({ subscription }) => subscription.holder === `holder ${about}`)
      assert.strictEqual(index.countOfHolder(`holder ${about}`), holders.length)
      const payors = holders.filter(({ subscription }) => subscription.audience.stream === "payment")
      assert.sameMembers([...index.ofInvoice(`i${about}`) ?? []], payors)
      assert.sameMembers([...index.ofMerchant(about) ?? []], holders.filter((member) => !payors.includes(member)))
      assert.strictEqual(index.invoices().includes(`i${about}`), payors.length > 0)
    }
    for (const credential of ["key_1", "key_2"]) {
      assert.strictEqual(index.ofCredential(credential).size, ofCredential(credential))
    }
  })
})
