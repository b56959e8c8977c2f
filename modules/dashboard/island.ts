/** The dashboard's script: everything works without it but passkeys. `npm run island` makes `island.js` of it. */
import { startKeys } from "./island/Keys.ts"
import { startSignIn } from "./island/SignIn.ts"

startSignIn()
startKeys()
