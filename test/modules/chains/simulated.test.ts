import { Effect } from "effect"
import { baseUnits } from "../../../schemas/Money.ts"
import { make } from "../../../modules/chains/simulated.ts"
import { evmTarget } from "../../support/Drivers.ts"
import { chainConformance } from "../../conformance/chains.ts"

const network = "base" as const
const token = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"

chainConformance(
  "simulated",
  Effect.gen(function*() {
    const { drivers, service } = yield* make({ networks: [network], blockMillis: 3_600_000 })
    const transfer = (to: string, tokenAddress: string | null, amount: bigint) => ({
      network,
      to,
      tokenAddress,
      amount: baseUnits(amount)
    })
    return {
      driver: drivers[0]!,
      target: evmTarget,
      unit: 1n,
      token,
      pay: ({ matchKey }, tokenAddress, amount) => service.transfer(transfer(matchKey, tokenAddress, amount)),
      payMany: (to, amount) =>
        service.transaction(network, to.map(({ matchKey }) => transfer(matchKey, token, amount))),
      mine: (blocks) => service.mine(network, blocks),
      rollback: {
        drop: (depth) => service.reorg(network, depth, { drop: "all" }),
        reinclude: (depth) => service.reorg(network, depth, { shift: 1 })
      },
      dropTransaction: null,
      shared: null,
      payWithFee: null,
      payInVain: null
    }
  })
)
