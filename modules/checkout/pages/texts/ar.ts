/** Arabic. Names, amounts and addresses are written from left to right, so each stands isolated in its sentence. */
import { plural, type Texts } from "../Texts.ts"

/** First strong isolate, and its end (Unicode, annex 9): the words around an argument keep their order. */
const isolated = (text: string) => `\u2068${text}\u2069`

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

  testMode: "وضع الاختبار: لا تُنقل أموال حقيقية",
  invoice: "الفاتورة",
  help: "المساعدة",
  chooseLanguage: "اللغة",
  change: "تغيير",
  checkPayment: "التحقق من الدفع",
  amountDue: "المبلغ المستحق",

  stepWaiting: "بانتظار الدفع",
  stepConfirming: "قيد التأكيد",
  stepPaid: "تم الدفع",
  progress: "مراحل الدفع",

  chooseTitle: "اختيار طريقة الدفع",
  chooseLabel: "العملة والشبكة",
  search: "البحث عن عملة أو شبكة",
  found,
  nothingFound: "لا توجد نتائج",
  noMethods: (merchant) => `لا تتوفر طريقة للدفع حاليًا. يُرجى التواصل مع ${isolated(merchant)}.`,
  proceed: "متابعة",
  minimum: (amount) => `ابتداءً من ${isolated(amount)}`,
  networkDown: "خلل في الشبكة",
  noPriceNow: "لا يوجد سعر حاليًا",
  notAvailable: "غير متاح",

  waitingTitle: "بانتظار الدفع منكم",
  scanOrCopy: "يُرجى مسح الرمز بالمحفظة أو نسخ البيانات أدناه",
  paymentLink: "رابط الدفع",
  addressOnly: "العنوان فقط",
  qrName: (amount, address, network) =>
    `رمز QR لدفع ${isolated(amount)} إلى ${isolated(address)} على ${isolated(network)}`,
  qrAddressName: (address, network) => `رمز QR للعنوان ${isolated(address)} على ${isolated(network)}`,
  priceHeldFor: "السعر ثابت لمدة",
  invoiceEnds: "تنتهي الفاتورة",
  amountToSend: "المبلغ المطلوب إرساله",
  remainingToSend: "المبلغ المتبقي",
  addressOn: (network) => `العنوان على ${isolated(network)}`,
  memo: "المذكرة (Memo)",
  memoNeeded: "من دون هذه المذكرة لا يمكن التعرّف على الدفعة.",
  sendOnly: (token, network) => `يُرجى إرسال ${isolated(token)} فقط وعلى ${isolated(network)} فقط.`,
  otherwiseLost: "لا يمكن استرداد ما يُرسل برموز أو شبكات أخرى.",
  openInWallet: "فتح في المحفظة",
  useAnother: "استخدام عملة أخرى",
  payingWith: (token, network) => `الدفع بعملة ${isolated(token)} على ${isolated(network)}`,
  copy: "نسخ",
  copyOf: (what) => `نسخ: ${isolated(what)}`,
  copied: "تم النسخ",
  minutesLeft,

  quoteEndedTitle: "يجب تحديث السعر",
  quoteEnded: "كان السعر ثابتًا لبضع دقائق. يُرجى الحصول على سعر جديد: العنوان لا يتغير، وما أُرسل من قبل لا يضيع.",
  newPrice: "الحصول على سعر جديد",
  noPriceTitle: "لا يوجد سعر حاليًا",
  noPrice: "لا يتوفر سعر لهذه العملة في الوقت الحالي. العنوان صحيح؛ يُرجى الانتظار قليلًا أو استخدام عملة أخرى.",

  confirmingTitle: "وصلت الدفعة وهي قيد التأكيد",
  mayClose: (merchant) => `يمكن إغلاق هذه الصفحة. سيصل إشعار إلى ${isolated(merchant)} عند التأكيد.`,
  confirmations: (done, needed) => `التأكيدات: ${done} من ${needed}`,
  received: "المبلغ المستلم",
  transaction: "المعاملة",
  viewTransaction: (hash) => `عرض المعاملة ${isolated(hash)} في مستكشف الكتل`,

  partialTitle: "وصل جزء من المبلغ",
  partial: (received, remaining) =>
    `استلمنا ${isolated(received)}. يُرجى إرسال المتبقي ${isolated(remaining)} إلى العنوان نفسه.`,
  stillPayable: "انتهت المهلة، لكن لا يزال بالإمكان إرسال المبلغ المتبقي.",

  paidTitle: "اكتمل الدفع",
  paid: (merchant) => `وصلت الدفعة إلى ${isolated(merchant)}.`,
  overpaidTitle: (extra) => `تم الدفع، مع زيادة ${isolated(extra)}`,
  overpaid: (extra, merchant) =>
    `أُرسل ${isolated(extra)} زيادة على المبلغ المستحق. يُرجى طلب إعادته من ${isolated(merchant)}.`,
  returnTo: (merchant) => `العودة إلى ${isolated(merchant)}`,
  paidAt: "تاريخ الدفع",
  total: "الإجمالي",

  expiredTitle: "انتهت مهلة هذا الدفع",
  expired: "لم يصل أي مبلغ. يُرجى عدم الإرسال إلى العنوان القديم.",
  startAgain: "البدء من جديد",
  expiredContact: (merchant) => `يُرجى طلب فاتورة جديدة من ${isolated(merchant)}.`,

  lateTitle: "وصلت الدفعة متأخرة",
  late: (received, merchant) =>
    `استلمنا ${isolated(received)} بعد الموعد النهائي. القبول أو الإعادة بيد ${isolated(merchant)}.`,
  expiredPartialTitle: "انتهت المهلة ووصل جزء من المبلغ فقط",
  expiredPartial: (received, merchant) =>
    `استلمنا ${isolated(received)}، وهو أقل من المبلغ المستحق. القبول أو الإعادة بيد ${isolated(merchant)}.`,
  doNotPayAgain: "يُرجى عدم الدفع مرة أخرى.",
  contact: (merchant) => `التواصل مع ${isolated(merchant)}`,
  contactNobody: (merchant) => `يُرجى التواصل مع ${isolated(merchant)} وذكر الفاتورة.`,

  canceledTitle: "أُلغيت هذه الفاتورة",
  canceled: (merchant) => `أُلغيت من قِبل ${isolated(merchant)}. يُرجى عدم إرسال أي مبلغ.`,

  reversedTitle: "ألغت الشبكة هذه الدفعة",
  reversed: "تراجعت الشبكة عن المعاملة ولم تصل الدفعة. يُرجى التحقق من المحفظة: من المفترض أن يكون المال فيها.",
  payAgain: "يمكن الدفع مرة أخرى.",
  rejectedTitle: "وصل تحويل مختلف",
  rejected: (merchant) => `وصل تحويل لا تقبله هذه الفاتورة. يُرجى طلب إعادته من ${isolated(merchant)}.`,

  refundTitle: "إلى أين يُعاد المبلغ عند الحاجة؟",
  refundAddress: (network) => `عنوانكم على ${isolated(network)}`,
  refundSave: "حفظ العنوان",
  refundSaved: "تم الحفظ. سيُعاد المبلغ إلى هذا العنوان.",
  refundWrong: (network) => `هذا ليس عنوانًا على ${isolated(network)}. يُرجى التحقق منه.`,

  offline: "لا يوجد اتصال. ستُحدَّث الصفحة تلقائيًا عند عودته.",
  networkDegraded: (network) => `تواجه شبكة ${isolated(network)} خللًا حاليًا. قد تظهر الدفعة متأخرة عن المعتاد.`,

  simulateTitle: "محاكاة الدفع",
  simulateNote: "وضع الاختبار: أموال تجريبية، ولا حاجة إلى محفظة.",
  simulatePay: "الدفع",
  simulatePartial: "دفع النصف",
  simulateOver: "دفع مبلغ زائد",
  simulateLate: "دفع متأخر",

  sessionEndedTitle: "هذا الرابط لا يفتح أي دفعة",
  sessionEnded: "الرابط غير مكتمل أو انتهت صلاحيته. يُرجى فتح الرابط المستلم مرة أخرى أو طلب رابط جديد من المتجر.",
  notFoundTitle: "لا يوجد شيء هنا",
  notFound: "عنوان الويب هذا لا يؤدي إلى أي دفعة. يُرجى فتح الرابط المستلم مرة أخرى.",
  tooManyTitle: "محاولات كثيرة جدًا",
  tooMany: "يُرجى الانتظار لحظة ثم إعادة تحميل الصفحة.",
  failedTitle: "حدث خطأ ما",
  failed: "لم يتغير شيء. يُرجى إعادة تحميل الصفحة بعد لحظات.",
  tryAgain: "المحاولة مرة أخرى"
}
