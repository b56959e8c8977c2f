/** Goal: an exception about a transfer is its merchant's alone. Method: the pure rule of its id. */
import { assert, it } from "@effect/vitest"
import { exceptionIdOf } from "../../../modules/batches/rules.ts"

it("the exception of a transfer has one id for a merchant, and another one for everybody else", () => {
  const batch = { merchantId: 1, environment: "mainnet", network: "base" } as const
  const transfer = { txHash: `0x${"a".repeat(64)}`, index: 3 }
  assert.strictEqual(exceptionIdOf(batch, transfer), exceptionIdOf({ ...batch }, { ...transfer }))
  const others = [
    exceptionIdOf({ ...batch, merchantId: 2 }, transfer),
    exceptionIdOf({ ...batch, environment: "devnet" }, transfer),
    exceptionIdOf({ ...batch, network: "optimism" }, transfer),
    exceptionIdOf(batch, { ...transfer, index: 4 }),
    exceptionIdOf(batch, { ...transfer, txHash: `0x${"b".repeat(64)}` })
  ]
  assert.strictEqual(new Set([exceptionIdOf(batch, transfer), ...others]).size, others.length + 1)
})
