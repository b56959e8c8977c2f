/** Japanese: what is said to whoever approves that money goes out. */
import type { ApprovalTexts } from "../Texts.ts"

export const approvalTexts: ApprovalTexts = {
  title: "承認する内容",
  text: "署名するのはこの文章そのものです。承認とともに保存され、後から誰でも確認できます。",
  approve: "承認する",
  withoutSigning: "テスト用の資金のため、署名なしで承認する",
  changed: "ページを開いた後に内容が変わりました。読み直してから、もう一度押してください。",
  needsScript: "実際のお金の承認には署名が必要です。署名にはスクリプトが必要ですが、このブラウザーでは動作しません。",
  nothingToSign:
    "実際のお金の承認には、ご自分のパスキーかウォレットが必要です。アカウントに追加すると、1 日後から承認に使えます。",
  toAccount: "パスキーを追加",
  waits: "リンクでサインインしたか、参加したばかりです。実際のお金を承認できるようになる日時：",
  wallet: {
    pay: "{wallet} で承認",
    asking: "{wallet} で文章を読み、署名してください。送金や支出はありません。",
    declined: "{wallet} で拒否されました。",
    busy: "{wallet} がすでに確認を求めています。開いて回答してください。",
    locked: "{wallet} はロックされています。開いてから、もう一度押してください。",
    unknown: "{wallet} で署名できませんでした。もう一度試すか、パスキーを使ってください。"
  }
}
