/** All scenarios. */
import type { Scenario } from "./Simulation.ts"
import { commits } from "./scenarios/commits.ts"

export const scenarios: ReadonlyArray<Scenario> = [commits]
