/** What a browser answers for a passkey, between a form and `TeamSignIn`. */
import { Effect, Schema } from "effect"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { PasskeyChange } from "../../team/api.ts"
import type { TeamSession, TeamSignIn } from "../../team/plugin.ts"
import type { NewPasskeys } from "../pages/Page.ts"
import type { Texts } from "../pages/Texts.ts"

const readName = Schema.decodeUnknownEffect(PasskeyChange)
const readJson = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Json))

/** The field `answer` of a form. The script leaves it empty where the browser has nothing to say. */
export const readAnswer = (text: string | null, { faults }: Texts): Effect.Effect<Schema.Json, PublicError> =>
  Effect.mapError(
    readJson(text ?? ""),
    () => publicError("VALIDATION_ERROR", { message: faults.noPasskey })
  )

export const newPasskeys = (signIn: TeamSignIn["Service"], session: TeamSession, texts: Texts): NewPasskeys => ({
  options: signIn.newPasskeyOptions(session),
  add: Effect.fnUntraced(function*(name, text) {
    const named = yield* Effect.mapError(
      readName({ name }),
      () => publicError("VALIDATION_ERROR", { message: texts.faults.name, param: "name" })
    )
    const answer = yield* readAnswer(text, texts)
    return yield* signIn.addPasskey(session, named.name, answer)
  })
})
