/** Simplified Chinese: the pages of developers and of settings. */
import { plural } from "../../../../runtime/pages/Languages.ts"
import type { ToolTexts } from "../Texts.ts"

const hours = plural("zh-Hans", { other: "调快 # 小时" })

export const toolTexts: ToolTexts = {
  exports: {
    title: "导出",
    from: "开始日期",
    until: "结束日期",
    kinds: {
      invoices: "账单",
      payments: "付款",
      refunds: "退款",
      lots: "收款及其价值",
      koinly: "Koinly",
      "balance-transactions": "变动",
      journal: "日记账"
    }
  },
  webhooks: {
    none: "还没有通知任何人。",
    add: "添加端点",
    added: "端点已添加",
    rotated: "新签名密钥",
    secretText: "此签名密钥仅显示这一次。请保存在您的店铺系统中，用于验证签名；旧密钥在一天内仍然有效。",
    url: "地址",
    urlHint: "公开的 https 地址，其中不含密码",
    events: "事件",
    description: "描述",
    event: "事件",
    answer: "响应",
    millis: "毫秒",
    tries: "尝试次数",
    nextTry: "下次尝试",
    attempt: (number) => `第 ${number} 次尝试`,
    error: "错误",
    deliveries: "投递",
    sendAgain: "重新发送",
    sendExample: "发送示例",
    rotate: "更换签名密钥",
    disable: "停用",
    enable: "启用",
    endpointStates: { enabled: "已启用", disabled: "已停用" },
    deliveryStates: {
      pending: "等待中",
      delivering: "正在发送",
      succeeded: "已送达",
      retrying: "失败，将重试",
      failed: "失败",
      canceled: "已取消"
    }
  },
  events: { type: "类型", about: "关于", waiting: "等待中的 Webhook" },
  keys: {
    make: "创建密钥",
    made: "密钥已创建",
    secretText: "此密钥仅显示这一次。请只保存在您的服务器读取的位置。",
    name: "名称",
    key: "密钥",
    permissions: "权限",
    lastUsed: "最近使用",
    roll: "替换",
    revoke: "吊销",
    scope: "范围",
    scopes: { merchant: "整个账户", commerce: "仅商务记录" },
    permissionTexts: {
      read: "读取全部内容",
      write: "更改除转出资金以外的全部内容",
      refund: "创建须由人员批准的退款和批次"
    },
    states: { active: "使用中", rotating: "已替换，即将失效", expired: "已过期", revoked: "已吊销" }
  },
  settings: {
    tokensKeep: "已打开的付款页面保留其原有选项。",
    policies: {
      accept_all: "接受除已停用外的所有代币",
      selective: "仅接受所选代币",
      accept_none: "不接受任何代币"
    },
    accepted: "已接受",
    blocked: "已停用",
    noWallets: "还没有收款钱包，因此无人能在真实网络上向您付款。",
    families: {
      evm: "Ethereum 及同类网络",
      solana: "Solana",
      ton: "TON",
      sui: "Sui",
      cardano: "Cardano"
    },
    kind: "类型",
    value: "公开部分",
    nextIndex: "下一个地址",
    highestIndex: "收到付款的最高地址",
    compare: "请打开您的钱包：这些地址一致吗？",
    name: "付款页面上的名称",
    accent: "颜色",
    accentHint: "例如 #2a4fd8；其上的白色文字须清晰可读",
    supportEmail: "帮助邮箱",
    payeeProof: "向付款人显示如何核对地址",
    payeeProofText: "在转发器钱包的地址下方，页面会列出您的收款人以及计算该地址所用的数据。所有付款人都会看到收款人。",
    save: "保存",
    means: "含义",
    head: "最新区块"
  },
  limits: {
    inForce: "现行限额",
    pending: "等待生效的更高限额",
    none: "无限额",
    raising: "调低限额立即生效。调高限额须等另一位所有者或管理员批准（如有），然后再等 24 小时。",
    names: {
      auto_approve_limit: "一人单独批准的上限",
      auto_approve_limit_day: "一人一天（UTC）单独批准的合计上限",
      payout_limit_batch: "单个对外付款批次的上限",
      payout_limit_day: "一天（UTC）对外付款的合计上限"
    },
    hints: {
      auto_approve_limit: "以美元计。超出时，若有两人可以批准，则须两人批准",
      auto_approve_limit_day: "以美元计，退款与对外付款合计。超出时，若有两人可以批准，则须两人批准",
      payout_limit_batch: "以美元计。留空表示无限额",
      payout_limit_day: "以美元计。留空表示无限额"
    },
    save: "保存"
  },
  pending: {
    wallet: (family) => `${family}：另一个钱包等待生效`,
    needsApproval: "尚未生效。须由另一位所有者或管理员批准，批准后 24 小时生效。",
    waits: "尚未生效。若无人取消，将自动生效。",
    proposedBy: "提出人",
    proposedAt: "提出时间",
    approvedBy: "批准人",
    inForceFrom: "生效时间",
    approve: "批准此变更",
    cancel: "取消此变更"
  },
  found: {
    title: "搜索",
    nothing: (text) => `没有找到“${text}”。`,
    hint: "账单编号或其末尾、交易、地址、类似 49.99 的金额，或客户。",
    kind: "类别",
    matched: "匹配项"
  },
  team: {
    members: "成员",
    alone: "目前只有您一人。请邀请第二个人，让资金转出需要两人批准。",
    name: "姓名",
    email: "电子邮箱",
    emailHint: "不会发送任何邮件：请您自己转交链接",
    sendEmail: "将链接发送到此邮箱",
    role: "角色",
    joined: "加入时间",
    change: "更改",
    remove: "移除",
    removeText: "此人会立即退出登录，需要新的邀请才能回来。",
    removeNow: "确认移除",
    invite: "邀请",
    invited: "邀请已创建",
    invitedSentText: "此链接正在发送给对方。七天内可使用一次，且仅显示这一次。",
    invitedText: "请您自己将此链接交给对方。七天内可使用一次，且仅显示这一次。",
    invitations: "邀请记录",
    revoke: "撤回",
    invitationStates: {
      waiting: "等待第二位所有者",
      open: "有效",
      accepted: "已接受",
      revoked: "已撤回",
      expired: "已过期"
    },
    joinTitle: "加入团队",
    joinText: "请填写其他人认识您的名字。之后您即已登录。",
    join: "加入"
  },
  audit: { who: "操作人", what: "对象", action: "操作", change: "变更", show: "显示", hash: "哈希" },
  simulator: {
    title: "模拟器",
    text: "虚拟资金。每个按钮模拟一件事，并由处理真实资金的同一套规则处理。",
    open: "模拟",
    close: "关闭",
    route: "代币",
    anyRoute: "页面上显示的代币，或 Base 网络的 USDC",
    dollars: "美元",
    dollarsHint: "留空表示尚缺的金额",
    blocks: "其后的区块数",
    blocksHint: "留空表示所需的全部区块。0 表示仅检测到",
    groups: {
      transfers: "转账到账",
      mistakes: "转账出错",
      blocks: "最新一笔转账在网络上的情况",
      ends: "结束与结算"
    },
    actions: {
      pay: "付款",
      partial: "支付一半",
      overpay: "多付十分之一",
      late: "截止后付款",
      wrong_token: "用其他代币付款",
      wrong_network: "用其他网络付款",
      missing_memo: "不填备注（Memo）",
      unmatched: "早于账单付款",
      duplicate: "重复付款",
      dust: "金额过小，不计入",
      confirm: "确认",
      reorg: "移到另一个区块",
      drop: "从网络上移除",
      expire: "让账单过期",
      settle: "结算",
      fail_settlement: "让结算失败"
    },
    outcomes: { succeeded: "模拟：已支付", failed: "模拟：失败" },
    clock: "时钟",
    clockText: "将您的测试时钟调快：账单会过期，等待中的投递会到时发送。无法调回。",
    hours,
    payTitle: "第一笔付款",
    payText: "创建一个账单并付款，让您看到之后的全部过程。",
    pay: "模拟一笔付款",
    invoiceTitle: "模拟付款",
    networks: "网络故障",
    networksText: "仅影响您自己的测试账单，直到服务重新启动。",
    modes: { down: "中断", lagging: "区块延迟", ok: "恢复原状" },
    newest: "最新付款",
    newestText: "打开其中一笔，即可部分付款、重复付款，或让网络撤销。"
  },
  tokens: {
    preview: "客户看到的内容",
    before: "当前",
    after: "更改后",
    unsaved: "更改尚未保存。按“保存”后即开始提供。",
    look: "预览",
    policy: "您接受的代币",
    chosen: "已选",
    chosenHint: "勾选内容在仅接受所选代币时生效，其他情况下会保留。",
    acceptOne: (symbol, network) => `接受 ${network} 网络的 ${symbol}`,
    bulk: "批量更改",
    allNetworks: "所有网络",
    acceptAll: "全部接受",
    blockAll: "全部停用"
  },
  wallets: {
    kinds: {
      xpub: "账户公钥",
      address: "单个地址",
      pool: "地址列表",
      forwarder: "转发到您地址的合约"
    },
    comparePayee: "这是您自己的地址吗？所有付款都会转到该地址，且只能转到该地址。",
    compareText: "请勾选您自己的钱包在相同位置显示的每个地址。若有一个不一致，请立即移除此钱包。",
    add: "设置收款钱包",
    addText: "请只填写公开部分。谁持有私钥或助记词，谁就掌握您的资金：我们的任何页面都不会索要。",
    family: "网络",
    value: "公钥或地址",
    valueHint: "例如钱包账户设置中的 xpub。地址列表请通过 API 设置。",
    startIndex: "起始地址序号",
    startIndexHint: "从未使用过的账户填 0，否则填已使用的最高序号加一。测试模式下请留空",
    set: "设置此钱包",
    remove: "移除此钱包",
    removeText: "账单不再使用它的地址。已付到其中的资金不会被转移。",
    removeNow: "确认移除"
  },
  preview: {
    title: "预览",
    text: "使用虚构数据的付款页面。不会保存任何内容，任何人都无法在其中付款。",
    look: "预览",
    state: "付款状态",
    language: "语言",
    theme: "浅色或深色",
    themes: { light: "浅色", dark: "深色" },
    device: "设备",
    devices: { phone: "手机", desktop: "电脑" },
    show: "显示",
    frame: (state) => `付款页面：${state}`,
    states: {
      choose: "选择币种",
      waiting: "等待付款",
      quote_ended: "价格已过期",
      no_price: "暂无价格",
      confirming: "确认中",
      partial: "部分付款",
      paid: "已付款",
      overpaid: "多付",
      expired: "已过期",
      late: "到账过晚",
      expired_partial: "已过期，部分付款",
      canceled: "已取消",
      reversed: "被网络撤销",
      rejected: "未接受"
    }
  }
}
