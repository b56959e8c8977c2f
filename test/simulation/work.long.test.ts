/**
 * Goal: races that a seed can find are found before a merchant does, and what was found is found again.
 * Method: whole runs in simulated worlds (`World.ts`); `npm run simulate` runs more of them.
 */
import { backgroundWork } from "./scenarios/work.ts"
import { describeScenario } from "./ScenarioTests.ts"

describeScenario(backgroundWork)
