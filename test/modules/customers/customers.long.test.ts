/**
 * Goal: after an erasure nobody finds the person in the database, and everything that is not the person stays as it
 * was: money, the order of events, the audit chain, and other merchants' customers. Method: a whole devnet; all rows of
 * all tables are searched for what the person entered.
 */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { randomBytes, randomUUID } from "node:crypto"
import { pruneMerchant } from "../../../runtime/commit/Retention.ts"
import { until } from "../../support/Service.ts"
import { brokenPlace } from "../audit/AuditChain.ts"
import { customerPath, CustomerTown, erased, ok, type Owner, repeatsItsRequests, tablesWith } from "./CustomerTown.ts"

const newAddress = () => `0x${randomBytes(20).toString("hex")}`

/** A person, and each text that only they have. */
const newPerson = () => {
  const mark = randomUUID().slice(0, 8)
  return {
    id: `jane/${mark} doe@x`,
    name: `Jane ${mark}`,
    oldNote: `first note ${mark}`,
    email: `jane.${mark}@shop.example`,
    payorEmail: `payor.${mark}@mail.example`,
    phone: 10_000_000_000_000 + randomBytes(5).readUIntBE(0, 5),
    refundAddress: newAddress(),
    note: `called ${mark} by phone`,
    title: `Order of ${mark}`,
    street: `12 ${mark} Way`,
    lastName: `Doe-${mark}`,
    postEmail: `post.${mark}@mail.example`
  }
}
type Person = ReturnType<typeof newPerson>

const textsOf = (
  { id, phone, ...person }: Person
) => [id, encodeURIComponent(id), String(phone), ...Object.values(person)]

const simulate = (owner: Owner, id: string, action: string) =>
  ok(owner.merchant, `/api/v1/devnet/invoices/${id}/simulate`, { action })

const newInvoice = (owner: Owner, person: Person) =>
  ok(owner.merchant, "/api/v1/invoices", {
    amount_usd: 20,
    customer_id: person.id,
    invoice_title: person.title,
    description: `For ${person.name}`,
    customer_email: person.email,
    metadata: { name: person.oldNote, nested: { phones: [person.phone] }, is_new: true }
  })

const eventsOf = (owner: Owner, invoiceId: string) =>
  Effect.map(
    ok(owner.merchant, `/api/v1/events?limit=100&invoice_id=${invoiceId}`),
    ({ data }): ReadonlyArray<any> => data
  )

/** Someone's whole story with a shop: a payment, contact data, an accident that was decided on, and goods. */
const live = Effect.fnUntraced(function*(owner: Owner, person: Person) {
  const { invoice_id: id, payment_session_headers: session } = yield* newInvoice(owner, person)
  const town = yield* CustomerTown
  const asPayor = (what: string, body: object) => town.ask(session, `/api/v1/payments/${what}`, body)
  assert.strictEqual((yield* asPayor("customer-email", { email: person.payorEmail })).status, 200)
  assert.strictEqual(
    (yield* asPayor("refund-address", { network: "base", address: person.refundAddress })).status,
    200
  )
  yield* simulate(owner, id, "overpay")
  const { data: [exception] } = yield* ok(owner.merchant, `/api/v1/exceptions?status=open&invoice_id=${id}`)
  yield* ok(owner.merchant, `/api/v1/exceptions/${exception.id}/resolve`, { action: "credit", note: person.note })
  yield* ok(owner.merchant, `/api/v1/invoices/${id}`, { metadata: { name: person.name } }, {}, "PATCH")
  return id as string
})

/** A delivered order, or with a wallet for its refund one that is canceled after its placement. */
const buy = Effect.fnUntraced(function*(owner: Owner, person: Person, refundWallet?: string) {
  const customer_id = person.id
  const item = { product_id: "B08N5WRWNW", retailer: "amazon", title: "Item", quantity: 1, price: 9.99 }
  const step = (path: string, body: object) =>
    ok(owner.commerce, `/api/commerce/merchant/${path}`, { customer_id, ...body })
  yield* step("carts", { item })
  const { estimate_id } = yield* step("checkout/estimate", { use_cart: true, zip_code: "33101" })
  const { address_id } = yield* step("checkout/address", {
    estimate_id,
    address: {
      first_name: person.name,
      last_name: person.lastName,
      street_address: person.street,
      city: "Miami",
      state: "FL",
      zip_code: "33101",
      country: "US",
      phone: "+1 305 555 0100",
      email: person.postEmail
    }
  })
  const made = yield* step("checkout/invoice", { estimate_id, address_id, metadata: { for: person.name } })
  const move = (transition_to: string) =>
    ok(owner.commerce, `/api/commerce/devnet/orders/${made.order_id}/simulate`, { transition_to })
  for (const to of ["payment_confirmed", "payment_settled", "placed"]) yield* move(to)
  if (refundWallet === undefined) {
    for (const to of ["shipped", "delivery_confirmed"]) yield* move(to)
  } else {
    yield* ok(owner.commerce, `/api/commerce/merchant/orders/${made.order_id}/cancel`, {
      reason: person.note,
      refund_destination_wallet_address_bsc: refundWallet
    })
    yield* move("cancelled")
  }
  return { orderId: made.order_id as string, invoiceId: made.invoice_id as string }
})

