/** Every sentence of the public pages of payment links, in the languages of the payment page. */

/** The words of one language; a language that lacks one does not compile. */
export interface LinkTexts {
  readonly pay: string
  /** Below the button: opening the page costs nothing and binds to nothing. */
  readonly next: string
  readonly howMuch: string
  /** Name of the field of an amount that the payor says. */
  readonly amount: string
  readonly range: (minimum: string, maximum: string) => string
  readonly wrongAmount: (minimum: string, maximum: string) => string
  /** In place of an amount that the payor says. */
  readonly anyAmount: string
  readonly until: (moment: string) => string
  readonly closedTitle: string
  readonly closed: (merchant: string) => string
  readonly completedTitle: string
  readonly completed: (merchant: string) => string
  readonly takenTitle: string
  readonly taken: string
  readonly notFoundTitle: string
  readonly notFound: string
  readonly scan: string
  readonly open: string
  readonly qrName: (title: string) => string
}

const en: LinkTexts = {
  pay: "Continue to payment",
  next: "You choose currency and network next. Nothing is paid yet.",
  howMuch: "How much do you want to pay?",
  amount: "Amount in US dollars",
  range: (minimum, maximum) => `From ${minimum} to ${maximum}`,
  wrongAmount: (minimum, maximum) =>
    `Enter an amount from ${minimum} to ${maximum} in digits, with cents after a point, such as 12.50.`,
  anyAmount: "You say how much",
  until: (moment) => `Open until ${moment}`,
  closedTitle: "This payment link is closed",
  closed: (merchant) => `Nobody can pay by it any more. Ask ${merchant} for a new link.`,
  completedTitle: "This payment link has been paid",
  completed: (merchant) => `It cannot be paid again. Ask ${merchant} for a new link.`,
  takenTitle: "Somebody is paying right now",
  taken:
    "There is no room for another payment at the moment. Try again in an hour: a payment that is not made frees it.",
  notFoundTitle: "This is not a payment link",
  notFound: "Look at the address again, or scan the code once more.",
  scan: "Scan to pay",
  open: "or open",
  qrName: (title) => `QR code that opens the payment link: ${title}`
}

const es: LinkTexts = {
  pay: "Continuar al pago",
  next: "Después eliges la moneda y la red. Todavía no se paga nada.",
  howMuch: "¿Cuánto quieres pagar?",
  amount: "Importe en dólares estadounidenses",
  range: (minimum, maximum) => `De ${minimum} a ${maximum}`,
  wrongAmount: (minimum, maximum) =>
    `Escribe un importe de ${minimum} a ${maximum} en cifras, con los centavos tras una coma, por ejemplo 12,50.`,
  anyAmount: "Tú decides el importe",
  until: (moment) => `Abierto hasta el ${moment}`,
  closedTitle: "Este enlace de pago está cerrado",
  closed: (merchant) => `Ya no se puede pagar con él. Pide un enlace nuevo a ${merchant}.`,
  completedTitle: "Este enlace ya se ha pagado",
  completed: (merchant) => `No se puede pagar otra vez. Pide un enlace nuevo a ${merchant}.`,
  takenTitle: "Alguien está pagando ahora",
  taken: "En este momento no cabe otro pago. Inténtalo dentro de una hora: un pago que no se hace deja libre su lugar.",
  notFoundTitle: "Esto no es un enlace de pago",
  notFound: "Revisa la dirección o escanea el código otra vez.",
  scan: "Escanea para pagar",
  open: "o abre",
  qrName: (title) => `Código QR que abre el enlace de pago: ${title}`
}

