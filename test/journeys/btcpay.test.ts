/**
 * Goal: a shop that was built for BTCPay Server sells with Tillwire, connected by hand as its plugin connects it.
 * Method: the real program on devnet; the shop speaks by BTCPay's own client, and by plain HTTP where that knows no call;
 * its webhook receiver checks each body by an HMAC of its own.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createHmac } from "node:crypto"
import { makeReceiver } from "../support/Receiver.ts"
import { exchange, until } from "../support/Service.ts"
import { openShop } from "./Shop.ts"
