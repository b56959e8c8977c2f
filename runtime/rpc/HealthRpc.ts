/** The runtime's own calls on the internal port: definitions only. */
import { Rpc, RpcGroup } from "effect/rpc"
import { HealthReport } from "../telemetry/HealthReport.ts"

export class HealthRpc extends RpcGroup.make(
  /** As `/health/ready`, as a value. */
  Rpc.make("health.check", { success: HealthReport })
) {}
