/** Messages that wallets sign: issued for one use, found again byte for byte, and checked by the family's driver. */
import { Effect } from "effect"
import { createHash, randomBytes } from "node:crypto"
import { nowSeconds } from "../../../runtime/Clock.ts"
import { systemMerchant } from "../../../runtime/Commit.ts"
import type { Challenge, SignInDriver, SignInProof } from "../../../runtime/SignIns.ts"
import { type PublicError, publicError } from "../../../schemas/Errors.ts"
import { type Environment, familyOf, type Network } from "../../../schemas/Network.ts"
import * as Repo from "../repo.ts"
import { type Account, challengeSeconds, type ChallengeState, isOpen, statementFor } from "../rules.ts"
import { append, type IdentityContext } from "./IdentityContext.ts"

/** Random bytes of a nonce (modules/docs/reference/authentication.md#signing-in-with-a-wallet). */
const nonceBytes = 16

/** A driver answers within 3 s; one that does not is given up a little later. */
const verifyTimeout = "4 seconds"

/** A message to sign. */
export interface IssuedChallenge {
  readonly nonce: string
  readonly message: string
  /** Epoch seconds. */
  readonly expiresAt: number
}

const unsupportedNetwork = publicError("UNSUPPORTED_NETWORK", {
  message: "Wallets of this network cannot sign in here",
  param: "network"
})

/** A message names a chain: the real one wherever real money is served. */
export const chainEnvironment = ({ settings }: IdentityContext): Environment =>
  settings.environments.includes("mainnet") ? "mainnet" : "devnet"

const driverOf = (context: IdentityContext, network: Network) => {
  const driver = context.signIns.driver(familyOf(network))
  const chainId = driver?.chainId(network, chainEnvironment(context)) ?? null
  return driver === undefined || chainId === null ? undefined : { driver, chainId }
}

/** The account that an address of a network names, as an operator spells it. */
export const accountOf = (
  context: IdentityContext,
  network: Network,
  text: string,
  isContract: boolean
): Effect.Effect<Account, PublicError> => {
  const found = driverOf(context, network)
  if (found === undefined) return Effect.fail(unsupportedNetwork)
  const address = found.driver.canonicalAddress(text)
  return address === null
    ? Effect.fail(publicError("WALLET_ADDRESS_INVALID", { param: "address" }))
    : Effect.succeed({ family: familyOf(network), address, chainId: isContract ? found.chainId : null })
}

/** The accounts that prove by signing in that somebody has an address: held by a key, or a contract on the network. */
export const accountsProving = (
  context: IdentityContext,
  network: Network,
  text: string
): ReadonlyArray<Account> => {
  const found = driverOf(context, network)
  const address = found?.driver.canonicalAddress(text) ?? null
  if (found === undefined || address === null) return []
  const { chainId, driver } = found
  return (driver.accountsOf?.(address) ?? [address]).flatMap((each) =>
    [null, chainId].map((chain): Account => ({ family: driver.family, address: each, chainId: chain }))
  )
}

const challengeIdOf = (message: string): string => createHash("sha256").update(message).digest("hex")

/** Issues a message for one use within {@link challengeSeconds}. */
export const issueChallenge = Effect.fnUntraced(function*(
  context: IdentityContext,
  network: Network,
  text: string,
  linkTo: number | null
) {
  const { domain, uri } = context
  const found = driverOf(context, network)
  if (found === undefined) return yield* unsupportedNetwork
  const { address } = yield* accountOf(context, network, text, false)
  const now = yield* nowSeconds
  const nonce = yield* Effect.sync(() => randomBytes(nonceBytes).toString("hex"))
  const challenge = {
    address,
    network,
    chainId: found.chainId,
    domain,
    uri,
    statement: statementFor(linkTo),
    nonce,
    issuedAt: now,
    expiresAt: now + challengeSeconds
  }
  const message = found.driver.message(challenge)
  const state: ChallengeState = { id: challengeIdOf(message), linkTo, message, challenge, used: false, version: 1 }
  yield* Effect.catchTag(
    append(context, linkTo ?? systemMerchant, [Repo.challengeWrite(state)]),
    "Conflict",
    (error) => Effect.die(error)
  )
  const issued: IssuedChallenge = { nonce, message, expiresAt: challenge.expiresAt }
  return issued
})

/** The open challenge that is this message, byte for byte. */
export const requireChallenge = Effect.fnUntraced(function*(
  { repo }: IdentityContext,
  message: string,
  linkTo: number | null
) {
  const state = yield* repo.challenge(challengeIdOf(message))
  const now = yield* nowSeconds
  return state !== undefined && state.message === message && isOpen(state, linkTo, now)
    ? state
    : yield* publicError("NONCE_INVALID")
})

/** Who signed a text, as the driver of its family tells it; null: the signature does not prove the challenge's address. */
export const askDriver = (driver: SignInDriver, challenge: Challenge, proof: SignInProof) =>
  driver.verify(challenge, proof).pipe(
    Effect.timeoutOrElse({
      duration: verifyTimeout,
      orElse: () =>
        Effect.fail(publicError("SERVICE_UNAVAILABLE", {
          retryAfterSeconds: 1,
          reason: `a wallet's signature was not checked within ${verifyTimeout}`
        }))
    }),
    Effect.catchTags({
      SignInUnavailable: (error) =>
        Effect.andThen(
          Effect.logWarning("a signature of a wallet could not be checked", error),
          Effect.fail(publicError("NETWORK_DEGRADED", { message: error.reason, retryAfterSeconds: 1 }))
        ),
      SignInRefused: ({ reason }) => Effect.fail(publicError("SIGNATURE_INVALID", { message: reason }))
    })
  )

/** The account that signed, once: the caller commits the challenge's use with what follows from it. */
export const verifyProof = Effect.fnUntraced(function*(
  context: IdentityContext,
  proof: SignInProof,
  linkTo: number | null
) {
  const { challenge } = yield* requireChallenge(context, proof.message, linkTo)
  const driver: SignInDriver | undefined = context.signIns.driver(familyOf(challenge.network))
  if (driver === undefined) return yield* unsupportedNetwork
  const account = yield* askDriver(driver, challenge, proof)
  // The port promises as much; whoever breaks the promise lets nobody in.
  if (account === null || account.family !== driver.family || account.address !== challenge.address) {
    return yield* publicError("SIGNATURE_INVALID")
  }
  return account
})
