/** Passkeys of people as signers of a text: its SHA-256 is the challenge (modules/docs/reference/approvals.md#what-is-signed). */
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { type PasskeySigner, TextSigners, type TextToSign } from "../../../runtime/TextSigners.ts"
import { requireMember } from "./People.ts"
import { noteSigning, partyOf, proveSigning, publicKeyOf, signingOptions } from "./Passkeys.ts"
import type { TeamContext } from "./TeamContext.ts"

const challengeOf = ({ text }: TextToSign): string => createHash("sha256").update(text).digest("base64url")

const passkeySigner = (context: TeamContext): PasskeySigner => ({
  options: (request) =>
    requireMember(context, request.merchantId, request.person).pipe(
      Effect.flatMap(({ person }) => signingOptions(context, person, challengeOf(request))),
      Effect.orElseSucceed(() => null)
    ),
  verify: Effect.fnUntraced(function*(request, input) {
    const { person } = yield* requireMember(context, request.merchantId, request.person)
    const { answer, passkey } = yield* proveSigning(context, person, challengeOf(request), input)
    const party = partyOf(context)
    return {
      signature: {
        type: "passkey",
        credential_id: passkey.credentialId,
        public_key: yield* publicKeyOf(passkey),
        rp_id: party.id,
        origin: party.origin,
        authenticator_data: answer.authenticatorData,
        client_data_json: answer.clientDataJSON,
        signature: answer.signature
      },
      moneyFrom: passkey.moneyFrom,
      use: noteSigning(context, passkey)
    }
  })
})

export const registerTextPasskeys = (context: TeamContext) =>
  Effect.flatMap(TextSigners, ({ registerPasskeys }) => registerPasskeys(passkeySigner(context)))
