/** The message by which somebody is invited to a merchant's team, in the languages of the payment page. Pure. */
import type { Language } from "../../../schemas/Languages.ts"
import { nameInMail } from "../../../schemas/MailText.ts"

interface InvitationMailTexts {
  readonly subject: (merchant: string) => string
  readonly invites: (merchant: string) => string
  /** The link stands in the line below. */
  readonly open: string
  readonly once: string
  readonly waits: string
  readonly unexpected: string
}

const texts: Readonly<Record<Language, InvitationMailTexts>> = {
  en: {
    subject: (merchant) => `Invitation to ${merchant}`,
    invites: (merchant) => `${merchant} invites you to its team, to work in its payments dashboard.`,
    open: "Open this link to join:",
    once: "The link is for one use within seven days. Whoever has it joins in your place: pass it on to nobody.",
    waits: "It opens as soon as another owner has approved the invitation.",
    unexpected: "If you do not expect this, delete this message."
  },
  es: {
    subject: (merchant) => `Invitación a ${merchant}`,
    invites: (merchant) => `${merchant} le invita a su equipo, para trabajar en su panel de pagos.`,
    open: "Abra este enlace para unirse:",
    once:
      "El enlace sirve una sola vez durante siete días. Quien lo tenga se une en su lugar: no lo comparta con nadie.",
    waits: "Se abrirá cuando otra persona propietaria haya aprobado la invitación.",
    unexpected: "Si no esperaba esta invitación, elimine este mensaje."
  },
  de: {
    subject: (merchant) => `Einladung zu ${merchant}`,
    invites: (merchant) => `${merchant} lädt Sie in sein Team ein, zur Arbeit im Dashboard für Zahlungen.`,
    open: "Öffnen Sie diesen Link, um beizutreten:",
    once: "Der Link gilt einmal und sieben Tage lang. Wer ihn hat, tritt an Ihrer Stelle bei: " +
      "Geben Sie ihn niemandem weiter.",
    waits: "Er öffnet sich, sobald ein weiterer Inhaber die Einladung genehmigt hat.",
    unexpected: "Wenn Sie keine Einladung erwarten, löschen Sie diese Nachricht."
  },
  fr: {
    subject: (merchant) => `Invitation de ${merchant}`,
    invites: (merchant) =>
      `${merchant} vous invite dans son équipe, pour travailler dans son tableau de bord des paiements.`,
    open: "Ouvrez ce lien pour la rejoindre\u202f:",
    once: "Le lien sert une seule fois, pendant sept jours. " +
      "Qui le possède la rejoint à votre place\u202f: ne le transmettez à personne.",
    waits: "Il s’ouvrira dès qu’un autre propriétaire aura approuvé l’invitation.",
    unexpected: "Si vous n’attendez pas cette invitation, supprimez ce message."
  },
  "pt-BR": {
    subject: (merchant) => `Convite de ${merchant}`,
    invites: (merchant) => `${merchant} convida você para a equipe, para trabalhar no painel de pagamentos.`,
    open: "Abra este link para entrar:",
    once: "O link serve uma única vez, por sete dias. Quem o tiver entra no seu lugar: não o repasse a ninguém.",
    waits: "Ele abre assim que outro proprietário aprovar o convite.",
    unexpected: "Se você não espera este convite, apague esta mensagem."
  },
  ja: {
    subject: (merchant) => `${merchant} からの招待`,
    invites: (merchant) => `${merchant} の支払い管理画面を使うチームに招待されています。`,
    open: "参加するには、次のリンクを開いてください。",
    once: "リンクは 7 日以内に一度だけ使えます。リンクを持つ人が代わりに参加できるため、ほかの人に渡さないでください。",
    waits: "別のオーナーが招待を承認すると開けるようになります。",
    unexpected: "心当たりがない場合は、このメールを削除してください。"
  },
  "zh-Hans": {
    subject: (merchant) => `来自 ${merchant} 的邀请`,
    invites: (merchant) => `${merchant} 邀请您加入其团队，使用其付款管理后台。`,
    open: "请打开此链接加入：",
    once: "此链接在七天内可使用一次。持有链接的人会代替您加入，请勿转发给任何人。",
    waits: "待另一位所有者批准邀请后，链接才可打开。",
    unexpected: "如果您没有等待此邀请，请删除此邮件。"
  },
  ar: {
    subject: (merchant) => `دعوة من \u2068${merchant}\u2069`,
    invites: (merchant) => `يدعوكم \u2068${merchant}\u2069 إلى فريقه للعمل في لوحة المدفوعات.`,
    open: "يُرجى فتح هذا الرابط للانضمام:",
    once: "الرابط صالح لاستخدام واحد خلال سبعة أيام. من يملكه ينضم بدلًا منكم، فيُرجى عدم إعطائه لأحد.",
    waits: "يُفتح الرابط فور موافقة مالك آخر على الدعوة.",
    unexpected: "إن كنتم لا تنتظرون هذه الدعوة، فيُرجى حذف هذه الرسالة."
  }
}

/** Subject and text. The merchant's name is not ours: whatever stands in it becomes no link and no line of its own. */
export const invitationMail = (
  language: Language,
  { link, merchant, needsApproval }: {
    readonly merchant: string
    readonly link: string
    /** Whether another owner must approve it first. */
    readonly needsApproval: boolean
  }
): { readonly subject: string; readonly text: string } => {
  const { invites, once, open, subject, unexpected, waits } = texts[language]
  const name = nameInMail(merchant)
  const parts = [invites(name), `${open}\n${link}`, ...(needsApproval ? [waits] : []), once, unexpected]
  return { subject: subject(name), text: `${parts.join("\n\n")}\n` }
}
