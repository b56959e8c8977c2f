/** Arabic. */
import { plural, type Texts } from "../Texts.ts"

const found = plural("ar", {
  zero: "لا توجد طرق دفع",
  one: "طريقة دفع واحدة",
  two: "طريقتا دفع",
  few: "# طرق دفع",
  many: "# طريقة دفع",
  other: "# طريقة دفع"
})
const minutesLeft = plural("ar", {
  zero: "السعر ثابت لأقل من دقيقة",
  one: "السعر ثابت لدقيقة واحدة أخرى",
  two: "السعر ثابت لدقيقتين أخريين",
  few: "السعر ثابت لمدة # دقائق أخرى",
  many: "السعر ثابت لمدة # دقيقة أخرى",
  other: "السعر ثابت لمدة # دقيقة أخرى"
})

export const ar: Texts = {
  locale: "ar",
  language: "العربية",
  direction: "rtl",
  fullStop: ".",

  testMode: "وضع الاختبار: لا تُنقل أموال حقيقية",
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
  chooseLabel: "العملة والشبكة",
  search: "البحث عن عملة أو شبكة",
  found,
  nothingFound: "لا توجد نتائج",
  noMethods: (merchant) => `لا تتوفر طريقة للدفع حاليًا. يُرجى المحاولة لاحقًا أو التواصل مع ${merchant}.`,
  proceed: "متابعة",
  minimum: (amount) => `الحد الأدنى ${amount}`,
  networkDown: "خلل في الشبكة",
  noPriceNow: "لا يوجد سعر حاليًا",
  notAvailable: "غير متاح",

  waitingTitle: "بانتظار دفعتكم",
  scanOrCopy: "يُرجى مسح الرمز بالمحفظة أو نسخ البيانات أدناه",
  paymentLink: "رابط الدفع",
  addressOnly: "العنوان فقط",
  qrName: (amount, address, network) => `رمز QR لدفع ${amount} إلى ${address} على شبكة ${network}`,
  qrAddressName: (address, network) => `رمز QR للعنوان ${address} على شبكة ${network}`,
  priceHeldFor: "السعر ثابت لمدة",
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
  openInWallet: "فتح في المحفظة",
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
  stillPayable: "انتهت المهلة، لكن لا يزال بالإمكان إرسال المبلغ المتبقي.",

  paidTitle: "اكتمل الدفع",
  paid: (merchant) => `وصلت الدفعة إلى ${merchant}.`,
  overpaidTitle: (extra) => `تم الدفع، مع زيادة ${extra}`,
  overpaid: (extra, merchant) => `أُرسل مبلغ زائد قدره ${extra}. يُرجى طلب إعادته من ${merchant}.`,
  returnTo: (merchant) => `العودة إلى ${merchant}`,
  paidAt: "تاريخ الدفع",
  total: "الإجمالي",

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
