/** All scenarios. */
import { commits } from "./scenarios/commits.ts"
import { deliveries } from "./scenarios/deliveries.ts"
import { service, serviceOfThree } from "./scenarios/service.ts"
import { backgroundWork } from "./scenarios/work.ts"
import type { Scenario } from "./Simulation.ts"

export const scenarios: ReadonlyArray<Scenario> = [commits, backgroundWork, deliveries, service, serviceOfThree]
