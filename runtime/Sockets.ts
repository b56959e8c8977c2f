/** Websocket hub: who listens to what, frames in commit order, replay, limits. */
import { Context, type Effect } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Environment } from "../schemas/Network.ts"
import type { EventStreamName, StreamFilters, StreamQuery } from "./sockets/Filters.ts"

export interface InvoiceStream {
  readonly merchantId: number
  readonly invoiceId: string
  /** Groups connections for the limit of 5 per payment session. */
  readonly sessionKey: string
  /** Epoch seconds at which the credential ends, and the stream with it. */
  readonly expiresAt: number
  /** The version its events are told in. */
  readonly apiVersion: string
  /** `since` of the query, unread. */
  readonly since: string | null
  /** Frames sent once after `ready` and the replay: the current quote. Event envelopes as text. */
  readonly greeting: Effect.Effect<ReadonlyArray<string>>
}

export interface EventStream {
  readonly stream: EventStreamName
  readonly merchantId: number
  readonly environment: Environment
  /** Groups connections for the limit of 20 per key. */
  readonly credential: string
  /** What ends the stream when it ends: `key_<uuid>` or `ses_<uuid>`. */
  readonly revocableAs: string
  /** The version its events are told in. */
  readonly apiVersion: string
  readonly filters: StreamFilters
  readonly since: StreamQuery["since"]
}

type UpgradeResponse = Effect.Effect<HttpServerResponse.HttpServerResponse, never, HttpServerRequest.HttpServerRequest>

export class Sockets extends Context.Service<Sockets, {
  /**
   * Upgrades the current request and serves the invoice's payor stream until either side ends it; the request ends with
   * the handshake. Called inside a route handler, after the token was checked.
   */
  readonly serveInvoice: (stream: InvoiceStream) => UpgradeResponse
  /** As `serveInvoice`, for the events of a merchant. */
  readonly serveEvents: (stream: EventStream) => UpgradeResponse
  /**
   * Sends a frame that is not a stored event (`payment_quote.updated`, `confirmations`) to an invoice's listeners;
   * `frame` gives its text in a listener's version of the API.
   */
  readonly send: (invoiceId: string, frame: (apiVersion: string) => string) => Effect.Effect<void>
  /** Ids of the invoices that somebody listens to on this instance. */
  readonly watchedInvoices: () => ReadonlyArray<string>
  /** Ends every connection with 1001, "restart": the service stops, the client comes back to whoever serves then. */
  readonly close: Effect.Effect<void>
}>()("tillwire/runtime/Sockets") {}
