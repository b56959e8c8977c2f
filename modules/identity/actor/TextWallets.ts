/**
 * Wallets of people as signers of a text, each as wallets of its family sign in: the text itself is signed, and by
 * `ton_proof`, which signs no text, its SHA-256 (modules/docs/reference/approvals.md#what-is-signed).
 */
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { Challenge } from "../../../runtime/SignIns.ts"
import type { TextToSign, WalletSigner } from "../../../runtime/TextSigners.ts"
import { publicError } from "../../../schemas/Errors.ts"
import { familyOf, networks } from "../../../schemas/Network.ts"
import { accountName, type WalletState } from "../rules.ts"
import { askDriver, chainEnvironment } from "./Challenges.ts"
import type { IdentityContext } from "./IdentityContext.ts"

const refused = publicError("SIGNATURE_INVALID", {
  message: "The signature is not one of this text by a wallet of yours that is linked to this merchant"
})

/** The linked wallets of a person who is a member of a merchant. */
const walletsOf = ({ members, repo }: IdentityContext, { merchantId, person }: TextToSign) =>
  Effect.flatMap(
    repo.wallets(merchantId),
    Effect.filter((wallet) =>
      Effect.map(members.find(merchantId, wallet.person), (member) => member?.person === person)
    )
  )

/** The text as the challenge of a wallet: drivers look at the account, and on TON at the nonce. */
const challengeOf = (
  context: IdentityContext,
  { address, chainId, family }: WalletState,
  { text }: TextToSign,
  now: number
): Challenge | undefined => {
  const driver = context.signIns.driver(family)
  const environment = chainEnvironment(context)
  const found = networks.filter((network) => familyOf(network) === family).map((network) => ({
    network,
    id: driver?.chainId(network, environment) ?? null
  })).find(({ id }) => id !== null && (chainId === null || id === chainId))
  return found === undefined ? undefined : {
    address,
    network: found.network,
    chainId: found.id!,
    domain: context.domain,
    uri: context.uri,
    statement: "",
    nonce: createHash("sha256").update(text).digest("hex"),
    issuedAt: now,
    expiresAt: now
  }
}

/** `WalletSigner` of the wallets that sign in. */
export const walletSigner = (context: IdentityContext): WalletSigner => ({
  wallets: (request) =>
    Effect.map(
      walletsOf(context, request),
      (wallets) => wallets.map(({ address, chainId, family }) => ({ family, address, chain_id: chainId }))
    ),
  verify: Effect.fnUntraced(function*(request, answer) {
    const driver = context.signIns.driver(answer.family)
    const address = driver?.canonicalAddress(answer.address) ?? null
    const wallets = yield* walletsOf(context, request)
    const candidates = wallets.filter((wallet) => wallet.family === answer.family && wallet.address === address)
    const now = yield* nowSeconds
    for (const wallet of candidates) {
      const challenge = challengeOf(context, wallet, request, now)
      if (driver === undefined || challenge === undefined) continue
      const proof = {
        message: request.text,
        signature: answer.signature,
        publicKey: answer.public_key ?? null,
        proof: answer.proof ?? null
      }
      const account = yield* askDriver(driver, challenge, proof)
      if (account === null || accountName(account) !== accountName(wallet)) continue
      return {
        signature: {
          type: "wallet",
          family: wallet.family,
          address: wallet.address,
          chain_id: wallet.chainId,
          signature: proof.signature,
          public_key: proof.publicKey,
          proof: proof.proof
        },
        moneyFrom: wallet.moneyFrom,
        use: Effect.flatMap(
          walletsOf(context, request),
          (linked) => linked.some(({ id }) => id === wallet.id) ? Effect.succeed([]) : Effect.fail(refused)
        )
      }
    }
    return yield* refused
  })
})
