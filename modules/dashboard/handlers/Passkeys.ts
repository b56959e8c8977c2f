/** What a browser answers for a passkey, between a form and `TeamSignIn`. */
import { Effect, Schema } from "effect"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { PasskeyChange } from "../../team/api.ts"
import type { TeamSession, TeamSignIn } from "../../team/plugin.ts"
import type { NewPasskeys } from "../pages/Page.ts"

const readName = Schema.decodeUnknownEffect(PasskeyChange)
const readJson = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Json))

/** The field `answer` of a form. The script leaves it empty where the browser has nothing to say. */
export const readAnswer = (text: string | null): Effect.Effect<Schema.Json, PublicError> =>
  Effect.mapError(
    readJson(text ?? ""),
    () => publicError("VALIDATION_ERROR", { message: "The browser gave no passkey: press the button again" })
  )

export const newPasskeys = (signIn: TeamSignIn["Service"], session: TeamSession): NewPasskeys => ({
  options: signIn.newPasskeyOptions(session),
  add: Effect.fnUntraced(function*(name, text) {
    const named = yield* Effect.mapError(
      readName({ name }),
      () => publicError("VALIDATION_ERROR", { message: "name: 1 to 120 characters", param: "name" })
    )
    const answer = yield* readAnswer(text)
    return yield* signIn.addPasskey(session, named.name, answer)
  })
})
