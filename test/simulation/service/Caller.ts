/** A merchant outside of the service: what it was told, and how it asks. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import type { Cluster } from "../Cluster.ts"
import type { Draws } from "../Draws.ts"
import type { ModelTransaction } from "./Chain.ts"
import { requestTo, type ServiceRequest, type ServiceResponse } from "./Instances.ts"

/** Milliseconds after which a caller gives up and asks again: the service answers before that, or never. */
const patienceMillis = 10_000

/** An invoice as its merchant knows it. */
export interface KnownInvoice {
  readonly name: string
  readonly body: Readonly<Record<string, unknown>>
  /** Every id that a call with this idempotency key was answered with. */
  readonly ids: Set<string>
  session: Readonly<Record<string, string>>
  /** Every address that a payor was shown. */
  readonly addresses: Set<string>
  readonly paid: Array<ModelTransaction>
}

export interface Shop {
  readonly key: string
  readonly invoices: Array<KnownInvoice>
  /** Endpoints that the service said to have, by their URL. */
  readonly endpoints: Map<string, string>
  /** What was decided of exceptions, by their ids. */
  readonly decisions: Map<string, string>
  /** Refunds that the service said to have. */
  readonly refunds: Set<string>
  /** Answers that no caller should get. */
  readonly surprises: Array<string>
}

/** One who asks: each call has an id, so that a run is the same again. */
export class Caller {
  private readonly cluster: Cluster<HttpRouter.HttpRouter>
  private readonly draws: Draws
  private readonly places: number
  private readonly surprises: Array<string>
  private readonly name: string
  private calls = 0

  constructor(
    name: string,
    cluster: Cluster<HttpRouter.HttpRouter>,
    places: number,
    draws: Draws,
    surprises: Array<string>
  ) {
    this.name = name
    this.cluster = cluster
    this.places = places
    this.draws = draws
    this.surprises = surprises
  }

  /** Asks one instance once; null: nobody knows what became of it. */
  once(request: ServiceRequest): Effect.Effect<ServiceResponse | null> {
    const headers = { ...request.headers, "x-request-id": `${this.name}-${this.calls++}` }
    const asked = Effect.flatMap(HttpRouter.HttpRouter, (router) => requestTo(router, { ...request, headers }))
    return this.cluster.call(this.draws.below(this.places), asked).pipe(
      Effect.timeoutOrElse({ duration: patienceMillis, orElse: () => Effect.succeed(null) }),
      Effect.catchCause(() => Effect.succeed(null)),
      Effect.tap((answer) =>
        Effect.sync(() => {
          if (answer === null || answer.status < 500 || answer.status === 503) return
          // It says itself that the same call may be made again.
          if (answer.json?.code === "INVOICE_CREATE_FAILED") return
          this.surprises.push(`${request.method ?? "GET"} ${request.path}: ${answer.status} ${answer.text}`)
        })
      )
    )
  }

  /** Asks until somebody says more than that it cannot be said now. */
  ask(request: ServiceRequest): Effect.Effect<ServiceResponse> {
    return Effect.flatMap(
      this.once(request),
      (answer) =>
        answer === null || answer.status >= 500 || answer.status === 429 ||
          answer.json?.code === "IDEMPOTENCY_REQUEST_IN_PROGRESS"
          ? Effect.andThen(Effect.sleep(300 + this.draws.below(2_000)), Effect.suspend(() => this.ask(request)))
          : Effect.succeed(answer)
    )
  }
}
