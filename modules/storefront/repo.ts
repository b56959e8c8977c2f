/** The only SQL of carts, estimates and addresses. A database fault is a defect. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Write } from "../../runtime/Commit.ts"
import type { Person } from "../../runtime/PersonalData.ts"
import { batchSize } from "../../runtime/Retention.ts"
import { UsdMillis } from "../../schemas/Money.ts"
import { Environment, Network } from "../../schemas/Network.ts"
import { ItemFault, Retailer } from "../../schemas/Order.ts"
import { type AddressState, type Customer, customerKey, type EstimateState } from "./rules.ts"
import { type CartState } from "./rules/Carts.ts"

/**
 * Hours for which an estimate and its addresses are kept: time to say what became of it, and no longer
 * (modules/docs/reference/checkout.md#kept).
 */
export const estimateRetentionHours = 24

/**
 * Days for which a cart is kept after its last change (modules/docs/reference/checkout.md#kept): a customer who comes
 * back within a season.
 */
export const cartRetentionDays = 90

const nullableText = Schema.NullOr(Schema.String)

const Items = Schema.Array(Schema.Struct({
  id: Schema.String,
  productId: Schema.String,
  retailer: Retailer,
  title: Schema.String,
  unitAmount: UsdMillis,
  quantity: Schema.Int,
  imageUrl: nullableText,
  productUrl: nullableText
}))

const StoredQuotation = Schema.Struct({
  items: Schema.Array(Schema.Struct({
    retailer: Retailer,
    productId: Schema.String,
    title: Schema.String,
    imageUrl: nullableText,
    quantity: Schema.Int,
    unitAmount: UsdMillis
  })),
  refused: Schema.Array(Schema.Struct({
    retailer: Schema.String,
    productId: Schema.String,
    fault: ItemFault,
    message: Schema.String
  })),
  shipping: Schema.Array(Schema.Struct({
    id: Schema.String,
    name: Schema.String,
    amount: UsdMillis,
    estimatedDays: Schema.String
  })),
  tax: UsdMillis,
  fees: UsdMillis
})

const StoredAddress = Schema.Struct({
  firstName: Schema.String,
  lastName: Schema.String,
  streetAddress: Schema.String,
  addressLine2: nullableText,
  city: Schema.String,
  state: Schema.String,
  zipCode: Schema.String,
  country: Schema.String,
  phone: Schema.String,
  email: Schema.String
})

const customerColumns = {
  customer_id: nullableText,
  wallet_address: nullableText,
  wallet_network: Schema.NullOr(Network)
}

const CartRow = Schema.Struct({
  merchant_id: Schema.Int,
  environment: Environment,
  version: Schema.BigInt,
  ...customerColumns,
  items: Items,
  created_at: Schema.BigInt,
  updated_at: Schema.BigInt
})

const EstimateRow = Schema.Struct({
  merchant_id: Schema.Int,
  id: Schema.String,
  version: Schema.BigInt,
  environment: Environment,
  ...customerColumns,
  quotation: StoredQuotation,
  zip_code: nullableText,
  created_at: Schema.BigInt,
  expires_at: Schema.BigInt,
  order_id: nullableText
})

const AddressRow = Schema.Struct({
  merchant_id: Schema.Int,
  id: Schema.String,
  version: Schema.BigInt,
  environment: Environment,
  estimate_id: Schema.String,
  address: StoredAddress,
  quotation: StoredQuotation,
  created_at: Schema.BigInt
})

const encodeItems = Schema.encodeSync(Items)
const encodeQuotation = Schema.encodeSync(StoredQuotation)

const customerRow = ({ id, wallet }: Customer) => ({
  customer_id: id,
  wallet_address: wallet?.address ?? null,
  wallet_network: wallet?.network ?? null
})

const readCustomer = (row: {
  readonly customer_id: string | null
  readonly wallet_address: string | null
  readonly wallet_network: Network | null
}): Customer => ({
  id: row.customer_id,
  wallet: row.wallet_address === null || row.wallet_network === null
    ? null
    : { address: row.wallet_address, network: row.wallet_network }
})

export const cartWrite = (cart: CartState): Write => ({
  table: "carts",
  row: {
    merchant_id: cart.merchantId,
    environment: cart.environment,
    customer: customerKey(cart.customer),
    version: cart.version,
    ...customerRow(cart.customer),
    items: encodeItems(cart.items),
    created_at: cart.createdAt,
    updated_at: cart.updatedAt
  }
})

/** The table whose conflict says that an estimate was used by another order. */
export const estimateTable = "checkout_estimates"

export const estimateWrite = (estimate: EstimateState): Write => ({
  table: estimateTable,
  row: {
    merchant_id: estimate.merchantId,
    id: estimate.id,
    version: estimate.version,
    environment: estimate.environment,
    ...customerRow(estimate.customer),
    quotation: encodeQuotation(estimate.quotation),
    zip_code: estimate.zipCode,
    created_at: estimate.createdAt,
    expires_at: estimate.expiresAt,
    order_id: estimate.orderId
  }
})

