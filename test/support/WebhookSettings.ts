/** Settings for tests of webhooks without a config file. */
import type { Settings } from "../../runtime/Settings.ts"
import { generousLimits } from "./Limits.ts"

/** Settings of a service that sends webhooks. Retries after 20, 20 and 20 ms, unless said: the rule has its own tests. */
export const settingsOf = (
  receivers: ReadonlyArray<string>,
  more: {
    readonly retryBaseSeconds?: number
    readonly retryFactor?: number
    readonly environments?: ReadonlyArray<"devnet" | "mainnet">
  } = {}
): Settings["Service"] => ({
  environments: (more.environments ?? ["devnet"]) as never,
  http: { host: "127.0.0.1", port: 3000, trustProxy: [], allowedOrigins: [], processes: 1 },
  rpc: { host: "127.0.0.1", port: 0, allowedHosts: [] },
  data: { directory: "/nowhere" },
  store: { use: "embedded" },
  chains: [],
  prices: [],
  tokenSources: [],
  transports: [],
  signIns: [],
  pricing: { depeg: "market" },
  modules: [],
  webhooks: {
    retryBaseSeconds: more.retryBaseSeconds ?? 0.02,
    retryFactor: more.retryFactor ?? 1,
    devnetReceivers: [...receivers]
  },
  limits: generousLimits,
  telemetry: { logs: "json", level: "error", levels: {}, requests: "none", payments: false },
  publicUrl: "http://127.0.0.1:3000",
  dataDirectory: "/nowhere",
  instanceId: "test"
})
