/** Arabic. */
import { plural, type Texts } from "../Texts.ts"

const found = plural("ar", {
  zero: "لا توجد عملات",
  one: "عملة واحدة",
  two: "عملتان",
  few: "# عملات",
  many: "# عملة",
  other: "# عملة"
})
const minutesLeft = plural("ar", {
  zero: "السعر ثابت لأقل من دقيقة",
  one: "السعر ثابت لدقيقة واحدة أخرى",
  two: "السعر ثابت لدقيقتين أخريين",
  few: "السعر ثابت لمدة # دقائق أخرى",
  many: "السعر ثابت لمدة # دقيقة أخرى",
  other: "السعر ثابت لمدة # دقيقة أخرى"
})
const networks = plural("ar", {
  zero: "لا توجد شبكات",
  one: "شبكة واحدة",
  two: "شبكتان",
  few: "# شبكات",
  many: "# شبكة",
  other: "# شبكة"
})

export const ar: Texts = {
  locale: "ar",
  language: "العربية",
  direction: "rtl",
  fullStop: ".",

  testMode: "وضع الاختبار: لا تُنقل أموال حقيقية",
  domainVerified: "نطاق موثَّق:",
  domainChecked: (domain, when) => `يعلن ${domain} أنه يستلم مدفوعات هذا المتجر عبر هذه الصفحة. تاريخ التحقق: ${when}.`,
  returnsTo: (host) => `العودة بعد الدفع إلى ${host}`,
  invoice: "الفاتورة",
  help: "المساعدة",
  chooseLanguage: "اللغة",
  change: "تغيير",
  checkPayment: "التحقق من الدفع",

  stepWaiting: "الانتظار",
  stepConfirming: "قيد التأكيد",
  stepPaid: "تم الدفع",
  progress: "مراحل الدفع",

  chooseTitle: "اختيار طريقة الدفع",
  stepCurrency: "1. العملة",
  stepNetwork: (token) => `2. شبكة ${token}`,
  networks,
  toSend: (amount) => `المطلوب إرساله ${amount}`,
  moreCurrencies: "عملات أخرى",
  walletPaysFee: "تدفع محفظتكم رسوم الشبكة",
  feeUnder: (amount) => `الرسوم أقل من ${amount}`,
  feeAbout: (amount) => `الرسوم نحو ${amount}`,
  lowestFee: "أقل رسوم",
  aboutSeconds: (count) => `نحو ${count} ث`,
  aboutMinutes: (count) => `نحو ${count} د`,
  whichNetwork: (token) => `لستم متأكدين؟ يُرجى اختيار الشبكة التي تحتوي محفظتكم فيها على ${token}.`,
  search: "البحث عن عملة أو شبكة",
  found,
  nothingFound: "لا توجد نتائج",
  noMethods: (merchant) => `لا تتوفر طريقة للدفع حاليًا. يُرجى المحاولة لاحقًا أو التواصل مع ${merchant}.`,
  noOfferedMethods: (merchant) =>
    "لا يمكن الدفع الآن: لا تتوفر أي عملة من العملات التي يقبلها المتجر لطلبكم. يُرجى المحاولة لاحقًا أو " +
    `التواصل مع ${merchant}.`,
  proceed: "متابعة",
  proceedWith: (token, network) => `المتابعة بعملة ${token} على شبكة ${network}`,
  minimum: (amount) => `الحد الأدنى ${amount}`,
  networkDown: "خلل في الشبكة",
  noPriceNow: "لا يوجد سعر حاليًا",
  notAvailable: "غير متاح",

  waitingTitle: "بانتظار دفعتكم",
  payTitle: (amount, network) => `دفع ${amount} على شبكة ${network}`,
  scanCode: "رمز QR لمحفظة على جهاز آخر",
  paymentLink: "رابط الدفع",
  addressOnly: "العنوان فقط",
  qrName: (amount, address, network) => `رمز QR لدفع ${amount} إلى ${address} على شبكة ${network}`,
  qrAddressName: (address, network) => `رمز QR للعنوان ${address} على شبكة ${network}`,
  priceHeldFor: "السعر ثابت لمدة",
  priceRenews: "السعر ثابت ويتجدد تلقائيًا.",
  timeLeft: "الوقت المتبقي للدفع",
  payBy: "الدفع قبل",
  amountToSend: "المبلغ المطلوب إرساله",
  remainingToSend: "المبلغ المتبقي",
  addressOn: (network) => `العنوان على شبكة ${network}`,
  memo: "المذكرة (Memo)",
  memoNeeded: "تصل إلى هذا العنوان دفعات كثيرة، والمذكرة هي ما يحدد دفعتكم. يُرجى نسخها إلى خانة المذكرة أو التعليق " +
    "في المحفظة. من دونها لا يمكن التعرّف على دفعتكم.",
  memoFromExchange: "لا يُنصح بالدفع من منصة تداول إلا إذا أمكن إدخال هذه المذكرة فيها.",
  sendOnly: (token, network) => `يُرجى إرسال ${token} فقط وعلى شبكة ${network} فقط.`,
  otherwiseLost: "ما يُرسل بعملة أخرى أو على شبكة أخرى قد يضيع نهائيًا.",
  payeeTitle: "من يستلم هذا المال",
  payee: (merchant) =>
    `ما يُرسل إلى هذا العنوان لا يمكن أن يذهب إلا إلى محفظة واحدة. إذا نشر ${merchant} عنوان محفظته، فتُرجى مقارنتهما.`,
  payeeCheck: "طريقة التحقق: يُحسب العنوان من هذه القيم وفق CREATE2‏ (EIP-1014).",
  openInWallet: "فتح في المحفظة",
  walletList: "المحافظ في هذا المتصفح",
  walletPay: (wallet) => `الدفع عبر ${wallet}`,
  walletAsking: (wallet, amount, network, address) =>
    `يُرجى التأكيد في ${wallet}: ${amount} على شبكة ${network} إلى ${address}. لا تُظهر هذه الصفحة الدفع إلا بعد ` +
    "أن تُظهره الشبكة.",
  walletDeclined: (wallet) => `تم الرفض في ${wallet}. لم يُرسل شيء.`,
  walletBusy: (wallet) => `${wallet} بانتظار الرد بالفعل. يُرجى فتح المحفظة والرد فيها.`,
  walletLocked: (wallet) => `${wallet} مقفلة. يُرجى فتحها ثم الضغط من جديد.`,
  walletChain: (wallet, network) => `لا تستطيع ${wallet} استخدام شبكة ${network}. يُرجى استخدام محفظة أخرى أو مسح الرمز.`,
  walletFunds: (amount, network) =>
    `في هذا الحساب أقل من ${amount} على شبكة ${network}. يُرجى اختيار حساب آخر أو عملة أخرى.`,
  walletFee: (coin, network) => `لا يكفي ما في هذا الحساب من ${coin} على شبكة ${network} لدفع رسوم الشبكة.`,
  walletSilent: (wallet) => `لا رد من ${wallet}. إذا تم التأكيد فيكفي الانتظار: تُحدَّث هذه الصفحة تلقائيًا.`,
  walletUnknown: (wallet) =>
    `أبلغت ${wallet} عن خطأ. ربما أُرسل المبلغ رغم ذلك: يُرجى مراجعة المحفظة قبل المحاولة من جديد.`,
  walletChanged: "تغيّر هذا الدفع في الأثناء. لم يُرسل شيء: يُرجى مراجعة المبلغ قبل الضغط من جديد.",
  walletSent: (wallet) => `أُرسل عبر ${wallet}. بانتظار ظهوره على الشبكة.`,
  walletAgain: (sent, amount) =>
    `ربما سبق إرسال ${sent}: يُرجى مراجعة المحفظة. يُرجى الضغط من جديد فقط لإرسال ${amount} إضافية.`,
  useAnother: "استخدام عملة أخرى",
  payingWith: (token, network) => `الدفع بعملة ${token} على شبكة ${network}`,
  copy: "نسخ",
  copyOf: (what) => `نسخ: ${what}`,
  copied: "تم النسخ",
  minutesLeft,

  quoteEndedTitle: "يجب تحديث السعر",
  quoteEnded: "كان السعر ثابتًا لبضع دقائق فقط. يُرجى الحصول على سعر جديد قبل الإرسال، والعنوان لا يتغير. " +
    "ما أُرسل من قبل لا يضيع.",
  newPrice: "الحصول على سعر جديد",
  noPriceTitle: "لا يوجد سعر حاليًا",
  noPrice: "لا يتوفر سعر لهذه العملة حاليًا، فيُرجى عدم إرسال أي مبلغ الآن والمحاولة بعد بضع دقائق. " +
    "ما أُرسل من قبل لا يضيع.",

  confirmingTitle: "رُصدت الدفعة وهي قيد التأكيد",
  mayClose: (merchant) => `يمكن إغلاق هذه الصفحة. سيصل إشعار إلى ${merchant} عند تأكيد الدفعة.`,
  confirmations: (done, needed) => `التأكيدات: ${done} من ${needed}`,
  received: "المبلغ المستلم",
  transaction: "المعاملة",
  viewTransaction: (hash) => `عرض المعاملة ${hash} في مستكشف الكتل`,

  partialTitle: "وصل جزء من المبلغ",
  partial: (received, remaining) => `استلمنا ${received}. يُرجى إرسال المبلغ المتبقي (${remaining}) إلى العنوان نفسه.`,
  partialReceived: (received) => `استلمنا ${received}.`,
  stillPayable: "انتهت المهلة، لكن لا يزال بالإمكان إرسال المبلغ المتبقي.",

  paidTitle: "اكتمل الدفع",
  paid: (merchant) => `وصلت الدفعة إلى ${merchant}.`,
  overpaidTitle: (extra) => `تم الدفع، مع زيادة ${extra}`,
  overpaid: (extra, merchant) => `أُرسل مبلغ زائد قدره ${extra}. يُرجى طلب إعادته من ${merchant}.`,
  returnTo: (merchant) => `العودة إلى ${merchant}`,
  returnsIn: (merchant) => `العودة إلى ${merchant} خلال`,
  returnsSoon: (merchant, seconds, stay) => `تعودون إلى ${merchant} خلال ${seconds} ثانية. للبقاء، اضغطوا: ${stay}.`,
  stayHere: "البقاء في هذه الصفحة",
  paidAt: "تاريخ الدفع",
  total: "الإجمالي",
  inDollars: "بالدولار الأمريكي",
  receipt: "الإيصال",
  receiptOpen: "فتح الإيصال",
  receiptAmount: "دفعتَ",
  receiptFor: "مقابل",
  receiptTo: "إلى",
  receiptAddress: "إلى العنوان",
  receiptExtra: "الزيادة",

  expiredTitle: "انتهت مهلة الدفع",
  expired: "لم يصل أي مبلغ. يُرجى عدم الإرسال إلى العنوان القديم.",
  expiredSent: "إن كنتم قد أرسلتم الدفعة، فيُرجى عدم الدفع مرة أخرى، وستظهر هنا فور وصولها.",
  startAgain: "البدء من جديد",
  expiredContact: (merchant) => `يُرجى طلب فاتورة جديدة من ${merchant}.`,

  lateTitle: "وصلت الدفعة متأخرة",
  late: (received, merchant) =>
    `استلمنا ${received} بعد انتهاء المهلة. قرار قبول المبلغ أو إعادته يعود إلى ${merchant}.`,
  expiredPartialTitle: "انتهت المهلة ووصل جزء من المبلغ فقط",
  expiredPartial: (received, merchant) =>
    `استلمنا ${received}، وهو أقل من المبلغ المستحق. قرار قبول المبلغ أو إعادته يعود إلى ${merchant}.`,
  accepted: (merchant, time) => `قبلها ${merchant}، ${time}.`,
  keptAsCredit: (merchant) => `يحتفظ بها ${merchant} رصيدًا لكم.`,
  refundAwaited: (amount, merchant) => `سيُعاد إليكم ${amount}. يرسل إليكم ${merchant} رابطًا لتحديد الوجهة.`,
  refundUnderWay: (amount) => `مبلغ ${amount} في طريقه إليكم.`,
  refundDone: (amount) => `أُعيد إليكم ${amount}.`,
  doNotPayAgain: "يُرجى عدم الدفع مرة أخرى.",
  contact: (merchant) => `التواصل مع ${merchant}`,
  contactNobody: (merchant) => `يُرجى التواصل مع ${merchant} وذكر رقم الفاتورة أعلاه.`,

  canceledTitle: "أُلغيت هذه الفاتورة",
  canceled: (merchant) =>
    `أُلغيت من قِبل ${merchant}. يُرجى عدم إرسال أي مبلغ. وإن كنتم قد دفعتم، فيُرجى طلب إعادة المبلغ.`,

  reversedTitle: "ألغت الشبكة هذه الدفعة",
  reversed: "تراجعت الشبكة عن المعاملة ولم تصل الدفعة. من المفترض أن يكون المال قد عاد إلى محفظتكم.",
  payAgain: "يُرجى التحقق من المحفظة أولًا. إذا كان المال فيها، فيمكن الدفع مرة أخرى.",
  rejectedTitle: "وصل تحويل مختلف",
  rejected: (merchant) => `وصل تحويل لا تقبله هذه الفاتورة ولم يُحتسب. يُرجى طلب إعادته من ${merchant}.`,

  refundTitle: "إلى أين يُعاد المبلغ عند الحاجة؟",
  refundAddress: (network) => `عنوانكم على شبكة ${network}`,
  refundSave: "حفظ العنوان",
  refundSaved: "تم الحفظ. إذا أُعيد المبلغ، فسيُرسل إلى ذلك العنوان.",
  refundWrong: (network) => `هذا ليس عنوانًا على شبكة ${network}. يُرجى التحقق منه.`,

  claimOpenTitle: "فتح المبلغ المُعاد",
  claimOpen: "يُرجى لصق الرابط المستلم كاملًا. يفتح هذا الرابط المبلغ المُعاد إليكم، فلا تُطلعوا عليه أحدًا.",
  claimLink: "رابط المبلغ المُعاد",
  claimAddressTitle: "إلى أين يُرسل المبلغ المُعاد؟",
  claimFrom: (merchant) => `يعيد ${merchant} إليكم مالًا.`,
  claimGive: (token, network) =>
    `يُرجى إدخال عنوان يستقبل ${token} على شبكة ${network}: من محفظتكم الخاصة، أو عنوان الإيداع في منصة تداول. على ` +
    "أي شبكة أخرى قد يضيع المال نهائيًا.",
  claimUntil: (moment) => `يقبل الرابط عنوانًا حتى ${moment}.`,
  claimAmount: "ستستلمون",
  claimFee: "المقتطع لرسوم الشبكة",
  claimNetwork: "الشبكة",
  claimReason: "السبب",
  claimRequested: "طلبتم ذلك",
  claimOverpayment: "دفعتم أكثر من المطلوب",
  claimLate: "وصلت الدفعة متأخرة",
  claimUnderpayment: "دفعتم أقل من المطلوب",
  claimWrongToken: "دفعتم بعملة أخرى",
  claimOrderCanceled: "أُلغي الطلب",
  claimOrderFailed: "تعذّر إتمام الطلب",
  claimDuplicate: "دفعتم مرتين",
  claimMemo: "لمنصات التداول فقط: يُرجى نسخ المذكرة التي تظهر بجانب العنوان. من دونها قد لا يصل المال إلى حسابكم.",
  claimCheckTitle: "هل هذا عنوانكم؟",
  claimCheck: "سيُرسل المبلغ إلى هذا العنوان. بعد التأكيد لا يمكن تغييره. يُرجى مقارنة كل حرف بما في المحفظة.",
  claimConfirm: "إرسال المبلغ إلى هذا العنوان",
  claimEdit: "تغيير العنوان",
  claimWrongAddress: (network) =>
    `لا توجد محفظة بهذا العنوان على شبكة ${network}. يُرجى نسخ العنوان كاملًا من المحفظة مرة أخرى.`,
  claimOtherNetwork: (network) =>
    `هذا عنوان على شبكة أخرى. يُدفع المبلغ على شبكة ${network} فقط، لذا يُرجى نسخ عنوانكم على هذه الشبكة.`,
  claimReceiveAddress: (token, network) =>
    "تُستلم على هذا العنوان مدفوعات إلى متاجر، ولن يصل المبلغ إليكم. يُرجى نسخ العنوان الذي تستقبل عليه محفظتكم " +
    `الخاصة ${token} على شبكة ${network}.`,
  claimNoWallet: (token, network) =>
    `هذا رمز أو عقد آخر، والمال المُرسل إليه يضيع. يُرجى نسخ العنوان الذي تستقبل عليه محفظتكم الخاصة ${token} على ` +
    `شبكة ${network}.`,
  claimRefused: (merchant) =>
    `لا يمكن إرسال المبلغ إلى هذا العنوان. يُرجى إدخال عنوان آخر من محفظتكم الخاصة، أو سؤال ${merchant}.`,
  claimWrongMemo: "تتكون المذكرة من 120 حرفًا لاتينيًا ورقمًا وعلامة على الأكثر. يُرجى نسخها مرة أخرى أو ترك " +
    "الحقل فارغًا.",
  claimUnchecked: "لا يمكن التحقق من هذا العنوان حاليًا، ولم يُحفظ شيء. يُرجى إعادة المحاولة بعد بضع دقائق.",
  claimApprovalTitle: "تم حفظ عنوانكم",
  claimApproval: (merchant) =>
    `ما زالت موافقة ${merchant} مطلوبة. يمكنكم إغلاق هذه الصفحة، فالرابط نفسه يبيّن سير العملية.`,
  claimKept: (merchant) =>
    `حُفظ عنوان آخر من قبل ولن يتغير، وهو الظاهر أدناه. إن لم يكن عنوانكم، فيُرجى التواصل فورًا مع ${merchant}.`,
  claimProcessingTitle: "يجري دفع المبلغ المُعاد",
  claimProcessing: "سيُرسل إلى العنوان أدناه. يمكنكم إغلاق هذه الصفحة، فالرابط نفسه يبيّن متى يُدفع.",
  claimPaidTitle: "تم دفع المبلغ المُعاد",
  claimPaid: (amount, network) => `أُرسل ${amount} إلى العنوان أدناه على شبكة ${network}.`,
  claimFailedTitle: "لم يُدفع المبلغ المُعاد",
  claimFailed: (merchant) =>
    `لم ينجح التحويل، ومالكم لم يضع. يمكن إعادة المحاولة من قِبل ${merchant} أو طلب عنوان آخر منكم.`,
  claimExpiredTitle: "انتهت مهلة المبلغ المُعاد",
  claimExpired: (merchant) => `لم يُدخل أي عنوان في الوقت المناسب. يُرجى طلب بدء العملية من جديد من ${merchant}.`,
  claimCanceledTitle: "أُلغيت إعادة المبلغ",
  claimCanceled: (merchant) => `لن يُرسل شيء. إن لم تتوقعوا ذلك، فيُرجى سؤال ${merchant}.`,
  claimUnaddressedTitle: "استُخدم هذا الرابط من قبل",
  claimUnaddressed: (merchant) => `يلزم إدخال عنوان مرة أخرى. يُرجى طلب رابط جديد من ${merchant}.`,
  claimCheckAgain: "التحقق مرة أخرى",
  claimNoAnswer: "لم يصل أي رد. يُرجى التحقق من الاتصال ثم إعادة المحاولة. ما سبق تأكيده محفوظ.",
  claimEndedTitle: "هذا الرابط لا يفتح أي مبلغ مُعاد",
  claimEnded: "الرابط غير مكتمل أو لم يعد صالحًا. يُرجى فتح الرابط المستلم مرة أخرى أو طلب رابط جديد من المتجر.",
  claimUnavailable: "لا يمكننا عرض المبلغ المُعاد حاليًا. يُرجى فتح الرابط مرة أخرى بعد لحظات، وسيظهر ما حُفظ.",

  offline: "لا يوجد اتصال. ستُحدَّث هذه الصفحة تلقائيًا عند عودة الاتصال. ما أُرسل من قبل لا يضيع.",
  networkDegraded: (network) =>
    `تواجه شبكة ${network} خللًا حاليًا. قد تظهر دفعتكم متأخرة عن المعتاد. ` +
    "إن كنتم قد أرسلتموها، فيُرجى عدم إرسالها مرة أخرى.",

  simulateTitle: "محاكاة الدفع",
  simulateNote: "وضع الاختبار: أموال تجريبية، ولا حاجة إلى محفظة.",
  simulatePay: "الدفع",
  simulatePartial: "دفع النصف",
  simulateOver: "دفع مبلغ زائد",
  simulateLate: "دفع متأخر",

  sessionEndedTitle: "هذا الرابط لا يفتح أي دفعة",
  sessionEnded: "الرابط غير مكتمل أو انتهت صلاحيته. يُرجى فتح الرابط المستلم مرة أخرى أو طلب رابط جديد من المتجر.",
  notFoundTitle: "لا يوجد شيء هنا",
  notFound: "لا توجد أي دفعة في عنوان الويب هذا. يُرجى فتح الرابط المستلم مرة أخرى.",
  tooManyTitle: "محاولات كثيرة جدًا",
  tooMany: "يُرجى الانتظار لحظة ثم إعادة تحميل الصفحة.",
  unavailableTitle: "لحظة من فضلكم",
  unavailable: "لا يمكننا عرض دفعتكم حاليًا. ما أُرسل من قبل لا يضيع. يُرجى الانتظار بضع ثوانٍ ثم إعادة المحاولة.",
  failedTitle: "حدث خطأ ما",
  failed: "يُرجى إعادة تحميل الصفحة بعد لحظات. ما أُرسل من قبل لا يضيع.",
  tryAgain: "المحاولة مرة أخرى"
}
