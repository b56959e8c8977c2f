/** Japanese. */
import { plural, type Texts } from "../Texts.ts"

const found = plural("ja", { other: "通貨：# 件" })
const minutesLeft = plural("ja", { other: "価格の有効時間はあと # 分です" })
const networks = plural("ja", { other: "# ネットワーク" })

export const ja: Texts = {
  locale: "ja",
  language: "日本語",
  direction: "ltr",
  fullStop: "。",

  testMode: "テストモード：実際のお金は動きません",
  domainVerified: "確認済みドメイン：",
  domainChecked: (domain, when) =>
    `${domain} は、このショップへの支払いをこのページで受け付けていると公表しています。確認日時は ${when} です。`,
  returnsTo: (host) => `支払い後の戻り先：${host}`,
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
  stepCurrency: "1 通貨",
  stepNetwork: (token) => `2 ${token} のネットワーク`,
  networks,
  toSend: (amount) => `送金額 ${amount}`,
  moreCurrencies: "ほかの通貨",
  walletPaysFee: "ネットワーク手数料はウォレットから支払われます",
  feeUnder: (amount) => `手数料 ${amount} 未満`,
  feeAbout: (amount) => `手数料 約 ${amount}`,
  lowestFee: "最も安い手数料",
  aboutSeconds: (count) => `約 ${count} 秒`,
  aboutMinutes: (count) => `約 ${count} 分`,
  whichNetwork: (token) => `迷ったときは、ウォレットに ${token} があるネットワークを選んでください。`,
  search: "通貨またはネットワークを検索",
  found,
  nothingFound: "見つかりませんでした",
  noMethods: (merchant) =>
    `現在ご利用いただけるお支払い方法がありません。時間をおいてもう一度お試しいただくか、${merchant} にお問い合わせください。`,
  noOfferedMethods: (merchant) =>
    `現在お支払いいただけません。このショップがご注文に受け付ける通貨は、いずれも今は利用できません。しばらくしてからもう一度お試しになるか、${merchant} にお問い合わせください。`,
  proceed: "次へ",
  proceedWith: (token, network) => `${network} の ${token} で次へ`,
  minimum: (amount) => `${amount} 以上`,
  networkDown: "ネットワーク障害",
  noPriceNow: "現在価格なし",
  notAvailable: "利用不可",

  waitingTitle: "お支払いをお待ちしています",
  payTitle: (amount, network) => `${network} で ${amount} を支払う`,
  scanCode: "別の端末のウォレット用 QR コード",
  paymentLink: "支払いリンク",
  addressOnly: "アドレスのみ",
  qrName: (amount, address, network) => `${network} ネットワークで ${address} に ${amount} を支払う QR コード`,
  qrAddressName: (address, network) => `${network} ネットワークのアドレス ${address} の QR コード`,
  priceHeldFor: "価格の有効時間",
  priceRenews: "価格は固定され、自動的に更新されます。",
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
  payeeTitle: "受取先の確認",
  payee: (merchant) =>
    `このアドレスに送金された資産は、次のウォレットにしか移動できません。${merchant} がウォレットを公開している場合は、照らし合わせてください。`,
  payeeCheck: "確認方法：このアドレスは、CREATE2（EIP-1014）により次の値から計算されます。",
  openInWallet: "ウォレットで開く",
  walletList: "このブラウザーのウォレット",
  walletPay: (wallet) => `${wallet} で支払う`,
  walletAsking: (wallet, amount, network, address) =>
    `${wallet} で確認してください：${network} で ${amount} を ${address} に送金します。支払い済みと表示されるのは、ネットワークでお支払いが確認されてからです。`,
  walletDeclined: (wallet) => `${wallet} で拒否されました。何も送金されていません。`,
  walletBusy: (wallet) => `${wallet} がすでに確認を求めています。開いて回答してください。`,
  walletLocked: (wallet) => `${wallet} はロックされています。開いてから、もう一度押してください。`,
  walletChain: (wallet, network) =>
    `${wallet} では ${network} を利用できません。別のウォレットを使うか、コードを読み取ってください。`,
  walletFunds: (amount, network) =>
    `このアカウントの ${network} の残高は ${amount} 未満です。別のアカウントまたは別の通貨を選んでください。`,
  walletFee: (coin, network) =>
    `このアカウントには、${network} のネットワーク手数料を支払うための ${coin} が足りません。`,
  walletSilent: (wallet) =>
    `${wallet} から応答がありません。確認済みの場合はそのままお待ちください。このページは自動的に更新されます。`,
  walletUnknown: (wallet) =>
    `${wallet} でエラーが発生しました。それでも送金された可能性があります。もう一度試す前に、ウォレットを確認してください。`,
  walletChanged: "お支払い内容が変わりました。何も送金されていません。もう一度押す前に金額を確認してください。",
  walletSent: (wallet) => `${wallet} から送金しました。ネットワークで確認されるのを待っています。`,
  walletAgain: (sent, amount) =>
    `すでに ${sent} を送金している可能性があります。ウォレットを確認してください。さらに ${amount} を送金する場合のみ、もう一度押してください。`,
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
  partialReceived: (received) => `${received} を受け取りました。`,
  stillPayable: "期限は過ぎましたが、残りの金額は今からでも送金できます。",

  paidTitle: "お支払いが完了しました",
  paid: (merchant) => `${merchant} がお支払いを受け取りました。`,
  overpaidTitle: (extra) => `お支払い完了（${extra} の超過）`,
  overpaid: (extra, merchant) => `${extra} 多く送金されています。返金については ${merchant} にお問い合わせください。`,
  returnTo: (merchant) => `${merchant} に戻る`,
  returnsIn: (merchant) => `${merchant} に戻るまで`,
  returnsSoon: (merchant, seconds, stay) =>
    `あと ${seconds} 秒で ${merchant} に戻ります。このページに残るには「${stay}」を押してください。`,
  stayHere: "このページに残る",
  paidAt: "お支払い日時",
  total: "合計",
  inDollars: "米ドルで",
  receipt: "領収書",
  receiptOpen: "領収書を開く",
  receiptAmount: "お支払い額",
  receiptFor: "内容",
  receiptTo: "お支払い先",
  receiptAddress: "送金先アドレス",
  receiptExtra: "超過分",

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
  accepted: (merchant, time) => `${merchant} が承認しました（${time}）。`,
  keptAsCredit: (merchant) => `${merchant} がお客様の残高としてお預かりします。`,
  refundAwaited: (amount, merchant) =>
    `${amount} を返金いたします。送り先を指定するリンクが ${merchant} から届きます。`,
  refundUnderWay: (amount) => `${amount} の返金を手続き中です。`,
  refundDone: (amount) => `${amount} を返金いたしました。`,
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

  claimOpenTitle: "返金を開く",
  claimOpen: "受け取ったリンク全体を貼り付けてください。このリンクで返金が開くため、ほかの人には見せないでください。",
  claimLink: "返金のリンク",
  claimAddressTitle: "返金の送り先",
  claimFrom: (merchant) => `${merchant} からの返金です。`,
  claimGive: (token, network) =>
    `${network} で ${token} を受け取れるアドレスを入力してください。ご自身のウォレットか、取引所の入金アドレスをお使いください。ほかのネットワークに送ると、資金が永久に失われるおそれがあります。`,
  claimUntil: (moment) => `アドレスの受付期限は ${moment} です。`,
  claimAmount: "受取額",
  claimFee: "ネットワーク手数料として差し引かれる額",
  claimNetwork: "ネットワーク",
  claimReason: "理由",
  claimRequested: "お客様のご依頼",
  claimOverpayment: "お支払いが多すぎました",
  claimLate: "お支払いが期限後に届きました",
  claimUnderpayment: "お支払いが足りませんでした",
  claimWrongToken: "別の通貨でお支払いになりました",
  claimOrderCanceled: "注文が取り消されました",
  claimOrderFailed: "注文を完了できませんでした",
  claimDuplicate: "二重にお支払いになりました",
  claimMemo:
    "取引所のアドレスの場合だけ必要です。アドレスの横に表示されるメモをコピーしてください。メモがないと、資金が口座に届かないおそれがあります。",
  claimCheckTitle: "このアドレスで間違いありませんか？",
  claimCheck: "返金はこのアドレスに送られます。確定すると変更できません。一文字ずつウォレットと見比べてください。",
  claimConfirm: "このアドレスに返金を送る",
  claimEdit: "アドレスを変更する",
  claimWrongAddress: (network) =>
    `${network} にこのアドレスのウォレットはありません。ウォレットからアドレス全体をもう一度コピーしてください。`,
  claimOtherNetwork: (network) =>
    `これは別のネットワークのアドレスです。返金は ${network} だけで支払われます。このネットワークのアドレスをコピーしてください。`,
  claimReceiveAddress: (token, network) =>
    `これはショップへの支払いを受け取るアドレスのため、返金がお客様に届きません。ご自身のウォレットが ${network} で ${token} を受け取るアドレスをコピーしてください。`,
  claimNoWallet: (token, network) =>
    `これはトークンなどのコントラクトで、送られた資金は失われます。ご自身のウォレットが ${network} で ${token} を受け取るアドレスをコピーしてください。`,
  claimRefused: (merchant) =>
    `このアドレスには返金を送れません。ご自身のウォレットの別のアドレスを入力するか、${merchant} にお問い合わせください。`,
  claimWrongMemo: "メモは半角の英数字と記号で 120 文字までです。もう一度コピーするか、空欄のままにしてください。",
  claimUnchecked: "現在このアドレスを確認できないため、何も保存されていません。数分後にもう一度お試しください。",
  claimApprovalTitle: "アドレスを保存しました",
  claimApproval: (merchant) =>
    `返金には ${merchant} の承認が必要です。このページは閉じてもかまいません。同じリンクで進み具合を確認できます。`,
  claimKept: (merchant) =>
    `先に別のアドレスが保存されており、変更されません。下に表示されているアドレスです。お心当たりがない場合は、すぐに ${merchant} にご連絡ください。`,
  claimProcessingTitle: "返金の支払い中です",
  claimProcessing:
    "下のアドレスに送られます。このページは閉じてもかまいません。支払いの完了は同じリンクで確認できます。",
  claimPaidTitle: "返金が支払われました",
  claimPaid: (amount, network) => `${network} で下のアドレスに ${amount} を送りました。`,
  claimFailedTitle: "返金は支払われませんでした",
  claimFailed: (merchant) =>
    `送金できませんでしたが、資金は失われていません。${merchant} がもう一度送金するか、別のアドレスをお尋ねします。`,
  claimExpiredTitle: "この返金は期限切れです",
  claimExpired: (merchant) =>
    `期限までにアドレスが入力されませんでした。返金のやり直しを ${merchant} にご依頼ください。`,
  claimCanceledTitle: "この返金は取り消されました",
  claimCanceled: (merchant) => `何も送られません。お心当たりがない場合は、${merchant} にお問い合わせください。`,
  claimUnaddressedTitle: "このリンクは使用済みです",
  claimUnaddressed: (merchant) => `アドレスがもう一度必要です。新しいリンクを ${merchant} にご依頼ください。`,
  claimCheckAgain: "もう一度確認する",
  claimNoAnswer: "応答がありませんでした。接続を確認してから、もう一度お試しください。確定した内容は保存されています。",
  claimEndedTitle: "このリンクでは返金を開けません",
  claimEnded:
    "リンクが不完全か、無効になっています。受け取ったリンクをもう一度開くか、ショップに新しいリンクをご依頼ください。",
  claimUnavailable: "現在、返金を表示できません。少し待ってからリンクをもう一度開くと、保存された内容を確認できます。",

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
