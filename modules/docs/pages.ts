/** The pages as text: pure functions of what they show. Whatever enters HTML is escaped here. */
import { createHash } from "node:crypto"
import { errorCodes, meaningOf, type PublicError, publicError, statusOf } from "../../schemas/Errors.ts"

/** A guide, or a page of the reference, as a page and as the Markdown it was written in. */
export interface Guide {
  readonly name: string
  readonly title: string
  /** One sentence for the index. */
  readonly description: string
  readonly markdown: string
  /** Rendered; trusted. */
  readonly html: string
}

/** The guides in reading order; `modules/docs/guides/<name>.md` holds each. */
export const guideNames = [
  "quickstart",
  "shop",
  "shop-payments",
  "shop-decisions",
  "shop-refunds",
  "shop-collecting",
  "shop-months",
  "shop-team",
  "payment-page",
  "payment-links",
  "btcpay",
  "selling",
  "states",
  "webhooks",
  "websockets",
  "fulfilment",
  "exceptions",
  "screening",
  "refunds",
  "payouts",
  "collecting",
  "books",
  "simulator",
  "cli",
  "authentication",
  "versions",
  "smoke",
  "real-money",
  "going-live",
  "deployment",
  "database",
  "high-availability",
  "growing",
  "backup",
  "master-key",
  "upgrading",
  "plugins",
  "monitoring",
  "runbooks",
  "operate",
  "network-solana",
  "network-ton",
  "network-sui",
  "network-cardano"
] as const
export type GuideName = (typeof guideNames)[number]

/** What each guide is about, for the indexes. */
export const guideDescriptions: Readonly<Record<GuideName, string>> = {
  quickstart: "From nothing to a paid invoice in two minutes.",
  cli: "Start, check and examine a deployment, try payments, and receive events on your own machine.",
  "payment-page": "What your customer sees, in their language and under your brand, and how to build your own.",
  "payment-links": "A page by which anybody pays you: in a message, behind a button, on a poster.",
  btcpay: "A shop whose plugin was written for BTCPay Server sells with Tillwire: address, key, refunds.",
  selling: "Retailer goods for crypto: a price, an address, one invoice, and carts.",
  states: "What an invoice and a payment can become, and what each change tells.",
  webhooks: "Receive events, verify that they are ours, and get back what you missed.",
  websockets: "Follow events as they happen, and miss none.",
  fulfilment: "Who delivers the goods of orders: the simulated retailer, and a fulfilment service of your own.",
  exceptions: "Money that came otherwise than asked: what waits for you, and how you decide.",
  screening: "A list of addresses whose money is refused, what it does, and what it cannot see.",
  refunds: "What is owed back, where it goes, what it costs, and how an operator pays it out.",
  collecting: "Which wallet for whom, and how what lies on many addresses comes to you by one signature.",
  payouts: "Refunds and payouts signed by your own wallet, and what each network guarantees.",
  books: "What you have, what a month was, and how it is closed.",
  simulator: "Payments, accidents, orders and time on devnet, by one call each.",
  authentication: "API keys, wallet sign-in and payment sessions.",
  versions: "How your integration keeps working, and what each version changed.",
  smoke: "Whether a network works with the nodes you chose: one command, in ten minutes.",
  "real-money": "From an empty machine to a paid invoice on a real network, each step a command.",
  "going-live": "What is different when the money is real.",
  deployment: "In containers, by systemd or on Kubernetes, behind a proxy that ends TLS.",
  database: "A PostgreSQL of your own: connections, poolers, a replica for reads, and a primary that may die.",
  "high-availability": "What keeps a deployment going when a part of it dies, and what each loss costs.",
  growing: "What to change for ten times the load, and a hundred, with what was measured.",
  backup: "What a backup holds, how it is taken and checked, and what the service does after a restore.",
  "master-key": "A new master key without a pause, and what to do when one is lost or known to others.",
  upgrading: "A newer version over the same database, with one instance or several.",
  plugins: "A part of the service of your own: from an empty folder to a plugin that runs.",
  monitoring: "Metrics, alerts and a dashboard, and one call followed to the answer of its webhook.",
  runbooks: "What to do when an alert fires.",
  operate: "What you do when a payment, a network or a webhook is stuck.",
  "network-solana": "Which wallet receives on Solana, how payments name their invoice, and what a day of it costs.",
  "network-ton": "Which wallet receives on TON, what its memo is for, what exchanges do wrong, and what it costs.",
  "network-sui": "Sui: which wallet, what exchanges do wrong, which nodes and what they cost.",
  "network-cardano": "Which wallet receives on Cardano, what exchanges do wrong, what counts, and what it costs.",
  shop: "For people who write no programs: signing in, Live and Test, who may do what, and where everything is.",
  "shop-payments": "A payment by its transaction, its amount or its customer, and what to do when it is not there.",
  "shop-decisions": "Money that came late, too much, too little or for no invoice, and what each answer does.",
  "shop-refunds": "From the customer's wish to the money in their wallet: link, approvals, batch, signature.",
  "shop-collecting": "The money of many invoice addresses into one wallet.",
  "shop-months": "What to look at before a month is closed, and what closing means.",
  "shop-team": "Invitations, roles, leaving, and what to do about a lost passkey."
}

