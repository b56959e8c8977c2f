/** The pages as text: pure functions of what they show. Whatever enters HTML is escaped here. */
import { errorBody, type ErrorCode, errorCodes, meaningOf, publicError, statusOf } from "../../schemas/Errors.ts"

/** A guide as a page and as the Markdown it was written in. */
export interface Guide {
  readonly name: string
  readonly title: string
  /** One sentence for the index. */
  readonly about: string
  readonly markdown: string
  /** Rendered; trusted. */
  readonly html: string
}

/** The guides in reading order; `modules/docs/guides/<name>.md` holds each. */
export const guideNames = [
  "quickstart", "payment-page", "selling", "states", "webhooks", "websockets", "fulfilment", "refunds", "simulator",
  "authentication", "versions", "going-live"
] as const
export type GuideName = (typeof guideNames)[number]

/** What each guide is about, for the indexes. */
export const abouts: Readonly<Record<GuideName, string>> = {
  quickstart: "From nothing to a paid invoice in two minutes.",
  "payment-page": "What your customer sees, in their language and under your brand, and how to build your own.",
  selling: "Retailer goods for crypto: a price, an address, one invoice, and carts.",
  states: "What an invoice and a payment can become, and what each change tells.",
  webhooks: "Receive events, verify that they are ours, and get back what you missed.",
  websockets: "Follow events as they happen, and miss none.",
  fulfilment: "Who delivers the goods of orders: the simulated retailer, and a fulfilment service of your own.",
  refunds: "What is owed back, where it goes, what it costs, and how an operator pays it out.",
  simulator: "Payments, accidents, orders and time on devnet, by one call each.",
  authentication: "API keys, wallet sign-in and payment sessions.",
  versions: "How your integration keeps working, and what each version changed.",
  "going-live": "What is different when the money is real."
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;", "'": "&#39;" }

/** Text that HTML shows as it is, in content and in quoted attributes. */
export const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? "")

/** Backticks of our own sentences become code. */
const sentence = (text: string): string => escape(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>")

/** A whole page. `stylesheet` is the address of the style; `main` is trusted HTML. */
export const page = (title: string, main: string, stylesheet: string): string =>
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)} · Tillwire</title>
<link rel="stylesheet" href="${escape(stylesheet)}">
<link rel="icon" href="data:,">
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header><nav aria-label="Documentation"><ul>
<li><a href="/docs/guides">Guides</a></li>
<li><a href="/docs">API reference</a></li>
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
<link rel="icon" href="data:,">
</head>
<body>
<div id="reference"></div>
<noscript><p>The reference needs JavaScript. Without it: <a href="/docs/guides">guides</a>,
<a href="/docs/errors">errors</a>, <a href="/openapi.json">the OpenAPI document</a>.</p></noscript>
<script src="${escape(script)}"></script>
</body>
</html>
`

/**
 * What {@link referencePage} runs. The first line stands in front of a probe in the bundle that would make code from text:
 * the policy of the page forbids that, and the browser would report the try. The rest asks nothing of anyone else: no
 * fonts, no usage reports, no proxy, no links to hosted tools.
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

/** Index of the guides. */
export const guidesMain = (guides: ReadonlyArray<Guide>): string =>
  `<h1>Guides</h1>
<ul>
${guides.map(({ about, name, title }) => `<li><a href="/docs/guides/${name}">${escape(title)}</a>: ${escape(about)}</li>`).join("\n")}
</ul>`

/** What a caller can do about a status, where a code has no advice of its own. */
const adviceByStatus: Readonly<Record<number, string>> = {
  400: "Correct the request. In a wrapped error `param` names the field. Repeating it unchanged gives the same answer.",
  401: "Send a valid credential: see the guide on authentication.",
  403: "Use a credential that may do this: see the guide on authentication.",
  404: "Check the id and the environment. What belongs to someone else is answered exactly like what does not exist.",
  405: "The `Allow` header lists the methods of this path.",
  409: "Read the object again: its state has changed, or does not allow the call.",
  410: "Ask for a new one.",
  413: "Send less than 256 KiB.",
  415: "Send `content-type: application/json`, without a content encoding.",
  422: "Use a new key for a new act; repeat an act with the key and the body it had.",
  429: "Wait for the seconds in `Retry-After`, then try again. The clients of this project do it for you.",
  500: "Try again with the same Idempotency-Key. If it stays, tell the operator the `X-Request-Id`.",
  503: "Wait for the seconds in `Retry-After`, then try again with the same Idempotency-Key."
}

/** Advice that is better than that of the status. */
const adviceByCode: Readonly<Partial<Record<ErrorCode, string>>> = {
  INVALID_AMOUNT_FORMAT: "Send exactly one of `amount` (an integer, thousandths of a dollar) and `amount_usd` (at most 3 decimals).",
  IDEMPOTENCY_KEY_MISSING: "Make a UUID for each act of your customer, send it as `Idempotency-Key`, and keep it for repeats.",
  IDEMPOTENCY_REQUEST_IN_PROGRESS: "The first call has not ended. Repeat with the same key after `Retry-After`.",
  INVALID_CURSOR: "Send one cursor: the id of the first or last object of the page you have.",
  INVALID_VERSION: "Leave `X-Service-Version` out, or send a date that the reference names.",
  API_KEY_INVALID: "The key is unknown, revoked or expired. Make a new one; a lost key cannot be shown again.",
  TOKEN_EXPIRED: "Get a new access token with your refresh token.",
  SESSION_INVALID: "Send both `x-session-token` and `x-signature` exactly as the invoice's creation answered them.",
  CREDENTIAL_NOT_ALLOWED: "Remove the API key or access token: payment pages take the session pair only. Never send a key to a browser.",
  ORIGIN_NOT_ALLOWED: "Ask the operator to add your page's origin to `http.allowedOrigins`, or open the stream from your server.",
  HOST_NOT_ALLOWED:
    "Call the internal port by `localhost` or an IP address, or ask the operator to add the name to `rpc.allowedHosts`.",
  ENVIRONMENT_FORBIDDEN: "Use a key of that environment. Only merchant-scope keys may read the other one, and no key gets a "
    + "payment link of the other one.",
  API_KEY_LIMIT_REACHED: "Revoke a key, or wait until the overlap of a rotated one ends. A rotation with `overlap_seconds` 0 is "
    + "always possible.",
  INVOICE_NOT_CANCELABLE: "Read the invoice: it is paid, partly paid, or a payment is under way.",
  ROUTE_LOCKED: "A part was paid: ask for the address of the same token and network again.",
  WEBHOOK_DISABLED: "See why in the endpoint's `disabled_reason`, then enable it: `PATCH` it with `{\"status\": \"enabled\"}`.",
  WEBHOOK_URL_INVALID: "Give a public https address without user name and password. On devnet see `webhooks.devnetReceivers`."
}

