/**
 * The entry: `command.ts` behind the compile cache. The cache only knows what is loaded after it, so nothing of the
 * service is imported here. `npm start` turns it on even earlier.
 */
import "./cache.cjs"

void import("./command.ts")
