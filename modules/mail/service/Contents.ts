/** What a message says, as it is kept until it is sent: sealed, because it may hold a link that is a secret. */
import { Option, Schema } from "effect"
import type { Secrets } from "../../../runtime/Secrets.ts"
import { Language } from "../../../schemas/Languages.ts"

const Content = Schema.Struct({
  to: Schema.String,
  language: Language,
  subject: Schema.String,
  text: Schema.String
})
export type Content = typeof Content.Type

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Content))

export const sealContent = (secrets: Secrets["Service"], content: Content): string =>
  secrets.seal("mail", JSON.stringify(content))

/** Null: the master key that sealed it is gone. */
export const openContent = (secrets: Secrets["Service"], sealedContent: string): Content | null => {
  const text = secrets.open("mail", sealedContent)
  return text === undefined ? null : Option.getOrNull(decode(text))
}
