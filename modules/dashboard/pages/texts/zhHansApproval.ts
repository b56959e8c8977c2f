/** What is said to whoever approves that money goes out, in Simplified Chinese. */
import type { ApprovalTexts } from "../Texts.ts"

export const approvalTexts: ApprovalTexts = {
  title: "您批准的内容",
  text: "以下是您要签名的全文，一字不差。它会与您的批准一同保存，日后任何人都可以核对。",
  approve: "批准",
  withoutSigning: "不签名直接批准，因为这是虚拟资金",
  changed: "您打开此页面后，内容已有变更。请重新阅读，然后再按一次。",
  needsScript: "批准真实资金需要签名，而签名需要脚本，此浏览器未运行脚本。",
  nothingToSign: "批准真实资金需要您的通行密钥或钱包。请在您的账户中添加一个：添加一天后即可用于批准真实资金。",
  toAccount: "添加通行密钥",
  waits: "您是通过链接登录的，或刚刚加入。您可以批准真实资金的时间：",
  wallet: {
    pay: "使用 {wallet} 批准",
    asking: "请在 {wallet} 中阅读文字并签名。不会发送或花费任何资金。",
    declined: "您已在 {wallet} 中拒绝。",
    busy: "{wallet} 已在等待确认。请打开并在其中操作。",
    locked: "{wallet} 已锁定。请先打开，然后再按一次。",
    unknown: "{wallet} 无法签名。请重试，或使用通行密钥。"
  }
}
