/** All scenarios. */
import { commits } from "./scenarios/commits.ts"
import { backgroundWork } from "./scenarios/work.ts"
import type { Scenario } from "./Simulation.ts"

export const scenarios: ReadonlyArray<Scenario> = [commits, backgroundWork]
