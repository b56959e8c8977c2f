/** Rate limits of deployments under test. */
import type { SettingsValue } from "../../runtime/Settings.ts"

/** Limits that no test of anything else meets. */
export const generousLimits: SettingsValue["limits"] = {
  store: "memory",
  keyPerMinute: 10_000_000,
  keyInFlight: 10_000_000,
  sessionPerMinute: 10_000_000,
  payorPerMinute: 10_000_000,
  anonymousPerMinute: 10_000_000,
  noncePerMinute: 10_000_000,
  pagePerMinute: 10_000_000,
  claimPerMinute: 10_000_000,
  linkPerMinute: 10_000_000,
  documentPerMinute: 10_000_000,
  badgePerMinute: 10_000_000,
  connectionsPerAddress: 10_000_000
}
