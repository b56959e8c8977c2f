/** Screening: the port that lists of addresses register at (`modules/screening/drivers/`). */
import * as Plugin from "../../runtime/Plugin.ts"
import { Screenings } from "./service.ts"

export { addressKey, parseList } from "./rules.ts"
export { type ScreeningDriver, type ScreeningRequest, Screenings, ScreeningUnavailable } from "./service.ts"

export const plugin = Plugin.make({ name: "screening", slot: "modules", layer: () => Screenings.layer })
