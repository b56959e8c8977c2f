/** A part as a driver builds it and looks for it. Pure. */
import type { BatchPart } from "../../../runtime/Payouts.ts"
import type { BatchState, LineState } from "../machine/State.ts"

/** What a driver is given of a part. */
export const driverPart = (
  batch: Pick<BatchState, "from" | "id" | "kind">,
  part: number,
  lines: ReadonlyArray<LineState>
): BatchPart => {
  const name = { batchId: batch.id, part }
  const token = ({ decimals, symbol, tokenAddress, units }: LineState) => ({
    tokenAddress,
    symbol,
    decimals,
    amount: units
  })
  return batch.kind === "collect"
    ? {
      _tag: "Collect",
      ...name,
      payee: lines[0]!.destination.address,
      from: batch.from,
      lines: lines.flatMap((line) =>
        line.source === null ? [] : [{ ...token(line), address: line.source.address, salt: line.source.salt }]
      )
    }
    : {
      _tag: "Payout",
      ...name,
      from: batch.from!,
      lines: lines.map((line) => ({
        ...token(line),
        destination: line.destination.address,
        memo: line.destination.memo,
        reference: line.reference
      }))
    }
}
