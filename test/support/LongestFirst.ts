/**
 * The order of the files of a run: those that take longest by far begin first, so that none of them is left to itself
 * at the end. Where vitest has run them before it knows the times of the rest, else it goes by their size.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node"

/**
 * Of `npm run test:long`: 25 s and more on two quiet cores, most of it waiting. Then of `npm test`: 10 s and more
 * beside the others.
 */
const longest = [
  "test/journeys/removal.long.test.ts",
  "test/journeys/repairs.long.test.ts",
  "test/journeys/chaos.long.test.ts",
  "test/runtime/plugins.long.test.ts",
  "test/journeys/delivery.long.test.ts",
  "test/journeys/backup.long.test.ts",
  "test/journeys/archive.long.test.ts",
  "test/journeys/plans.long.test.ts",
  "test/journeys/batchHistories.long.test.ts",
  "test/modules/dashboard/statements.long.test.ts",
  "test/journeys/badInput.long.test.ts",
  "test/runtime/chains/Endpoints.long.test.ts",
  "test/runtime/chains/Reanchor.long.test.ts",
  "test/modules/clients/package.long.test.ts",
  "test/journeys/smoke.test.ts",
  "test/journeys/errors.test.ts",
  "test/modules/payments/credit.test.ts",
  "test/runtime/webhooks/Deliverer.test.ts",
  "test/simulation/commits.test.ts"
]

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = longest.findIndex((file) => moduleId.endsWith(file))
  return place === -1 ? longest.length : place
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b))
  }
}
