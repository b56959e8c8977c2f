/** Wallets and the merchants they sign in for: linked by a proof or on the operator's word, and unlinked. */
import { Effect } from "effect"
import { nowSeconds } from "../../../runtime/Clock.ts"
import type { Write } from "../../../runtime/Commit.ts"
import type { WalletDirectory } from "../../../runtime/LinkedWallets.ts"
import type { SignInProof } from "../../../runtime/SignIns.ts"
import { publicError } from "../../../schemas/Errors.ts"
import type { Network } from "../../../schemas/Network.ts"
import * as Repo from "../repo.ts"
import {
  type Account,
  accountName,
  end,
  firstOwnerHolder,
  linkedWallet,
  markUsed,
  objectionToLink,
  objectionToUnlink,
  unlink,
  type WalletHolder,
  type WalletState,
  withSignIn
} from "../rules.ts"
import { linkActOf, type LinkCall } from "../rules/LinkActs.ts"
import { accountOf, accountsProving, requireChallenge, verifyProof } from "./Challenges.ts"
import { append, decideInTurn, type IdentityContext, walletIdOf } from "./IdentityContext.ts"

const requireMerchant = ({ merchants }: IdentityContext, id: number) =>
  Effect.flatMap(merchants.read(id), (merchant) =>
    merchant === undefined
      ? Effect.fail(publicError("NOT_FOUND", { message: "No such merchant" }))
      : Effect.succeed(merchant))

/** Links `account`, with `more` in the same commit; nothing but `more` where it is linked already. */
const linkAccount = Effect.fnUntraced(
  function*(
    context: IdentityContext,
    merchantId: number,
    account: Account,
    holder: WalletHolder,
    call: LinkCall,
    more: ReadonlyArray<Write>
  ) {
    const { auditLog, merchants, repo, settings } = context
    const merchant = yield* requireMerchant(context, merchantId)
    const id = walletIdOf(account)
    const before = yield* repo.wallet(id)
    const objection = objectionToLink(merchantId, before, yield* repo.wallets(merchantId))
    if (objection !== undefined) return yield* objection
    const isLinked = before?.status === "linked"
    const wallet = isLinked ? before : linkedWallet(id, account, merchantId, before, yield* nowSeconds, holder)
    const writes = isLinked ? more : [
      ...more,
      Repo.walletWrite(wallet),
      merchants.touch(merchant),
      ...yield* auditLog.writesOf(linkActOf("link", wallet, settings.environments[0], call))
    ]
    if (writes.length > 0) yield* append(context, merchantId, writes)
    return wallet
  }
)

export const linkByProof = Effect.fnUntraced(function*(
  context: IdentityContext,
  merchantId: number,
  proof: SignInProof,
  holder: WalletHolder,
  call: LinkCall
) {
  const account = yield* verifyProof(context, proof, merchantId)
  return yield* decideInTurn(
    context,
    "merchant",
    merchantId,
    Effect.gen(function*() {
      const challenge = yield* requireChallenge(context, proof.message, merchantId)
      return yield* linkAccount(context, merchantId, account, holder, call, [
        Repo.challengeWrite(markUsed(challenge))
      ])
    })
  )
})

/** A call of the internal port, which names nobody. */
export const operatorCall: LinkCall = { actor: "service:rpc", requestId: null }

/** An account that an operator names. `isContract`: it is a contract on that network (EIP-1271). */
export interface NamedAccount {
  readonly merchantId: number
  readonly network: Network
  readonly address: string
  readonly isContract: boolean
}

export const linkByName = (context: IdentityContext, { address, isContract, merchantId, network }: NamedAccount) =>
  Effect.flatMap(
    accountOf(context, network, address, isContract),
    (account) =>
      decideInTurn(
        context,
        "merchant",
        merchantId,
        linkAccount(context, merchantId, account, firstOwnerHolder, operatorCall, [])
      )
  )

/** The rows that unlink a wallet and end its sessions. */
const unlinkWrites = Effect.fnUntraced(function*({ repo }: IdentityContext, wallet: WalletState) {
  const sessions = yield* repo.openSessions(wallet.id)
  return [
    Repo.walletWrite(unlink(wallet)),
    ...sessions.map((session) => Repo.sessionWrite(end(session, "unlinked")))
  ]
})

