/** The pages of error codes: what causes each, what to do about it, and lines of a shell that provoke it. Pure. */
import { errorBody, type ErrorCode, errorCodes, meaningOf, publicError, statusOf } from "../../../schemas/Errors.ts"
import { escape, type Guide, keyLine, placeOfKeys, sentence, summary } from "../pages.ts"
import { accessErrors } from "./accessErrors.ts"
import { batchErrors } from "./batchErrors.ts"
import type { ErrorNote } from "./ErrorNote.ts"
import { requestErrors } from "./requestErrors.ts"
import { ruleOf } from "./rules.ts"
import { stateErrors } from "./stateErrors.ts"

/** A note for every code: a code without one does not compile. */
const notes: Readonly<Record<ErrorCode, ErrorNote>> = {
  ...requestErrors,
  ...accessErrors,
  ...stateErrors,
  ...batchErrors
}

/** The deployment whose pages these are. */
interface Deployment {
  readonly publicUrl: string
  /** The file of the demo merchant's keys; null: not told. */
  readonly keysPath: string | null
}

/** The lines of a shell that provoke `code` on a devnet service; undefined where none can. */
const exampleOf = (code: ErrorCode, { keysPath, publicUrl }: Deployment): string | undefined => {
  const { example } = notes[code]
  if ("requirement" in example) return undefined
  const lines = example.join("\n")
  return [
    `BASE=${publicUrl}`,
    ...lines.includes("$KEY") ? [keyLine("KEY", "merchant_key", keysPath)] : [],
    ...lines.includes("$COMMERCE_KEY") ? [keyLine("COMMERCE_KEY", "commerce_key", keysPath)] : [],
    lines
  ].join("\n")
}

const exampleRequestId = "req_5f0b1c9e-3d2a-4b8e-9c47-1a6d2e8f7b30"

const bodyText = (code: ErrorCode, family: "flat" | "wrapped"): string =>
  escape(JSON.stringify(errorBody(publicError(code), family, exampleRequestId), null, 2))

/** The lines that provoke a code, or why there are none. */
const exampleHtml = (code: ErrorCode, deployment: Deployment): string => {
  const { example } = notes[code]
  const lines = exampleOf(code, deployment)
  return lines === undefined
    ? `<p>${sentence("requirement" in example ? example.requirement : "")}</p>`
    : `<p>${placeOfKeys(deployment.keysPath)}, on devnet:</p>\n<pre tabindex="0"><code>${escape(lines)}</code></pre>`
}

/** `webhooks#where-deliveries-go` as a link in words. */
const ruleLink = (rule: string): string =>
  `<a href="/docs/reference/${rule}">${rule.replace("#", ", ").replaceAll("-", " ")}</a>`

/** One code, explained. */
export const errorMain = (code: ErrorCode, deployment: Deployment): string =>
  `<h1><code>${code}</code></h1>
<p>HTTP status ${statusOf(code)}. ${sentence(meaningOf(code))}.</p>
<h2>Cause</h2>
<p>${sentence(notes[code].cause)}</p>
<h2>What to do</h2>
<p>${sentence(notes[code].fix)}</p>
<p>The rule is in the reference: ${ruleLink(ruleOf[code])}.</p>
<h2>A request that causes it</h2>
${exampleHtml(code, deployment)}
<h2>How it looks</h2>
<p>Tokens, wallets, invoices, payment pages and merchant settings:</p>
<pre tabindex="0"><code>${bodyText(code, "flat")}</code></pre>
<p>Everything else:</p>
<pre tabindex="0"><code>${bodyText(code, "wrapped")}</code></pre>
<p>The message may say more than the one above; decide by the code. <a href="/docs/errors">All errors</a></p>`

/** `/llms-full.txt`: the guides and the reference whole, and every error code. */
export const llmsFull = (guides: ReadonlyArray<Guide>): string =>
  `# Tillwire

> ${summary}

${guides.map(({ markdown }) => markdown.replaceAll(/^#/gm, "##").trimEnd()).join("\n\n")}

## Errors

${errorCodes.map((code) => `- \`${code}\` (${statusOf(code)}): ${notes[code].cause} ${notes[code].fix}`).join("\n")}
`
