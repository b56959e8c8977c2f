/** Japanese: the pages of developers and of settings. */
import type { ToolTexts } from "../Texts.ts"

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
    accept: "受け付ける",
    block: "無効にする",
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
    save: "保存",
    means: "意味",
    head: "最新のブロック"
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
    role: "役割",
    joined: "参加日時",
    change: "変更",
    remove: "削除",
    removeText: "この人はすぐにサインアウトされ、戻るには新しい招待が必要です。",
    removeNow: "削除する",
    invite: "招待する",
    invited: "招待を作成しました",
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
  audit: { who: "実行者", what: "対象", action: "操作", change: "変更内容", show: "表示", hash: "ハッシュ" }
}
