/**
 * Which account keeps an owner's jettons: asked of the jetton's master, which is in the catalogue, and never of a list.
 * A node runs the master's method, so it may answer what it likes: another endpoint is asked beside it, and both again
 * after a named time.
 *
 *   two endpoints name one account       --> it is read, and asked again after a day
 *   one names it, no other can be asked  --> it is read, and asked again after an hour
 *   they name different accounts         --> the one that more of them name; as many for each: nothing is read, and the
 *                                            error names the endpoints
 *   another account than before          --> what came to it since is read again
 */
import { Clock, Effect } from "effect"
import { DriverError } from "../../../runtime/Chains.ts"
import { endpointsByPreference, isWorthAsking } from "../../../runtime/nodes/EndpointPool.ts"
import type { Endpoints } from "../../../runtime/nodes/Endpoints.ts"
import { readAccountKey } from "./Account.ts"
import { decideWallet } from "./JettonAnswers.ts"
import { accountAt, runGetMethod, type Toncenter } from "./Toncenter.ts"
import type { Receiver } from "./Transactions.ts"

/** Answers kept of an endpoint: of 10,000 owners and 10 jettons. */
const maximumAnswers = 100_000

/**
 * Milliseconds for which every endpoint has to say that a master names no wallet before that is believed, and after
 * which it is asked again. Until then a look fails: an endpoint that runs methods wrongly must not hide payments.
 */
export const absenceConfirmMillis = 60_000

/** Milliseconds after which an account is asked for again that one endpoint alone has named: an hour. */
export const singleWordMillis = 3_600_000

/** Milliseconds after which an account is asked for again that two endpoints have named: a day. */
export const agreedWordMillis = 86_400_000

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
  /** Key of an owner's wallet of a jetton; null: it has none; undefined: not asked, or the endpoints differ. */
  readonly known: (place: number, owner: string, jetton: Jetton, nowMillis: number) => string | null | undefined
  /** Whether it is time to {@link JettonWallets.inquire} again, though an account is known. */
  readonly isDue: (place: number, owner: string, jetton: Jetton, nowMillis: number) => boolean
  /**
   * As `known`, and asks where it is not. `readFrom`: epoch seconds from which the caller reads the account, and from
   * which it is read again should the answer prove wrong.
   */
  readonly resolve: (
    client: Toncenter,
    owner: string,
    jetton: Jetton,
    readFrom: number
  ) => Effect.Effect<string | null, DriverError>
  /** Asks, whatever is known. */
  readonly inquire: JettonWallets["resolve"]
  /** Whose money an account is, as it is known; undefined: not known. */
  readonly receiverOf: (place: number, wallet: string, nowMillis: number) => Receiver | undefined
  /**
   * Epoch seconds since which an account was read that proved to be the wrong one; null: none has since the last call.
   */
  readonly takeCorrection: () => number | null
}

/** What one endpoint answered. */
interface Answers {
  /** By owner and master: the account, and when it was named last in epoch milliseconds. */
  readonly wallets: Map<string, { readonly wallet: string; readonly checkedMillis: number }>
  /** Masters that named no wallet. */
  readonly absences: Map<string, Absence>
}

/** Since when, and when last, an endpoint said that a master names no wallet: epoch milliseconds. */
interface Absence {
  readonly sinceMillis: number
  readonly checkedMillis: number
}

/** An account that is read, and since when: epoch seconds of the chain. */
interface ReadAccount {
  readonly wallet: string
  readonly since: number
}

const keep = <A>(all: Map<string, A>, key: string, value: A): void => {
  all.set(key, value)
  if (all.size > maximumAnswers) all.delete(all.keys().next().value!)
}

const keyOf = (owner: string, { master }: Jetton): string => `${owner} ${master}`

/** What is remembered of the answers, and what follows from them. */
const makeMemory = (endpointCount: number) => {
  const answers = Array.from({ length: endpointCount }, (): Answers => ({ wallets: new Map(), absences: new Map() }))
  const accounts = new Map<string, ReadAccount>()
  const receivers = new Map<string, { readonly owner: string; readonly jetton: Jetton }>()
  let correctedSince: number | null = null
  /** Whether every endpoint has said for long enough that the master names no wallet. */
  const isAbsent = ({ master }: Jetton, nowMillis: number): boolean =>
    answers.every(({ absences }) => {
      const absence = absences.get(master)
      return absence !== undefined && nowMillis - absence.sinceMillis >= absenceConfirmMillis
    })
  const decide = (place: number, key: string) => {
    const own = answers[place]!.wallets.get(key)?.wallet
    return own === undefined ? undefined : decideWallet(
      own,
      answers.flatMap(({ wallets }, other) => other === place ? [] : wallets.get(key)?.wallet ?? [])
    )
  }
  return {
    answers,
    isAbsent,
    decide,
    /** An endpoint's answer; null: the master names no wallet. */
    onAnswer: (place: number, owner: string, jetton: Jetton, wallet: string | null, nowMillis: number) => {
      const { absences, wallets } = answers[place]!
      if (wallet === null) {
        const sinceMillis = absences.get(jetton.master)?.sinceMillis ?? nowMillis
        keep(absences, jetton.master, { sinceMillis, checkedMillis: nowMillis })
      } else {
        absences.delete(jetton.master)
        keep(wallets, keyOf(owner, jetton), { wallet, checkedMillis: nowMillis })
      }
    },
    /** An account is read from now on; answers whether it was another one before. */
    onRead: (owner: string, jetton: Jetton, wallet: string, since: number): boolean => {
      const key = keyOf(owner, jetton)
      const before = accounts.get(key)
      const isCorrection = before !== undefined && before.wallet !== wallet
      if (isCorrection) correctedSince = Math.min(before.since, correctedSince ?? before.since)
      keep(accounts, key, { wallet, since: Math.min(since, before?.since ?? since) })
      keep(receivers, wallet, { owner, jetton })
      return isCorrection
    },
    receiver: (wallet: string) => receivers.get(wallet),
    takeCorrection: () => {
      const since = correctedSince
      correctedSince = null
      return since
    }
  }
}

