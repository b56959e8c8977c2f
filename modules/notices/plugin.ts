/** Notices by mail: people of a merchant hear of what they must act on, and the operator of networks in trouble. */
import { Layer, Schema } from "effect"
import * as Plugin from "../../runtime/Plugin.ts"
import { Language } from "../../schemas/Languages.ts"
import { EmailAddress } from "../../schemas/Web.ts"
import { InvoiceHooks } from "../invoices/plugin.ts"
import { Mails } from "../mail/plugin.ts"
import { MerchantSettings } from "../settings/plugin.ts"
import { TeamContacts } from "../team/plugin.ts"
import { migrations, tables } from "./migrations.ts"
import { start } from "./service.ts"

const Options = Schema.Struct({
  /** Who hears of networks in trouble, and of money that belongs to no merchant; absent: nobody, see health. */
  operatorEmail: Schema.optionalKey(EmailAddress),
  /** Language of those messages, such as `de`; default `en`. */
  operatorLanguage: Schema.optionalKey(Language)
})

export const plugin = Plugin.make({
  name: "notices",
  slot: "modules",
  needs: { invoices: InvoiceHooks, mail: Mails, settings: MerchantSettings, team: TeamContacts },
  options: Options,
  migrations,
  tables,
  layer: ({ operatorEmail, operatorLanguage = "en" }) =>
    Layer.effectDiscard(
      start(operatorEmail === undefined ? null : { email: operatorEmail, language: operatorLanguage })
    )
})