/** Pictures of the guides; `modules/docs/assets/<name>.webp` holds each. `test/browser/pictures.test.ts` takes them. */
export const pictureNames = ["overview", "todo", "payment", "shopconnect", "shopkey", "shopprice"] as const

/** The pages of the reference in reading order; `modules/docs/reference/<name>.md` holds each. */
export const ruleNames = [
  "conventions",
  "amounts",
  "time",
  "environments",
  "authentication",
  "api-keys",
  "idempotency",
  "rate-limits",
  "errors",
  "pagination",
  "versioning",
  "invoices",
  "payments",
  "settlement",
  "quotes",
  "tokens",
  "networks",
  "wallets",
  "exceptions",
  "refunds",
  "batches",
  "approvals",
  "claim-page",
  "payor-sessions",
  "payment-page",
  "events",
  "webhooks",
  "websockets",
  "orders",
  "checkout",
  "retailers",
  "simulator",
  "settings",
  "metrics",
  "exports",
  "audit",
  "search",
  "payment-links",
  "btcpay",
  "roles",
  "dashboard",
  "team",
  "ledger",
  "customers",
  "reconciliation",
  "mail",
  "sinks",
  "operations",
  "operator-api",
  "rpc"
] as const
export type RuleName = (typeof ruleNames)[number]

