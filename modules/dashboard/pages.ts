/** The pages there are, by their paths. A page is a file in `pages/` and a line here. */
import { account } from "./pages/Account.ts"
import { brandingPreview, brandingSettings } from "./pages/Branding.ts"
import { balances } from "./pages/Balances.ts"
import { batch, batches, collect } from "./pages/Batches.ts"
import { event, events } from "./pages/Events.ts"
import { exportFile } from "./pages/Exports.ts"
import { keys } from "./pages/Keys.ts"
import { limits } from "./pages/Limits.ts"
import { link, links, newLink } from "./pages/Links.ts"
import { metrics } from "./pages/Metrics.ts"
import { overview } from "./pages/Overview.ts"
import type { Page } from "./pages/Page.ts"
import { payment } from "./pages/Payment.ts"
import { newInvoice, payments } from "./pages/Payments.ts"
import { periods } from "./pages/Periods.ts"
import { newRefund, refund, refunds } from "./pages/Refunds.ts"
import { search } from "./pages/Search.ts"
import { audit, networks } from "./pages/Settings.ts"
import { simulator } from "./pages/Simulator.ts"
import { team } from "./pages/Team.ts"
import { tokens, tokensPreview } from "./pages/Tokens.ts"
import { todo } from "./pages/Todo.ts"
import { wallets } from "./pages/Wallets.ts"
import { webhook, webhooks } from "./pages/Webhooks.ts"

/** Exact paths before those with a parameter. */
export const pages: ReadonlyArray<Page> = [
  overview,
  payments,
  newInvoice,
  payment,
  newRefund,
  todo,
  links,
  newLink,
  link,
  refunds,
  refund,
  batches,
  batch,
  collect,
  balances,
  periods,
  metrics,
  webhooks,
  webhook,
  events,
  event,
  keys,
  simulator,
  tokens,
  tokensPreview,
  wallets,
  brandingSettings,
  brandingPreview,
  limits,
  team,
  audit,
  networks,
  account,
  search,
  exportFile
]

export interface FoundPage {
  readonly page: Page
  readonly params: Readonly<Record<string, string>>
}

const match = (page: Page, parts: ReadonlyArray<string>): FoundPage | null => {
  const expected = page.path === "" ? [] : page.path.split("/")
  if (expected.length !== parts.length) return null
  const params: Record<string, string> = {}
  for (const [index, part] of expected.entries()) {
    const actual = parts[index]!
    if (part.startsWith(":")) params[part.slice(1)] = actual
    else if (part !== actual) return null
  }
  return { page, params }
}

/** The page of a path below a merchant and its environment; null: there is none. */
export const findPage = (parts: ReadonlyArray<string>): FoundPage | null => {
  for (const page of pages) {
    const found = match(page, parts)
    if (found !== null) return found
  }
  return null
}
