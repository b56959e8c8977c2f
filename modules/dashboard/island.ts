/** The dashboard's script: everything works without it but passkeys. `npm run island` makes `island.js` of it. */
import { startLiveUpdates } from "./island/LiveUpdates.ts"
import { startKeys } from "./island/Keys.ts"
import { startPasskeys } from "./island/Passkeys.ts"
import { readLink } from "./island/SignIn.ts"

readLink()
startPasskeys()
startKeys()
startLiveUpdates()
