/** `test_ping`: the object of `test.ping`, sent to prove that an endpoint is reached (contract §2.6). */
import { Schema } from "effect"
import { EpochSeconds } from "./Ids.ts"

export const Ping = Schema.Struct({
  object: Schema.tag("test_ping"),
  id: Schema.String,
  message: Schema.String,
  created_at: EpochSeconds
})
export type Ping = typeof Ping.Type
