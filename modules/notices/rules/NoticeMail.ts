/** The messages by which people of a merchant, and the operator, are told of what needs them. Pure. */
import { type NetworkCondition } from "../../../runtime/Chains.ts"
import type { Language } from "../../../schemas/Languages.ts"
import { nameInMail } from "../../../schemas/MailText.ts"
import { signedUsdDecimal } from "../../../schemas/Money.ts"
import { exceptionNames } from "../../../schemas/ExceptionNames.ts"

/** Of a subject that a message has one or several of. */
interface SubjectTexts {
  readonly one: (merchant: string) => string
  readonly many: (merchant: string, count: number) => string
}

interface NoticeMailTexts {
  readonly exception: SubjectTexts
  readonly endpoint: SubjectTexts
  /** Why an endpoint is disabled. */
  readonly reasons: Readonly<Record<"gone" | "failing", string>>
  readonly type: string
  readonly amount: string
  /** The link stands in the line below. */
  readonly open: string
  readonly choose: string
  /** Money that belongs to no merchant, which the operator assigns. */
  readonly unowned: string
  readonly unownedMany: (count: number) => string
  readonly assign: string
  readonly networkSubject: (network: string) => string
  readonly networks: (count: number) => string
  readonly conditions: Readonly<Record<NetworkCondition, (network: string) => string>>
  readonly state: string
}