/** What each page of the reference rules, for the indexes. */
export const ruleAbouts: Readonly<Record<RuleName, string>> = {
  conventions: "Bodies, names, ids, metadata: what holds for every call.",
  amounts: "Thousandths of a dollar, token amounts, rates, and every rounding.",
  time: "Times in answers and in requests.",
  environments: "Devnet and mainnet, and in which of them a call acts.",
  authentication: "Which credential opens what, and signing in with a wallet.",
  "api-keys": "Form, storage, rotation and revocation of keys.",
  idempotency: "What a repeated Idempotency-Key gets.",
  "rate-limits": "How calls are counted, and every limit.",
  errors: "Two bodies, every code, and what is never told.",
  pagination: "Lists, cursors and page numbers.",
  versioning: "Which version answers, and what needs a new one.",
  invoices: "Fields, states, creation, tolerance, expiry, grace, late funds.",
  payments: "Which transfers count, what they are worth, and when they are deep enough.",
  settlement: "Where a payment's money stands on its way to the merchant.",
  quotes: "What a route costs, until when, and which price is believed.",
  tokens: "The catalogue, the list, the search, and what a merchant accepts.",
  networks: "The networks, their families, depths and fees, and their state.",
  wallets: "Where funds arrive, and how addresses are given out.",
  exceptions: "What needs a person's decision.",
  refunds: "What may be given back, to where, at which fee.",
  batches: "How money leaves by the merchant's own signature, and when it counts as paid.",
  approvals: "What people sign when they approve that money goes out, and how anybody checks it.",
  "claim-page": "Where a payor says to which address a refund goes.",
  "payor-sessions": "What a payor's browser may do, and with what.",
  "payment-page": "What the hosted page promises.",
  events: "The envelope, every type, their order and ids, the list.",
  webhooks: "Endpoints, delivery, retries, signatures, replay.",
  websockets: "Streams, filters, frames, replay, limits, endings.",
  orders: "Commerce orders: fields, states, the gate before the retailer.",
  checkout: "Estimates, addresses, the order's invoice, carts.",
  retailers: "Who sells and delivers.",
  simulator: "Payments, orders, time and faults on devnet.",
  settings: "What a merchant decides, in which range, with which defaults.",
  metrics: "A merchant's figures over time.",
  exports: "Files of invoices, payments, refunds and receipts: columns, escaping, limits.",
  customers: "What is kept of a person, for how long, and how it is exported and erased.",
  "payment-links": "Pages by which anybody can pay, without a program: codes, limits, what is counted.",
  btcpay: "What plugins for BTCPay Server are answered and told: statuses, webhooks, links, refunds.",
  search: "One field for ids, transactions, addresses, amounts and customers.",
  audit: "Who did what about money, and the chain that shows changes.",
  dashboard: "The merchant's work in a browser: pages, sign-in, cookies, forms.",
  roles: "Who may do what: roles of people, permissions of API keys.",
  team: "The people of a merchant: invitations, ways to sign in, sessions.",
  ledger: "The books: accounts, what is booked when, balances, balance transactions.",
  reconciliation: "Chain, books and events side by side, causes of differences, closed months.",
  sinks: "Every event also in files or a stream of your own: what is promised, and how it is set up.",
  mail: "What is sent by e-mail, how often it is tried, and what is kept of it.",
  operations: "Health, metrics, ports, retention, several instances.",
  "operator-api":
    "Stuck payments, repairs, disabled networks and tokens, replays: by HTTP, with a credential of its own.",
  rpc: "The calls of the internal port."
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "\"": "&quot;",
  "'": "&#39;"
}

/** Text that HTML shows as it is, in content and in quoted attributes. */
export const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? "")

/** Backticks of our own sentences become code. */
export const sentence = (text: string): string => escape(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>")

/** How a policy names what stands between the tags of `name`, which the page has once (CSP 3, hash source). */
export const inlineHash = (page: string, name: "script" | "style"): string => {
  const inner = page.slice(page.indexOf(`<${name}>`) + name.length + 2, page.lastIndexOf(`</${name}>`))
  return `sha256-${createHash("sha256").update(inner).digest("base64")}`
}

/** A whole page. `stylesheet` is the address of the style; `main` is trusted HTML. */
export const page = (title: string, main: string, stylesheet: string): string =>
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)} · Tillwire</title>
<link rel="stylesheet" href="${escape(stylesheet)}">
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header><nav aria-label="Documentation"><ul>
<li><a href="/docs/guides">Guides</a></li>
<li><a href="/docs">API reference</a></li>
<li><a href="/docs/reference">Rules</a></li>
<li><a href="/docs/errors">Errors</a></li>
</ul></nav></header>
<main id="main">
${main}
</main>
<footer><a href="/openapi.json">OpenAPI document</a> · <a href="/llms.txt">llms.txt</a></footer>
</body>
</html>
`

/** The page around the interactive reference, which `script` draws. */
export const referencePage = (script: string): string =>
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference · Tillwire</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
</head>
<body>
<div id="reference"></div>
<noscript><p>The reference needs JavaScript. Without it: <a href="/docs/guides">guides</a>,
<a href="/docs/reference">the rules behind the calls</a>, <a href="/docs/errors">errors</a>, <a href="/openapi.json">the OpenAPI document</a>.</p></noscript>
<script src="${escape(script)}"></script>
</body>
</html>
`

/**
 * What {@link referencePage} runs. The first line stands in front of a probe in the bundle that would make code from
 * text: the policy of the page forbids that, and the browser would report the try. The rest asks nothing of anyone
 * else: no fonts, no usage reports, no proxy, no links to hosted tools.
 */
