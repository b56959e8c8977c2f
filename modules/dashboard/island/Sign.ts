/** What wallets of the browser sign, on pages that ask for it: `npm run island` makes `sign.js` of it. */
import { startApproving } from "./Approving.ts"
import { startBatchSigning } from "./BatchSigning.ts"
import { startWalletSignIn } from "./WalletSignIn.ts"

startApproving()
startBatchSigning()
startWalletSignIn()
