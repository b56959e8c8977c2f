/**
 * The entry: `command.ts` behind the options of V8 and the compile cache. The cache only knows what is loaded after it,
 * so nothing of the service is imported here. `npm start` loads both even earlier.
 */
import "./memory.cjs"
import "./cache.cjs"

void import("./command.ts")