const texts: Readonly<Record<Language, NoticeMailTexts>> = {
  en: {
    exception: {
      one: (merchant) => `${merchant}: a case needs a decision`,
      many: (merchant, count) => `${merchant}: new cases that need a decision: ${count}`
    },
    endpoint: {
      one: (merchant) => `${merchant}: a webhook endpoint is disabled`,
      many: (merchant, count) => `${merchant}: webhook endpoints that are disabled now: ${count}`
    },
    reasons: {
      gone: "Its server says that it is gone. Nothing is sent to it any more.",
      failing: "It took nothing for five days. Nothing is sent to it any more."
    },
    type: "Case",
    amount: "Amount",
    open: "See it in the dashboard:",
    choose: "In your account in the dashboard you choose which of these messages you get.",
    unowned: "Money arrived that belongs to no merchant",
    unownedMany: (count) => `Money arrived that belongs to no merchant, times: ${count}`,
    assign: "Find out whose it is, and assign it over the internal port.",
    networkSubject: (network) => `Network ${network}`,
    networks: (count) => `Changes of networks: ${count}`,
    conditions: {
      ok: (network) => `${network} works again.`,
      silent: (network) => `${network}: no node answers, so no payment there is seen. Check its nodes.`,
      frozen: (network) => `${network}: no new block arrives, so no payment there is seen. Check its nodes.`,
      disagreement: (network) =>
        `${network}: its nodes disagree, so payments there are not confirmed. Find out which node is wrong.`,
      no_common_block: (network) =>
        `${network}: the blocks that were followed are not on the chain any more, so nothing is followed. Check its nodes.`
    },
    state: "How the networks are now:"
  },
  es: {
    exception: {
      one: (merchant) => `${merchant}: un caso requiere una decisión`,
      many: (merchant, count) => `${merchant}: casos nuevos que requieren una decisión: ${count}`
    },
    endpoint: {
      one: (merchant) => `${merchant}: se ha desactivado un endpoint de webhook`,
      many: (merchant, count) => `${merchant}: endpoints de webhook desactivados: ${count}`
    },
    reasons: {
      gone: "Su servidor indica que ya no existe. No se le envía nada más.",
      failing: "No ha aceptado nada en cinco días. No se le envía nada más."
    },
    type: "Caso",
    amount: "Importe",
    open: "Véalo en el panel:",
    choose: "En su cuenta del panel elige cuáles de estos mensajes recibe.",
    unowned: "Ha llegado dinero que no es de ningún comercio",
    unownedMany: (count) => `Veces que ha llegado dinero que no es de ningún comercio: ${count}`,
    assign: "Averigüe de quién es y asígnelo por el puerto interno.",
    networkSubject: (network) => `Red ${network}`,
    networks: (count) => `Cambios en las redes: ${count}`,
    conditions: {
      ok: (network) => `${network} vuelve a funcionar.`,
      silent: (network) => `${network}: ningún nodo responde, así que no se detectan pagos. Revise sus nodos.`,
      frozen: (network) => `${network}: no llega ningún bloque nuevo, así que no se detectan pagos. Revise sus nodos.`,
      disagreement: (network) =>
        `${network}: sus nodos no coinciden, así que no se confirman pagos. Averigüe qué nodo falla.`,
      no_common_block: (network) =>
        `${network}: los bloques seguidos ya no están en la cadena, así que no se sigue nada. Revise sus nodos.`
    },
    state: "Estado actual de las redes:"
  },
  de: {
    exception: {
      one: (merchant) => `${merchant}: Ein Fall braucht eine Entscheidung`,
      many: (merchant, count) => `${merchant}: neue Fälle, die eine Entscheidung brauchen: ${count}`
    },
    endpoint: {
      one: (merchant) => `${merchant}: Ein Webhook-Endpunkt ist abgeschaltet`,
      many: (merchant, count) => `${merchant}: abgeschaltete Webhook-Endpunkte: ${count}`
    },
    reasons: {
      gone: "Sein Server meldet, dass es ihn nicht mehr gibt. Es wird nichts mehr an ihn gesendet.",
      failing: "Er hat fünf Tage lang nichts angenommen. Es wird nichts mehr an ihn gesendet."
    },
    type: "Fall",
    amount: "Betrag",
    open: "Im Dashboard ansehen:",
    choose: "In Ihrem Konto im Dashboard wählen Sie, welche dieser Nachrichten Sie erhalten.",
    unowned: "Es ist Geld eingegangen, das keinem Händler gehört",
    unownedMany: (count) => `Eingänge, die keinem Händler gehören: ${count}`,
    assign: "Finden Sie heraus, wem es gehört, und ordnen Sie es über den internen Port zu.",
    networkSubject: (network) => `Netzwerk ${network}`,
    networks: (count) => `Änderungen bei Netzwerken: ${count}`,
    conditions: {
      ok: (network) => `${network} läuft wieder.`,
      silent: (network) =>
        `${network}: Kein Knoten antwortet, daher wird dort keine Zahlung erkannt. Prüfen Sie die Knoten.`,
      frozen: (network) =>
        `${network}: Es kommt kein neuer Block, daher wird dort keine Zahlung erkannt. Prüfen Sie die Knoten.`,
      disagreement: (network) =>
        `${network}: Die Knoten sind sich uneinig, daher wird dort nichts bestätigt. Finden Sie den falschen Knoten.`,
      no_common_block: (network) =>
        `${network}: Die verfolgten Blöcke stehen nicht mehr in der Kette, daher wird nichts verfolgt. Prüfen Sie die Knoten.`
    },
    state: "So steht es jetzt um die Netzwerke:"
  },
  fr: {
    exception: {
      one: (merchant) => `${merchant}\u202f: un cas demande une décision`,
      many: (merchant, count) => `${merchant}\u202f: nouveaux cas qui demandent une décision\u202f: ${count}`
    },
    endpoint: {
      one: (merchant) => `${merchant}\u202f: un endpoint de webhook est désactivé`,
      many: (merchant, count) => `${merchant}\u202f: endpoints de webhook désactivés\u202f: ${count}`
    },
    reasons: {
      gone: "Son serveur indique qu’il n’existe plus. Plus rien ne lui est envoyé.",
      failing: "Il n’a rien accepté pendant cinq jours. Plus rien ne lui est envoyé."
    },
    type: "Cas",
    amount: "Montant",
    open: "À voir dans le tableau de bord\u202f:",
    choose: "Dans votre compte du tableau de bord, vous choisissez lesquels de ces messages vous recevez.",
    unowned: "De l’argent est arrivé qui n’appartient à aucun commerçant",
    unownedMany: (count) => `Arrivées d’argent qui n’appartient à aucun commerçant\u202f: ${count}`,
    assign: "Trouvez à qui il appartient, puis attribuez-le par le port interne.",
    networkSubject: (network) => `Réseau ${network}`,
    networks: (count) => `Changements des réseaux\u202f: ${count}`,
    conditions: {
      ok: (network) => `${network} fonctionne à nouveau.`,
      silent: (network) =>
        `${network}\u202f: aucun nœud ne répond, aucun paiement n’y est donc détecté. Vérifiez ses nœuds.`,
      frozen: (network) =>
        `${network}\u202f: aucun nouveau bloc n’arrive, aucun paiement n’y est donc détecté. Vérifiez ses nœuds.`,
      disagreement: (network) =>
        `${network}\u202f: ses nœuds se contredisent, aucun paiement n’y est donc confirmé. Trouvez le nœud fautif.`,
      no_common_block: (network) =>
        `${network}\u202f: les blocs suivis ne sont plus dans la chaîne, rien n’est donc suivi. Vérifiez ses nœuds.`
    },
    state: "État actuel des réseaux\u202f:"
  },
  "pt-BR": {
    exception: {
      one: (merchant) => `${merchant}: um caso precisa de uma decisão`,
      many: (merchant, count) => `${merchant}: novos casos que precisam de uma decisão: ${count}`
    },
    endpoint: {
      one: (merchant) => `${merchant}: um endpoint de webhook foi desativado`,
      many: (merchant, count) => `${merchant}: endpoints de webhook desativados: ${count}`
    },
    reasons: {
      gone: "O servidor informa que ele não existe mais. Nada mais é enviado a ele.",
      failing: "Ele não aceitou nada por cinco dias. Nada mais é enviado a ele."
    },
    type: "Caso",
    amount: "Valor",
    open: "Veja no painel:",
    choose: "Na sua conta do painel você escolhe quais destas mensagens recebe.",
    unowned: "Chegou dinheiro que não é de nenhum comerciante",
    unownedMany: (count) => `Vezes em que chegou dinheiro que não é de nenhum comerciante: ${count}`,
    assign: "Descubra de quem é e atribua-o pela porta interna.",
    networkSubject: (network) => `Rede ${network}`,
    networks: (count) => `Mudanças nas redes: ${count}`,
    conditions: {
      ok: (network) => `${network} voltou a funcionar.`,
      silent: (network) => `${network}: nenhum nó responde, então nenhum pagamento é detectado. Verifique os nós.`,
      frozen: (network) => `${network}: nenhum bloco novo chega, então nenhum pagamento é detectado. Verifique os nós.`,
      disagreement: (network) =>
        `${network}: os nós discordam, então nenhum pagamento é confirmado. Descubra qual nó está errado.`,
      no_common_block: (network) =>
        `${network}: os blocos acompanhados não estão mais na cadeia, então nada é acompanhado. Verifique os nós.`
    },
    state: "Como as redes estão agora:"
  },
  ja: {
    exception: {
      one: (merchant) => `${merchant}: 対応が必要な案件があります`,
      many: (merchant, count) => `${merchant}: 対応が必要な新しい案件: ${count} 件`
    },
    endpoint: {
      one: (merchant) => `${merchant}: Webhook エンドポイントが無効になりました`,
      many: (merchant, count) => `${merchant}: 無効になった Webhook エンドポイント: ${count} 件`
    },
    reasons: {
      gone: "サーバーが、このエンドポイントはもう存在しないと応答しました。今後は何も送信されません。",
      failing: "5 日間、何も受け付けませんでした。今後は何も送信されません。"
    },
    type: "案件",
    amount: "金額",
    open: "管理画面で確認してください。",
    choose: "どのメールを受け取るかは、管理画面のアカウントで選べます。",
    unowned: "どの加盟店のものでもない入金がありました",
    unownedMany: (count) => `どの加盟店のものでもない入金: ${count} 件`,
    assign: "誰のものかを確かめ、内部ポートから割り当ててください。",
    networkSubject: (network) => `ネットワーク ${network}`,
    networks: (count) => `ネットワークの変化: ${count} 件`,
    conditions: {
      ok: (network) => `${network} は復旧しました。`,
      silent: (network) => `${network}: どのノードも応答しないため、支払いを検出できません。ノードを確認してください。`,
      frozen: (network) =>
        `${network}: 新しいブロックが届かないため、支払いを検出できません。ノードを確認してください。`,
      disagreement: (network) =>
        `${network}: ノードの内容が一致しないため、支払いを確認できません。誤っているノードを調べてください。`,
      no_common_block: (network) =>
        `${network}: 追跡していたブロックがチェーンに存在しないため、追跡が止まっています。ノードを確認してください。`
    },
    state: "現在のネットワークの状態:"
  },
  "zh-Hans": {
    exception: {
      one: (merchant) => `${merchant}：有一个事项需要处理`,
      many: (merchant, count) => `${merchant}：需要处理的新事项：${count} 个`
    },
    endpoint: {
      one: (merchant) => `${merchant}：一个 webhook 端点已停用`,
      many: (merchant, count) => `${merchant}：已停用的 webhook 端点：${count} 个`
    },
    reasons: {
      gone: "其服务器表示该端点已不存在，不再向其发送任何内容。",
      failing: "该端点五天内未接收任何内容，不再向其发送任何内容。"
    },
    type: "事项",
    amount: "金额",
    open: "请在管理后台查看：",
    choose: "您可以在管理后台的账户中选择接收哪些此类邮件。",
    unowned: "收到了不属于任何商家的款项",
    unownedMany: (count) => `收到不属于任何商家的款项：${count} 次`,
    assign: "请查明其归属，并通过内部端口分配。",
    networkSubject: (network) => `网络 ${network}`,
    networks: (count) => `网络状态变化：${count} 次`,
    conditions: {
      ok: (network) => `${network} 已恢复正常。`,
      silent: (network) => `${network}：没有节点响应，因此无法检测到付款。请检查其节点。`,
      frozen: (network) => `${network}：没有新区块到达，因此无法检测到付款。请检查其节点。`,
      disagreement: (network) => `${network}：各节点不一致，因此无法确认付款。请查明哪个节点有误。`,
      no_common_block: (network) => `${network}：所跟踪的区块已不在链上，因此已停止跟踪。请检查其节点。`
    },
    state: "网络当前状态："
  },
  ar: {
    exception: {
      one: (merchant) => `\u2068${merchant}\u2069: حالة تحتاج إلى قرار`,
      many: (merchant, count) => `\u2068${merchant}\u2069: حالات جديدة تحتاج إلى قرار: ${count}`
    },
    endpoint: {
      one: (merchant) => `\u2068${merchant}\u2069: عُطّلت نقطة نهاية webhook`,
      many: (merchant, count) => `\u2068${merchant}\u2069: نقاط نهاية webhook المعطّلة: ${count}`
    },
    reasons: {
      gone: "أفاد خادمها بأنها لم تعد موجودة، فلا يُرسل إليها شيء بعد الآن.",
      failing: "لم تقبل شيئًا طوال خمسة أيام، فلا يُرسل إليها شيء بعد الآن."
    },
    type: "الحالة",
    amount: "المبلغ",
    open: "يُرجى الاطلاع عليها في لوحة المدفوعات:",
    choose: "من حسابكم في اللوحة تختارون أيًا من هذه الرسائل تصلكم.",
    unowned: "وصلت أموال لا تخص أي تاجر",
    unownedMany: (count) => `مرات وصول أموال لا تخص أي تاجر: ${count}`,
    assign: "يُرجى معرفة صاحبها ثم إسنادها عبر المنفذ الداخلي.",
    networkSubject: (network) => `شبكة \u2068${network}\u2069`,
    networks: (count) => `تغيّرات الشبكات: ${count}`,
    conditions: {
      ok: (network) => `عادت \u2068${network}\u2069 إلى العمل.`,
      silent: (network) => `\u2068${network}\u2069: لا تستجيب أي عقدة، فلا تُرصد أي دفعة. يُرجى فحص العقد.`,
      frozen: (network) => `\u2068${network}\u2069: لا تصل كتل جديدة، فلا تُرصد أي دفعة. يُرجى فحص العقد.`,
      disagreement: (network) => `\u2068${network}\u2069: العقد غير متفقة، فلا تُؤكَّد الدفعات. يُرجى معرفة العقدة الخاطئة.`,
      no_common_block: (network) =>
        `\u2068${network}\u2069: لم تعد الكتل المتابَعة في السلسلة، فتوقفت المتابعة. يُرجى فحص العقد.`
    },
    state: "حالة الشبكات الآن:"
  }
}

