/**
 * Renders the bodies and headers of shops' webhooks (modules/docs/reference/btcpay.md#webhooks). The protocol signs no
 * time, so whoever has an old delivery can send it again. Pure.
 */
import { createHmac } from "node:crypto"
import type { MessageAttempt, RenderedMessage, WebhookFormat } from "../../../runtime/Webhooks.ts"
import { btcpay } from "../rules.ts"

/** The fields of this attempt, then those that the commit stored for all attempts. */
const bodyOf = ({ attempt, data, deliveryId, endpointId }: MessageAttempt): string => {
  const own = JSON.stringify({
    deliveryId: attempt === 1 ? deliveryId : `${deliveryId}.${attempt}`,
    webhookId: endpointId,
    originalDeliveryId: deliveryId,
    isRedelivery: attempt > 1
  })
  return `${own.slice(0, -1)},${data.slice(1)}`
}

const render = (attempt: MessageAttempt): RenderedMessage => {
  const body = bodyOf(attempt)
  const signature = createHmac("sha256", attempt.key).update(body).digest("hex")
  return { body, headers: { "Content-Type": "application/json", "BTCPay-Sig": `sha256=${signature}` } }
}

export const webhookFormat: WebhookFormat = { name: btcpay, render }
