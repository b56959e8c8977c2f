/**
 * Goal: a deployment pays for what its config names. One with EVM networks alone loads no driver, sign-in or library of
 * another family, also after it has given out addresses and answered for every network.
 * Method: the real process on a real EVM node, with a hook that writes down what Node loads.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { devnetXpub } from "../../modules/chains/simulated.ts"
import { anvil } from "../support/Anvil.ts"
import { emptyDatabase } from "../support/Database.ts"
import { recordLoadedFiles } from "../support/LoadedFiles.ts"
import { makeReceiver } from "../support/Receiver.ts"
import { configOf, sources, startService, temporaryDirectory, until } from "../support/Service.ts"
import { chooseToken, newInvoice, openShop } from "./Shop.ts"

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname).replace(/\/$/, "")

/** Drivers and their folders, but for those named. */
const driversBeside = (folder: string, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  readdirSync(join(root, folder))
    .map((entry) => entry.replace(/\.ts$/, ""))
    .filter((entry) => !names.includes(entry))
    .map((entry) => `${folder}/${entry}`)

describe("a service whose config names EVM networks alone", () => {
  it.live("loads no code of another family", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const loaded = recordLoadedFiles(directory)
      const node = yield* anvil("base", "devnet")
      const receiver = yield* makeReceiver()
      const config = configOf({
        database: (yield* emptyDatabase).url,
        receivers: [receiver.host],
        chains: [{
          use: "evm",
          options: { network: "base", environment: "devnet", rpc: [node.url], xpub: devnetXpub, pollMillis: 25 }
        }]
      })
      const service = yield* startService({
        directory,
        program: sources,
        config: { ...config, signIns: [{ use: "siwe" }] },
        environment: loaded.environment
      })
      const { merchant_key: key } = yield* service.keys
      const shop = yield* openShop(service, receiver, key)
      yield* chooseToken(shop, yield* newInvoice(shop, { amount_usd: 5 }), "ETH")
      yield* until(
        "the network is read",
        service.call("/api/v1/networks/status"),
        ({ json }) => json.data.data.every(({ head_height: height }: any) => height !== null)
      )
      for (const path of ["/api/v1/networks/status", "/api/v1/merchant/wallets", "/api/v1/tokens"]) {
        yield* service.call(path, { headers: { "x-api-key": key } })
      }

      const files = loaded.below(root)
      for (const file of ["modules/chains/evm.ts", "modules/chains/evm/Follow.ts", "modules/signins/siwe.ts"]) {
        assert.include(files, file)
      }
      const others = [...driversBeside("modules/chains", ["evm"]), ...driversBeside("modules/signins", ["siwe"])]
      assert.deepStrictEqual(
        files.filter((file) => others.some((other) => file === `${other}.ts` || file.startsWith(`${other}/`))),
        []
      )
      // Libraries of other families, by what their packages are called.
      assert.deepStrictEqual(
        files.filter((file) =>
          /node_modules\/(?:@ton|@solana|@solana-program|@mysten|cborg|scalus|tonweb)\//.test(file)
        ),
        []
      )
    }).pipe(Effect.scoped))
})
