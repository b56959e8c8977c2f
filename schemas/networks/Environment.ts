/** Whether money is real. */
import { Schema } from "effect"

/**
 * `devnet` is play money on test networks; `mainnet` is real
 * (modules/docs/reference/environments.md#devnet-and-mainnet).
 */
export const Environment = Schema.Literals(["devnet", "mainnet"])
export type Environment = typeof Environment.Type
