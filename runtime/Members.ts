/**
 * The people of merchants, for what asks who a caller is and how many may approve. The module that knows them registers
 * here; without one, all wallets that sign in for a merchant are one person, its owner.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import * as Registry from "./Registry.ts"
import { firstOwnerPerson, type Role } from "../schemas/Roles.ts"

/** Somebody of a merchant. People count, not credentials. */
export interface Member {
  /** `firstOwnerPerson` of schemas/Roles.ts, or `per_<uuid>`. */
  readonly person: string
  readonly role: Role
  /** Epoch seconds from which on they may move money on mainnet, by whatever they sign in; absent: at any time. */
  readonly moneyFrom?: number
}

export interface MemberDirectory {
  /** A member by person; null as a person stands for the first owner. Null: nobody of the merchant any more. */
  readonly find: (merchantId: number, person: string | null) => Effect.Effect<Member | null>
  /** All who are members now. */
  readonly list: (merchantId: number) => Effect.Effect<ReadonlyArray<Member>>
  /** As whom the acts of a person may stand in the audit log, beside the credential of the call at hand. */
  readonly actorsOf: (merchantId: number, person: string) => Effect.Effect<ReadonlyArray<string>>
}

export class Members extends Context.Service<
  Members,
  MemberDirectory & {
    /** Answers from now on, for as long as the scope lives. One per deployment. */
    readonly register: (directory: MemberDirectory) => Effect.Effect<void, never, Scope.Scope>
  }
>()("tillwire/runtime/Members") {}

/** Whom all wallets of a merchant stand for where nobody knows its people. */
export const soleOwner: Member = { person: firstOwnerPerson, role: "owner" }

const ownerOnly: MemberDirectory = {
  find: () => Effect.succeed(soleOwner),
  list: () => Effect.succeed([soleOwner]),
  actorsOf: () => Effect.succeed([])
}

export const layer: Layer.Layer<Members> = Layer.sync(Members, () => {
  const { current, register } = Registry.single<MemberDirectory>(
    "two modules know the people of merchants: name one of them in the config file"
  )
  const directory = () => current() ?? ownerOnly
  return Members.of({
    register,
    find: (merchantId, person) => Effect.suspend(() => directory().find(merchantId, person)),
    list: (merchantId) => Effect.suspend(() => directory().list(merchantId)),
    actorsOf: (merchantId, person) => Effect.suspend(() => directory().actorsOf(merchantId, person))
  })
})
