/** Goal: with the driver `none` no message is made or sent. Method: the conformance suite of mail. */
import { Effect } from "effect"
import { plugin } from "../../../../modules/mail/drivers/none.ts"
import { mailConformance, type MailLayer } from "../../../conformance/mails.ts"

mailConformance("none", Effect.succeed({ layer: plugin.layer(undefined as never) as MailLayer, taken: null }))
