/** `npm run notices`: writes THIRD_PARTY_NOTICES.md, which the package and images ship. */
import { writeFileSync } from "node:fs"
import { thirdPartyNotices } from "./support/ShippedPackages.ts"

writeFileSync(new URL("../THIRD_PARTY_NOTICES.md", import.meta.url), thirdPartyNotices())