const askMaster = Effect.fnUntraced(function*(client: Toncenter, owner: string, { master }: Jetton) {
  const stack = yield* runGetMethod(client, master, "get_wallet_address", owner)
  return stack === null ? null : accountAt(stack, 0)
})

export const makeJettonWallets = (endpoints: Endpoints<Toncenter>): JettonWallets => {
  const memory = makeMemory(endpoints.endpoints.length)
  const fail = ({ name, network }: Toncenter, reason: string) =>
    new DriverError({ network, reason: `${name}: ${reason}`, kind: "contradiction" })

  const known: JettonWallets["known"] = (place, owner, jetton, nowMillis) => {
    const decision = memory.decide(place, keyOf(owner, jetton))
    if (decision !== undefined) return decision.wallet ?? undefined
    const absence = memory.answers[place]!.absences.get(jetton.master)
    const isFresh = absence !== undefined && nowMillis - absence.checkedMillis < absenceConfirmMillis
    return isFresh && memory.isAbsent(jetton, nowMillis) ? null : undefined
  }

  /** Asks other endpoints, until one of them names what `place` has named. */
  const askOthers = Effect.fnUntraced(function*(place: number, owner: string, jetton: Jetton, wallet: string) {
    const nowMillis = yield* Clock.currentTimeMillis
    for (const other of endpointsByPreference(endpoints.pool(), nowMillis)) {
      if (other === place) continue
      const before = memory.answers[other]!.wallets.get(keyOf(owner, jetton))
      const isAnswered = before?.wallet === wallet && nowMillis - before.checkedMillis < agreedWordMillis
      if (!isAnswered && isWorthAsking(endpoints.pool(), other)) {
        yield* endpoints.attempt(endpoints.endpoints[other]!, (each) => askMaster(each, owner, jetton)).pipe(
          Effect.tap((named) => Effect.sync(() => memory.onAnswer(other, owner, jetton, named, nowMillis))),
          Effect.catch((error) => Effect.logDebug("a jetton's master was not asked at an endpoint", error.reason))
        )
      }
      if (memory.decide(place, keyOf(owner, jetton))?.isAgreed === true) return
    }
  })

  /** Which endpoint names which account, for people. */
  const namedBy = (key: string): string =>
    memory.answers.flatMap(({ wallets }, place) => {
      const wallet = wallets.get(key)?.wallet
      return wallet === undefined ? [] : `${endpoints.endpoints[place]!.name} names ${wallet}`
    }).join(", ")

  const inquire: JettonWallets["inquire"] = Effect.fnUntraced(function*(client, owner, jetton, readFrom) {
    const nowMillis = yield* Clock.currentTimeMillis
    const { network, place } = client
    const key = keyOf(owner, jetton)
    const named = yield* askMaster(client, owner, jetton)
    memory.onAnswer(place, owner, jetton, named, nowMillis)
    if (named === null) {
      if (memory.isAbsent(jetton, nowMillis)) return null
      return yield* fail(client, `the jetton master ${jetton.token} named no wallet for an account`)
    }
    yield* askOthers(place, owner, jetton, named)
    const { isDisputed, wallet } = memory.decide(place, key)!
    if (wallet === null) {
      return yield* fail(
        client,
        `endpoints name different wallets of the jetton ${jetton.token} for the account ${owner}: ${namedBy(key)}. ` +
          "Compare with an explorer, and correct or remove the endpoint that is wrong"
      )
    }
    if (isDisputed) {
      yield* Effect.logError(
        "an endpoint names another wallet of a jetton than the others, which are believed: correct or remove it",
        {
          network,
          jetton: jetton.token,
          owner,
          answers: namedBy(key)
        }
      )
    }
    if (memory.onRead(owner, jetton, wallet, readFrom)) {
      yield* Effect.logError(
        "another account was read as a wallet of a jetton than its master names now: what came since is read again",
        { network, jetton: jetton.token, owner, wallet }
      )
    }
    return wallet
  })

  return {
    known,
    isDue: (place, owner, jetton, nowMillis) => {
      const key = keyOf(owner, jetton)
      const own = memory.answers[place]!.wallets.get(key)
      const limit = memory.decide(place, key)?.isAgreed === true ? agreedWordMillis : singleWordMillis
      return own !== undefined && nowMillis - own.checkedMillis >= limit
    },
    resolve: Effect.fnUntraced(function*(client, owner, jetton, readFrom) {
      const before = known(client.place, owner, jetton, yield* Clock.currentTimeMillis)
      return before === undefined ? yield* inquire(client, owner, jetton, readFrom) : before
    }),
    inquire,
    receiverOf: (place, wallet, nowMillis) => {
      const found = memory.receiver(wallet)
      return found !== undefined && known(place, found.owner, found.jetton, nowMillis) === wallet
        ? { owner: found.owner, token: found.jetton.token }
        : undefined
    },
    takeCorrection: memory.takeCorrection
  }
}
