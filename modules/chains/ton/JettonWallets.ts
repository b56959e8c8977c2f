/**
 * Which account keeps an owner's jettons: asked of the jetton's master, which is in the catalogue, and never of a list.
 * Each endpoint is believed for what is read from it alone, so that one that lies does not decide for the others.
 */
import { Clock, Effect } from "effect"
import { DriverError } from "../../../runtime/Chains.ts"
import { readAccountKey } from "./Account.ts"
import { accountAt, runGetMethod, type Toncenter } from "./Toncenter.ts"
import type { Receiver } from "./Transactions.ts"

/** Answers kept of an endpoint: of 10,000 owners and 10 jettons. */
const maximumAnswers = 100_000

/**
 * Milliseconds for which every endpoint has to say that a master names no wallet before that is believed, and after
 * which it is asked again. Until then a look fails: an endpoint that runs methods wrongly must not hide payments.
 */
export const absenceConfirmMillis = 60_000

/** A jetton of the catalogue. */
export interface Jetton {
  /** As the catalogue spells its master. */
  readonly token: string
  /** Key of the master's account. */
  readonly master: string
}

/** The catalogue's jettons by account: two spellings of one master are one jetton. */
export const jettonsOf = (tokens: ReadonlyArray<string>): ReadonlyArray<Jetton> => {
  const jettons = new Map<string, Jetton>()
  for (const token of tokens) {
    const master = readAccountKey(token)
    if (master !== null && !jettons.has(master)) jettons.set(master, { token, master })
  }
  return [...jettons.values()]
}

export interface JettonWallets {
  /** Key of an owner's wallet of a jetton, as an endpoint told before; null: it has none; undefined: not asked. */
  readonly known: (place: number, owner: string, jetton: Jetton, nowMillis: number) => string | null | undefined
  /** As `known`, and asks where it is not. */
  readonly resolve: (client: Toncenter, owner: string, jetton: Jetton) => Effect.Effect<string | null, DriverError>
  /** Whose money an account is, as an endpoint told before; undefined: not known. */
  readonly receiverOf: (place: number, wallet: string) => Receiver | undefined
}

/** What one endpoint told. */
interface Answers {
  /** By owner and master. */
  readonly wallets: Map<string, string>
  readonly receivers: Map<string, Receiver>
  /** Masters that named no wallet. */
  readonly absences: Map<string, Absence>
}

/** Since when, and when last, an endpoint said that a master names no wallet: epoch milliseconds. */
interface Absence {
  readonly sinceMillis: number
  readonly checkedMillis: number
}

const keep = <A>(all: Map<string, A>, key: string, value: A): void => {
  all.set(key, value)
  if (all.size > maximumAnswers) all.delete(all.keys().next().value!)
}

const keyOf = (owner: string, { master }: Jetton): string => `${owner} ${master}`

export const makeJettonWallets = (endpointCount: number): JettonWallets => {
  const answers = Array.from({ length: endpointCount }, (): Answers => ({
    wallets: new Map(),
    receivers: new Map(),
    absences: new Map()
  }))
  /** Whether every endpoint has said for long enough that the master names no wallet. */
  const isAbsent = ({ master }: Jetton, nowMillis: number): boolean =>
    answers.every(({ absences }) => {
      const absence = absences.get(master)
      return absence !== undefined && nowMillis - absence.sinceMillis >= absenceConfirmMillis
    })
  const known: JettonWallets["known"] = (place, owner, jetton, nowMillis) => {
    const { absences, wallets } = answers[place]!
    const absence = absences.get(jetton.master)
    const isFresh = absence !== undefined && nowMillis - absence.checkedMillis < absenceConfirmMillis
    return wallets.get(keyOf(owner, jetton)) ?? (isFresh && isAbsent(jetton, nowMillis) ? null : undefined)
  }
  return {
    known,
    resolve: Effect.fnUntraced(function*(client, owner, jetton) {
      const nowMillis = yield* Clock.currentTimeMillis
      const before = known(client.place, owner, jetton, nowMillis)
      if (before !== undefined) return before
      const stack = yield* runGetMethod(client, jetton.master, "get_wallet_address", owner)
      const wallet = stack === null ? null : accountAt(stack, 0)
      const { absences, receivers, wallets } = answers[client.place]!
      if (wallet !== null) {
        absences.delete(jetton.master)
        keep(wallets, keyOf(owner, jetton), wallet)
        keep(receivers, wallet, { owner, token: jetton.token })
        return wallet
      }
      const sinceMillis = absences.get(jetton.master)?.sinceMillis ?? nowMillis
      keep(absences, jetton.master, { sinceMillis, checkedMillis: nowMillis })
      if (isAbsent(jetton, nowMillis)) return null
      return yield* new DriverError({
        network: client.network,
        reason: `${client.name}: the jetton master ${jetton.token} named no wallet for an account`,
        kind: "contradiction"
      })
    }),
    receiverOf: (place, wallet) => answers[place]!.receivers.get(wallet)
  }
}
