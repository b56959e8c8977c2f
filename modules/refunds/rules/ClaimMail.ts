/** The message by which a payor gets the claim link of a refund, in the languages of the payment page. Pure. */
import type { Language } from "../../../schemas/Languages.ts"
import { nameInMail } from "../../../schemas/MailText.ts"
import { withoutTrailingZeros } from "../../../schemas/Money.ts"

/** What the message tells. */
interface ClaimMailFacts {
  /** The shop's name, as it stands in a line. */
  readonly merchant: string
  /** With its symbol: `10 USDC`. */
  readonly amount: string
  readonly network: string
}

interface ClaimMailTexts {
  readonly subject: (facts: ClaimMailFacts) => string
  readonly gives: (facts: ClaimMailFacts) => string
  /** The link stands in the line below. */
  readonly open: string
  readonly once: string
  readonly never: string
  readonly unexpected: string
}

const texts: Readonly<Record<Language, ClaimMailTexts>> = {
  en: {
    subject: ({ merchant }) => `Your refund from ${merchant}`,
    gives: ({ amount, merchant, network }) => `${merchant} is giving you back ${amount} on ${network}.`,
    open: "Open this link and say where your refund should go:",
    once: "Whoever has the link says where the money goes, once. Pass it on to nobody.",
    never: "Nobody will ask you for a recovery phrase or a password.",
    unexpected: "If you expect no refund, delete this message."
  },
  es: {
    subject: ({ merchant }) => `Su reembolso de ${merchant}`,
    gives: ({ amount, merchant, network }) => `${merchant} le devuelve ${amount} en ${network}.`,
    open: "Abra este enlace e indique adónde enviamos su reembolso:",
    once: "Quien tiene el enlace decide, una sola vez, adónde va el dinero. No lo comparta con nadie.",
    never: "Nadie le pedirá una frase de recuperación ni una contraseña.",
    unexpected: "Si no espera ningún reembolso, elimine este mensaje."
  },
  de: {
    subject: ({ merchant }) => `Ihre Erstattung von ${merchant}`,
    gives: ({ amount, merchant, network }) => `${merchant} erstattet Ihnen ${amount} auf ${network}.`,
    open: "Öffnen Sie diesen Link und geben Sie an, wohin Ihre Erstattung gehen soll:",
    once: "Wer den Link hat, bestimmt einmal, wohin das Geld geht. Geben Sie ihn niemandem weiter.",
    never: "Niemand fragt Sie nach einer Wiederherstellungsphrase oder einem Passwort.",
    unexpected: "Wenn Sie keine Erstattung erwarten, löschen Sie diese Nachricht."
  },
  fr: {
    subject: ({ merchant }) => `Votre remboursement de ${merchant}`,
    gives: ({ amount, merchant, network }) => `${merchant} vous rembourse ${amount} sur ${network}.`,
    open: "Ouvrez ce lien et indiquez où envoyer votre remboursement\u202f:",
    once: "Qui possède le lien décide, une seule fois, où va l’argent. Ne le transmettez à personne.",
    never: "Personne ne vous demandera de phrase de récupération ni de mot de passe.",
    unexpected: "Si vous n’attendez aucun remboursement, supprimez ce message."
  },
  "pt-BR": {
    subject: ({ merchant }) => `Seu reembolso de ${merchant}`,
    gives: ({ amount, merchant, network }) => `${merchant} está devolvendo ${amount} a você na rede ${network}.`,
    open: "Abra este link e informe para onde enviar seu reembolso:",
    once: "Quem tem o link decide, uma única vez, para onde vai o dinheiro. Não o repasse a ninguém.",
    never: "Ninguém vai pedir uma frase de recuperação nem uma senha.",
    unexpected: "Se você não espera um reembolso, apague esta mensagem."
  },
  ja: {
    subject: ({ merchant }) => `${merchant} からの返金`,
    gives: ({ amount, merchant, network }) => `${merchant} から ${network} で ${amount} が返金されます。`,
    open: "次のリンクを開き、返金の送り先を入力してください。",
    once: "リンクを持つ人が、送り先を一度だけ指定できます。ほかの人に渡さないでください。",
    never: "リカバリーフレーズやパスワードをお尋ねすることはありません。",
    unexpected: "返金に心当たりがない場合は、このメールを削除してください。"
  },
  "zh-Hans": {
    subject: ({ merchant }) => `来自 ${merchant} 的退款`,
    gives: ({ amount, merchant, network }) => `${merchant} 正在通过 ${network} 网络向您退款 ${amount}。`,
    open: "请打开此链接，填写退款要发送到的地址：",
    once: "持有此链接的人可以指定一次收款地址。请勿转发给任何人。",
    never: "任何人都不会向您索要助记词或密码。",
    unexpected: "如果您没有等待退款，请删除此邮件。"
  },
  ar: {
    subject: ({ merchant }) => `المبلغ المُعاد إليكم من \u2068${merchant}\u2069`,
    gives: ({ amount, merchant, network }) =>
      `يعيد \u2068${merchant}\u2069 إليكم \u2068${amount}\u2069 على شبكة \u2068${network}\u2069.`,
    open: "يُرجى فتح هذا الرابط وتحديد العنوان الذي يُرسل إليه المبلغ:",
    once: "من يملك الرابط يحدد وجهة المال مرة واحدة. يُرجى عدم إعطائه لأحد.",
    never: "لن يطلب منكم أحد عبارة الاسترداد أو كلمة المرور.",
    unexpected: "إن كنتم لا تنتظرون مبلغًا مُعادًا، فيُرجى حذف هذه الرسالة."
  }
}

/** Subject and text. Names are not ours: whatever stands in them becomes no link and no line of its own. */
export const claimMail = (
  language: Language,
  { amount, link, merchant, network, symbol }: {
    readonly merchant: string
    /** Whole tokens. */
    readonly amount: string
    readonly symbol: string
    readonly network: string
    readonly link: string
  }
): { readonly subject: string; readonly text: string } => {
  const { gives, never, once, open, subject, unexpected } = texts[language]
  const facts = {
    merchant: nameInMail(merchant),
    amount: `${withoutTrailingZeros(amount)} ${nameInMail(symbol)}`,
    network
  }
  return {
    subject: subject(facts),
    text: [gives(facts), `${open}\n${link}`, once, never, unexpected].join("\n\n") + "\n"
  }
}
