/**
 * Goal: whole instances of the service keep their promises about money whatever nodes, the network between and the
 * instances themselves do, in runs that a seed repeats.
 * Method: whole runs in simulated worlds (`World.ts`); `npm run simulate -- --scenario service` runs more of them.
 */
import { service } from "./scenarios/service.ts"
import { describeScenario } from "./ScenarioTests.ts"

describeScenario(service)
