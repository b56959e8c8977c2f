/**
 * `npm run smoke -- --network <name>`: tries a network's driver against real nodes, for a person with internet and a
 * faucet. modules/docs/guides/smoke.md says how to run and read it. Exit codes: 0 all was seen; 1 something failed,
 * and the output says what to do; 2 no payment was seen deep enough in time.
 */
import { Cause, Console, Effect, Exit, Result, Schema } from "effect"
import { parseArgs } from "node:util"
import { Environment, Network, networks } from "../../schemas/Network.ts"
import { WalletKind } from "../../schemas/Wallet.ts"
import { smokeNetworkOf } from "./Networks.ts"
import { SmokeFailure, soleDriver } from "./SoleDriver.ts"
import { trial } from "./Trial.ts"

const usage = `npm run smoke -- --network <name> [option…]
  --network name       ${networks.join(", ")}
  --environment name   devnet (default) or mainnet
  --url url            a node, also several times; default: a public node of the test network
  --key key            the provider's key, where it wants one
  --wallet value       what your wallet shows: waits for a payment to it
  --kind kind          what --wallet is: xpub, address or pool
  --token address      a token to look for beside the coin, also several times
  --minutes n          how long to wait for a payment; default 20
  --options json       more options of the driver, as in the config
  --use driver         another driver: a name, a package or a file`

const Arguments = Schema.Struct({
  network: Network,
  environment: Environment,
  url: Schema.Array(Schema.NonEmptyString),
  key: Schema.optionalKey(Schema.NonEmptyString),
  wallet: Schema.optionalKey(Schema.NonEmptyString),
  kind: Schema.optionalKey(WalletKind),
  token: Schema.Array(Schema.NonEmptyString),
  minutes: Schema.FiniteFromString.check(Schema.isBetween({ minimum: 0.01, maximum: 1_440 })),
  options: Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)),
  use: Schema.optionalKey(Schema.NonEmptyString)
})

const readArguments = Effect.suspend(() =>
  Effect.fromResult(Result.try(() =>
    parseArgs({
      options: {
        network: { type: "string" },
        environment: { type: "string", default: "devnet" },
        url: { type: "string", multiple: true, default: [] },
        key: { type: "string" },
        wallet: { type: "string" },
        kind: { type: "string" },
        token: { type: "string", multiple: true, default: [] },
        minutes: { type: "string", default: "20" },
        options: { type: "string", default: "{}" },
        use: { type: "string" }
      }
    }).values
  )).pipe(
    Effect.flatMap((values) => Schema.decodeUnknownEffect(Arguments)(values)),
    Effect.mapError((error) =>
      new SmokeFailure({
        reason: `these options do not fit: ${error instanceof Error ? error.message : String(error)}`,
        advice: `see below\n\n${usage}`
      })
    )
  )
)

const program = Effect.gen(function*() {
  const { environment, key = null, kind, minutes, network, options, token, url, use, wallet } = yield* readArguments
  const chosen = smokeNetworkOf(network)
  const urls = url.length > 0 || environment === "mainnet" || chosen.testNode === null ? url : [chosen.testNode.url]
  if (urls.length === 0) {
    return yield* new SmokeFailure({
      reason: environment === "mainnet"
        ? "no public node is used for real money"
        : `no public node of ${network} is known`,
      advice: "name nodes of your own or of a provider by --url"
    })
  }
  if (url.length === 0 && key === null && chosen.keyHint !== null) {
    return yield* new SmokeFailure({
      reason: `the public node of ${network} wants a key`,
      advice: `give it by --key: ${chosen.keyHint}`
    })
  }
  yield* Console.log(
    `Trying ${network} on ${environment}, ` + (url.length === 0
      ? `at ${urls[0]!} (${chosen.testNode!.source})`
      : `at ${url.length} node${url.length === 1 ? "" : "s"} of yours`)
  )
  const { driver, times } = yield* soleDriver(use ?? chosen.use, {
    ...chosen.options({ environment, urls, key }),
    ...options
  })
  const isSeen = yield* trial({
    driver,
    times,
    wallet: wallet === undefined ? null : { kind: kind ?? chosen.walletKind, value: wallet },
    tokens: token,
    faucet: chosen.faucet,
    minutes
  })
  yield* Console.log(
    isSeen ? "Done: the driver works with these nodes." : [
      `Not done: no payment was seen deep enough in ${minutes} min.`,
      "  What to do: look for your payment in a block explorer. Where it shows it to an address above and this does not,",
      "  keep this output and report it. Where it does not show it, the payment was not sent."
    ].join("\n")
  )
  return isSeen ? 0 : 2
}).pipe(Effect.scoped)

const exit = await Effect.runPromiseExit(program)
if (Exit.isFailure(exit)) {
  const error = Cause.squash(exit.cause)
  console.error(error instanceof SmokeFailure ? `Failed: ${error.message}` : Cause.pretty(exit.cause))
}
process.exit(Exit.isSuccess(exit) ? exit.value : 1)