const de: LinkTexts = {
  pay: "Weiter zur Zahlung",
  next: "Als Nächstes wählen Sie Währung und Netzwerk. Noch wird nichts bezahlt.",
  howMuch: "Wie viel möchten Sie zahlen?",
  amount: "Betrag in US-Dollar",
  range: (minimum, maximum) => `Von ${minimum} bis ${maximum}`,
  wrongAmount: (minimum, maximum) =>
    `Geben Sie einen Betrag von ${minimum} bis ${maximum} in Ziffern ein, Cent nach einem Komma, zum Beispiel 12,50.`,
  anyAmount: "Betrag nach Ihrer Wahl",
  until: (moment) => `Offen bis ${moment}`,
  closedTitle: "Dieser Zahlungslink ist geschlossen",
  closed: (merchant) => `Über ihn kann nicht mehr gezahlt werden. Bitten Sie ${merchant} um einen neuen Link.`,
  completedTitle: "Über diesen Link wurde schon gezahlt",
  completed: (merchant) => `Er kann nicht noch einmal bezahlt werden. Bitten Sie ${merchant} um einen neuen Link.`,
  takenTitle: "Gerade zahlt jemand anderes",
  taken: "Im Moment ist kein Platz für eine weitere Zahlung. Versuchen Sie es in einer Stunde wieder: "
    + "Eine Zahlung, die ausbleibt, macht ihren Platz frei.",
  notFoundTitle: "Das ist kein Zahlungslink",
  notFound: "Prüfen Sie die Adresse, oder scannen Sie den Code noch einmal.",
  scan: "Zum Zahlen scannen",
  open: "oder öffnen Sie",
  qrName: (title) => `QR-Code, der den Zahlungslink öffnet: ${title}`
}

const fr: LinkTexts = {
  pay: "Continuer vers le paiement",
  next: "Vous choisirez ensuite la monnaie et le réseau. Rien n’est encore payé.",
  howMuch: "Combien voulez-vous payer ?",
  amount: "Montant en dollars américains",
  range: (minimum, maximum) => `De ${minimum} à ${maximum}`,
  wrongAmount: (minimum, maximum) =>
    `Saisissez un montant de ${minimum} à ${maximum} en chiffres, les cents après une virgule, par exemple 12,50.`,
  anyAmount: "Montant de votre choix",
  until: (moment) => `Ouvert jusqu’au ${moment}`,
  closedTitle: "Ce lien de paiement est fermé",
  closed: (merchant) => `Il ne permet plus de payer. Demandez un nouveau lien à ${merchant}.`,
  completedTitle: "Ce lien a déjà été payé",
  completed: (merchant) => `Il ne peut pas être payé une autre fois. Demandez un nouveau lien à ${merchant}.`,
  takenTitle: "Quelqu’un paie en ce moment",
  taken: "Il n’y a pas de place pour un autre paiement pour l’instant. Réessayez dans une heure : "
    + "un paiement qui n’est pas fait libère sa place.",
  notFoundTitle: "Ce n’est pas un lien de paiement",
  notFound: "Vérifiez l’adresse, ou scannez le code encore une fois.",
  scan: "Scannez pour payer",
  open: "ou ouvrez",
  qrName: (title) => `Code QR qui ouvre le lien de paiement : ${title}`
}

const ptBR: LinkTexts = {
  pay: "Continuar para o pagamento",
  next: "Depois você escolhe a moeda e a rede. Nada é pago ainda.",
  howMuch: "Quanto você quer pagar?",
  amount: "Valor em dólares americanos",
  range: (minimum, maximum) => `De ${minimum} a ${maximum}`,
  wrongAmount: (minimum, maximum) =>
    `Digite um valor de ${minimum} a ${maximum} em algarismos, com os centavos depois de uma vírgula, como 12,50.`,
  anyAmount: "Você escolhe o valor",
  until: (moment) => `Aberto até ${moment}`,
  closedTitle: "Este link de pagamento está fechado",
  closed: (merchant) => `Não é mais possível pagar por ele. Peça um novo link a ${merchant}.`,
  completedTitle: "Este link já foi pago",
  completed: (merchant) => `Não é possível pagar outra vez. Peça um novo link a ${merchant}.`,
  takenTitle: "Alguém está pagando agora",
  taken: "No momento não há lugar para outro pagamento. Tente de novo em uma hora: "
    + "um pagamento que não é feito libera o lugar.",
  notFoundTitle: "Isto não é um link de pagamento",
  notFound: "Confira o endereço ou leia o código mais uma vez.",
  scan: "Aponte a câmera para pagar",
  open: "ou abra",
  qrName: (title) => `Código QR que abre o link de pagamento: ${title}`
}

