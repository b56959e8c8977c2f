/**
 * Goal: on a Cardano chain, exactly the payments that happened are seen, whatever the chain does.
 * Method: a chain whose ledger checks every transaction, behind Blockfrost's REST paths over HTTP; the conformance
 * suite.
 */
import { chainConformance } from "../../../conformance/chains.ts"
import { cardanoChain } from "../../../support/cardano/TestedChain.ts"

chainConformance("cardano on a ledger of its rules", cardanoChain)
