/** Of which environments a person is told by e-mail what waits for it (modules/docs/reference/mail.md#notices). */
import { Schema } from "effect"

export const NoticeChoice = Schema.Literals(["mainnet", "all", "none"]).annotate({
  description: "Of which environments the person is told by e-mail what its role lets it act on: `mainnet`, where " +
    "nothing was chosen, `all`, or `none`"
})
export type NoticeChoice = typeof NoticeChoice.Type