export const addressWrite = (address: AddressState): Write => ({
  table: "checkout_addresses",
  row: {
    merchant_id: address.merchantId,
    id: address.id,
    version: address.version,
    environment: address.environment,
    estimate_id: address.estimateId,
    address: address.address,
    quotation: encodeQuotation(address.quotation),
    created_at: address.createdAt
  }
})

const decodeCarts = Schema.decodeUnknownEffect(Schema.Array(CartRow))
const decodeEstimates = Schema.decodeUnknownEffect(Schema.Array(EstimateRow))
const decodeAddresses = Schema.decodeUnknownEffect(Schema.Array(AddressRow))

export const makeRepo = Effect.map(SqlClient.SqlClient, (sql) => ({
  /** A customer's cart; null while nobody wrote to it. */
  cart: (merchantId: number, environment: Environment, customer: Customer): Effect.Effect<CartState | null> =>
    sql`SELECT * FROM carts
      WHERE merchant_id = ${merchantId} AND environment = ${environment} AND customer = ${customerKey(customer)}`.pipe(
      Effect.flatMap(decodeCarts),
      Effect.map(([row]) =>
        row === undefined ? null : {
          merchantId: row.merchant_id,
          environment: row.environment,
          version: Number(row.version),
          customer: readCustomer(row),
          items: row.items,
          createdAt: Number(row.created_at),
          updatedAt: Number(row.updated_at)
        }
      ),
      Effect.orDie
    ),

  /** A merchant's estimate in an environment; another's is as unknown as none. */
  estimate: (merchantId: number, environment: Environment, id: string): Effect.Effect<EstimateState | null> =>
    sql`SELECT * FROM checkout_estimates
      WHERE merchant_id = ${merchantId} AND environment = ${environment} AND id = ${id}`.pipe(
      Effect.flatMap(decodeEstimates),
      Effect.map(([row]) =>
        row === undefined ? null : {
          id: row.id,
          merchantId: row.merchant_id,
          environment: row.environment,
          version: Number(row.version),
          customer: readCustomer(row),
          quotation: row.quotation,
          zipCode: row.zip_code,
          createdAt: Number(row.created_at),
          expiresAt: Number(row.expires_at),
          orderId: row.order_id
        }
      ),
      Effect.orDie
    ),

  /** An address of an estimate. */
  address: (merchantId: number, estimateId: string, id: string): Effect.Effect<AddressState | null> =>
    sql`SELECT * FROM checkout_addresses
      WHERE merchant_id = ${merchantId} AND estimate_id = ${estimateId} AND id = ${id}`.pipe(
      Effect.flatMap(decodeAddresses),
      Effect.map(([row]) =>
        row === undefined ? null : {
          id: row.id,
          merchantId: row.merchant_id,
          environment: row.environment,
          version: Number(row.version),
          estimateId: row.estimate_id,
          address: row.address,
          quotation: row.quotation,
          createdAt: Number(row.created_at)
        }
      ),
      Effect.orDie
    )
}))

/** Deletes a batch of what is older than it is kept, by the system's clock; answers how many rows went. */
export const pruneTable = (
  table: "carts" | "checkout_estimates" | "checkout_addresses",
  timeColumn: "created_at" | "updated_at",
  beforeSeconds: number
) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql`DELETE FROM ${sql(table)} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${sql(table)} WHERE ${sql(timeColumn)} < ${beforeSeconds}
        ORDER BY ${sql(timeColumn)} LIMIT ${batchSize} FOR UPDATE SKIP LOCKED)) RETURNING 1`,
      (rows) => rows.length
    ))

/** What carts, estimates and addresses keep of a customer. Few rows: the last two are deleted after a day. */
export const makePersonalQueries = Effect.map(SqlClient.SqlClient, (sql) => {
  const isCart = ({ customerId, environment, merchantId }: Person) =>
    sql`merchant_id = ${merchantId} AND environment = ${environment}
      AND customer = ${customerKey({ id: customerId, wallet: null })}`
  const isEstimate = ({ customerId, environment, merchantId }: Person) =>
    sql`merchant_id = ${merchantId} AND environment = ${environment} AND customer_id = ${customerId}`
  const isAddress = (person: Person) =>
    sql`merchant_id = ${person.merchantId} AND estimate_id IN (
      SELECT id FROM checkout_estimates WHERE ${isEstimate(person)})`
  return {
    cart: (person: Person) => Effect.orDie(sql`SELECT * FROM carts WHERE ${isCart(person)}`),
    estimates: (person: Person) => Effect.orDie(sql`SELECT * FROM checkout_estimates WHERE ${isEstimate(person)}`),
    addresses: (person: Person) => Effect.orDie(sql`SELECT * FROM checkout_addresses WHERE ${isAddress(person)}`),
    /** Addresses first, because they are found by their estimates. */
    remove: (person: Person) =>
      Effect.orDie(sql.withTransaction(Effect.all([
        sql`DELETE FROM checkout_addresses WHERE ${isAddress(person)}`,
        sql`DELETE FROM checkout_estimates WHERE ${isEstimate(person)}`,
        sql`DELETE FROM carts WHERE ${isCart(person)}`
      ])))
  }
})
