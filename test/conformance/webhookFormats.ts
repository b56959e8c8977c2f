/** What every format of webhooks must be, whoever wrote it: the port is `WebhookFormat` of runtime/Webhooks.ts. */
import { assert, describe, it } from "@effect/vitest"
import { createSecretKey } from "node:crypto"
import type { MessageAttempt, WebhookFormat } from "../../runtime/Webhooks.ts"

const secret = "a secret that the receiver knows"

const attemptOf = (data: string, more: Partial<MessageAttempt> = {}): MessageAttempt => ({
  deliveryId: "whd_550e8400-e29b-41d4-a716-446655440000",
  endpointId: "we_550e8400-e29b-41d4-a716-446655440000",
  attempt: 1,
  environment: "devnet",
  type: "Type",
  data,
  created: 1_766_320_496,
  key: createSecretKey(Buffer.from(secret)),
  ...more
})

/** `messages`: data as the format's own commits have it. */
export const testWebhookFormat = (format: WebhookFormat, messages: ReadonlyArray<string>): void => {
  describe(`the webhook format ${format.name}`, () => {
    it("has the same bytes for the same attempt, whichever instance sends it", () => {
      for (const data of messages) {
        assert.deepStrictEqual(format.render(attemptOf(data)), format.render(attemptOf(data)))
      }
    })

    it("has headers that HTTP can carry, none of which is the transport's own", () => {
      for (const data of messages) {
        for (const [name, value] of Object.entries(format.render(attemptOf(data, { attempt: 4 })).headers)) {
          assert.match(name, /^[A-Za-z0-9-]+$/)
          assert.match(value, /^[\x20-\x7e]+$/)
          assert.notInclude(["host", "content-length", "connection", "user-agent"], name.toLowerCase())
        }
      }
    })

    it("shows the secret of its endpoint to nobody", () => {
      for (const data of messages) {
        const { body, headers } = format.render(attemptOf(data))
        assert.notInclude(body + JSON.stringify(headers), secret)
      }
    })

    it("signs what it sends: another secret or another body has another signature", () => {
      const [first = ""] = messages
      const own = JSON.stringify(format.render(attemptOf(first)).headers)
      const other = attemptOf(first, { key: createSecretKey(Buffer.from("another secret")) })
      assert.notStrictEqual(JSON.stringify(format.render(other).headers), own)
      assert.notStrictEqual(JSON.stringify(format.render(attemptOf(messages[1] ?? "{}")).headers), own)
    })
  })
}
