/** Keys, stores and permissions of shops, as the plugins of BTCPay Server expect them. Pure. */
import type { Right } from "../../schemas/Roles.ts"

/** The name of the webhook format, of the rate limit, of the invoice hook, and of the sole use of a shop's key. */
export const btcpay = "btcpay"

/** Plugins accept BTCPay Server from 1.7.6 on. The bodies that are served are those of 1.13.7. */
export const serverVersion = "1.13.7+tillwire"

/** Characters of a key after its prefix. */
const keyLength = 38

const shortKey = new RegExp(`^(mk|ck)(live|dev)([0-9A-Za-z]{${keyLength}})$`)

/**
 * A key with its two underscores, which a shop may leave out: PrestaShop's form takes letters and digits only.
 *
 * @example
 * fullKey("mkdev" + "x".repeat(38)) // => "mk_dev_" + "x".repeat(38)
 */
export const fullKey = (sent: string): string => {
  const [, scope, environment, rest] = shortKey.exec(sent) ?? []
  return scope === undefined ? sent : `${scope}_${environment}_${rest}`
}

/** At most 128 characters: longer than any key. */
const tokenHeader = /^token +(\S{1,128}) *$/i

/** The key in a header `Authorization: token …`, as it was sent; null: another scheme, or no key. */
export const keyInHeader = (authorization: string | undefined): string | null =>
  tokenHeader.exec(authorization ?? "")?.[1] ?? null

/** A permission, as the API of BTCPay Server names it. */
export type ShopPermission =
  | "btcpay.store.canviewinvoices"
  | "btcpay.store.cancreateinvoice"
  | "btcpay.store.canviewstoresettings"
  | "btcpay.store.canmodifystoresettings"
  | "btcpay.store.canmodifyinvoices"
  | "btcpay.store.webhooks.canmodifywebhooks"
  | "btcpay.store.cancreatenonapprovedpullpayments"

/** The right of this service that a call with a permission needs. */
export const rightOf: Readonly<Record<ShopPermission, Right>> = {
  "btcpay.store.canviewinvoices": "payments:read",
  "btcpay.store.cancreateinvoice": "invoices:write",
  "btcpay.store.canviewstoresettings": "payments:read",
  "btcpay.store.canmodifystoresettings": "payments:read",
  "btcpay.store.canmodifyinvoices": "invoices:write",
  "btcpay.store.webhooks.canmodifywebhooks": "webhooks:write",
  "btcpay.store.cancreatenonapprovedpullpayments": "refunds:create"
}

/** A plugin with a list of permissions of its own, which it compares exactly: each has its own server URL. */
export type ShopPlugin = "woocommerce" | "prestashop"

/** Where each plugin's API is, below the path of the module. */
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

/** The permissions of a key in the order that its plugin expects. `canRefund`: the key may make refunds. */
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
