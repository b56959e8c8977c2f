/**
 * `npm run test:network`: copies the tree, adds a network and a family as `CONTRIBUTING.md` says, makes what is
 * generated anew, checks the types, and runs the tests that go over all networks. The short form, which runs with the
 * others, is `test/journeys/addedNetwork.test.ts` and `test/journeys/addedFamily.test.ts`.
 */
import { Effect } from "effect"
import { addBitcoin, addPolygon, addToReference } from "./support/AddedNetwork.ts"
import { copyWithout, runIn } from "./support/Removal.ts"
import { temporaryDirectory } from "./support/Service.ts"

/** Each holds something against every network there is. */
const tests = [
  "test/schemas",
  "test/tidy.test.ts",
  "test/modules/docs",
  "test/modules/identity",
  "test/modules/signins",
  "test/modules/tokensources",
  "test/modules/refunds",
  "test/modules/checkout",
  "test/modules/payments",
  "test/runtime/chains/Confirmations.test.ts",
  "test/runtime/store/schema.test.ts"
]

const main = Effect.gen(function*() {
  const copy = yield* temporaryDirectory
  copyWithout([], copy)
  addPolygon(copy)
  addBitcoin(copy)
  addToReference(copy)
  for (const script of ["schema", "openapi", "check:types"]) yield* runIn(copy, script)
  console.log("the types fit; the tests about all networks run")
  for (const script of ["test", "test:long"]) yield* runIn(copy, script, tests)
  console.log("the tests pass")
})

Effect.runPromise(Effect.scoped(main)).catch((cause: unknown) => {
  console.error(cause)
  process.exitCode = 1
})