/** What to do about a code, in a sentence or two. */
export const adviceOn = (code: ErrorCode): string => adviceByCode[code] ?? adviceByStatus[statusOf(code)] ?? ""

const exampleRequestId = "req_5f0b1c9e-3d2a-4b8e-9c47-1a6d2e8f7b30"

const bodyText = (code: ErrorCode, family: "flat" | "wrapped"): string =>
  escape(JSON.stringify(errorBody(publicError(code), family, exampleRequestId), null, 2))

/** One code, explained. */
export const errorMain = (code: ErrorCode): string =>
  `<h1><code>${code}</code></h1>
<p>HTTP status ${statusOf(code)}. ${sentence(meaningOf(code))}.</p>
<h2>What to do</h2>
<p>${sentence(adviceOn(code))}</p>
<h2>How it looks</h2>
<p>Tokens, wallets, invoices, payment pages and merchant settings:</p>
<pre tabindex="0"><code>${bodyText(code, "flat")}</code></pre>
<p>Everything else:</p>
<pre tabindex="0"><code>${bodyText(code, "wrapped")}</code></pre>
<p>The message may say more than the one above; decide by the code. <a href="/docs/errors">All errors</a></p>`

/** The catalogue, by status. */
export const errorsMain = (): string =>
  `<h1>Errors</h1>
<p>Decide by <code>code</code>: a code is never renamed, and new ones may be added in any version.</p>
${
    [...Map.groupBy(errorCodes, statusOf)].toSorted(([a], [b]) => a - b).map(([status, codes]) =>
      `<h2>${status}</h2>
<ul>
${codes.map((code) => `<li><a href="/docs/errors/${code}"><code>${code}</code></a>: ${sentence(meaningOf(code))}</li>`).join("\n")}
</ul>`
    ).join("\n")
  }`

/** The page of an address that leads nowhere. */
export const missingMain = "<h1>Not found</h1>\n<p>There is no such page. <a href=\"/docs/guides\">Guides</a></p>"

const summary = "Tillwire is a crypto payments service that merchants run themselves: invoices in US dollars, paid in " +
  "tokens, every change told as one canonical event."

/** `/llms.txt`: where a language model finds what (llmstxt.org). */
export const llms = (guides: ReadonlyArray<Guide>, publicUrl: string): string =>
  `# Tillwire

> ${summary}

Amounts are integers of thousandths of a dollar (usd_millis). Writes take an Idempotency-Key. Errors carry a code.

## API

- [OpenAPI 3.1 document](${publicUrl}/openapi.json): every call with its fields, examples and errors

## Guides

${guides.map(({ about, name, title }) => `- [${title}](${publicUrl}/docs/guides/${name}.md): ${about}`).join("\n")}

## Optional

- [Everything in one file](${publicUrl}/llms-full.txt): the guides and every error code
- [Errors](${publicUrl}/docs/errors): every error code with its meaning
`

/** `/llms-full.txt`: the guides whole, and every error code. */
export const llmsFull = (guides: ReadonlyArray<Guide>): string =>
  `# Tillwire

> ${summary}

${guides.map(({ markdown }) => markdown.replaceAll(/^#/gm, "##").trimEnd()).join("\n\n")}

## Errors

${errorCodes.map((code) => `- \`${code}\` (${statusOf(code)}): ${meaningOf(code)}. ${adviceOn(code)}`).join("\n")}
`
