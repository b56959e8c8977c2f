/**
 * Where random tests begin: the same each run, so that a run fails by its code and not by chance, and elsewhere by
 * `TEST_SEED=7 npm test`. Also a setup file of the suites, for the properties of `it.prop`.
 */
import { Arbitrary } from "effect"

export const testSeed = Number(process.env["TEST_SEED"] ?? 1)

Arbitrary.configureGlobal({ check: { seed: testSeed } })
