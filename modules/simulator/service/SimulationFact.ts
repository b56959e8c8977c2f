/** Added to a change by a call of the simulator: the payment it is about. */
import type { ChangeResult, InvoiceFact } from "../../invoices/plugin.ts"

interface SimulationFact extends InvoiceFact {
  readonly _tag: "Simulation"
  readonly paymentId: string
}

export const simulationFact = (paymentId: string): SimulationFact => ({ _tag: "Simulation", paymentId })

const isSimulationFact = (fact: InvoiceFact): fact is SimulationFact => fact._tag === "Simulation"

/** The payment that the last of these changes was about. */
export const simulatedPayment = (changes: ReadonlyArray<ChangeResult>): string | undefined =>
  changes.flatMap(({ facts }) => facts).findLast(isSimulationFact)?.paymentId
