/** {@link ChainsRpc} over {@link Chains}: `rpc.serve(ChainsRpc, handlers)` with `Chains` provided. */
import { Effect } from "effect"
import { baseUnits } from "../../schemas/Money.ts"
import { publicError } from "../../schemas/Errors.ts"
import { tokenAddress } from "../../schemas/Token.ts"
import { Chains, type RepairProgress } from "../Chains.ts"
import { ChainsRpc } from "./ChainsRpc.ts"
import { hashRefusal, reportedHash, reportedMatchKey } from "./ReportedNames.ts"

/** A height on the wire. */
export const heightText = (height: bigint | null) => height === null ? null : height.toString()

const zeroAmount = {
  param: "amount",
  message: "`amount` is in base units of the token and must be above zero"
}

/** A repair on the wire. */
export const repairBody = ({ credited, from, kind, next, reason, status, to }: RepairProgress) => ({
  kind,
  status,
  from: heightText(from),
  to: heightText(to),
  next: heightText(next),
  credited,
  reason
})

export const handlers = ChainsRpc.toLayer(Effect.gen(function*() {
  const chains = yield* Chains
  return ChainsRpc.of({
    "chains.report": (report) => {
      if (BigInt(report.amount) === 0n) return Effect.fail(publicError("VALIDATION_ERROR", zeroAmount))
      const txHash = reportedHash(report.network, report.tx_hash)
      return txHash === null
        ? Effect.fail(publicError("VALIDATION_ERROR", { param: "tx_hash", message: hashRefusal(report.network) }))
        : Effect.map(
          chains.report({
            network: report.network,
            environment: report.environment,
            txHash,
            index: report.index,
            kind: "direct",
            matchKey: reportedMatchKey(report.network, report.environment, report.match_key),
            tokenAddress: report.token_address === null
              ? null
              : tokenAddress(report.network, report.token_address) ?? report.token_address,
            amount: baseUnits(BigInt(report.amount)),
            from: report.from,
            point: { height: BigInt(report.height), hash: report.block_hash },
            time: report.block_time
          }),
          (status) => ({ status })
        )
    },
    "chains.rescan": ({ environment, from, network, to }) =>
      Effect.map(chains.rescan(network, environment, BigInt(from), BigInt(to)), repairBody),
    "chains.reanchor": ({ environment, height, network }) =>
      Effect.map(chains.reanchor(network, environment, height === undefined ? null : BigInt(height)), repairBody),
    "chains.restored": ({ backup_time, environment, skip }) =>
      Effect.map(
        chains.declareRestore(environment, backup_time, skip ?? null),
        ({ networks, walletCount, wallets }) => ({
          wallet_count: walletCount,
          wallets: wallets.map(({ family, fingerprint, fromIndex, toIndex, watchedTo }) => (
            { fingerprint, family, from_index: fromIndex, to_index: toIndex, watched_to: watchedTo }
          )),
          networks: networks.map((each) => ({ network: each.network, ...repairBody(each) }))
        })
      ),
    "chains.status": ({ environment }) =>
      Effect.map(chains.repairs(environment), (repairs) =>
        chains.status(environment).map((each) => ({
          network: each.network,
          environment: each.environment,
          healthy: each.healthy,
          condition: each.condition,
          head: heightText(each.head),
          head_time: each.headTime,
          cursor_time: each.cursorTime,
          repairs: repairs.filter(({ network }) => network === each.network).map(repairBody)
        })))
  })
}))
