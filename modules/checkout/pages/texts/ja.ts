/** Japanese. */
import { plural, type Texts } from "../Texts.ts"

const found = plural("ja", { other: "お支払い方法 # 件" })
const minutesLeft = plural("ja", { other: "価格の有効時間はあと # 分です" })

export const ja: Texts = {
  locale: "ja",
  language: "日本語",
  direction: "ltr",

  testMode: "テストモード：実際のお金は動きません",
  invoice: "請求書",
  help: "ヘルプ",
  chooseLanguage: "言語",
  change: "変更",
  checkPayment: "支払いを確認する",
  amountDue: "お支払い金額",

  stepWaiting: "支払い待ち",
  stepConfirming: "確認中",
  stepPaid: "支払い済み",
  progress: "お支払いの進行状況",

  chooseTitle: "お支払い方法の選択",
  chooseLabel: "通貨とネットワーク",
  search: "通貨またはネットワークを検索",
  found,
  nothingFound: "見つかりませんでした",
  noMethods: (merchant) => `現在ご利用いただけるお支払い方法がありません。${merchant} にお問い合わせください。`,
  proceed: "次へ",
  minimum: (amount) => `${amount} 以上`,
  networkDown: "ネットワーク障害",
  noPriceNow: "現在価格なし",
  notAvailable: "利用不可",

  waitingTitle: "お支払い待ちです",
  scanOrCopy: "ウォレットで読み取るか、以下の情報をコピーしてください",
  paymentLink: "支払いリンク",
  addressOnly: "アドレスのみ",
  qrName: (amount, address, network) => `${network} で ${address} に ${amount} を支払う QR コード`,
  qrAddressName: (address, network) => `${network} のアドレス ${address} の QR コード`,
  priceHeldFor: "価格の有効時間",
  invoiceEnds: "請求書の期限",
  amountToSend: "送金額",
  remainingToSend: "残りの金額",
  addressOn: (network) => `${network} のアドレス`,
  memo: "メモ",
  memoNeeded: "このメモがないと、お支払いを照合できません。",
  sendOnly: (token, network) => `${network} の ${token} だけを送金してください。`,
  otherwiseLost: "ほかのトークンやネットワークで送金した資産は取り戻せません。",
  openInWallet: "ウォレットで開く",
  useAnother: "別の通貨を使う",
  payingWith: (token, network) => `${network} の ${token} で支払います`,
  copy: "コピー",
  copyOf: (what) => `コピー：${what}`,
  copied: "コピーしました",
  minutesLeft,

  quoteEndedTitle: "価格の更新が必要です",
  quoteEnded: "価格の有効時間が過ぎました。新しい価格を取得してください。アドレスは変わりません。" +
    "すでに送金された分が失われることはありません。",
  newPrice: "新しい価格を取得",
  noPriceTitle: "現在価格を表示できません",
  noPrice: "この通貨の価格を現在取得できません。アドレスに変わりはありません。しばらく待つか、別の通貨をご利用ください。",

  confirmingTitle: "入金を検出、確認中です",
  mayClose: (merchant) => `このページを閉じてもかまいません。確認が終わると ${merchant} に通知されます。`,
  confirmations: (done, needed) => `承認 ${done} / ${needed}`,
  received: "受取額",
  transaction: "取引",
  viewTransaction: (hash) => `取引 ${hash} をブロックエクスプローラーで見る`,

  partialTitle: "一部の入金がありました",
  partial: (received, remaining) => `${received} を受け取りました。残りの ${remaining} を同じアドレスに送金してください。`,
  stillPayable: "期限は過ぎましたが、残りの金額はまだ送金できます。",

  paidTitle: "お支払いが完了しました",
  paid: (merchant) => `${merchant} がお支払いを受け取りました。`,
  overpaidTitle: (extra) => `お支払い完了（${extra} 超過）`,
  overpaid: (extra, merchant) => `${extra} 多く送金されました。返金については ${merchant} にお問い合わせください。`,
  returnTo: (merchant) => `${merchant} に戻る`,
  paidAt: "支払日時",
  total: "合計",

  expiredTitle: "支払期限が過ぎました",
  expired: "入金はありませんでした。以前のアドレスには送金しないでください。",
  startAgain: "最初からやり直す",
  expiredContact: (merchant) => `${merchant} に新しい請求書をご依頼ください。`,

  lateTitle: "期限後に入金がありました",
  late: (received, merchant) => `期限後に ${received} を受け取りました。${merchant} が受け付けるか返金するかを決めます。`,
  expiredPartialTitle: "期限切れ、入金は一部のみ",
  expiredPartial: (received, merchant) => `${received} を受け取りましたが、請求額に足りません。${merchant} が受け付けるか返金するかを決めます。`,
  doNotPayAgain: "もう一度支払わないでください。",
  contact: (merchant) => `${merchant} に連絡する`,
  contactNobody: (merchant) => `請求書を示して ${merchant} にお問い合わせください。`,

  canceledTitle: "この請求書は取り消されました",
  canceled: (merchant) => `${merchant} が取り消しました。送金しないでください。`,

  reversedTitle: "お支払いがネットワークにより取り消されました",
  reversed: "ネットワークが取引を取り消したため、お支払いは届いていません。ウォレットをご確認ください。" +
    "資金は戻っているはずです。",
  payAgain: "もう一度お支払いいただけます。",
  rejectedTitle: "対象外の入金がありました",
  rejected: (merchant) => `この請求書では受け付けられない送金が届きました。返金については ${merchant} にお問い合わせください。`,

  refundTitle: "返金先のアドレス",
  refundAddress: (network) => `${network} のお客様のアドレス`,
  refundSave: "アドレスを保存",
  refundSaved: "保存しました。返金はこのアドレスに送られます。",
  refundWrong: (network) => `${network} のアドレスではありません。ご確認ください。`,

  offline: "接続がありません。回復すると、ページは自動で更新されます。",
  networkDegraded: (network) => `現在 ${network} に障害が発生しています。お支払いの表示が通常より遅れることがあります。`,

  simulateTitle: "支払いのシミュレーション",
  simulateNote: "テストモード：疑似通貨を使うため、ウォレットは不要です。",
  simulatePay: "支払う",
  simulatePartial: "半額を支払う",
  simulateOver: "多く支払う",
  simulateLate: "遅れて支払う",

  sessionEndedTitle: "このリンクではお支払いを開けません",
  sessionEnded: "リンクが不完全か、有効期限が切れています。受け取ったリンクをもう一度開くか、ショップに新しいリンクをご依頼ください。",
  notFoundTitle: "ページが見つかりません",
  notFound: "この URL にお支払いはありません。受け取ったリンクをもう一度開いてください。",
  tooManyTitle: "試行回数が多すぎます",
  tooMany: "しばらく待ってから、ページを再読み込みしてください。",
  unavailableTitle: "少々お待ちください",
  unavailable: "現在、お支払いを表示できません。すでに送金された分が失われることはありません。数秒待ってから、もう一度お試しください。",
  failedTitle: "問題が発生しました",
  failed: "何も変更されていません。少し待ってから、ページを再読み込みしてください。",
  tryAgain: "再試行"
}