export const referenceScript = (scalar: string): string =>
  `globalThis.Function=new Proxy(Function,{construct(){throw new EvalError("forbidden by policy")}});
${scalar}
;Scalar.createApiReference("#reference",${
    JSON.stringify({
      url: "/openapi.json",
      withDefaultFonts: false,
      telemetry: false,
      hideClientButton: true,
      showDeveloperTools: "never",
      proxyUrl: "",
      persistAuth: false,
      defaultOpenAllTags: false,
      hideModels: false
    })
  });
`

const indexMain = (heading: string, folder: string, guides: ReadonlyArray<Guide>): string =>
  `<h1>${heading}</h1>
<ul>
${
    guides.map(({ description, name, title }) =>
      `<li><a href="/docs/${folder}/${name}">${escape(title)}</a>: ${escape(description)}</li>`
    ).join("\n")
  }
</ul>`

/** Index of the guides. */
export const guidesMain = (guides: ReadonlyArray<Guide>): string => indexMain("Guides", "guides", guides)

/** Index of the reference's pages. */
export const rulesMain = (rules: ReadonlyArray<Guide>): string => indexMain("Reference: the rules", "reference", rules)

/** The catalogue, by status. */
export const errorsMain = (): string =>
  `<h1>Errors</h1>
<p>Decide by <code>code</code>: a code is never renamed, and new ones may be added in any version.</p>
${
    [...Map.groupBy(errorCodes, statusOf)].toSorted(([a], [b]) => a - b).map(([status, codes]) =>
      `<h2>${status}</h2>
<ul>
${
        codes.map((code) =>
          `<li><a href="/docs/errors/${code}"><code>${code}</code></a>: ${sentence(meaningOf(code))}</li>`
        ).join("\n")
      }
</ul>`
    ).join("\n")
  }`

/** The mark of the service: a till's drawer with a coin. */
export const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">\
<rect width="32" height="32" rx="7" fill="#1f4fc4"/>\
<path d="M6 18h20v7H6z" fill="#fff"/><circle cx="16" cy="11" r="4.5" fill="#fff"/><path d="M13 21h6v1.5h-6z" fill="#1f4fc4"/></svg>
`

/** How the service is, in a sentence. */
const conditions = {
  ok: "Running, and nothing is wrong.",
  degraded: "Running, with something for its operator to look at.",
  unavailable: "Not able to serve right now."
} as const

/** What the page at `/` shows. */
export interface Home {
  readonly publicUrl: string
  readonly environments: ReadonlyArray<"devnet" | "mainnet">
  readonly status: keyof typeof conditions
  readonly apiVersion: string
  readonly keysPath: string | null
  readonly hasDashboard: boolean
}

/**
 * Where a reader's shell finds the keys of the demo merchant: from the directory where the service was started if they
 * are below it, else by the whole path. Null where real money is served: strangers read these pages, and places of
 * files help nobody but the operator, who knows them.
 */
export const keysPathOf = (
  environments: ReadonlyArray<"devnet" | "mainnet">,
  file: string,
  startDirectory: string
): string | null => {
  if (environments.includes("mainnet")) return null
  const start = `${startDirectory}/`
  return file.startsWith(start) ? `./${file.slice(start.length)}` : file
}

const placeholders = { merchant_key: "mk_dev_…", commerce_key: "ck_dev_…" } as const

/** The shell line that keeps a key of the demo merchant in `variable`; to be filled in where nobody tells the file. */
export const keyLine = (variable: string, field: keyof typeof placeholders, keysPath: string | null): string => {
  if (keysPath === null) return `${variable}=${placeholders[field]}`
  const script = `require(${JSON.stringify(keysPath)}).${field}`
  return `${variable}=$(node -p '${script.replaceAll("'", "'\\''")}')`
}

/** Where {@link keyLine} works, as the beginning of a sentence. */
export const placeOfKeys = (keysPath: string | null): string => {
  if (keysPath === null) return "With a devnet key of yours in the first line"
  return keysPath.startsWith("./")
    ? "In the directory where the service was started"
    : "On the machine where the service runs"
}

const environmentNames = { devnet: "devnet (play money)", mainnet: "mainnet (real money)" } as const

/** The lines that make a demo invoice with the key of the first start. */
const demoLines = (publicUrl: string, keysPath: string | null): string =>
  `${keyLine("KEY", "merchant_key", keysPath)}