const ja: LinkTexts = {
  pay: "支払いに進む",
  next: "次に通貨とネットワークを選びます。まだ支払いは行われません。",
  howMuch: "いくら支払いますか",
  amount: "金額(米ドル)",
  range: (minimum, maximum) => `${minimum}から${maximum}まで`,
  wrongAmount: (minimum, maximum) =>
    `${minimum}から${maximum}までの金額を数字で入力してください。セントは小数点の後に書きます(例:12.50)。`,
  anyAmount: "金額は自由です",
  until: (moment) => `${moment}まで有効`,
  closedTitle: "この支払いリンクは終了しました",
  closed: (merchant) => `このリンクではもう支払えません。${merchant}に新しいリンクを依頼してください。`,
  completedTitle: "このリンクは支払い済みです",
  completed: (merchant) => `もう一度支払うことはできません。${merchant}に新しいリンクを依頼してください。`,
  takenTitle: "ほかの方が支払い中です",
  taken:
    "現在、これ以上の支払いを受け付けられません。支払いが行われなければ枠が空きますので、1時間後にもう一度お試しください。",
  notFoundTitle: "これは支払いリンクではありません",
  notFound: "アドレスを確認するか、コードをもう一度読み取ってください。",
  scan: "読み取って支払う",
  open: "または次を開く",
  qrName: (title) => `支払いリンクを開くQRコード:${title}`
}

const zhHans: LinkTexts = {
  pay: "继续付款",
  next: "接下来选择币种和网络。现在还没有付款。",
  howMuch: "您想付多少?",
  amount: "金额(美元)",
  range: (minimum, maximum) => `${minimum}至${maximum}`,
  wrongAmount: (minimum, maximum) => `请用数字输入${minimum}至${maximum}之间的金额,小数点后最多两位,例如 12.50。`,
  anyAmount: "金额由您决定",
  until: (moment) => `有效期至${moment}`,
  closedTitle: "此付款链接已关闭",
  closed: (merchant) => `已不能通过它付款。请向${merchant}索取新的链接。`,
  completedTitle: "此链接已付款",
  completed: (merchant) => `不能再次付款。请向${merchant}索取新的链接。`,
  takenTitle: "有人正在付款",
  taken: "目前没有名额接受另一笔付款。未完成的付款会让出名额,请一小时后再试。",
  notFoundTitle: "这不是付款链接",
  notFound: "请检查网址,或重新扫描二维码。",
  scan: "扫码付款",
  open: "或打开",
  qrName: (title) => `打开付款链接的二维码:${title}`
}

const ar: LinkTexts = {
  pay: "متابعة إلى الدفع",
  next: "تختار بعد ذلك العملة والشبكة. لم يُدفع أي شيء بعد.",
  howMuch: "كم تريد أن تدفع؟",
  amount: "المبلغ بالدولار الأمريكي",
  range: (minimum, maximum) => `من ${minimum} إلى ${maximum}`,
  wrongAmount: (minimum, maximum) =>
    `أدخل مبلغًا من ${minimum} إلى ${maximum} بالأرقام، والسنتات بعد الفاصلة العشرية، مثل 12.50.`,
  anyAmount: "أنت تحدد المبلغ",
  until: (moment) => `متاح حتى ${moment}`,
  closedTitle: "رابط الدفع هذا مغلق",
  closed: (merchant) => `لم يعد الدفع به ممكنًا. اطلب رابطًا جديدًا من ${merchant}.`,
  completedTitle: "تم الدفع بهذا الرابط",
  completed: (merchant) => `لا يمكن الدفع به مرة أخرى. اطلب رابطًا جديدًا من ${merchant}.`,
  takenTitle: "شخص آخر يدفع الآن",
  taken: "لا مكان لدفعة أخرى في هذه اللحظة. حاول مرة أخرى بعد ساعة: الدفعة التي لا تتم تترك مكانها.",
  notFoundTitle: "هذا ليس رابط دفع",
  notFound: "راجع العنوان، أو امسح الرمز مرة أخرى.",
  scan: "امسح الرمز للدفع",
  open: "أو افتح",
  qrName: (title) => `رمز QR يفتح رابط الدفع: ${title}`
}

const byLocale: Readonly<Record<string, LinkTexts>> = { en, es, de, fr, "pt-BR": ptBR, ja, "zh-Hans": zhHans, ar }

/** The words in the language of a catalogue of the payment page. */
export const linkTextsOf = ({ locale }: { readonly locale: string }): LinkTexts => byLocale[locale] ?? en
