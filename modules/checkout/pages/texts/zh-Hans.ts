/** Chinese in simplified characters. */
import { plural, type Texts } from "../Texts.ts"

const found = plural("zh-Hans", { other: "# 种付款方式" })
const minutesLeft = plural("zh-Hans", { other: "价格还将保留 # 分钟" })

export const zhHans: Texts = {
  locale: "zh-Hans",
  language: "简体中文",
  direction: "ltr",
  fullStop: "。",

  testMode: "测试模式：不涉及真实资金",
  invoice: "账单",
  help: "帮助",
  chooseLanguage: "语言",
  change: "更改",
  checkPayment: "查看付款状态",

  stepWaiting: "等待付款",
  stepConfirming: "确认中",
  stepPaid: "已付款",
  progress: "付款进度",

  chooseTitle: "选择付款方式",
  chooseLabel: "币种和网络",
  search: "搜索币种或网络",
  found,
  nothingFound: "没有找到结果",
  noMethods: (merchant) => `目前没有可用的付款方式。请稍后再试，或联系 ${merchant}。`,
  proceed: "继续",
  minimum: (amount) => `最低 ${amount}`,
  networkDown: "网络异常",
  noPriceNow: "暂无价格",
  notAvailable: "不可用",

  waitingTitle: "等待您付款",
  scanOrCopy: "请用钱包扫码，或复制下方信息",
  paymentLink: "付款链接",
  addressOnly: "仅地址",
  qrName: (amount, address, network) => `通过 ${network} 网络向 ${address} 支付 ${amount} 的二维码`,
  qrAddressName: (address, network) => `${network} 网络地址 ${address} 的二维码`,
  priceHeldFor: "价格保留时间",
  timeLeft: "剩余付款时间",
  payBy: "付款截止时间",
  amountToSend: "转账金额",
  remainingToSend: "剩余金额",
  addressOn: (network) => `${network} 网络地址`,
  memo: "备注（Memo）",
  memoNeeded: "许多付款都会转入此地址，备注用于识别您的付款。请将其填入钱包的备注（Memo）栏。" +
    "如果不填写，我们无法匹配您的付款。",
  memoFromExchange: "如需从交易所付款，请先确认可以填写此备注。",
  sendOnly: (token, network) => `请仅通过 ${network} 网络转入 ${token}。`,
  otherwiseLost: "使用其他代币或其他网络转账，资金可能永久丢失。",
  openInWallet: "在钱包中打开",
  useAnother: "使用其他币种",
  payingWith: (token, network) => `您正通过 ${network} 网络使用 ${token} 付款`,
  copy: "复制",
  copyOf: (what) => `复制：${what}`,
  copied: "已复制",
  minutesLeft,

  quoteEndedTitle: "价格需要更新",
  quoteEnded: "价格仅保留几分钟，现已过期。请先获取新价格再转账，地址保持不变。您已转出的资金不会丢失。",
  newPrice: "获取新价格",
  noPriceTitle: "暂无价格",
  noPrice: "目前无法获取该币种的价格，请暂时不要转账，几分钟后再试。您已转出的资金不会丢失。",

  confirmingTitle: "已检测到付款，正在确认",
  mayClose: (merchant) => `您可以关闭此页面。付款确认后，${merchant} 会收到通知。`,
  confirmations: (done, needed) => `区块确认：${done} / ${needed}`,
  received: "已收到",
  transaction: "交易",
  viewTransaction: (hash) => `在区块浏览器中查看交易 ${hash}`,

  partialTitle: "已收到部分付款",
  partial: (received, remaining) => `我们已收到 ${received}。请将剩余的 ${remaining} 转到同一地址。`,
  stillPayable: "付款时间已过，但您仍可转入剩余金额。",

  paidTitle: "付款完成",
  paid: (merchant) => `${merchant} 已收到您的付款。`,
  overpaidTitle: (extra) => `已付款，多付 ${extra}`,
  overpaid: (extra, merchant) => `您多付了 ${extra}。请联系 ${merchant} 退款。`,
  returnTo: (merchant) => `返回 ${merchant}`,
  paidAt: "付款时间",
  total: "合计",

  expiredTitle: "此付款已过期",
  expired: "我们没有收到任何款项。请勿再向原地址转账。",
  expiredSent: "如果您已转账，请勿重复付款，款项到账后会显示在此处。",
  startAgain: "重新开始",
  expiredContact: (merchant) => `请向 ${merchant} 索取新的账单。`,

  lateTitle: "您的付款在截止时间后到账",
  late: (received, merchant) => `我们在截止时间后收到 ${received}。${merchant} 可以接受该款项或退款。`,
  expiredPartialTitle: "付款时间已过，仅收到部分付款",
  expiredPartial: (received, merchant) => `我们收到 ${received}，少于应付金额。${merchant} 可以接受该款项或退款。`,
  doNotPayAgain: "请勿重复付款。",
  contact: (merchant) => `联系 ${merchant}`,
  contactNobody: (merchant) => `请联系 ${merchant}，并提供上方的账单编号。`,

  canceledTitle: "此账单已取消",
  canceled: (merchant) => `${merchant} 已取消此账单。请勿转账。如果您已付款，请申请退款。`,

  reversedTitle: "您的付款已被网络撤销",
  reversed: "网络撤销了您的交易，款项未到账。资金应已回到您的钱包。",
  payAgain: "请先查看您的钱包。如果资金在钱包中，您可以重新付款。",
  rejectedTitle: "我们收到了其他款项",
  rejected: (merchant) => `我们收到一笔此账单不接受的转账，未计入付款。请联系 ${merchant} 退款。`,

  refundTitle: "如需退款，退到哪里？",
  refundAddress: (network) => `您的 ${network} 网络地址`,
  refundSave: "保存地址",
  refundSaved: "已保存。如有退款，将发送到该地址。",
  refundWrong: (network) => `这不是 ${network} 网络的地址，请检查。`,

  offline: "连接已断开。恢复后，此页面会自动更新。您已转出的资金不会丢失。",
  networkDegraded: (network) =>
    `${network} 网络目前出现异常，您的付款可能会比平时更晚显示。如果您已转账，请勿重复转账。`,

  simulateTitle: "模拟付款",
  simulateNote: "测试模式：使用虚拟资金，无需钱包。",
  simulatePay: "付款",
  simulatePartial: "支付一半",
  simulateOver: "超额付款",
  simulateLate: "延迟付款",

  sessionEndedTitle: "此链接无法打开付款",
  sessionEnded: "链接不完整或已过期。请重新打开您收到的链接，或向商家索取新链接。",
  notFoundTitle: "这里没有内容",
  notFound: "此网址没有对应的付款。请重新打开您收到的链接。",
  tooManyTitle: "尝试次数过多",
  tooMany: "请稍等片刻，然后重新加载页面。",
  unavailableTitle: "请稍候",
  unavailable: "目前无法显示您的付款。您已转出的资金不会丢失。请等待几秒钟，然后重试。",
  failedTitle: "出了点问题",
  failed: "请稍后重新加载页面。您已转出的资金不会丢失。",
  tryAgain: "重试"
}