const erase = (owner: Owner, person: Person, key = randomUUID()) =>
  ok(owner.jwt, customerPath(person.id, "erase"), {}, { "idempotency-key": key })

layer(CustomerTown.layer, { excludeTestServices: true })("a customer", (it) => {
  it.effect("who is erased is found nowhere, while money, events and the audit chain stay as they were", () =>
    Effect.gen(function*() {
      const town = yield* CustomerTown
      const { mine, other, receiver } = town
      repeatsItsRequests(receiver, "/hooks")
      const endpoint = yield* ok(mine.merchant, "/api/v1/webhooks", {
        url: receiver.url("/hooks"),
        enabled_events: ["*"]
      })
      const person = newPerson()
      const texts = textsOf(person)
      const invoiceId = yield* live(mine, person)
      const order = yield* buy(mine, person)
      const theirs = yield* live(other, person)
      const before = yield* eventsOf(mine, invoiceId)
      yield* until(
        "all is delivered",
        Effect.provideService(
          ok(mine.merchant, `/api/v1/webhooks/${endpoint.id}/deliveries?limit=100`),
          CustomerTown,
          town
        ),
        ({ data }) => data.length > 10 && data.every(({ status }: any) => status === "succeeded")
      )
      assert.includeMembers(yield* tablesWith(texts), [
        `invoices: ${person.id}`,
        `events: ${person.id}`,
        `payor_contacts: ${person.payorEmail}`,
        `refund_destinations: ${person.refundAddress}`,
        `exceptions: ${person.note}`,
        `orders: ${person.street}`,
        `carts: ${person.id}`,
        `checkout_addresses: ${person.postEmail}`,
        `webhook_attempts: ${person.id}`
      ])

      const asked = yield* erase(mine, person)
      assert.strictEqual(asked.status, "pending")
      assert.match(asked.customer, /^anon_[0-9a-f]{32}$/)
      const { customer } = yield* erased(mine, person.id)

      // What another merchant keeps of the same person is theirs; so the search is of my rows, once it is gone too.
      const { invoice: untouched } = yield* Effect.map(
        ok(other.merchant, `/api/v1/invoices/${theirs}`),
        (found) => ({ invoice: found.invoice ?? found })
      )
      assert.strictEqual(untouched.customer_id, person.id)
      assert.include(JSON.stringify(yield* eventsOf(other, theirs)), person.oldNote)
      yield* erase(other, person)
      yield* erased(other, person.id)
      assert.deepStrictEqual(yield* tablesWith(texts), [])

      const after = yield* eventsOf(mine, invoiceId)
      assert.deepStrictEqual(
        after.map(({ created, id, type }) => [id, type, created]),
        before.map(({ created, id, type }) => [id, type, created])
      )
      assert.deepStrictEqual(
        after.map(({ data }) => [Object.keys(data.object), Object.keys(data.previous_attributes)]),
        before.map(({ data }) => [Object.keys(data.object), Object.keys(data.previous_attributes)])
      )
      const withoutPerson = ({ customer_id: _c, metadata: _m, ...rest }: any) => rest
      assert.deepStrictEqual(
        after.map(({ data }) => withoutPerson(data.object)),
        before.map(({ data }) => withoutPerson(data.object))
      )
      assert.deepStrictEqual(after.filter(({ data }) => data.object.customer_id !== customer), [])

      const read = yield* ok(mine.merchant, `/api/v1/invoices/${invoiceId}?expand=payor`)
      const invoice = read.invoice ?? read
      assert.strictEqual(invoice.customer_id, customer)
      assert.match(invoice.metadata.name, /^anon_/)
      assert.strictEqual(invoice.metadata.is_new, true)
      const newest = after.find(({ data }) => data.object.object === "invoice")
      assert.deepStrictEqual(newest.data.object.metadata, invoice.metadata)
      const sold = yield* ok(mine.commerce, `/api/commerce/merchant/orders/${order.orderId}`)
      const [lastOfOrder] = yield* Effect.map(
        ok(mine.merchant, `/api/v1/events?limit=1&order_id=${order.orderId}&type=commerce.order.updated`),
        ({ data }) => data
      )
      assert.deepStrictEqual(lastOfOrder.data.object.timeline, sold.timeline)
      assert.deepStrictEqual([sold.customer_id, sold.status], [customer, "delivered"])

      // A page goes on where the one before ended.
      const first = yield* ok(mine.merchant, `/api/v1/events?limit=3&customer_id=${customer}`)
      const second = yield* ok(
        mine.merchant,
        `/api/v1/events?limit=3&customer_id=${customer}&starting_after=${first.data.at(-1).id}`
      )
      assert.isEmpty(first.data.filter(({ id }: any) => second.data.some((each: any) => each.id === id)))

      const arrivals = receiver.arrivals("/hooks").length
      const { data: deliveries } = yield* ok(mine.merchant, `/api/v1/webhooks/${endpoint.id}/deliveries?limit=100`)
      const again = deliveries.slice(-5)
      for (const { id } of again) yield* ok(mine.merchant, `/api/v1/webhooks/deliveries/${id}/redeliver`, {})
      const all = yield* receiver.seen("/hooks", arrivals + again.length)
      const bytes = all.slice(arrivals).map(({ body }) => body.toString("utf8")).join("\n")
      assert.include(bytes, customer)
      for (const text of texts) assert.notInclude(bytes, text)

      const { data: log } = yield* until(
        "every entry of the audit log has its place",
        Effect.provideService(ok(mine.merchant, "/api/v1/audit-log?limit=100"), CustomerTown, town),
        ({ data }) => data.every(({ place }: any) => place !== null)
      )
      assert.isNull(brokenPlace(log.toReversed()))
      const [entry] = log.filter(({ action }: any) => action === "customer.erase")
      assert.deepStrictEqual(entry.subject, { object: "customer", id: customer })
    }))

  it.effect("gets all that is kept of them, and nobody else's, as one document", () =>
    Effect.gen(function*() {
      const { ask, mine, other } = yield* CustomerTown
      const person = newPerson()
      yield* live(mine, person)
      yield* buy(mine, person)
      const stranger = newPerson()
      yield* live(mine, stranger)
      yield* live(other, { ...newPerson(), id: person.id })
      const kept = yield* ok(mine.merchant, customerPath(person.id, "export"), {})
      assert.deepInclude(kept, { object: "customer_export", customer_id: person.id, environment: "devnet" })
      // An address is shown as EIP-55 writes it.
      const text = JSON.stringify(kept.records).toLowerCase()
      for (const [name, value] of Object.entries(person)) assert.include(text, String(value).toLowerCase(), name)
      for (const value of textsOf(stranger)) assert.notInclude(text, value.toLowerCase())
      assert.includeMembers(
        [...new Set(kept.records.map(({ kind }: any) => kind))],
        ["invoice", "invoice_payment", "exception", "event", "payor", "commerce_order", "cart"]
      )
      const merchants = new Set(kept.records.flatMap(({ data }: any) => data.merchant_id ?? []))
      assert.deepStrictEqual([...merchants], [mine.merchantId])
      const { data: [entry] } = yield* ok(mine.merchant, "/api/v1/audit-log?action=customer.export")
      assert.match(entry.subject.id, /^anon_/)
      const nobody = yield* ok(mine.merchant, customerPath("nobody", "export"), {})
      assert.deepStrictEqual(nobody.records, [])
      assert.strictEqual((yield* ask(mine.commerce, customerPath(person.id, "export"), {})).status, 403)
    }))

  it.effect("is erased by an owner only, once nothing needs them, and only where there is something", () =>
    Effect.gen(function*() {
      const { ask, mine } = yield* CustomerTown
      const person = newPerson()
      const refused = Effect.fnUntraced(
        function*(status: number, code: string, message: RegExp, credential = mine.jwt) {
          const { json, status: found } = yield* ask(credential, customerPath(person.id, "erase"), {})
          assert.deepStrictEqual([found, json.error.code], [status, code])
          assert.match(json.error.message, message)
        }
      )
      yield* refused(403, "CREDENTIAL_NOT_ALLOWED", /sign in with a wallet/, mine.merchant)
      yield* refused(404, "NOT_FOUND", /Nothing is kept/)
      const { invoice_id: id } = yield* newInvoice(mine, person)
      yield* refused(409, "INVALID_TRANSITION", new RegExp(`Invoice ${id} is open: cancel it`))
      yield* simulate(mine, id, "overpay")
      yield* refused(409, "INVALID_TRANSITION", /has the open exception exc_.*decide on it first/)
      const { data: [exception] } = yield* ok(mine.merchant, `/api/v1/exceptions?status=open&invoice_id=${id}`)
      yield* ok(mine.merchant, `/api/v1/exceptions/${exception.id}/resolve`, { action: "ignore" })

      const key = randomUUID()
      const first = yield* ask(mine.jwt, customerPath(person.id, "erase"), {}, { "idempotency-key": key })
      yield* erased(mine, person.id)
      const second = yield* ask(mine.jwt, customerPath(person.id, "erase"), {}, { "idempotency-key": key })
      assert.deepStrictEqual([second.status, second.text], [200, first.text])
      const third = yield* erase(mine, person)
      assert.strictEqual(third.status, "done")
      const { data: log } = yield* ok(mine.merchant, `/api/v1/audit-log?subject_id=${third.customer}`)
      assert.lengthOf(log, 1)

      // A customer who comes back is new, and can be erased again.
      yield* live(mine, person)
      yield* erase(mine, person)
      yield* erased(mine, person.id)
      assert.deepStrictEqual(yield* tablesWith([person.id, person.name, person.payorEmail]), [])
    }))

  it.effect("is erased only once their refund is paid, and then nothing says where it went but its transaction", () =>
    Effect.gen(function*() {
      const { ask, mine, sql } = yield* CustomerTown
      const person = newPerson()
      const { orderId } = yield* buy(mine, person, person.refundAddress)
      const early = yield* ask(mine.jwt, customerPath(person.id, "erase"), {})
      assert.strictEqual(early.status, 409)
      assert.match(early.json.error.message, /^Refund re_\S+ is not over \(\w+\): wait until it is paid, or cancel it$/)
      yield* ok(mine.commerce, `/api/commerce/devnet/orders/${orderId}/simulate`, { transition_to: "refunded" })
      yield* erase(mine, person)
      yield* erased(mine, person.id)
      assert.deepStrictEqual(yield* tablesWith(textsOf(person)), [])
      const [refund] = yield* Effect.orDie(sql<any>`SELECT r.status, r.tx_hash, r.amount, r.destination FROM refunds r
        JOIN orders o ON o.invoice_id = r.invoice_id WHERE o.id = ${orderId}::uuid`)
      assert.deepInclude(refund, { status: "succeeded", amount: 13_990n })
      assert.isString(refund.tx_hash)
      assert.match(refund.destination.address, /^anon_/)
      const order = yield* ok(mine.commerce, `/api/commerce/merchant/orders/${orderId}`)
      assert.deepStrictEqual(order.refund.destination_wallet_address, refund.destination.address)
    }))

  it.effect("is erased where their events are gone already, and is counted as they were", () =>
    Effect.gen(function*() {
      const { mine, sql } = yield* CustomerTown
      const person = newPerson()
      yield* live(mine, person)
      const sums = (name: string) =>
        sql<{ width: number; count: bigint; amount: bigint }>`SELECT width, count, amount FROM rollups
          WHERE sum = 'metrics.customers' AND key = ${`standard:${name}`} ORDER BY width`.pipe(Effect.orDie)
      const before = yield* sums(person.id)
      assert.isNotEmpty(before)
      // What is on its way stays until it has arrived, and so would the answer to it.
      yield* until(
        "all deliveries are over",
        sql`SELECT 1 FROM webhook_deliveries WHERE merchant_id = ${mine.merchantId} AND due_at IS NOT NULL`.pipe(
          Effect.orDie
        ),
        (open) => open.length === 0
      )
      const yearFromNow = BigInt(Date.now() + 31_536_000_000)
      yield* pruneMerchant(mine.merchantId, yearFromNow).pipe(
        Effect.provideService(SqlClient.SqlClient, sql),
        Effect.orDie
      )
      assert.includeMembers(yield* tablesWith([person.id]), [`event_snapshots: ${person.id}`])
      yield* erase(mine, person)
      const { customer } = yield* erased(mine, person.id)
      assert.deepStrictEqual(yield* tablesWith(textsOf(person)), [])
      assert.deepStrictEqual(yield* sums(customer), before)
    }))

  it.effect("who pays once more while they are erased is still found nowhere, and the money is kept", () =>
    Effect.gen(function*() {
      const town = yield* CustomerTown
      const { ask, mine } = town
      const person = newPerson()
      const ids = yield* Effect.forEach(
        Array.from({ length: 12 }),
        () => Effect.map(newInvoice(mine, person), ({ invoice_id }) => invoice_id as string)
      )
      yield* Effect.forEach(ids, (id) => simulate(mine, id, "pay"), { concurrency: 4 })
      assert.strictEqual((yield* erase(mine, person)).status, "pending")
      yield* Effect.forEach(ids, (id) => simulate(mine, id, "duplicate"), { concurrency: "unbounded" })
      yield* until(
        "the customer is erased",
        Effect.provideService(
          Effect.gen(function*() {
            const { data: open } = yield* ok(mine.merchant, "/api/v1/exceptions?status=open&limit=100")
            for (const { id } of open) {
              yield* ask(mine.merchant, `/api/v1/exceptions/${id}/resolve`, { action: "ignore" })
            }
            return yield* erase(mine, person)
          }),
          CustomerTown,
          town
        ),
        ({ status }) => status === "done"
      )
      assert.deepStrictEqual(yield* tablesWith(textsOf(person)), [])
      for (const id of ids) {
        const found = yield* ok(mine.merchant, `/api/v1/invoices/${id}/payments`)
        assert.lengthOf(found.payments ?? found.data ?? found, 2)
      }
    }))

  it.effect("whose erasure is killed half way is erased to the end after the next start", () =>
    Effect.gen(function*() {
      const { boot, end, mine, sql } = yield* CustomerTown
      const person = newPerson()
      yield* Effect.forEach(Array.from({ length: 60 }), () =>
        Effect.gen(function*() {
          const { invoice_id: id } = yield* newInvoice(mine, person)
          yield* ok(mine.merchant, `/api/v1/invoices/${id}/cancel`, {})
        }), { concurrency: 10 })
      const left = sql<{ id: string }>`SELECT id FROM invoices WHERE customer_id = ${person.id} ORDER BY id`.pipe(
        Effect.orDie,
        Effect.map((rows) => rows.map(({ id }) => id))
      )
      const { [30]: middle } = yield* left
      // Its events cannot be written, so the process ends after the invoice is erased and before they are.
      yield* sql.withTransaction(Effect.gen(function*() {
        yield* sql`SELECT 1 FROM events WHERE merchant_id = ${mine.merchantId} AND invoice_id = ${middle!} FOR UPDATE`
        yield* erase(mine, person)
        yield* until("the invoice in the middle is erased", left, (ids) => !ids.includes(middle!))
        yield* end
      })).pipe(Effect.orDie)
      const unerased = (yield* left).length
      assert.isTrue(unerased > 0 && unerased <= 30, `${unerased} of 60 are left`)
      assert.includeMembers(yield* tablesWith([person.name, person.oldNote]), [`events: ${person.oldNote}`])
      yield* boot
      yield* erased(mine, person.id)
      assert.deepStrictEqual(yield* tablesWith(textsOf(person)), [])
    }))

  it.effect("leaves no e-mail address and no refund address behind, once the operator's days are over", () =>
    Effect.gen(function*() {
      const { killAndRestart, mine, sql } = yield* CustomerTown
      const [old, young] = [newPerson(), newPerson()]
      const oldInvoice = yield* live(mine, old)
      yield* live(mine, young)
      const age = 45 * 86_400
      yield* sql`UPDATE invoices SET paid_at = paid_at - ${age}, last_payment_at = last_payment_at - ${age}
        WHERE id = ${oldInvoice}::uuid`
      yield* sql`UPDATE payor_contacts SET updated_at = updated_at - ${age} WHERE invoice_id = ${oldInvoice}`
      yield* sql`UPDATE refund_destinations SET updated_at = updated_at - ${age} WHERE invoice_id = ${oldInvoice}`
      yield* killAndRestart
      const emails = sql<{ email: string }>`SELECT email FROM payor_contacts WHERE email IS NOT NULL`.pipe(
        Effect.orDie,
        Effect.map((rows) => rows.map(({ email }) => email))
      )
      yield* until("the old one is gone", emails, (found) => !found.includes(old.payorEmail))
      assert.include(yield* emails, young.payorEmail)
      // Refund addresses are kept for 60 days in this deployment.
      assert.deepStrictEqual(yield* tablesWith([old.refundAddress]), [`refund_destinations: ${old.refundAddress}`])
    }).pipe(Effect.orDie))
})
