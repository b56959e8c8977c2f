/** The receipt that a payor gets by e-mail, in the languages of the payment page. Pure. */
import { DateTime } from "effect"
import type { Language } from "../../../schemas/Languages.ts"
import { nameInMail } from "../../../schemas/MailText.ts"
import { withoutTrailingZeros } from "../../../schemas/Money.ts"

interface ReceiptMailTexts {
  readonly subject: (merchant: string) => string
  readonly received: (merchant: string) => string
  readonly purpose: string
  readonly amount: string
  readonly paid: string
  /** What was paid on a network. */
  readonly on: (amount: string, network: string) => string
  readonly transaction: string
  readonly date: string
  readonly invoice: string
  readonly more: (count: number) => string
  readonly keep: string
}

const texts: Readonly<Record<Language, ReceiptMailTexts>> = {
  en: {
    subject: (merchant) => `Your receipt from ${merchant}`,
    received: (merchant) => `${merchant} has received your payment.`,
    purpose: "For",
    amount: "Received",
    paid: "Paid",
    on: (amount, network) => `${amount} on ${network}`,
    transaction: "Transaction",
    date: "Date",
    invoice: "Invoice",
    more: (count) => `Further payments: ${count}`,
    keep: "Keep this message as your receipt. Nobody will ask you for a recovery phrase or a password."
  },
  es: {
    subject: (merchant) => `Su recibo de ${merchant}`,
    received: (merchant) => `${merchant} ha recibido su pago.`,
    purpose: "Concepto",
    amount: "Recibido",
    paid: "Pagado",
    on: (amount, network) => `${amount} en ${network}`,
    transaction: "Transacción",
    date: "Fecha",
    invoice: "Factura",
    more: (count) => `Otros pagos: ${count}`,
    keep: "Conserve este mensaje como recibo. Nadie le pedirá una frase de recuperación ni una contraseña."
  },
  de: {
    subject: (merchant) => `Ihr Beleg von ${merchant}`,
    received: (merchant) => `${merchant} hat Ihre Zahlung erhalten.`,
    purpose: "Für",
    amount: "Erhalten",
    paid: "Bezahlt",
    on: (amount, network) => `${amount} auf ${network}`,
    transaction: "Transaktion",
    date: "Datum",
    invoice: "Rechnung",
    more: (count) => `Weitere Zahlungen: ${count}`,
    keep: "Bewahren Sie diese Nachricht als Beleg auf. " +
      "Niemand fragt Sie nach einer Wiederherstellungsphrase oder einem Passwort."
  },
  fr: {
    subject: (merchant) => `Votre reçu de ${merchant}`,
    received: (merchant) => `${merchant} a reçu votre paiement.`,
    purpose: "Objet",
    amount: "Reçu",
    paid: "Payé",
    on: (amount, network) => `${amount} sur ${network}`,
    transaction: "Transaction",
    date: "Date",
    invoice: "Facture",
    more: (count) => `Autres paiements\u202f: ${count}`,
    keep: "Conservez ce message comme reçu. Personne ne vous demandera de phrase de récupération ni de mot de passe."
  },
  "pt-BR": {
    subject: (merchant) => `Seu recibo de ${merchant}`,
    received: (merchant) => `${merchant} recebeu seu pagamento.`,
    purpose: "Referente a",
    amount: "Recebido",
    paid: "Pago",
    on: (amount, network) => `${amount} na rede ${network}`,
    transaction: "Transação",
    date: "Data",
    invoice: "Fatura",
    more: (count) => `Outros pagamentos: ${count}`,
    keep: "Guarde esta mensagem como recibo. Ninguém vai pedir uma frase de recuperação nem uma senha."
  },
  ja: {
    subject: (merchant) => `${merchant} からの領収書`,
    received: (merchant) => `${merchant} がお支払いを受け取りました。`,
    purpose: "内容",
    amount: "受領額",
    paid: "お支払い",
    on: (amount, network) => `${network} で ${amount}`,
    transaction: "トランザクション",
    date: "日時",
    invoice: "請求書",
    more: (count) => `ほかの支払い: ${count} 件`,
    keep: "このメールを領収書として保管してください。リカバリーフレーズやパスワードをお尋ねすることはありません。"
  },
  "zh-Hans": {
    subject: (merchant) => `来自 ${merchant} 的收据`,
    received: (merchant) => `${merchant} 已收到您的付款。`,
    purpose: "用途",
    amount: "收到",
    paid: "已付",
    on: (amount, network) => `通过 ${network} 网络支付 ${amount}`,
    transaction: "交易",
    date: "日期",
    invoice: "账单",
    more: (count) => `其他付款：${count} 笔`,
    keep: "请保留此邮件作为收据。任何人都不会向您索要助记词或密码。"
  },
  ar: {
    subject: (merchant) => `إيصالكم من \u2068${merchant}\u2069`,
    received: (merchant) => `استلم \u2068${merchant}\u2069 دفعتكم.`,
    purpose: "مقابل",
    amount: "المستلم",
    paid: "المدفوع",
    on: (amount, network) => `\u2068${amount}\u2069 على شبكة \u2068${network}\u2069`,
    transaction: "المعاملة",
    date: "التاريخ",
    invoice: "الفاتورة",
    more: (count) => `دفعات أخرى: ${count}`,
    keep: "يُرجى الاحتفاظ بهذه الرسالة إيصالًا. لن يطلب منكم أحد عبارة الاسترداد أو كلمة المرور."
  }
}

