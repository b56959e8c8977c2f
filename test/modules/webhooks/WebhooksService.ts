/**
 * The webhook routes over real middlewares, commit log and database; nothing is delivered, so rows stay as a test left
 * them.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { WebhooksApi } from "../../../modules/webhooks/api.ts"
import { migrations, tables } from "../../../modules/webhooks/migrations.ts"
import { plugin } from "../../../modules/webhooks/plugin.ts"
import * as Actors from "../../../runtime/Actors.ts"
import { Credentials } from "../../../runtime/Http.ts"
import { Secrets } from "../../../runtime/Secrets.ts"
import { Webhooks } from "../../../runtime/Webhooks.ts"
import type { Principal } from "../../../schemas/Auth.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { eventIdOf } from "../../../schemas/Ids.ts"
import { newestVersion } from "../../../schemas/Version.ts"
import { type Answer, Api, apiLayer, kernel, settingsLayer } from "../../support/Api.ts"
import { operatorKey, solePerson } from "../../fixtures/authorities.ts"

/** A wallet's with `!` at its end signed in a while ago. `<merchant>`, with `c` for a commerce key, `m` for one of mainnet, and `:<role>` where it is no owner's. */
const verify = (key: string) => {
  const [, merchant, commerce, mainnet, role = "owner"] = /^(\d+)(c?)(m?)(?::([a-z]+))?$/.exec(key) ?? []
  return Effect.succeed(
    merchant === undefined ? null : {
      merchantId: Number.parseInt(merchant, 10),
      environment: mainnet === "m" ? "mainnet" : "devnet",
      scope: commerce === "c" ? "commerce" : "merchant",
      kind: "key",
      credential: `key_${key}`,
      apiVersion: newestVersion,
      ...operatorKey,
      role
    } as Principal
  )
}

const owners = Layer.effectDiscard(Effect.gen(function*() {
  const { register, registerBearer } = yield* Credentials
  yield* register(verify)
  yield* registerBearer((token) =>
    Effect.flatMap(
      verify(token.replace(/!$/, "")),
      (found) =>
        found === null
          ? Effect.fail(publicError("TOKEN_INVALID"))
          : Effect.succeed({
            ...found,
            ...solePerson,
            role: found.role,
            kind: "wallet",
            ...(token.endsWith("!") ? { freshUntil: 0 } : {})
          })
    )
  )
}))

/** A receiver that only devnet may reach. */
export const devnetUrl = "https://devnet.example/hooks"

/** Merchants whose new deliveries the deliverer was told of, in order. */
export const wokenMerchants: Array<number> = []

/** Sends nothing. */
const still = Layer.succeed(Webhooks, {
  register: () => Effect.void,
  registerFormat: () => Effect.void,
  checkUrl: (url, { environment }) =>
    url.startsWith("https://") && (url !== devnetUrl || environment === "devnet")
      ? Effect.void
      : Effect.fail(publicError("WEBHOOK_URL_INVALID", { param: "url" })),
  wake: (merchantId) => Effect.sync(() => void wokenMerchants.push(merchantId)),
  drain: Effect.void
})

export const webhooksApi = Layer.fresh(apiLayer(
  [WebhooksApi],
  Layer.mergeAll(plugin.layer(undefined as never), owners) as never,
  Layer.mergeAll(still, Actors.layer).pipe(
    Layer.provideMerge(
      kernel([{ name: "webhooks", migrations, tables }], settingsLayer({ environments: ["devnet", "mainnet"] }))
    )
  )
)) as unknown as Layer.Layer<Api | SqlClient.SqlClient | Secrets>

export interface Sent {
  readonly method?: string
  readonly body?: unknown
  readonly key?: string
}

/** A call by a key, or by a wallet's token where the name begins with `w`. */
export const ask = (who: string, path: string, { body, key, method }: Sent = {}): Effect.Effect<Answer, never, Api> =>
  Effect.flatMap(Api, ({ call }) =>
    call(`/api/v1/webhooks${path}`, {
      ...(method === undefined ? {} : { method }),
      ...(body === undefined ? {} : { body }),
      headers: {
        ...(who.startsWith("w") ? { authorization: `Bearer ${who.slice(1)}` } : { "x-api-key": who }),
        ...(key === undefined ? {} : { "idempotency-key": key })
      }
    }))

/** The data of an answer that must be good. */
export const assertOk = (answer: Answer): any => {
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
  return answer.json.data
}

export const wanted = { url: "https://shop.example/hooks", enabled_events: ["invoice.*"] }

/** A new endpoint. */
export const endpoint = (who: string, more: object = {}): Effect.Effect<any, never, Api> =>
  Effect.map(ask(who, "", { body: { ...wanted, ...more } }), assertOk)

/** `code param` of a refusal. */
export const refusal = ({ json, status }: Answer): string => `${status} ${json.error?.code} ${json.error?.param}`

/** An event of a merchant as a row: test data in numbers a commit would take minutes for. Answers its id. */
export const event = Effect.fnUntraced(function*(
  merchant: number,
  ms: number,
  more: { readonly type?: string; readonly environment?: string; readonly commerce?: boolean } = {}
) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO events (merchant_id, ms, seq, environment, type, commerce, pending_webhooks, data)
    VALUES (${merchant}, ${ms}, ${ms}, ${more.environment ?? "devnet"}, ${more.type ?? "invoice.paid"},
      ${more.commerce ?? false}, 0, '{"object":{"object":"invoice"},"previous_attributes":{}}')`.pipe(Effect.orDie)
  return eventIdOf({ ms: BigInt(ms), seq: BigInt(ms) })
})

/** A delivery of such an event, in a state. Answers its id. */
export const delivery = Effect.fnUntraced(
  function*(merchant: number, to: string, ms: number, status: string, createdAt = ms) {
    const sql = yield* SqlClient.SqlClient
    const open = ["pending", "retrying", "delivering"].includes(status)
    const [made] = yield* sql<{ id: string }>`
    INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_ms, event_seq, status, due_at, created_at, finished_at)
    VALUES (delivery_id_v1(to_timestamp(${createdAt / 1000})), ${merchant}, ${to}, ${ms}, ${ms}, ${status}, ${
      open ? sql`now()` : null
    }, to_timestamp(${createdAt / 1000}),
      ${open ? null : sql`now()`}) RETURNING id`.pipe(Effect.orDie)
    return `whd_${made!.id}`
  }
)

/** Statuses of an endpoint's deliveries, by event in their order. */
export const queue = (to: string): Effect.Effect<ReadonlyArray<string>, never, SqlClient.SqlClient> =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql<
        { ms: bigint; status: string }
      >`SELECT event_ms AS ms, status FROM webhook_deliveries WHERE endpoint_id = ${to}
      ORDER BY event_ms, event_seq, created_at, id`
  ).pipe(
    Effect.map((rows) => rows.map(({ ms, status }) => `${ms} ${status}`)),
    Effect.orDie
  )
