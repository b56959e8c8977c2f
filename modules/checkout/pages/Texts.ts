/** Every sentence of the payment page. A catalogue that lacks one does not compile; arguments are shown as they are. */

/** The words of one language. */
export interface Texts {
  /** `pt-BR`: for `lang` and for `Intl`. */
  readonly locale: string
  /** The language's own name, for the choice of languages. */
  readonly language: string
  readonly direction: "ltr" | "rtl"
  /** What ends a sentence. A full-width one brings its own space. */
  readonly fullStop: "." | "。"

  readonly testMode: string
  /** Before a domain, for who cannot see its sign. */
  readonly domainVerified: string
  /** What a verified domain has said, and when it was asked. */
  readonly domainChecked: (domain: string, when: string) => string
  /** Under the name of a shop without a verified domain. */
  readonly returnsTo: (host: string) => string
  readonly invoice: string
  readonly help: string
  readonly chooseLanguage: string
  readonly change: string
  readonly checkPayment: string

  readonly stepWaiting: string
  readonly stepConfirming: string
  readonly stepPaid: string
  /** Name of the three steps for who cannot see them. */
  readonly progress: string

  readonly chooseTitle: string
  readonly stepCurrency: string
  readonly stepNetwork: (token: string) => string
  /** How many networks a currency can be paid on. */
  readonly networks: (count: number) => string
  /** How much a currency takes, beside the first step. */
  readonly toSend: (amount: string) => string
  readonly moreCurrencies: string
  readonly walletPaysFee: string
  readonly feeUnder: (amount: string) => string
  readonly feeAbout: (amount: string) => string
  readonly lowestFee: string
  /** How long a payment takes on a network. */
  readonly aboutSeconds: (count: number) => string
  readonly aboutMinutes: (count: number) => string
  readonly whichNetwork: (token: string) => string
  readonly search: string
  /** Spoken while the list is filtered. */
  readonly found: (count: number) => string
  readonly nothingFound: string
  readonly noMethods: (merchant: string) => string
  /** {@link noMethods} where the shop offers some currencies only. */
  readonly noOfferedMethods: (merchant: string) => string
  readonly proceed: string
  readonly proceedWith: (token: string, network: string) => string
  readonly minimum: (amount: string) => string
  readonly networkDown: string
  readonly noPriceNow: string
  readonly notAvailable: string

  readonly waitingTitle: string
  readonly payTitle: (amount: string, network: string) => string
  readonly scanCode: string
  readonly paymentLink: string
  readonly addressOnly: string
  readonly qrName: (amount: string, address: string, network: string) => string
  readonly qrAddressName: (address: string, network: string) => string
  readonly priceHeldFor: string
  /** While nothing has to be done for the price. */
  readonly priceRenews: string
  /** Beside a clock that runs down. */
  readonly timeLeft: string
  /** Beside the moment of the end. */
  readonly payBy: string
  readonly amountToSend: string
  readonly remainingToSend: string
  readonly addressOn: (network: string) => string
  readonly memo: string
  /** What the memo is for, and what happens without it. */
  readonly memoNeeded: string
  readonly memoFromExchange: string
  readonly sendOnly: (token: string, network: string) => string
  readonly otherwiseLost: string
  readonly payeeTitle: string
  readonly payee: (merchant: string) => string
  readonly payeeCheck: string
  readonly openInWallet: string
  readonly walletList: string
  readonly walletPay: (wallet: string) => string
  readonly walletAsking: (wallet: string, amount: string, network: string, address: string) => string
  readonly walletDeclined: (wallet: string) => string
  readonly walletBusy: (wallet: string) => string
  readonly walletLocked: (wallet: string) => string
  readonly walletChain: (wallet: string, network: string) => string
  readonly walletFunds: (amount: string, network: string) => string
  readonly walletFee: (coin: string, network: string) => string
  readonly walletSilent: (wallet: string) => string
  readonly walletUnknown: (wallet: string) => string
  /** What was to be paid is another amount by now, or nothing. */
  readonly walletChanged: string
  readonly walletSent: (wallet: string) => string
  /** Before a second transfer: `sent` was sent, or may have been. */
  readonly walletAgain: (sent: string, amount: string) => string
  readonly useAnother: string
  readonly payingWith: (token: string, network: string) => string
  readonly copy: string
  readonly copyOf: (what: string) => string
  readonly copied: string
  readonly minutesLeft: (count: number) => string

  readonly quoteEndedTitle: string
  readonly quoteEnded: string
  readonly newPrice: string
  readonly noPriceTitle: string
  readonly noPrice: string

  readonly confirmingTitle: string
  readonly mayClose: (merchant: string) => string
  readonly confirmations: (done: number, needed: number) => string
  readonly received: string
  readonly transaction: string
  readonly viewTransaction: (hash: string) => string

  readonly partialTitle: string
  readonly partial: (received: string, remaining: string) => string
  /** Where nothing can be sent at the moment: what came, without asking for the rest. */
  readonly partialReceived: (received: string) => string
  /** The invoice has ended, but its part payment may still be completed. */
  readonly stillPayable: string

  readonly paidTitle: string
  readonly paid: (merchant: string) => string
  readonly overpaidTitle: (extra: string) => string
  readonly overpaid: (extra: string, merchant: string) => string
  readonly returnTo: (merchant: string) => string
  /** Before the clock of the countdown to the return. */
  readonly returnsIn: (merchant: string) => string
  /** The countdown for screen readers. `stay` is the label of the button that stops it. */
  readonly returnsSoon: (merchant: string, seconds: number, stay: string) => string
  readonly stayHere: string
  readonly paidAt: string
  readonly total: string
  /** For screen readers, before the dollars that are below a price in another currency. */
  readonly inDollars: string
  readonly receipt: string
  readonly receiptOpen: string
  readonly receiptAmount: string
  readonly receiptFor: string
  readonly receiptTo: string
  readonly receiptAddress: string
  readonly receiptExtra: string