/** Payments that a receipt names, at most: an invoice paid in more parts is not read line by line. */
const maximumPayments = 10

export interface ReceiptPayment {
  /** Whole tokens; null: their decimals are not known. */
  readonly amount: string | null
  readonly symbol: string | null
  readonly network: string
  readonly txHash: string | null
}

export interface ReceiptFacts {
  readonly merchant: string
  /** What the shop calls it; null: nothing. */
  readonly title: string | null
  /** Dollars that count, with thousandths. */
  readonly amountUsd: string
  /** The same in the currency of the shop, such as `22.50 EUR`; null: it asked for dollars. */
  readonly shopAmount: string | null
  readonly payments: ReadonlyArray<ReceiptPayment>
  /** Epoch seconds. */
  readonly paidAt: number
  readonly invoiceId: string
}

/** Subject and text. What the shop or a token calls itself becomes no link and no line of its own. */
export const receiptMail = (
  language: Language,
  { amountUsd, invoiceId, merchant, paidAt, payments, shopAmount, title }: ReceiptFacts
): { readonly subject: string; readonly text: string } => {
  const words = texts[language]
  const name = nameInMail(merchant)
  // Dollars have cents, and thousandths only where they are not zero.
  const inDollars = `${amountUsd.replace(/(\.\d\d)0$/, "$1")} USD`
  const lines = payments.slice(0, maximumPayments).flatMap(({ amount, network, symbol, txHash }) => [
    ...(amount === null || symbol === null
      ? []
      : [`${words.paid}: ${words.on(`${withoutTrailingZeros(amount)} ${nameInMail(symbol)}`, network)}`]),
    ...(txHash === null ? [] : [`${words.transaction}: ${txHash}`])
  ])
  const facts = [
    ...(title === null ? [] : [`${words.purpose}: ${nameInMail(title)}`]),
    `${words.amount}: ${shopAmount === null ? inDollars : `${shopAmount} (${inDollars})`}`,
    ...lines,
    ...(payments.length > maximumPayments ? [words.more(payments.length - maximumPayments)] : []),
    `${words.date}: ${DateTime.formatIso(DateTime.makeUnsafe(paidAt * 1_000)).slice(0, 16).replace("T", " ")} UTC`,
    `${words.invoice}: ${invoiceId}`
  ]
  return {
    subject: words.subject(name),
    text: `${[words.received(name), facts.join("\n"), words.keep].join("\n\n")}\n`
  }
}
