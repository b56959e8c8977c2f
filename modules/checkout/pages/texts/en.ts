/** English. */
import { plural, type Texts } from "../Texts.ts"

const found = plural("en", { one: "# currency", other: "# currencies" })
const minutesLeft = plural("en", {
  one: "The price holds for # more minute",
  other: "The price holds for # more minutes"
})
const ofConfirmations = plural("en", { one: "# confirmation", other: "# confirmations" })
const networks = plural("en", { one: "# network", other: "# networks" })

export const en: Texts = {
  locale: "en",
  language: "English",
  direction: "ltr",
  fullStop: ".",

  testMode: "Test mode: no real money moves",
  domainVerified: "Verified domain:",
  domainChecked: (domain, when) =>
    `${domain} says of itself that it takes payments for this shop on this page. Checked ${when}.`,
  returnsTo: (host) => `Returns to ${host}`,
  invoice: "Invoice",
  help: "Help",
  chooseLanguage: "Language",
  change: "Change",
  checkPayment: "Check payment",

  stepWaiting: "Waiting",
  stepConfirming: "Confirming",
  stepPaid: "Paid",
  progress: "Progress of the payment",

  chooseTitle: "Choose how to pay",
  stepCurrency: "1. Currency",
  stepNetwork: (token) => `2. Network for ${token}`,
  networks,
  toSend: (amount) => `${amount} to send`,
  moreCurrencies: "More currencies",
  walletPaysFee: "your wallet pays the network fee",
  feeUnder: (amount) => `fee under ${amount}`,
  feeAbout: (amount) => `fee about ${amount}`,
  lowestFee: "lowest fee",
  aboutSeconds: (count) => `about ${count} s`,
  aboutMinutes: (count) => `about ${count} min`,
  whichNetwork: (token) => `Not sure? Choose the network on which your wallet holds ${token}.`,
  search: "Search currency or network",
  found,
  nothingFound: "Nothing found",
  noMethods: (merchant) => `There is no way to pay right now. Please try again later, or contact ${merchant}.`,
  noOfferedMethods: (merchant) =>
    "There is no way to pay right now: none of the currencies that this shop takes for your order can be " +
    `used. Please try again later, or contact ${merchant}.`,
  proceed: "Continue",
  proceedWith: (token, network) => `Continue with ${token} on ${network}`,
  minimum: (amount) => `minimum ${amount}`,
  networkDown: "network problems",
  noPriceNow: "no price right now",
  notAvailable: "not available",

  waitingTitle: "Waiting for your payment",
  payTitle: (amount, network) => `Pay ${amount} on ${network}`,
  scanCode: "QR code for a wallet on another device",
  paymentLink: "Payment link",
  addressOnly: "Address only",
  qrName: (amount, address, network) => `QR code to pay ${amount} to ${address} on ${network}`,
  qrAddressName: (address, network) => `QR code of the address ${address} on ${network}`,
  priceHeldFor: "Price held for",
  priceRenews: "The price is held and renews by itself.",
  timeLeft: "Time left to pay",
  payBy: "Pay by",
  amountToSend: "Amount to send",
  remainingToSend: "Remaining to send",
  addressOn: (network) => `Address on ${network}`,
  memo: "Memo",
  memoNeeded: "Many payments come to this address, and the memo tells which one is yours. Copy it into the memo or " +
    "comment field of your wallet. Without it, your payment cannot be matched.",
  memoFromExchange: "Pay from an exchange only if it lets you enter this memo.",
  sendOnly: (token, network) => `Send only ${token} on ${network}.`,
  otherwiseLost: "Anything sent as another token or on another network may be lost for good.",
  payeeTitle: "Who gets this money",
  payee: (merchant) =>
    `What is sent to this address can go to one wallet only. If ${merchant} has published its wallet, compare them.`,
  payeeCheck: "How to check it: the address follows from these values, by CREATE2 (EIP-1014).",
  openInWallet: "Open in wallet",
  walletList: "Wallets in this browser",
  walletPay: (wallet) => `Pay with ${wallet}`,
  walletAsking: (wallet, amount, network, address) =>
    `Confirm in ${wallet}: ${amount} on ${network} to ${address}. This page says paid only when the network ` +
    "shows your payment.",
  walletDeclined: (wallet) => `You declined in ${wallet}. Nothing was sent.`,
  walletBusy: (wallet) => `${wallet} is already asking. Open it and answer there.`,
  walletLocked: (wallet) => `${wallet} is locked. Open it, then press again.`,
  walletChain: (wallet, network) => `${wallet} cannot use ${network}. Use another wallet, or scan the code.`,
  walletFunds: (amount, network) =>
    `This account has less than ${amount} on ${network}. Choose another account, or another currency.`,
  walletFee: (coin, network) => `This account does not have enough ${coin} on ${network} for the network fee.`,
  walletSilent: (wallet) => `No answer from ${wallet}. If you have confirmed, just wait: this page follows by itself.`,
  walletUnknown: (wallet) =>
    `${wallet} reported an error. It may have sent the payment all the same: check your wallet before you try again.`,
  walletChanged: "This payment has changed meanwhile. Nothing was sent: look at the amount before you press again.",
  walletSent: (wallet) => `Sent from ${wallet}. Waiting for the network to show it.`,
  walletAgain: (sent, amount) =>
    `You may have sent ${sent} already: check your wallet. Press again only to send another ${amount}.`,
  useAnother: "Use another currency",
  payingWith: (token, network) => `You are paying with ${token} on ${network}`,
  copy: "Copy",
  copyOf: (what) => `Copy: ${what}`,
  copied: "Copied",
  minutesLeft,

  quoteEndedTitle: "Price needs a refresh",
  quoteEnded: "The price was held for a few minutes only. Get a new one before you send: the address stays the same. " +
    "What you have already sent is not lost.",
  newPrice: "Get new price",
  noPriceTitle: "No price right now",
  noPrice: "There is no price for this currency at the moment, so please do not send anything yet. " +
    "Try again in a few minutes. What you have already sent is not lost.",

  confirmingTitle: "Payment seen, confirming",
  mayClose: (merchant) => `You can close this page. ${merchant} will be notified when your payment is confirmed.`,
  confirmations: (done, needed) => `${done} of ${ofConfirmations(needed)}`,
  received: "Received",
  transaction: "Transaction",
  viewTransaction: (hash) => `See transaction ${hash} in a block explorer`,

  partialTitle: "Part of the payment arrived",
  partial: (received, remaining) => `We received ${received}. Send the remaining ${remaining} to the same address.`,
  partialReceived: (received) => `We received ${received}.`,
  stillPayable: "The time has run out, but you can still send the rest.",

  paidTitle: "Payment complete",
  paid: (merchant) => `${merchant} has your payment.`,
  overpaidTitle: (extra) => `Paid, with ${extra} extra`,
  overpaid: (extra, merchant) => `You sent ${extra} more than was due. Ask ${merchant} to send it back.`,
  returnTo: (merchant) => `Return to ${merchant}`,
  returnsIn: (merchant) => `Returning to ${merchant} in`,
  returnsSoon: (merchant, seconds, stay) => `You return to ${merchant} in ${seconds} seconds. To stay, press: ${stay}.`,
  stayHere: "Stay on this page",
  paidAt: "Paid",
  total: "Total",
  inDollars: "In US dollars",
  receipt: "Receipt",
  receiptOpen: "Open the receipt",
  receiptAmount: "You paid",
  receiptFor: "For",
  receiptTo: "To",
  receiptAddress: "To the address",
  receiptExtra: "Extra",

  expiredTitle: "This payment has expired",
  expired: "Nothing was received. Do not send to the old address.",
  expiredSent: "If you have already sent your payment, do not pay again: it will show up here when it arrives.",
  startAgain: "Start again",
  expiredContact: (merchant) => `Ask ${merchant} for a new invoice.`,

  lateTitle: "Your payment arrived late",
  late: (received, merchant) => `We received ${received} after the deadline. ${merchant} can accept or return it.`,
  expiredPartialTitle: "Time ran out, part of the payment arrived",
  expiredPartial: (received, merchant) =>
    `We received ${received}, less than was due. ${merchant} can accept or return it.`,
  accepted: (merchant, time) => `${merchant} accepted it, ${time}.`,
  keptAsCredit: (merchant) => `${merchant} keeps it as your credit.`,
  refundAwaited: (amount, merchant) => `${amount} goes back to you. ${merchant} sends you a link to say where.`,
  refundUnderWay: (amount) => `A refund of ${amount} is on its way.`,
  refundDone: (amount) => `${amount} was refunded to you.`,
  doNotPayAgain: "Do not pay again.",
  contact: (merchant) => `Contact ${merchant}`,
  contactNobody: (merchant) => `Please contact ${merchant} and give the invoice number above.`,

  canceledTitle: "This invoice was canceled",
  canceled: (merchant) => `${merchant} canceled it. Do not send anything. If you have already paid, ask for a refund.`,

  reversedTitle: "Your payment was reversed by the network",
  reversed: "The network undid your transaction, and the payment did not arrive. " +
    "The money should be back in your wallet.",
  payAgain: "Check your wallet first. If the money is there, you can pay again.",
  rejectedTitle: "We received something else",
  rejected: (merchant) =>
    `A transfer arrived that this invoice does not accept, so it was not counted. Ask ${merchant} to send it back.`,

  refundTitle: "Where should a refund go?",
  refundAddress: (network) => `Your address on ${network}`,
  refundSave: "Save address",
  refundSaved: "Saved. If there is a refund, it will go to that address.",
  refundWrong: (network) => `That is not an address on ${network}. Please check it.`,

  claimOpenTitle: "Open your refund",
  claimOpen: "Paste the whole link that you were given. It opens your refund, so show it to nobody.",
  claimLink: "Link to your refund",
  claimAddressTitle: "Where should your refund go?",
  claimFrom: (merchant) => `${merchant} is giving you money back.`,
  claimGive: (token, network) =>
    `Give an address that receives ${token} on ${network}: of your own wallet, or your deposit address at an ` +
    "exchange. On any other network the money may be lost for good.",
  claimUntil: (moment) => `The link takes an address until ${moment}.`,
  claimAmount: "You get",
  claimFee: "Kept for the network fee",
  claimNetwork: "Network",
  claimReason: "Reason",
  claimRequested: "You asked for it",
  claimOverpayment: "You paid too much",
  claimLate: "Your payment came too late",
  claimUnderpayment: "You paid too little",
  claimWrongToken: "You paid with something else",
  claimOrderCanceled: "The order was canceled",
  claimOrderFailed: "The order could not be completed",
  claimDuplicate: "You paid twice",
  claimMemo: "Only for an exchange: copy the memo that it shows beside the address. Without it, the money may " +
    "not reach your account.",
  claimCheckTitle: "Is this your address?",
  claimCheck: "This is where your refund goes. Once you confirm, it cannot be changed. Compare every character " +
    "with your wallet.",
  claimConfirm: "Send my refund there",
  claimEdit: "Change the address",
  claimWrongAddress: (network) =>
    `${network} has no wallet with this address. Copy the whole address again from your wallet.`,
  claimOtherNetwork: (network) =>
    `This is an address of another network. The refund is paid on ${network} alone: copy your address on that ` +
    "network.",
  claimReceiveAddress: (token, network) =>
    "Payments to shops are received at this address, so the refund would not reach you. Copy the address at " +
    `which your own wallet receives ${token} on ${network}.`,
  claimNoWallet: (token, network) =>
    "This is a token or another contract, and money sent to it is lost. Copy the address at which your own " +
    `wallet receives ${token} on ${network}.`,
  claimRefused: (merchant) =>
    `Refunds cannot be sent to this address. Give another address of your own wallet, or ask ${merchant}.`,
  claimWrongMemo: "A memo has at most 120 letters, digits and signs, without accents. Copy it again, or leave " +
    "the field empty.",
  claimUnchecked: "This address cannot be checked right now, and nothing was saved. Try again in a few minutes.",
  claimApprovalTitle: "Your address is saved",
  claimApproval: (merchant) =>
    `${merchant} still has to approve the refund. You can close this page: the same link shows how far it is.`,
  claimKept: (merchant) =>
    `Another address was saved before, and it stays: it is the one below. If it is not yours, contact ${merchant} ` +
    "at once.",
  claimProcessingTitle: "Your refund is being paid",
  claimProcessing: "It goes to the address below. You can close this page: the same link shows when it is paid.",
  claimPaidTitle: "Your refund is paid",
  claimPaid: (amount, network) => `${amount} was sent to the address below on ${network}.`,
  claimFailedTitle: "The refund was not paid",
  claimFailed: (merchant) =>
    `The transfer did not work, and your money is not lost. ${merchant} can try again or ask you for another address.`,
  claimExpiredTitle: "This refund has expired",
  claimExpired: (merchant) => `No address was given in time. Ask ${merchant} to start the refund again.`,
  claimCanceledTitle: "This refund was canceled",
  claimCanceled: (merchant) => `Nothing will be sent. If you did not expect this, ask ${merchant}.`,
  claimUnaddressedTitle: "This link was used already",
  claimUnaddressed: (merchant) => `An address is needed once more. Ask ${merchant} for a new link.`,
  claimCheckAgain: "Check again",
  claimNoAnswer: "There was no answer. Check your connection, then try again. What you confirmed before is kept.",
  claimEndedTitle: "This link does not open a refund",
  claimEnded: "It is incomplete, or it has ended. Open the link you were given once more, or ask the shop for a " +
    "new one.",
  claimUnavailable: "We cannot show your refund right now. Open your link again in a moment: it shows what was saved.",

  offline: "No connection. This page updates by itself as soon as the connection is back. " +
    "What you have already sent is not lost.",
  networkDegraded: (network) =>
    `${network} has problems right now. Your payment may show up later than usual. ` +
    "If you have already sent it, do not send it again.",

  simulateTitle: "Simulate payment",
  simulateNote: "Test mode: play money, no wallet needed.",
  simulatePay: "Pay",
  simulatePartial: "Pay half",
  simulateOver: "Pay too much",
  simulateLate: "Pay too late",

  sessionEndedTitle: "This link does not open a payment",
  sessionEnded: "It is incomplete or has expired. Open the link you were given once more, " +
    "or ask the shop for a new one.",
  notFoundTitle: "Nothing is here",
  notFound: "There is no payment at this web address. Open the link you were given once more.",
  tooManyTitle: "Too many attempts",
  tooMany: "Wait a moment, then load the page again.",
  unavailableTitle: "One moment, please",
  unavailable: "We cannot show your payment right now. What you have already sent is not lost. " +
    "Wait a few seconds, then try again.",
  failedTitle: "Something went wrong",
  failed: "Load the page again in a moment. What you have already sent is not lost.",
  tryAgain: "Try again"
}
