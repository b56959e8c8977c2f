/** In which forms a part of a batch is offered to a wallet. Pure: the service refuses what it does not give. */
import type { PayoutFormat } from "../../../runtime/Payouts.ts"
import { familyOf, type Network } from "../../../schemas/Network.ts"

interface PartFacts {
  readonly kind: "refunds" | "payouts" | "collect"
  readonly network: Network
  readonly status: string
  /** Of its last export. */
  readonly format: string | null
}

const formatsByFamily: Readonly<Record<string, ReadonlyArray<PayoutFormat>>> = {
  evm: ["eip5792", "safe", "transactions", "csv"],
  solana: ["solana", "csv"],
  ton: ["ton", "csv"],
  sui: ["sui"],
  cardano: ["cardano"]
}

/** The forms of a part, the usual one first. One that a wallet may still execute is given again as it was. */
export const formatsOf = ({ format, kind, network, status }: PartFacts): ReadonlyArray<PayoutFormat> => {
  if (status !== "ready" && status !== "lapsed" && status !== "out") return []
  const all = formatsByFamily[familyOf(network)] ?? []
  const formats = kind === "collect" ? all.filter((each) => each !== "csv") : all
  return status === "out" ? formats.filter((each) => each === format) : formats
}
