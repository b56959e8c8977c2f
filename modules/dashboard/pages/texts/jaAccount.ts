/** Japanese: signing in, and what a person has for itself. */
import type { AccountTexts } from "../Texts.ts"

export const accountTexts: AccountTexts = {
  signIn: {
    title: "サインイン",
    hello: "ショップの支払い、返金、帳簿を管理します。",
    againTitle: "ご本人の確認",
    againText:
      "送金、または送金できる人の変更を行う操作です。サインインしたご本人であることを確認してください。確認は 5 分間有効です。その後、もう一度ボタンを押してください。",
    again: "パスキーで確認する",
    back: "確認せずに戻る",
    linkTitle: "リンクでサインイン",
    linkText: "リンクは、作成から 10 分以内に 1 回だけ、1 人がサインインできます。",
    token: "リンクのトークン",
    go: "続ける",
    passkey: "パスキーでサインイン",
    wallets: "このブラウザーのウォレット",
    wallet: {
      pay: "{wallet} でサインイン",
      asking: "{wallet} で確認してください。文章に署名するだけで、送金や支出はありません。",
      declined: "{wallet} で拒否されました。",
      busy: "{wallet} がすでに確認を求めています。開いて回答してください。",
      locked: "{wallet} はロックされています。開いてから、もう一度押してください。",
      unknown: "{wallet} で署名できませんでした。もう一度試すか、別の方法でサインインしてください。"
    },
    recovery: "パスキーをなくした場合",
    email: "メールアドレス",
    code: "復旧コード",
    useCode: "復旧コードを使う",
    byAddress: (url) => `数字のアドレスではパスキーを使えません。代わりに ${url} を開くか、リンクを使ってください。`,
    needsScript:
      "パスキーやウォレットでのサインインにはスクリプトが必要ですが、このブラウザーでは動作しません。リンクを使ってください。"
  },
  account: {
    title: "アカウント",
    passkeys: "パスキー",
    passkeysText:
      "パスキーを使うと、指紋、顔、端末のコードでこのサイトにだけサインインできます。2 つ用意しておいてください。",
    passkeyName: "新しいパスキーの名前",
    passkeyHint: "保存する端末の名前（例：ノートパソコン）",
    addPasskey: "パスキーを追加",
    needsScript: "パスキーの追加にはスクリプトが必要ですが、このブラウザーでは動作しません。",
    wallets: "ウォレット",
    walletsText:
      "このブラウザのウォレットは、テキストに署名してサインインします。送金も支出もありません。インストールすると下に表示されます。",
    walletAddress: "アドレス",
    linkWallet: "{wallet} を連携",
    walletNeedsScript: "ウォレットの連携にはスクリプトが必要ですが、このブラウザでは実行されません。",
    approves:
      "本番での承認にはパスキーまたはウォレットを使い、リンクでは承認できません。新しいものは追加から 24 時間後に、最初のオーナーのものはすぐに有効になります。",
    onlyLinks: "パスキーもウォレットもありません。",
    name: "名前",
    added: "追加日時",
    used: "最終使用",
    remove: "削除",
    waits: "本番で送金できるようになる日時：",
    pages: "言語と時刻",
    language: "言語",
    languageOfBrowser: "ブラウザーの設定に従う",
    timeZone: "タイムゾーン",
    pagesText: "ご自分の表示にだけ適用されます。帳簿の日と月、エクスポートは UTC のままです。",
    savePages: "保存",
    notices: "メールでのお知らせ",
    noticesText:
      "対応が必要な案件や、無効になった Webhook エンドポイントを、役割に応じてお知らせします。種類ごとに 1 時間に 1 通までです。",
    noticesOf: "お知らせの範囲",
    noticeChoices: { mainnet: "本番のみ", all: "本番とテスト", none: "なし" },
    recovery: "復旧コード",
    recoveryText:
      "すべてのパスキーをなくした場合に備える 10 個のコードです。新しく作ると、以前のコードは無効になります。",
    makeCodes: "新しいコードを作成",
    codes: "復旧コード",
    codesText:
      "コードが表示されるのは今回だけです。それぞれ、メールアドレスと合わせて 1 回サインインできます。紙に控えて保管してください。",
    sessions: "サインイン中の場所",
    method: "方法",
    methods: { passkey: "パスキー", wallet: "ウォレット", link: "リンク", recovery: "復旧コード" },
    here: "現在のセッション",
    signedIn: "開始",
    end: "サインアウト",
    endAll: "すべての場所でサインアウト"
  }
}
