/**
 * Goal: a follower may trust the TON driver as any other, with a wallet that invoices share and with addresses of their
 * own.
 * Method: the conformance suite of chain drivers, on the real virtual machine behind toncenter's API.
 */
import { chainConformance } from "../../conformance/chains.ts"
import { tonChain } from "../../support/ton/TestedChain.ts"

chainConformance("ton, by memo", tonChain("address"))
chainConformance("ton, by address", tonChain("pool"))
