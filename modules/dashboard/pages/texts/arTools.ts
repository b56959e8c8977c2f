/** Arabic: the pages of developers and of settings. */
import type { ToolTexts } from "../Texts.ts"

export const toolTexts: ToolTexts = {
  exports: {
    title: "تصدير",
    from: "من",
    until: "حتى",
    kinds: {
      invoices: "الفواتير",
      payments: "الدفعات",
      refunds: "المبالغ المُعادة",
      lots: "الوارد مع قيمته",
      koinly: "Koinly",
      "balance-transactions": "الحركات",
      journal: "دفتر اليومية"
    }
  },
  webhooks: {
    none: "لا يُبلَّغ أحد بعد.",
    add: "إضافة نقطة استقبال",
    added: "أُضيفت نقطة الاستقبال",
    rotated: "سر جديد",
    secretText:
      "يُعرض هذا السر هذه المرة فقط. يُرجى حفظه في متجركم الذي يتحقق به من التواقيع. يبقى السابق صالحًا يومًا واحدًا.",
    url: "العنوان",
    urlHint: "https عام، دون كلمة مرور فيه",
    events: "الأحداث",
    description: "الوصف",
    event: "الحدث",
    answer: "الرد",
    millis: "ملّي ثانية",
    tries: "المحاولات",
    nextTry: "المحاولة التالية",
    attempt: (number) => `المحاولة ${number}`,
    error: "الخطأ",
    deliveries: "عمليات التسليم",
    sendAgain: "إعادة الإرسال",
    sendExample: "إرسال مثال",
    rotate: "تغيير السر",
    disable: "إيقاف",
    enable: "تشغيل",
    endpointStates: { enabled: "تعمل", disabled: "متوقفة" },
    deliveryStates: {
      pending: "قيد الانتظار",
      delivering: "قيد الإرسال",
      succeeded: "سُلّمت",
      retrying: "فشلت وستُعاد المحاولة",
      failed: "فشلت",
      canceled: "ملغاة"
    }
  },
  events: { type: "النوع", about: "بشأن", waiting: "خطافات ويب قيد الانتظار" },
  keys: {
    make: "إنشاء مفتاح",
    made: "أُنشئ المفتاح",
    secretText: "يُعرض المفتاح هذه المرة فقط. يُرجى حفظه حيث يقرؤه خادمكم، وليس في أي مكان آخر.",
    name: "الاسم",
    key: "المفتاح",
    permissions: "ما يسمح به",
    lastUsed: "آخر استخدام",
    roll: "استبدال",
    revoke: "إبطال",
    scope: "النطاق",
    scopes: { merchant: "الحساب كله", commerce: "سجلات التجارة فقط" },
    permissionTexts: {
      read: "قراءة كل شيء",
      write: "تغيير كل شيء ما عدا ما يُرسل أموالًا",
      refund: "إنشاء عمليات إعادة وحزم يوافق عليها أشخاص"
    },
    states: { active: "مستخدم", rotating: "مستبدل وينتهي قريبًا", expired: "انتهت صلاحيته", revoked: "مُبطل" }
  },
  settings: {
    tokensKeep: "تحتفظ صفحات الدفع المفتوحة بما عرضته.",
    policies: {
      accept_all: "تُقبل جميع العملات ما عدا الموقوفة",
      selective: "تُقبل العملات المختارة فقط",
      accept_none: "لا تُقبل أي عملة"
    },
    accepted: "مقبولة",
    blocked: "موقوفة",
    accept: "قبول",
    block: "إيقاف",
    noWallets: "لا توجد محفظة استلام بعد: لا يمكن لأحد أن يدفع لكم على شبكة حقيقية.",
    families: {
      evm: "Ethereum والشبكات الشبيهة بها",
      solana: "Solana",
      ton: "TON",
      sui: "Sui",
      cardano: "Cardano"
    },
    kind: "النوع",
    value: "الجزء العلني",
    nextIndex: "العنوان التالي",
    highestIndex: "أعلى عنوان وصلت إليه دفعة",
    compare: "يُرجى فتح المحفظة: هل تتطابق هذه العناوين؟",
    name: "الاسم في صفحة الدفع",
    accent: "اللون",
    accentHint: "مثل ‎#2a4fd8، ويجب أن يكون النص الأبيض عليه مقروءًا",
    supportEmail: "عنوان المساعدة",
    save: "حفظ",
    means: "المعنى",
    head: "أحدث كتلة"
  },
  limits: {
    inForce: "الحدود السارية",
    pending: "حدود أعلى قيد الانتظار",
    none: "بلا حد",
    raising: "الحد الأدنى من الحالي يسري فورًا. أما الأعلى فينتظر مالكًا أو مديرًا آخر إن وُجد، ثم 24 ساعة.",
    names: {
      auto_approve_limit: "يوافق شخص واحد وحده، حتى",
      auto_approve_limit_day: "كل ما يوافق عليه شخص واحد وحده في يوم (UTC)، على الأكثر",
      payout_limit_batch: "حزمة مدفوعات صادرة واحدة، على الأكثر",
      payout_limit_day: "جميع المدفوعات الصادرة في يوم (UTC)، على الأكثر"
    },
    hints: {
      auto_approve_limit: "بالدولار. وما فوقه يتطلب شخصين إذا كان لاثنين حق الموافقة",
      auto_approve_limit_day:
        "بالدولار، لجميع المبالغ المُعادة والمدفوعات الصادرة معًا. وما فوقه يتطلب شخصين إذا كان لاثنين حق الموافقة",
      payout_limit_batch: "بالدولار. فارغ: بلا حد",
      payout_limit_day: "بالدولار. فارغ: بلا حد"
    },
    save: "حفظ"
  },
  pending: {
    wallet: (family) => `${family}: محفظة أخرى قيد الانتظار`,
    needsApproval: "التغيير غير سارٍ. يجب أن يوافق عليه مالك أو مدير آخر، ويسري بعد ذلك بأربع وعشرين ساعة.",
    waits: "التغيير غير سارٍ بعد. يسري تلقائيًا ما لم يُلغِه أحد.",
    proposedBy: "طلبه",
    proposedAt: "منذ",
    approvedBy: "وافق عليه",
    inForceFrom: "يسري من",
    approve: "الموافقة على هذا التغيير",
    cancel: "إلغاء هذا التغيير"
  },
  found: {
    title: "البحث",
    nothing: (text) => `لم يُعثر على شيء عن «${text}».`,
    hint: "رقم فاتورة أو نهايته، أو معاملة، أو عنوان، أو مبلغ مثل 49.99، أو عميل.",
    kind: "ما هو",
    matched: "وُجد بواسطة"
  },
  team: {
    members: "الأعضاء",
    alone: "أنتم وحدكم هنا. يُرجى دعوة شخص ثانٍ كي لا تخرج الأموال إلا بموافقة اثنين.",
    name: "الاسم",
    email: "البريد الإلكتروني",
    emailHint: "لا يُرسل إليه شيء: تسلّمون الرابط بأنفسكم",
    role: "الدور",
    joined: "منذ",
    change: "تغيير",
    remove: "إزالة",
    removeText: "تنتهي جلسة هذا الشخص فورًا، ويحتاج إلى دعوة جديدة للعودة.",
    removeNow: "نعم، إزالة",
    invite: "دعوة شخص",
    invited: "أُنشئت الدعوة",
    invitedText: "يُرجى تسليم هذا الرابط إلى الشخص بأنفسكم. يُستخدم مرة واحدة خلال سبعة أيام، ويُعرض هذه المرة فقط.",
    invitations: "الدعوات",
    revoke: "إبطال",
    invitationStates: {
      waiting: "بانتظار مالك ثانٍ",
      open: "مفتوحة",
      accepted: "مقبولة",
      revoked: "مُبطلة",
      expired: "انتهت صلاحيتها"
    },
    joinTitle: "الانضمام إلى الفريق",
    joinText: "يُرجى كتابة الاسم الذي يعرفكم به الآخرون. ويُسجَّل دخولكم بعد ذلك.",
    join: "انضمام"
  },
  audit: { who: "من", what: "ماذا", action: "الإجراء", change: "التغيير", show: "عرض", hash: "التجزئة" }
}
