/** The rules of reconciliation: periods, flows, differences, reports, closing. Pure. */
export { adjustmentAct, closingAct } from "./rules/Acts.ts"
export { adjustmentObject, type AdjustmentRequest, ownHoldings, readAdjustment } from "./rules/Adjustments.ts"
export { differingSlices, type SliceSums, sumByAsset } from "./rules/Checksums.ts"
export { closedCsv, closedObject, closedText } from "./rules/ClosedWire.ts"
export { closePeriod, closingRefusal, monthToClose } from "./rules/Closing.ts"
export { confirmedPayments, isCountedSpan } from "./rules/Events.ts"
export { closingsOf, movementsAfter } from "./rules/Openings.ts"
export { monthInWords, monthOf, nextMonth, type Period, previousMonth, readMonth, readPeriod } from "./rules/Periods.ts"
export {
  type AssetToken,
  type ClosedPeriod,
  type LastClosedMonth,
  type Report,
  reportObject,
  type StoredAdjustment,
  suspenseAges,
  type WalletReading
} from "./rules/Report.ts"
