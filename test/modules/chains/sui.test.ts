/**
 * Goal: exactly the payments that happened on Sui are seen. What is Sui's own is tried in `sui/`.
 * Method: a ledger behind a node that speaks gRPC-Web by the types of Sui's SDK; the conformance suite.
 */
import { chainConformance } from "../../conformance/chains.ts"
import { suiChain } from "../../support/SuiChain.ts"

chainConformance("sui on a ledger of our own", suiChain)
