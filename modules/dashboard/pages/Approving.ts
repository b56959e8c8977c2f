/** What whoever approves real money reads and signs, by a passkey or a wallet; with play money nobody need sign. */
import { Effect, Schema } from "effect"
import { attribute, type Html, html } from "../../../runtime/pages/Html.ts"
import type { ApprovalChallenge } from "../../../schemas/Approval.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { card, form, note, timeOf } from "./Elements.ts"
import type { FormAction, Visit } from "./Page.ts"

type Challenge = typeof ApprovalChallenge.Encoded
type Path = `/api/${string}`

const ask = ({ api }: Visit, path: Path): Effect.Effect<Challenge, PublicError> =>
  api.send<Challenge>("POST", `${path}/approve/challenge`, undefined, null)

/** How a person can approve what a page shows. */
export interface ApprovalPrompt {
  /** Null: the person may not yet. */
  readonly challenge: Challenge | null
  /** What signs at the press of the button: a passkey of this person, in this browser; else a wallet, or nothing. */
  readonly way: "passkey" | "wallet" | "none"
}

/**
 * Asked for where the button stands: nothing is stored of it. Null: somebody has approved or ended it meanwhile. Who
 * waits is not asked about, as refusals are audited.
 */
export const approvingOf = (visit: Visit, path: Path): Effect.Effect<ApprovalPrompt | null, PublicError> => {
  const { caller: { moneyFrom = 0 }, environment, nameAddress, now } = visit
  if (environment === "mainnet" && now < moneyFrom) return Effect.succeed({ challenge: null, way: "none" })
  return Effect.matchEffect(ask(visit, path), {
    onFailure: (error) => error.code === "INVALID_TRANSITION" ? Effect.succeed(null) : Effect.fail(error),
    onSuccess: (challenge) => {
      const isEvm = challenge.wallets.some(({ chain_id: chain, family }) => family === "evm" && chain === null)
      const hasPasskey = challenge.passkey !== null && nameAddress === null
      const approving: ApprovalPrompt = { challenge, way: hasPasskey ? "passkey" : isEvm ? "wallet" : "none" }
      return Effect.succeed(approving)
    }
  })
}

/** The button beside the heading. With real money it is not there for whoever has to press one of a wallet, or none. */
export const approveButton = (visit: Visit, { way }: ApprovalPrompt): Html | false =>
  (way === "passkey" || visit.environment === "devnet") && form(
    visit,
    "approve",
    html`<input type="hidden" name="proof"><button class="main"${
      attribute("data-approve", way === "passkey" ? "1" : null)
    }>${visit.texts.approving.approve}</button>`
  )

/** The text as it is signed, wallets of the browser, and what is missing where nothing can sign. */
export const approvingCard = (visit: Visit, { challenge, way }: ApprovalPrompt): Html => {
  const { caller: { moneyFrom = 0 }, environment, nameAddress, texts: { approving: words, signIn } } = visit
  if (challenge === null) return note("warn", html`${words.waits} ${timeOf(visit, moneyFrom)}`)
  const { text, wallets } = challenge
  const isReal = environment === "mainnet"
  return card(
    words.title,
    html`<p class="soft">${words.text}</p><pre id="approval-text" tabindex="0">${text}</pre>${
      way !== "none" && isReal && html`<noscript>${note("warn", words.needsScript)}</noscript>`
    }${way === "none" && isReal && note("warn", words.nothingToSign)}${
      way === "none" && isReal && html`<p><a class="button" href="${visit.at("account")}">${words.toAccount}</a></p>`
    }${isReal && nameAddress !== null && note("warn", signIn.byAddress(nameAddress))}${
      wallets.some(({ family }) => family === "evm") && form(
        visit,
        "approve",
        html`<input type="hidden" name="proof"><ul class="wallets" aria-label="${signIn.wallets}" data-approve-wallets="${
          JSON.stringify(words.wallet)
        }" data-own="1" hidden></ul>`
      )
    }${
      !isReal && way !== "none" && form(
        visit,
        "approve",
        html`<input type="hidden" name="proof"><button class="mini">${words.withoutSigning}</button>`
      )
    }<p id="approve-note" role="status" data-own="1" data-changed="${words.changed}"></p>`
  )
}

/** What the browser's script asks for at the press, so that the 5 minutes begin then. */
export const challengeAction = (pathOf: (visit: Visit) => Path): FormAction => (visit) =>
  Effect.map(ask(visit, pathOf(visit)), (challenge) => ({ json: challenge }))

const readProof = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Json))

/** What the form says of the approval; no body where nothing was signed. */
export const approvalBody = (
  { texts }: Pick<Visit, "texts">,
  sent: URLSearchParams
): Effect.Effect<Schema.Json | undefined, PublicError> => {
  const proof = sent.get("proof") ?? ""
  return proof === "" ? Effect.succeed(undefined) : Effect.mapBoth(readProof(proof), {
    onSuccess: (read) => ({ proof: read }),
    onFailure: () => publicError("VALIDATION_ERROR", { message: texts.faults.noPasskey })
  })
}
