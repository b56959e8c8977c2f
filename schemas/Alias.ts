/** Request bodies that take some of their fields in camelCase too (modules/docs/reference/conventions.md#aliases). */
import { Schema, SchemaGetter } from "effect"

/**
 * What each alias stands for, on every commerce route that knows the field
 * (modules/docs/reference/conventions.md#aliases).
 */
const fieldOf: Readonly<Record<string, string>> = {
  productId: "product_id",
  useCart: "use_cart",
  itemOverrides: "item_overrides",
  estimateId: "estimate_id",
  addressId: "address_id",
  transitionTo: "transition_to",
  walletNetwork: "wallet_network",
  walletAddress: "wallet_address",
  refundDestinationWalletAddressBsc: "refund_destination_wallet_address_bsc"
}

/** Fields that hold objects of the API's own; a merchant's `metadata` and an address keep their names. */
const ownObjects: ReadonlySet<string> = new Set(["items", "item", "item_overrides"])

const aliasesKey = "tillwire/aliases"

/** The aliases that a body takes, each with the field it stands for; undefined for a body that takes none. */
export const aliasesOf = (body: Schema.Top): Readonly<Record<string, string>> | undefined =>
  Schema.resolveAnnotations(body)?.[aliasesKey] as Readonly<Record<string, string>> | undefined

type JsonObject = Readonly<Record<string, Schema.Json>>

const isObject = (value: Schema.Json): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const withoutAliasesIn = (value: Schema.Json): Schema.Json =>
  Array.isArray(value) ? value.map(withoutAliasesIn) : isObject(value) ? withoutAliases(value) : value

/**
 * The body with every alias under the name it stands for, in nested items too. A field that is sent by its own name
 * wins.
 *
 * @example
 * withoutAliases({ estimateId: "a", items: [{ productId: "B0" }] })
 * // => { estimate_id: "a", items: [{ product_id: "B0" }] }
 */
export const withoutAliases = (body: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(body)
      .map(([name, value]): readonly [string, Schema.Json, boolean] => {
        const field = Object.hasOwn(fieldOf, name) ? fieldOf[name]! : name
        return [field, ownObjects.has(field) ? withoutAliasesIn(value) : value, field === name]
      })
      .toSorted(([, , a], [, , b]) => Number(a) - Number(b))
      .map(([field, value]) => [field, value])
  )

/**
 * A body with the fields of `struct`, each by its own name or its alias. The reference shows the names only, so parts
 * of `struct` carry no identifier of their own.
 */
export const withAliases = <A>(
  struct: Schema.Codec<A, any>,
  about: { readonly identifier: string; readonly description?: string; readonly examples: ReadonlyArray<JsonObject> }
): Schema.Codec<A, JsonObject> =>
  Schema.Record(Schema.String, Schema.Json)
    .check(Schema.makeFilter(() => true, { toJsonSchema: () => Schema.toJsonSchemaDocument(struct).schema }))
    .annotate(about)
    .pipe(Schema.decodeTo(struct, {
      decode: SchemaGetter.transform(withoutAliases),
      encode: SchemaGetter.transform((encoded: JsonObject) => encoded)
    }))
    .annotate({ [aliasesKey]: fieldOf })