curl -s ${publicUrl}/api/v1/invoices -H "x-api-key: $KEY" -H "Idempotency-Key: $RANDOM-$RANDOM" \\
  -H 'content-type: application/json' -d '{"amount_usd": 5, "description": "Demo"}' \\
  | node -p 'JSON.parse(require("fs").readFileSync(0)).payment_url'`

/** The page at `/`. */
export const homeMain = ({ apiVersion, environments, hasDashboard, keysPath, publicUrl, status }: Home): string =>
  `<h1>Tillwire</h1>
<p>A crypto payments service: invoices in US dollars, paid in tokens, straight to the merchant's own wallet.</p>
<p class="status">${conditions[status]} It serves ${environments.map((name) => environmentNames[name]).join(" and ")},
API version ${escape(apiVersion)}.</p>
<h2>Where to go on</h2>
<ul>${
    hasDashboard ? `\n<li><a href="/dashboard">Dashboard</a>: sign in, and do your shop's work in the browser</li>` : ""
  }
<li><a href="/docs/guides/quickstart">Quickstart</a>: from nothing to a paid invoice in two minutes</li>
<li><a href="/docs/guides/shop">Run your shop</a>: how the dashboard is used, for people who write no programs</li>
<li><a href="/docs/guides">Guides</a>: webhooks, the payment page, going live</li>
<li><a href="/docs">API reference</a>: every call with its fields and examples</li>
<li><a href="/docs/reference">Rules</a>: what holds behind the calls, with every limit</li>
<li><a href="/docs/errors">Errors</a>: what causes each, and what to do</li>
<li><a href="/health/ready">Health</a>: whether each part works, for monitors and people</li>
</ul>${
    environments.includes("devnet")
      ? `
<h2>A demo invoice</h2>
<p>${placeOfKeys(keysPath)}, these lines print the address of a payment page. Open it, and pay with play
money by “Simulate payment”.</p>
<pre tabindex="0"><code>${escape(demoLines(publicUrl, keysPath))}</code></pre>`
      : ""
  }
<p>You were sent here to pay? Open the whole address that the shop gave you: it begins with
<code>${escape(publicUrl)}/pay/</code>.</p>`

/** What a person reads whose request was refused, and where to go on. */
export const refusalMain = ({ code, message }: PublicError): string =>
  `<h1>${code === "NOT_FOUND" ? "Not found" : sentence(meaningOf(code))}</h1>
<p>${code === "NOT_FOUND" ? "There is no page at this address. " : ""}${sentence(message)}.</p>
<p><a href="/">Start page</a> · <a href="/docs/guides">Guides</a> · <a href="/docs">API reference</a> ·
<a href="/docs/errors/${code}">What <code>${code}</code> means</a></p>`

/** The page of an address that leads nowhere. */
export const missingMain = refusalMain(publicError("NOT_FOUND"))

/** What this is, in a sentence for language models. */
export const summary =
  "Tillwire is a crypto payments service that merchants run themselves: invoices in US dollars, paid in " +
  "tokens, every change told as one canonical event."

/** `/llms.txt`: where a language model finds what (llmstxt.org). */
export const llms = (guides: ReadonlyArray<Guide>, rules: ReadonlyArray<Guide>, publicUrl: string): string =>
  `# Tillwire

> ${summary}

Amounts are integers of thousandths of a dollar (usd_millis). Writes take an Idempotency-Key. Errors carry a code.

## API

- [OpenAPI 3.1 document](${publicUrl}/openapi.json): every call with its fields, examples and errors

## Guides

${
    guides.map(({ description, name, title }) => `- [${title}](${publicUrl}/docs/guides/${name}.md): ${description}`)
      .join("\n")
  }

## Reference

${
    rules.map(({ description, name, title }) => `- [${title}](${publicUrl}/docs/reference/${name}.md): ${description}`)
      .join("\n")
  }

## Optional

- [Everything in one file](${publicUrl}/llms-full.txt): the guides, the reference and every error code
- [Errors](${publicUrl}/docs/errors): every error code with its meaning
`
