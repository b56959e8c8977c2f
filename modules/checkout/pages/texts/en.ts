/** English. */
import { plural, type Texts } from "../Texts.ts"

const found = plural("en", { one: "# way to pay", other: "# ways to pay" })
const minutesLeft = plural("en", { one: "The price holds for # more minute", other: "The price holds for # more minutes" })

export const en: Texts = {
  locale: "en",
  language: "English",
  direction: "ltr",

  testMode: "Test mode: no real money moves",
  invoice: "Invoice",
  help: "Help",
  chooseLanguage: "Language",
  change: "Change",
  checkPayment: "Check payment",
  amountDue: "Amount due",

  stepWaiting: "Waiting",
  stepConfirming: "Confirming",
  stepPaid: "Paid",
  progress: "Progress of the payment",

  chooseTitle: "Choose how to pay",
  chooseLabel: "Currency and network",
  search: "Search currency or network",
  found,
  nothingFound: "Nothing has that name",
  noMethods: (merchant) => `There is no way to pay right now. Please ask ${merchant}.`,
  proceed: "Continue",
  minimum: (amount) => `from ${amount}`,
  networkDown: "network has trouble",
  noPriceNow: "no price right now",
  notAvailable: "not available",

  waitingTitle: "Waiting for your payment",
  scanOrCopy: "Scan with your wallet or copy the details below",
  paymentLink: "Payment link",
  addressOnly: "Address only",
  qrName: (amount, address, network) => `QR code to pay ${amount} to ${address} on ${network}`,
  qrAddressName: (address, network) => `QR code of the address ${address} on ${network}`,
  priceHeldFor: "Price held for",
  invoiceEnds: "Invoice ends",
  amountToSend: "Amount to send",
  remainingToSend: "Remaining",
  addressOn: (network) => `Address on ${network}`,
  memo: "Memo",
  memoNeeded: "Without this memo your payment cannot be matched.",
  sendOnly: (token, network) => `Send only ${token} on ${network}.`,
  otherwiseLost: "Other tokens or networks cannot be recovered.",
  openInWallet: "Open in wallet",
  useAnother: "Use another currency",
  payingWith: (token, network) => `You pay with ${token} on ${network}`,
  copy: "Copy",
  copyOf: (what) => `Copy: ${what}`,
  copied: "Copied",
  minutesLeft,

  quoteEndedTitle: "Price needs a refresh",
  quoteEnded: "The price was held for a few minutes. Get a new one: the address stays the same. " +
    "What you have already sent is not lost.",
  newPrice: "Get new price",
  noPriceTitle: "No price right now",
  noPrice: "We cannot price this currency at the moment. The address is right; wait a little, or use another currency.",

  confirmingTitle: "Payment seen, confirming",
  mayClose: (merchant) => `You can close this page. ${merchant} will be notified when it is confirmed.`,
  confirmations: (done, needed) => `${done} of ${needed} confirmations`,
  received: "Received",
  transaction: "Transaction",
  viewTransaction: (hash) => `See transaction ${hash} in a block explorer`,

  partialTitle: "Part of the payment arrived",
  partial: (received, remaining) => `We received ${received}. Send the remaining ${remaining} to the same address.`,
  stillPayable: "The time has run out, but you can still send the rest.",

  paidTitle: "Payment complete",
  paid: (merchant) => `${merchant} has your payment.`,
  overpaidTitle: (extra) => `Paid, with ${extra} extra`,
  overpaid: (extra, merchant) => `You sent ${extra} more than was due. Ask ${merchant} to send it back.`,
  returnTo: (merchant) => `Return to ${merchant}`,
  paidAt: "Paid",
  total: "Total",

  expiredTitle: "This payment has expired",
  expired: "Nothing was received. Do not send to the old address.",
  startAgain: "Start again",
  expiredContact: (merchant) => `Ask ${merchant} for a new invoice.`,

  lateTitle: "Your payment arrived late",
  late: (received, merchant) => `We received ${received} after the deadline. ${merchant} can accept or return it.`,
  expiredPartialTitle: "Time ran out, part of the payment arrived",
  expiredPartial: (received, merchant) => `We received ${received}, less than was due. ${merchant} can accept or return it.`,
  doNotPayAgain: "Do not pay again.",
  contact: (merchant) => `Contact ${merchant}`,
  contactNobody: (merchant) => `Please contact ${merchant} and name the invoice.`,

  canceledTitle: "This invoice was canceled",
  canceled: (merchant) => `${merchant} canceled it. Do not send anything.`,

  reversedTitle: "Your payment was reversed by the network",
  reversed: "The network took your transaction back, and it did not arrive. Look into your wallet: the money should be there.",
  payAgain: "You can pay again.",
  rejectedTitle: "We received something else",
  rejected: (merchant) => `A transfer arrived that this invoice does not accept. Ask ${merchant} to send it back.`,

  refundTitle: "Where should a refund go?",
  refundAddress: (network) => `Your address on ${network}`,
  refundSave: "Save address",
  refundSaved: "Saved. A refund will go there.",
  refundWrong: (network) => `That is not an address on ${network}. Please check it.`,

  offline: "No connection. The page updates itself as soon as it is back.",
  networkDegraded: (network) => `${network} has trouble right now. Your payment may show up later than usual.`,

  simulateTitle: "Simulate payment",
  simulateNote: "Test mode: play money, no wallet needed.",
  simulatePay: "Pay",
  simulatePartial: "Pay half",
  simulateOver: "Pay too much",
  simulateLate: "Pay too late",

  sessionEndedTitle: "This link does not open a payment",
  sessionEnded: "It is incomplete, or its time is over. Open the link you were given once more, or ask the shop for a new one.",
  notFoundTitle: "Nothing is here",
  notFound: "This address leads to no payment. Open the link you were given once more.",
  tooManyTitle: "Too many tries",
  tooMany: "Wait a moment, then load the page again.",
  unavailableTitle: "One moment, please",
  unavailable: "We cannot show your payment right now. What you have already sent is not lost. Wait a few seconds, " +
    "then try again.",
  failedTitle: "Something went wrong",
  failed: "Nothing was changed. Load the page again in a moment.",
  tryAgain: "Try again"
}
