import assert from "node:assert/strict"
import { test } from "node:test"
import { pointsOf } from "../dist/rules.js"

const paid = (customer, amount) => ({
  type: "invoice.paid",
  data: JSON.stringify({ object: { customer_id: customer, amount_paid: amount }, previous_attributes: {} })
})

test("a whole dollar of a paid invoice is a point, for customers with a name only", () => {
  const events = [paid("ann", 49_990), paid("ann", 1_000), paid(null, 5_000), { ...paid("bob", 9_000), type: "invoice.updated" }]
  assert.deepEqual([...pointsOf(events)], [["ann", 50]])
})
