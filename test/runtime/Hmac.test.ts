import { assert, it } from "@effect/vitest"
import { createHmac, createSecretKey, randomBytes } from "node:crypto"
import { hmacUnder } from "../../runtime/Hmac.ts"

it("gives what createHmac gives, for keys and data of every length around a block", () => {
  for (const keyBytes of [1, 32, 63, 64, 65, 200]) {
    const key = createSecretKey(randomBytes(keyBytes))
    const hmac = hmacUnder(key)
    for (let length = 0; length <= 200; length++) {
      const data = randomBytes(length)
      assert.strictEqual(hmac(data.toString("hex"), "hex"), createHmac("sha256", key).update(data).digest("hex"))
      const text = data.toString("latin1")
      assert.strictEqual(hmac(text, "utf8"), createHmac("sha256", key).update(text).digest("hex"))
    }
  }
})
