/** Japanese: the pages of developers and of settings. */
import { plural } from "../../../../runtime/pages/Languages.ts"
import type { ToolTexts } from "../Texts.ts"

const hours = plural("ja", { other: "# 時間進める" })

export const toolTexts: ToolTexts = {
  exports: {
    title: "エクスポート",
    from: "開始日",
    until: "終了日",
    kinds: {
      invoices: "請求書",
      payments: "支払い",
      refunds: "返金",
      lots: "受け取りとその評価額",
      koinly: "Koinly",
      "balance-transactions": "入出金",
      journal: "仕訳帳"
    }
  },
  webhooks: {
    none: "まだ通知先はありません。",
    add: "エンドポイントを追加",
    added: "エンドポイントを追加しました",
    rotated: "新しいシークレット",
    secretText:
      "シークレットが表示されるのは今回だけです。署名を検証するショップ側に保存してください。以前のものはあと 1 日有効です。",
    url: "アドレス",
    urlHint: "公開された https で、パスワードを含まないもの",
    events: "イベント",
    description: "説明",
    event: "イベント",
    answer: "応答",
    millis: "ミリ秒",
    tries: "試行回数",
    nextTry: "次の試行",
    attempt: (number) => `試行 ${number} 回目`,
    error: "エラー",
    deliveries: "配信",
    sendAgain: "再送する",
    sendExample: "サンプルを送る",
    rotate: "シークレットを変更",
    disable: "無効にする",
    enable: "有効にする",
    endpointStates: { enabled: "有効", disabled: "無効" },
    deliveryStates: {
      pending: "待機中",
      delivering: "送信中",
      succeeded: "配信済み",
      retrying: "失敗、再試行予定",
      failed: "失敗",
      canceled: "取り消し済み"
    }
  },
  events: { type: "種類", about: "対象", waiting: "待機中の Webhook" },
  keys: {
    make: "キーを作成",
    made: "キーを作成しました",
    secretText: "キーが表示されるのは今回だけです。サーバーが読み取る場所にだけ保存してください。",
    name: "名前",
    key: "キー",
    permissions: "許可する操作",
    lastUsed: "最終使用",
    roll: "置き換える",
    revoke: "失効させる",
    scope: "範囲",
    use: "用途",
    uses: { any: "すべて", btcpay: "BTCPay Server 用に作られたショップのみ" },
    shopSecretText: (store) =>
      `このキーをショップに入力してください。表示されるのは今回だけです。Store ID は ${store} です。`,
    scopes: { merchant: "アカウント全体", commerce: "商取引の記録のみ" },
    permissionTexts: {
      read: "すべての読み取り",
      write: "送金を除くすべての変更",
      refund: "人が承認する返金と一括処理の作成"
    },
    states: { active: "使用中", rotating: "置き換え済み、まもなく終了", expired: "期限切れ", revoked: "失効" }
  },
  settings: {
    tokensKeep: "開いている支払いページの選択肢は変わりません。",
    policies: {
      accept_all: "無効にしたものを除くすべてのトークンを受け付けます",
      selective: "選んだトークンだけを受け付けます",
      accept_none: "どのトークンも受け付けません"
    },
    accepted: "受付中",
    blocked: "無効",
    noWallets: "受け取り用のウォレットがまだないため、本番のネットワークでは支払いを受けられません。",
    families: {
      evm: "Ethereum と互換ネットワーク",
      solana: "Solana",
      ton: "TON",
      sui: "Sui",
      cardano: "Cardano"
    },
    kind: "種類",
    value: "公開情報",
    nextIndex: "次のアドレス",
    highestIndex: "支払いのあった最後のアドレス",
    compare: "ウォレットを開いて、これらのアドレスが一致するか確認してください",
    name: "支払いページでの名前",
    accent: "色",
    accentHint: "例：#2a4fd8。白い文字が読める色にしてください",
    supportEmail: "問い合わせ先のアドレス",
    payeeProof: "アドレスの確認方法を支払者に表示する",
    payeeProofText:
      "フォワーダーウォレットのアドレスの下に、受取人とアドレスの計算に使う値を表示します。受取人はすべての支払者に見えるようになります。",
    save: "保存",
    means: "意味",
    head: "最新のブロック"
  },
  views: {
    title: "保存したビュー",
    none: "この一覧のビューはまだありません。絞り込みを選び、名前を付けて保存してください。",
    name: "このビューの名前",
    share: "ショップの全員に表示",
    save: "このビューを保存",
    remove: "削除",
    shared: "共有"
  },
  domain: {
    title: "ショップのドメイン",
    text: "ドメイン自体がこのショップを示していると確認できると、支払いページに ✓ 付きで表示されます。",
    name: "ドメイン",
    hint: (domain) => `${domain} のように入力`,
    save: "保存して確認",
    how: "次のどちらか一つを公開してください。ドメインは今すぐ、その後は毎日確認されます。",
    file: "ファイル（リダイレクトなし）",
    address: "アドレス",
    content: "内容",
    record: "または DNS の TXT レコード",
    recordName: "名前",
    recordValue: "値",
    verified: "確認済み",
    unverified: "未確認",
    waiting: "確認中です。1 分後にページを再読み込みしてください。",
    last: "前回の確認",
    next: "次回の確認",
    keeps: "前回の確認ではどちらも見つかりませんでした。✓ は最後に成功した確認から 3 日間残ります。",
    results: {
      proved: "このショップを示しています",
      other_merchant: "別の加盟店を示しています",
      other_host: "別の支払いページを示しています",
      absent: "ありません",
      unreadable: "上の内容と異なります",
      refused: "アドレスが公開されていないか、このサービス自身のものです。レコードを使ってください",
      unreachable: "応答がありません"
    },
    fileResult: "ファイル",
    recordResult: "レコード"
  },
  limits: {
    inForce: "有効な限度額",
    pending: "保留中の引き上げ",
    none: "限度なし",
    raising:
      "引き下げはすぐに有効になります。引き上げは、別のオーナーか管理者がいる場合はその承認を待ち、さらに 24 時間後に有効になります。",
    names: {
      auto_approve_limit: "1 人で承認できる金額の上限",
      auto_approve_limit_day: "1 人で承認できる 1 日（UTC）の合計の上限",
      payout_limit_batch: "出金の一括処理 1 件の上限",
      payout_limit_day: "1 日（UTC）の出金合計の上限"
    },
    hints: {
      auto_approve_limit: "ドルで指定。超える場合、承認できる人が 2 人いれば 2 人の承認が必要です",
      auto_approve_limit_day:
        "ドルで指定、返金と出金の合計。超える場合、承認できる人が 2 人いれば 2 人の承認が必要です",
      payout_limit_batch: "ドルで指定。空の場合は限度なし",
      payout_limit_day: "ドルで指定。空の場合は限度なし"
    },
    save: "保存"
  },
  pending: {
    wallet: (family) => `${family}：別のウォレットが保留中`,
    needsApproval: "まだ有効ではありません。別のオーナーか管理者の承認が必要です。承認の 24 時間後に有効になります。",
    waits: "まだ有効ではありません。誰かが取り消さない限り、自動で有効になります。",
    proposedBy: "申請者",
    proposedAt: "申請日時",
    approvedBy: "承認者",
    inForceFrom: "有効になる日時",
    approve: "この変更を承認する",
    cancel: "この変更を取り消す"
  },
  found: {
    title: "検索",
    nothing: (text) => `「${text}」に一致するものはありません。`,
    hint: "請求書の番号またはその末尾、トランザクション、アドレス、49.99 のような金額、顧客を入力します。",
    kind: "種類",
    matched: "一致した項目"
  },
  team: {
    members: "メンバー",
    alone: "現在のメンバーは 1 人です。2 人目を招待すると、送金に 2 人の承認が必要になります。",
    name: "名前",
    email: "メールアドレス",
    emailHint: "何も送信されません。リンクはご自分で渡してください",
    sendEmail: "このアドレスにリンクをメールで送る",
    role: "役割",
    joined: "参加日時",
    change: "変更",
    remove: "削除",
    removeText: "この人はすぐにサインアウトされ、戻るには新しい招待が必要です。",
    removeNow: "削除する",
    invite: "招待する",
    invited: "招待を作成しました",
    invitedSentText: "このリンクを本人に送信しています。7 日以内に 1 回だけ使え、表示されるのは今回だけです。",
    invitedText: "このリンクをご自分で本人に渡してください。7 日以内に 1 回だけ使え、表示されるのは今回だけです。",
    invitations: "招待",
    revoke: "取り消す",
    invitationStates: {
      waiting: "2 人目のオーナー待ち",
      open: "有効",
      accepted: "承諾済み",
      revoked: "取り消し済み",
      expired: "期限切れ"
    },
    joinTitle: "チームに参加",
    joinText: "他のメンバーに表示する名前を入力してください。参加するとサインインします。",
    join: "参加する"
  },
  audit: { who: "実行者", what: "対象", action: "操作", change: "変更内容", show: "表示", hash: "ハッシュ" },
  simulator: {
    title: "シミュレーター",
    text: "テスト用の資金です。各ボタンは、実際のお金と同じルールに 1 つの出来事を伝えます。",
    open: "シミュレーションする",
    close: "閉じる",
    route: "トークンとネットワーク",
    anyRoute: "ページに表示されているもの、または Base の USDC",
    dollars: "ドル",
    dollarsHint: "不足額を使う場合は空のままにします",
    blocks: "承認数",
    blocksHint: "必要な数にする場合は空のままにします。0 の場合は検出のみ",
    groups: {
      transfers: "送金が届く",
      mistakes: "送金の間違い",
      blocks: "最新の送金のネットワーク上の動き",
      ends: "期限と精算"
    },
    actions: {
      pay: "支払う",
      partial: "半額を支払う",
      overpay: "1 割多く支払う",
      late: "期限後に支払う",
      wrong_token: "別のトークンで支払う",
      wrong_network: "別のネットワークで支払う",
      missing_memo: "メモなしで支払う",
      unmatched: "請求書の発行前に支払う",
      duplicate: "二重に支払う",
      dust: "計上されない少額を支払う",
      confirm: "ネットワークで承認する",
      reorg: "別のブロックに移す",
      drop: "ネットワークから取り除く",
      expire: "請求書を期限切れにする",
      settle: "精算する",
      fail_settlement: "精算を失敗させる"
    },
    outcomes: { succeeded: "シミュレーション：支払い完了", failed: "シミュレーション：失敗" },
    clock: "時計",
    clockText: "テストの時計を進めます。請求書は期限切れになり、待機中の配信は実行されます。元に戻すことはできません。",
    hours,
    payTitle: "最初の支払い",
    payText: "請求書を発行して支払い、その後の流れをすべて確認できます。",
    pay: "支払いをシミュレーションする",
    invoiceTitle: "シミュレーションの支払い",
    networks: "ネットワークの障害",
    networksText: "自社のテストの請求書だけに適用され、サービスが再起動されるまで続きます。",
    modes: { down: "停止", lagging: "ブロックの遅延", ok: "実際のまま" },
    newest: "新しい支払い",
    newestText: "開くと、一部の支払い、二重の支払い、ネットワークによる取り消しを試せます。"
  },
  tokens: {
    preview: "顧客に表示される内容",
    before: "現在",
    after: "変更後",
    unsaved: "まだ保存されていません。「保存」を押すと、今後はこの内容で表示されます。",
    look: "プレビューする",
    policy: "受け付けるトークン",
    chosen: "選択",
    chosenHint: "選んだ内容は、選んだトークンだけを受け付ける場合に使われ、それ以外の場合は保存だけされます。",
    acceptOne: (symbol, network) => `${network} の ${symbol} を受け付ける`,
    bulk: "まとめて変更",
    allNetworks: "すべてのネットワーク",
    acceptAll: "すべて受け付ける",
    blockAll: "すべて無効にする"
  },
  wallets: {
    kinds: {
      xpub: "アカウントの公開鍵",
      address: "1 つのアドレス",
      pool: "アドレスの一覧",
      forwarder: "自社のアドレスへの転送"
    },
    comparePayee:
      "これはお客様ご自身のアドレスですか？支払われたものはすべてこのアドレスに送られ、ほかには送られません。",
    compareText:
      "ご自分のウォレットで同じ位置に表示されるアドレスにチェックを入れてください。1 つでも一致しない場合は、このウォレットをすぐに削除してください。",
    add: "受け取り用のウォレットを設定",
    addText:
      "公開情報だけを入力してください。秘密鍵やリカバリーフレーズを持つ人は、資金を自由に動かせます。こちらのページでお尋ねすることは決してありません。",
    family: "ネットワーク",
    value: "公開鍵またはアドレス",
    valueHint: "例：ウォレットのアカウント設定にある xpub。アドレスの一覧は API で設定します。",
    startIndex: "最初に使うアドレスの番号",
    startIndexHint:
      "未使用のアカウントは 0、それ以外は使用済みの最大の番号の次を入力します。テストでは空のままにします",
    set: "このウォレットを設定する",
    remove: "このウォレットを削除",
    removeText: "今後、請求書にこのウォレットのアドレスは使われません。すでに支払われた資金は移動しません。",
    removeNow: "削除する"
  },
  preview: {
    title: "プレビュー",
    text: "架空のデータを使った支払いページです。何も保存されず、誰も支払えません。",
    look: "プレビューする",
    state: "支払いの状態",
    language: "言語",
    theme: "明るさ",
    themes: { light: "ライト", dark: "ダーク" },
    device: "端末",
    devices: { phone: "スマートフォン", desktop: "パソコン" },
    show: "表示",
    frame: (state) => `支払いページ：${state}`,
    states: {
      choose: "通貨の選択",
      waiting: "支払い待ち",
      quote_ended: "価格の有効時間切れ",
      no_price: "価格なし",
      confirming: "承認待ち",
      partial: "一部支払い済み",
      paid: "支払い済み",
      overpaid: "支払いの超過",
      expired: "期限切れ",
      late: "期限後に着金",
      expired_partial: "期限切れ、一部支払い済み",
      canceled: "取り消し済み",
      reversed: "ネットワークにより取り消し",
      rejected: "受け付け不可"
    }
  }
}