  readonly expiredTitle: string
  readonly expired: string
  /** For who sent it in time and sees that nothing came: beginning again would pay twice. */
  readonly expiredSent: string
  readonly startAgain: string
  readonly expiredContact: (merchant: string) => string

  readonly lateTitle: string
  readonly late: (received: string, merchant: string) => string
  readonly expiredPartialTitle: string
  readonly expiredPartial: (received: string, merchant: string) => string
  readonly accepted: (merchant: string, time: string) => string
  readonly keptAsCredit: (merchant: string) => string
  readonly refundAwaited: (amount: string, merchant: string) => string
  readonly refundUnderWay: (amount: string) => string
  readonly refundDone: (amount: string) => string
  readonly doNotPayAgain: string
  readonly contact: (merchant: string) => string
  readonly contactNobody: (merchant: string) => string

  readonly canceledTitle: string
  readonly canceled: (merchant: string) => string

  readonly reversedTitle: string
  readonly reversed: string
  /** A transaction that is gone from the chain may still come back: the wallet knows. */
  readonly payAgain: string
  readonly rejectedTitle: string
  readonly rejected: (merchant: string) => string

  readonly refundTitle: string
  readonly refundAddress: (network: string) => string
  readonly refundSave: string
  readonly refundSaved: string
  readonly refundWrong: (network: string) => string

  readonly claimOpenTitle: string
  /** Asks for the whole link, where no script reads it. */
  readonly claimOpen: string
  readonly claimLink: string
  readonly claimAddressTitle: string
  /** Beside the facts of the refund: who gives it back. */
  readonly claimFrom: (merchant: string) => string
  /** Which addresses are of use, and what happens with others. */
  readonly claimGive: (token: string, network: string) => string
  readonly claimUntil: (moment: string) => string
  readonly claimAmount: string
  /** What is kept of the refund for the network, beside its amount. */
  readonly claimFee: string
  readonly claimNetwork: string
  readonly claimReason: string
  readonly claimRequested: string
  readonly claimOverpayment: string
  readonly claimLate: string
  readonly claimUnderpayment: string
  readonly claimWrongToken: string
  readonly claimOrderCanceled: string
  readonly claimOrderFailed: string
  readonly claimDuplicate: string
  /** When an address needs a memo. */
  readonly claimMemo: string
  readonly claimCheckTitle: string
  /** The second look: what is confirmed stays. */
  readonly claimCheck: string
  readonly claimConfirm: string
  readonly claimEdit: string
  readonly claimWrongAddress: (network: string) => string
  readonly claimOtherNetwork: (network: string) => string
  readonly claimReceiveAddress: (token: string, network: string) => string
  readonly claimNoWallet: (token: string, network: string) => string
  readonly claimRefused: (merchant: string) => string
  readonly claimWrongMemo: string
  readonly claimUnchecked: string
  readonly claimApprovalTitle: string
  readonly claimApproval: (merchant: string) => string
  /** Another address stays than the one that was just confirmed. */
  readonly claimKept: (merchant: string) => string
  readonly claimProcessingTitle: string
  readonly claimProcessing: string
  readonly claimPaidTitle: string
  readonly claimPaid: (amount: string, network: string) => string
  readonly claimFailedTitle: string
  readonly claimFailed: (merchant: string) => string
  readonly claimExpiredTitle: string
  readonly claimExpired: (merchant: string) => string
  readonly claimCanceledTitle: string
  readonly claimCanceled: (merchant: string) => string
  readonly claimUnaddressedTitle: string
  readonly claimUnaddressed: (merchant: string) => string
  readonly claimCheckAgain: string
  /** The server was not reached, or did not answer. */
  readonly claimNoAnswer: string
  readonly claimEndedTitle: string
  readonly claimEnded: string
  readonly claimUnavailable: string

  readonly offline: string
  readonly networkDegraded: (network: string) => string

  readonly simulateTitle: string
  readonly simulateNote: string
  readonly simulatePay: string
  readonly simulatePartial: string
  readonly simulateOver: string
  readonly simulateLate: string

  readonly sessionEndedTitle: string
  readonly sessionEnded: string
  readonly notFoundTitle: string
  readonly notFound: string
  readonly tooManyTitle: string
  readonly tooMany: string
  readonly unavailableTitle: string
  readonly unavailable: string
  readonly failedTitle: string
  readonly failed: string
  readonly tryAgain: string
}

export { plural } from "../../../runtime/pages/Languages.ts"

/** Ends of what is a sentence already, in the scripts of the catalogues. */
const sentenceEnd = /[.!?。！？؟]$/u

/**
 * Sentences one after the other, as the language sets them; a heading among them gets its full stop.
 *
 * @example
 * inSequence(en, "Payment complete", "Blue Bottle Store has your payment.")
 * // => "Payment complete. Blue Bottle Store has your payment."
 */
export const joinSentences = ({ fullStop }: Texts, ...sentences: ReadonlyArray<string>): string =>
  sentences
    .map((sentence) => sentenceEnd.test(sentence) ? sentence : `${sentence}${fullStop}`)
    .join(fullStop === "." ? " " : "")
