/**
 * The open connections of this instance, found by what concerns them: their invoice, their merchant, whose they are,
 * and the credential whose end ends them. Data only: nothing is sent or closed here.
 */
import type { Subscription } from "./Connection.ts"

/** What the index reads of a connection. */
interface Subscriber {
  readonly subscription: Pick<Subscription, "audience" | "holder" | "revocableAs">
}

/** A map to sets in which no set is empty. */
const makeSets = <Key, Member>() => {
  const sets = new Map<Key, Set<Member>>()
  return {
    sets,
    add: (key: Key, member: Member): number => {
      const found = sets.get(key) ?? new Set()
      sets.set(key, found.add(member))
      return found.size
    },
    /** Whether it was the last of its key. */
    remove: (key: Key, member: Member): boolean => {
      const found = sets.get(key)
      if (found?.delete(member) !== true || found.size > 0) return false
      return sets.delete(key)
    }
  }
}

const nobody: ReadonlySet<never> = new Set()

/** An index without connections. */
export const makeConnectionIndex = <Member extends Subscriber>() => {
  const byInvoice = makeSets<string, Member>()
  const byMerchant = makeSets<number, Member>()
  const byHolder = makeSets<string, Member>()
  const byCredential = makeSets<string, Member>()

  return {
    /** Adds a connection, once; whether it is the first that ends with its credential. */
    add: (member: Member): boolean => {
      const { audience, holder, revocableAs } = member.subscription
      byHolder.add(holder, member)
      if (audience.stream === "payment") byInvoice.add(audience.invoiceId, member)
      else byMerchant.add(audience.merchantId, member)
      return revocableAs !== null && byCredential.add(revocableAs, member) === 1
    },
    /** Removes a connection; whether it was the last that ends with its credential. */
    remove: (member: Member): boolean => {
      const { audience, holder, revocableAs } = member.subscription
      byHolder.remove(holder, member)
      if (audience.stream === "payment") byInvoice.remove(audience.invoiceId, member)
      else byMerchant.remove(audience.merchantId, member)
      return revocableAs !== null && byCredential.remove(revocableAs, member)
    },
    ofInvoice: (invoiceId: string): ReadonlySet<Member> | undefined => byInvoice.sets.get(invoiceId),
    ofMerchant: (merchantId: number): ReadonlySet<Member> | undefined => byMerchant.sets.get(merchantId),
    ofCredential: (credentialId: string): ReadonlySet<Member> => byCredential.sets.get(credentialId) ?? nobody,
    countOfHolder: (holder: string): number => byHolder.sets.get(holder)?.size ?? 0,
    /** Ids of the invoices that somebody listens to. */
    invoices: (): ReadonlyArray<string> => [...byInvoice.sets.keys()],
    /** Every connection of a payor. */
    payors: function*(): Iterable<Member> {
      for (const listeners of byInvoice.sets.values()) yield* listeners
    },
    /** Every connection, payors' first. */
    all: function*(): Iterable<Member> {
      for (const listeners of byInvoice.sets.values()) yield* listeners
      for (const listeners of byMerchant.sets.values()) yield* listeners
    }
  }
}

export type ConnectionIndex<Member extends Subscriber> = ReturnType<typeof makeConnectionIndex<Member>>
