/** Simplified Chinese: what is signed by a wallet. `{wallet}` and the like are filled in by the script. */
import type { SigningTexts } from "../Texts.ts"

export const signingTexts: SigningTexts = {
  signing: {
    title: "签名并付款",
    text: "由您的钱包支付这些明细。无论钱包或人员怎么说，只有网络显示后才算已支付。",
    collectText: "任何钱包都可以发送。资金只会进入您自己的收款钱包。",
    part: (part, parts) => parts === 1 ? "全部明细" : `第 ${part} 批，共 ${parts} 批`,
    wallets: "此浏览器中的钱包",
    needsScript: "使用浏览器钱包需要脚本，而此浏览器未运行脚本。请使用下方的其他形式。",
    form: "形式",
    formats: {
      eip5792: "调用（EIP-5792）",
      transactions: "逐笔交易",
      safe: "Safe，Transaction Builder",
      csv: "列表（CSV）",
      solana: "Solana 交易",
      ton: "TON Connect 消息",
      sui: "Sui 交易",
      cardano: "Cardano 交易"
    },
    show: "显示",
    payloadText: "这是交给钱包的内容。在可以签名期间内容不变，您可以随时再次显示。",
    back: "返回批次",
    already: "已用其他钱包发送？",
    hash: "其交易",
    hashHint: "我们会先查看该交易。是否已付款由网络决定。",
    tell: "查看",
    wallet: {
      pay: "使用 {wallet} 签名",
      asking: "请在 {wallet} 中确认。只有网络显示后，此页面才会显示“已完成”。",
      step: "请在 {wallet} 中确认第 {step} 步，共 {steps} 步。",
      waiting: "第 {step} 步已发送，共 {steps} 步。进入区块后继续下一步。",
      sent: "已通过 {wallet} 发送。正在等待网络显示。",
      declined: "您已在 {wallet} 中拒绝。再按一次可继续。",
      busy: "{wallet} 已在等待确认。请打开并在其中操作。",
      locked: "{wallet} 已锁定。请先打开，然后再按一次。",
      chain: "{wallet} 无法使用此网络。请使用其他钱包或其他形式。",
      account: "此批次由 {account} 支付。请在 {wallet} 中选择该账户，然后再按一次。",
      given: "{wallet} 已收到此内容。请打开查看：绝不会重复支付。",
      funds: "账户余额不足。",
      fee: "账户余额不足以支付网络费用。",
      failed: "网络拒绝了此交易。请在 {wallet} 中查看交易，然后再按一次。",
      unknown: "{wallet} 无法发送。据目前所知没有发送任何内容；绝不会重复支付，您可以再按一次。"
    }
  }
}
