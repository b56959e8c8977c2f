/** Japanese. */
import { plural, type Texts } from "../Texts.ts"

const found = plural("ja", { other: "お支払い方法：# 件" })
const minutesLeft = plural("ja", { other: "価格の有効時間はあと # 分です" })

export const ja: Texts = {
  locale: "ja",
  language: "日本語",
  direction: "ltr",
  fullStop: "。",

  testMode: "テストモード：実際のお金は動きません",
  invoice: "請求書",
  help: "ヘルプ",
  chooseLanguage: "言語",
  change: "変更",
  checkPayment: "支払い状況を確認",

  stepWaiting: "支払い待ち",
  stepConfirming: "承認待ち",
  stepPaid: "支払い済み",
  progress: "お支払いの進行状況",

  chooseTitle: "お支払い方法の選択",
  chooseLabel: "通貨とネットワーク",
  search: "通貨またはネットワークを検索",
  found,
  nothingFound: "見つかりませんでした",
  noMethods: (merchant) =>
    `現在ご利用いただけるお支払い方法がありません。時間をおいてもう一度お試しいただくか、${merchant} にお問い合わせください。`,
  proceed: "次へ",
  minimum: (amount) => `${amount} 以上`,
  networkDown: "ネットワーク障害",
  noPriceNow: "現在価格なし",
  notAvailable: "利用不可",

  waitingTitle: "お支払いをお待ちしています",
  scanOrCopy: "ウォレットでコードを読み取るか、以下の情報をコピーしてください",
  paymentLink: "支払いリンク",
  addressOnly: "アドレスのみ",
  qrName: (amount, address, network) => `${network} ネットワークで ${address} に ${amount} を支払う QR コード`,
  qrAddressName: (address, network) => `${network} ネットワークのアドレス ${address} の QR コード`,
  priceHeldFor: "価格の有効時間",
  timeLeft: "お支払いの残り時間",
  payBy: "お支払い期限",
  amountToSend: "送金額",
  remainingToSend: "残りの送金額",
  addressOn: (network) => `${network} のアドレス`,
  memo: "メモ",
  memoNeeded: "このアドレスには多くのお支払いが届き、どれがお客様のものかはメモで判別します。" +
    "ウォレットのメモ欄またはコメント欄に入力してください。メモがないと、お支払いを照合できません。",
  memoFromExchange: "取引所から送金する場合は、このメモを入力できるときに限ってください。",
  sendOnly: (token, network) => `${network} ネットワークで ${token} のみを送金してください。`,
  otherwiseLost: "ほかのトークンやネットワークで送金すると、資産を失い、取り戻せなくなるおそれがあります。",
  openInWallet: "ウォレットで開く",
  useAnother: "別の通貨を使う",
  payingWith: (token, network) => `${network} ネットワークの ${token} でお支払い`,
  copy: "コピー",
  copyOf: (what) => `コピー：${what}`,
  copied: "コピーしました",
  minutesLeft,

  quoteEndedTitle: "価格の更新が必要です",
  quoteEnded: "価格の有効時間が過ぎました。送金する前に、新しい価格を取得してください。アドレスは変わりません。" +
    "すでに送金した分が失われることはありません。",
  newPrice: "新しい価格を取得",
  noPriceTitle: "現在、価格を取得できません",
  noPrice: "この通貨の価格を現在取得できません。まだ送金しないでください。数分後にもう一度お試しください。" +
    "すでに送金した分が失われることはありません。",

  confirmingTitle: "お支払いを検出、承認待ちです",
  mayClose: (merchant) =>
    `このページは閉じてもかまいません。お支払いがネットワークで承認されると、${merchant} に通知されます。`,
  confirmations: (done, needed) => `承認数：${done} / ${needed}`,
  received: "受取額",
  transaction: "トランザクション",
  viewTransaction: (hash) => `トランザクション ${hash} をブロックエクスプローラーで見る`,

  partialTitle: "お支払いの一部が届きました",
  partial: (received, remaining) =>
    `${received} を受け取りました。残りの ${remaining} を同じアドレスに送金してください。`,
  stillPayable: "期限は過ぎましたが、残りの金額は今からでも送金できます。",

  paidTitle: "お支払いが完了しました",
  paid: (merchant) => `${merchant} がお支払いを受け取りました。`,
  overpaidTitle: (extra) => `お支払い完了（${extra} の超過）`,
  overpaid: (extra, merchant) => `${extra} 多く送金されています。返金については ${merchant} にお問い合わせください。`,
  returnTo: (merchant) => `${merchant} に戻る`,
  paidAt: "お支払い日時",
  total: "合計",

  expiredTitle: "お支払い期限が過ぎました",
  expired: "何も届いていません。以前のアドレスには送金しないでください。",
  expiredSent: "すでに送金した場合は、もう一度お支払いにならないでください。届きしだい、ここに表示されます。",
  startAgain: "最初からやり直す",
  expiredContact: (merchant) => `${merchant} に新しい請求書をご依頼ください。`,

  lateTitle: "お支払いが期限後に届きました",
  late: (received, merchant) =>
    `期限後に ${received} を受け取りました。受け入れるか返金するかは、${merchant} が決めます。`,
  expiredPartialTitle: "期限が過ぎ、お支払いの一部だけが届きました",
  expiredPartial: (received, merchant) =>
    `${received} を受け取りましたが、請求額に足りません。受け入れるか返金するかは、${merchant} が決めます。`,
  doNotPayAgain: "もう一度お支払いにならないでください。",
  contact: (merchant) => `${merchant} に連絡する`,
  contactNobody: (merchant) => `上の請求書番号を添えて、${merchant} にお問い合わせください。`,

  canceledTitle: "この請求書は取り消されました",
  canceled: (merchant) =>
    `${merchant} が取り消しました。送金しないでください。すでにお支払いの場合は、返金をご依頼ください。`,

  reversedTitle: "お支払いがネットワークにより取り消されました",
  reversed:
    "ネットワークがトランザクションを取り消したため、お支払いは届いていません。資金はウォレットに戻っているはずです。",
  payAgain: "まずウォレットをご確認ください。資金がウォレットにあれば、もう一度お支払いいただけます。",
  rejectedTitle: "対象外の送金が届きました",
  rejected: (merchant) =>
    "この請求書では受け付けられない送金が届きました。お支払いには数えられていません。" +
    `返金については ${merchant} にお問い合わせください。`,

  refundTitle: "返金がある場合の送り先",
  refundAddress: (network) => `お客様の ${network} アドレス`,
  refundSave: "アドレスを保存",
  refundSaved: "保存しました。返金がある場合は、そのアドレスに送られます。",
  refundWrong: (network) => `${network} ネットワークのアドレスではないようです。ご確認ください。`,

  offline: "接続がありません。接続が回復すると、このページは自動で更新されます。" +
    "すでに送金した分が失われることはありません。",
  networkDegraded: (network) =>
    `現在 ${network} ネットワークに障害が発生しています。お支払いの表示が通常より遅れることがあります。` +
    "すでに送金した場合は、もう一度送金しないでください。",

  simulateTitle: "支払いのシミュレーション",
  simulateNote: "テストモード：テスト用の資金を使うため、ウォレットは不要です。",
  simulatePay: "支払う",
  simulatePartial: "半額を支払う",
  simulateOver: "多く支払う",
  simulateLate: "遅れて支払う",

  sessionEndedTitle: "このリンクではお支払いを開けません",
  sessionEnded:
    "リンクが不完全か、有効期限が切れています。受け取ったリンクをもう一度開くか、ショップに新しいリンクをご依頼ください。",
  notFoundTitle: "ページが見つかりません",
  notFound: "この URL にお支払いはありません。受け取ったリンクをもう一度開いてください。",
  tooManyTitle: "試行回数が多すぎます",
  tooMany: "しばらく待ってから、ページを再読み込みしてください。",
  unavailableTitle: "少々お待ちください",
  unavailable:
    "現在、お支払いを表示できません。すでに送金した分が失われることはありません。数秒待ってから、もう一度お試しください。",
  failedTitle: "問題が発生しました",
  failed: "少し待ってから、ページを再読み込みしてください。すでに送金した分が失われることはありません。",
  tryAgain: "再試行"
}