/** The rows that end the sessions of all wallets by which a person signs in for a merchant; the wallets stay linked. */
export const endPersonSessions = Effect.fnUntraced(function*(
  { repo }: IdentityContext,
  merchantId: number,
  person: string | null,
  reason: "recovered" | "role_changed"
) {
  const wallets = (yield* repo.wallets(merchantId)).filter((wallet) => wallet.person === person)
  const open = (yield* Effect.forEach(wallets, ({ id }) => repo.openSessions(id))).flat()
  return open.map((session) => Repo.sessionWrite(end(session, reason)))
})

/** The rows that unlink all wallets by which a person signs in for a merchant. */
export const unlinkPersonWrites = Effect.fnUntraced(function*(
  context: IdentityContext,
  merchantId: number,
  person: string | null
) {
  const wallets = (yield* context.repo.wallets(merchantId)).filter((wallet) => wallet.person === person)
  return (yield* Effect.forEach(wallets, (wallet) => unlinkWrites(context, wallet))).flat()
})

/** The wallet that signed a message to sign in, and the rows that use the message up. */
export const proveWallet = Effect.fnUntraced(function*(context: IdentityContext, proof: SignInProof) {
  const account = yield* verifyProof(context, proof, null)
  const challenge = yield* requireChallenge(context, proof.message, null)
  const wallet = yield* context.repo.wallet(walletIdOf(account))
  if (wallet?.status !== "linked") {
    return yield* publicError("SIGNUP_CLOSED", {
      message: "This wallet belongs to no merchant: link it first, signed in by other means"
    })
  }
  const used = withSignIn(wallet, yield* nowSeconds)
  const writes: ReadonlyArray<Write> = [Repo.challengeWrite(markUsed(challenge)), Repo.walletWrite(used)]
  return { wallet: used, writes }
})

const unlinkOnce = Effect.fnUntraced(function*(
  context: IdentityContext,
  merchantId: number,
  id: string,
  evenLast: boolean,
  call: LinkCall,
  isTheirs: (wallet: WalletState) => boolean
) {
  const { auditLog, merchants, repo, settings } = context
  const merchant = yield* requireMerchant(context, merchantId)
  const wallets = yield* repo.wallets(merchantId)
  const wallet = wallets.find((one) => one.id === id && isTheirs(one))
  if (wallet === undefined) return yield* publicError("NOT_FOUND", { message: "No such wallet" })
  const objection = objectionToUnlink(wallets, evenLast)
  if (objection !== undefined) return yield* objection
  yield* append(context, merchantId, [
    merchants.touch(merchant),
    ...yield* unlinkWrites(context, wallet),
    ...yield* auditLog.writesOf(linkActOf("unlink", wallet, settings.environments[0], call))
  ])
  return unlink(wallet)
})

/** Unlinks a wallet of those that `isTheirs` accepts. */
export const unlinkWallet = (
  context: IdentityContext,
  merchantId: number,
  id: string,
  evenLast: boolean,
  call: LinkCall,
  isTheirs: (wallet: WalletState) => boolean = () => true
) => decideInTurn(context, "merchant", merchantId, unlinkOnce(context, merchantId, id, evenLast, call, isTheirs))

/** `LinkedWallets.linkedOf`. */
export const linkedOf = (context: IdentityContext): WalletDirectory["linkedOf"] => (merchantId, network, addresses) =>
  Effect.map(context.repo.wallets(merchantId), (wallets) => {
    const linked = new Set(wallets.map(accountName))
    return new Set(
      addresses.filter((address) =>
        accountsProving(context, network, address).some((account) => linked.has(accountName(account)))
      )
    )
  })

/** `LinkedWallets.merchantsOf`. */
export const merchantsOf = (context: IdentityContext): WalletDirectory["merchantsOf"] => (network, address) =>
  Effect.map(
    Effect.forEach(accountsProving(context, network, address), (account) => context.repo.wallet(walletIdOf(account))),
    (wallets) => new Set(wallets.flatMap((wallet) => wallet?.status === "linked" ? wallet.merchantId : []))
  )
