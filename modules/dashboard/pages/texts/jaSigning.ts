/** Japanese: what is signed by a wallet. `{wallet}` and the like are filled in by the script. */
import type { SigningTexts } from "../Texts.ts"

export const signingTexts: SigningTexts = {
  signing: {
    title: "署名して支払う",
    text:
      "ウォレットからこれらの明細を支払います。ウォレットや人の報告にかかわらず、ネットワークで確認された時点で支払い済みになります。",
    collectText: "どのウォレットからでも送信できます。資金は自社の受け取り用ウォレットにしか届きません。",
    part: (part, parts) => parts === 1 ? "すべての明細" : `${parts} 分割中の ${part}`,
    wallets: "このブラウザーのウォレット",
    needsScript:
      "ブラウザーのウォレットにはスクリプトが必要ですが、このブラウザーでは動作しません。下の形式を使ってください。",
    form: "形式",
    formats: {
      eip5792: "呼び出し（EIP-5792）",
      transactions: "トランザクション、1 件ずつ",
      safe: "Safe、Transaction Builder",
      csv: "一覧（CSV）",
      solana: "Solana のトランザクション",
      ton: "TON Connect のメッセージ",
      sui: "Sui のトランザクション",
      cardano: "Cardano のトランザクション"
    },
    show: "表示",
    payloadText: "ウォレットに渡す内容です。署名できる間は変わらないので、何度でも表示できます。",
    back: "一括処理に戻る",
    already: "別のウォレットから送信した場合",
    hash: "そのトランザクション",
    hashHint: "まずそこを確認します。支払われたかどうかはネットワークが決めます。",
    tell: "確認する",
    wallet: {
      pay: "{wallet} で署名",
      asking: "{wallet} で確認してください。このページに「完了」と表示されるのは、ネットワークで確認された後です。",
      step: "{wallet} でステップ {step} / {steps} を確認してください。",
      waiting: "ステップ {step} / {steps} を送信しました。ブロックに入ると次に進みます。",
      sent: "{wallet} から送信しました。ネットワークで確認されるのを待っています。",
      declined: "{wallet} で拒否されました。続けるにはもう一度押してください。",
      busy: "{wallet} がすでに確認を求めています。開いて回答してください。",
      locked: "{wallet} はロックされています。開いてから、もう一度押してください。",
      chain: "{wallet} ではこのネットワークを利用できません。別のウォレットか、別の形式を使ってください。",
      account: "この一括処理は {account} から支払います。{wallet} でそのアカウントを選び、もう一度押してください。",
      given: "{wallet} にはすでに渡されています。開いて確認してください。二重に支払われることはありません。",
      funds: "アカウントの残高が足りません。",
      fee: "アカウントの残高がネットワーク手数料に足りません。",
      failed: "ネットワークで拒否されました。{wallet} でトランザクションを確認し、もう一度押してください。",
      unknown:
        "{wallet} から送信できませんでした。送信された形跡はありません。二重に支払われることはないので、もう一度押せます。"
    }
  }
}
