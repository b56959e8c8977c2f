/** Options of the stores. The store is no plugin: it starts before them and they all stand on it. */
import { Schema } from "effect"

/** The embedded server keeps its data below the data directory and needs nothing. */
export const EmbeddedOptions = Schema.Struct({})

/** Any PostgreSQL from 15. */
export const PostgresOptions = Schema.Struct({
  /** `postgresql://user:password@host:port/database`. */
  url: Schema.String.check(
    Schema.isPattern(/^postgres(ql)?:\/\/\S+$/, { expected: "a postgresql:// URL" })
  ),
  /** Connections this instance may open; default 20. */
  poolSize: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 4, maximum: 200 })))
})

export const storeOptions: Readonly<Record<string, Schema.Codec<any, any>>> = {
  embedded: EmbeddedOptions,
  postgres: PostgresOptions
}
