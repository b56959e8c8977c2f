/**
 * `test_ping`: the object of `test.ping`, sent to prove that an endpoint is reached
 * (modules/docs/reference/events.md#types).
 */
import { Schema } from "effect"
import { EpochSeconds } from "./Ids.ts"

export const Ping = Schema.Struct({
  object: Schema.tag("test_ping"),
  id: Schema.String,
  message: Schema.String,
  created_at: EpochSeconds
}).annotate({
  identifier: "TestPing",
  description: "What a merchant sends itself to see that an endpoint is reached.",
  examples: [{
    object: "test_ping",
    id: "ping_5f0b1c9e-3d2a-4b8e-9c47-1a6d2e8f7b30",
    message: "Webhook test",
    created_at: 1_766_320_496
  }]
})
export type Ping = typeof Ping.Type
