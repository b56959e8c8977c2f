/** Keys, stores and permissions of shops, as the plugins of BTCPay Server expect them. Pure. */
import type { Right } from "../../schemas/Roles.ts"
import { Environment } from "../../schemas/Network.ts"

/** The format of the webhooks of shops, and what their keys are for. */
export const btcpay = "btcpay"

/** The version that plugins compare: they take those from 1.7.6 on, and this one has the shapes that are served. */
export const serverVersion = "1.13.7+tillwire"

/** Characters behind the prefix of a key. */
const keyLength = 38

const shortKey = new RegExp(`^(mk|ck)(live|dev)([0-9A-Za-z]{${keyLength}})$`)

/**
 * The key that a shop means: PrestaShop's form takes letters and digits only, so the two underscores may be left out.
 *
 * @example
 * fullKey("mkdev" + "x".repeat(38)) // => "mk_dev_" + "x".repeat(38)
 */
export const fullKey = (sent: string): string => {
  const [, scope, environment, rest] = shortKey.exec(sent) ?? []
  return scope === undefined ? sent : `${scope}_${environment}_${rest}`
}

/** The key of the header `Authorization: token …`, as it was sent; null: another scheme, or none. */
export const keyInHeader = (authorization: string | undefined): string | null =>
  /^token +(\S{1,128}) *$/i.exec(authorization ?? "")?.[1] ?? null

/** The store of a key. Plugins cut it out at a colon, so it has none. */
export const storeIdOf = (merchantId: number, environment: Environment): string => `${merchantId}-${environment}`

/** A permission, as the API of BTCPay Server names it. */
export type ShopPermission =
  | "btcpay.store.canviewinvoices"
  | "btcpay.store.cancreateinvoice"
  | "btcpay.store.canviewstoresettings"
  | "btcpay.store.canmodifystoresettings"
  | "btcpay.store.canmodifyinvoices"
  | "btcpay.store.webhooks.canmodifywebhooks"
  | "btcpay.store.cancreatenonapprovedpullpayments"

/** The right that a call with the permission takes. */
export const rightOf: Readonly<Record<ShopPermission, Right>> = {
  "btcpay.store.canviewinvoices": "payments:read",
  "btcpay.store.cancreateinvoice": "invoices:write",
  "btcpay.store.canviewstoresettings": "payments:read",
  "btcpay.store.canmodifystoresettings": "payments:read",
  "btcpay.store.canmodifyinvoices": "invoices:write",
  "btcpay.store.webhooks.canmodifywebhooks": "webhooks:write",
  "btcpay.store.cancreatenonapprovedpullpayments": "refunds:create"
}

/** Where a shop's plugin finds the API: plugins compare the list of permissions exactly, and not all with one list. */
export type ShopPlugin = "woocommerce" | "prestashop"

/** Below the module's path. */
export const prefixes: Readonly<Record<ShopPlugin, string>> = { woocommerce: "", prestashop: "/for/prestashop" }

const wooCommercePermissions: ReadonlyArray<ShopPermission> = [
  "btcpay.store.canviewinvoices",
  "btcpay.store.cancreateinvoice",
  "btcpay.store.canviewstoresettings",
  "btcpay.store.canmodifyinvoices",
  "btcpay.store.webhooks.canmodifywebhooks"
]

const prestaShopPermissions: ReadonlyArray<ShopPermission> = [
  "btcpay.store.canmodifystoresettings",
  "btcpay.store.webhooks.canmodifywebhooks",
  "btcpay.store.canviewstoresettings",
  "btcpay.store.cancreateinvoice",
  "btcpay.store.canviewinvoices",
  "btcpay.store.canmodifyinvoices"
]

/** The permissions of a key in the order that its plugin expects. `canRefund`: refunds can be claimed by a link. */
export const permissionsFor = (
  plugin: ShopPlugin,
  storeId: string,
  canRefund: boolean
): ReadonlyArray<string> => {
  const own = plugin === "prestashop" ? prestaShopPermissions : wooCommercePermissions
  const refund: ReadonlyArray<ShopPermission> = canRefund && plugin === "woocommerce"
    ? ["btcpay.store.cancreatenonapprovedpullpayments"]
    : []
  return [...own, ...refund].map((permission) => `${permission}:${storeId}`)
}
