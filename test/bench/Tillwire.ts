/** The service as a contestant: started from the sources on a database of the bench's server. */
import { Effect, type Scope } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makeMerchants, type Merchant } from "../support/Merchants.ts"
import { receiverCertificate } from "../support/Receiver.ts"
import { configOf, type Service, startService } from "../support/Service.ts"
import { createDatabase, type DatabaseServer, urlOf } from "./Database.ts"

/** A deployment whose directory and database outlive one process of it. */
export interface Deployment {
  readonly directory: string
  readonly database: string
  readonly config: object
  /** The entry point; absent: this tree's. */
  readonly program?: string
}

/** The entry point of another working copy of the project. */
export const programOf = (workingCopy: string): string => join(workingCopy, "runtime", "main.ts")

/** Data made by an earlier deployment, to start from. */
export type Origin = Pick<Deployment, "directory" | "database">

const directory: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "till-bench-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** What a deployment has beside its database. */
export interface DeployOptions {
  /** Trusted with the tests' own certificate; default: none. */
  readonly receivers?: ReadonlyArray<string>
  /** A database to start with a copy of; default: an empty one. */
  readonly template?: string
  /** Default: `base`, simulated. */
  readonly chains?: Parameters<typeof configOf>[0]["chains"]
}

export const deploy = (
  server: DatabaseServer,
  database: string,
  { chains, receivers = [], template }: DeployOptions = {}
): Effect.Effect<Deployment, never, Scope.Scope> =>
  Effect.gen(function*() {
    yield* createDatabase(server, database, template)
    const config = configOf({
      database: urlOf(server, database),
      chains: chains ?? [{ use: "simulated", options: { networks: ["base"] } }],
      receivers
    })
    return {
      directory: yield* directory,
      database,
      config: {
        ...config,
        transports: [{ use: "https", options: { ca: receiverCertificate } }],
        telemetry: { logs: "json", level: "info" }
      }
    }
  })

/** A fresh process of a deployment. */
export const start = (
  { config, directory, program }: Deployment
): Effect.Effect<Service, never, Scope.Scope> =>
  startService({ directory, config, ...(program === undefined ? {} : { program }) })

/** Starts a deployment once for `use`, and stops it: its tables, its demo merchant and what `use` makes are there. */
export const prepare = <A>(
  deployment: Deployment,
  use: (service: Service, key: string) => Effect.Effect<A>
): Effect.Effect<A> =>
  Effect.scoped(Effect.gen(function*() {
    const service = yield* start(deployment)
    const { merchant_key: key } = yield* service.keys
    const made = yield* use(service, key)
    yield* service.stop()
    return made
  }))

/** Merchants with one endpoint each, which wants every event. */
export const makeShops = (
  service: Service,
  count: number,
  url: (n: number) => string
): Effect.Effect<ReadonlyArray<Merchant>> =>
  Effect.tap(
    makeMerchants(service, count),
    (merchants) =>
      Effect.forEach(merchants, ({ key }, n) =>
        service.call("/api/v1/webhooks", {
          headers: { "x-api-key": key },
          body: { url: url(n), enabled_events: ["*"] }
        }), {
        concurrency: 8,
        discard: true
      })
  )
