/** The variables of the process that `tillwire` runs in. `main.ts` hands them over, a test its own. */
import { Context } from "effect"

export type Variables = Readonly<Record<string, string | undefined>>

export const environment = Context.Reference<Variables>("tillwire/cli/environment", { defaultValue: () => ({}) })