/** Dollars have cents, and thousandths only where they are not zero. */
const dollars = (usdMillis: bigint): string => `${signedUsdDecimal(usdMillis).replace(/(\.\d\d)0$/, "$1")} USD`

const isTypeOf = <Name extends string>(names: Readonly<Record<Name, unknown>>, type: string): type is Name =>
  Object.hasOwn(names, type)

/** What a message tells of: one change, or `count` of them, of which nothing more is said. */
export interface NoticeFacts {
  readonly type: string
  readonly amount: bigint | null
  readonly count: number
  readonly link: string
}

interface NoticeMail {
  readonly subject: string
  readonly text: string
}

const mailOf = (subject: string, ...parts: ReadonlyArray<string | null>): NoticeMail => ({
  subject,
  text: `${parts.filter((part) => part !== null).join("\n\n")}\n`
})

/** For people of a merchant: never more of a case than its type and its amount. */
export const merchantNotice = (
  language: Language,
  kind: "exception" | "endpoint",
  merchant: string,
  { amount, count, link, type }: NoticeFacts
): NoticeMail => {
  const words = texts[language]
  const name = nameInMail(merchant)
  const subject = count === 1 ? words[kind].one(name) : words[kind].many(name, count)
  const facts = count > 1 ? [] : kind === "endpoint"
    ? isTypeOf(words.reasons, type) ? [words.reasons[type]] : []
    : [
      ...(isTypeOf(exceptionNames[language], type) ? [`${words.type}: ${exceptionNames[language][type]}`] : []),
      ...(amount === null ? [] : [`${words.amount}: ${dollars(amount)}`])
    ]
  return mailOf(subject, subject, facts.length === 0 ? null : facts.join("\n"), `${words.open}\n${link}`, words.choose)
}

/** For the operator: money that no merchant may assign. */
export const unownedNotice = (language: Language, { count, type }: NoticeFacts): NoticeMail => {
  const words = texts[language]
  const subject = count === 1 ? words.unowned : words.unownedMany(count)
  const name = count === 1 && isTypeOf(exceptionNames[language], type) ? exceptionNames[language][type] : null
  return mailOf(subject, subject, name === null ? null : `${words.type}: ${name}`, words.assign)
}

/** For the operator: a network in another condition. */
export const networkNotice = (
  language: Language,
  network: string,
  { count, link, type }: NoticeFacts
): NoticeMail => {
  const words = texts[language]
  const subject = count === 1 ? words.networkSubject(network) : words.networks(count)
  const condition = count === 1 && isTypeOf(words.conditions, type) ? words.conditions[type](network) : subject
  return mailOf(subject, condition, `${words.state}\n${link}`)
}
