/** English: the pages of developers and of settings. */
export const toolTexts = {
  exports: {
    title: "Export",
    from: "From",
    until: "Until",
    kinds: {
      invoices: "Invoices",
      payments: "Payments",
      refunds: "Refunds",
      lots: "What came in, with its worth",
      koinly: "Koinly",
      "balance-transactions": "Movements",
      journal: "Journal"
    }
  },
  webhooks: {
    none: "Nobody is told yet.",
    add: "Add an endpoint",
    added: "The endpoint is added",
    rotated: "A new secret",
    secretText:
      "This secret is shown this once. Keep it with your shop, which checks signatures by it; the one before is good for a day.",
    url: "Address",
    urlHint: "Public https, without a password in it",
    events: "Events",
    description: "Description",
    event: "Event",
    answer: "Answer",
    millis: "Milliseconds",
    tries: "Tries",
    nextTry: "Next try",
    attempt: (number: number) => `Try ${number}`,
    error: "Error",
    deliveries: "Deliveries",
    sendAgain: "Send again",
    sendExample: "Send an example",
    rotate: "Change secret",
    disable: "Turn off",
    enable: "Turn on",
    endpointStates: { enabled: "On", disabled: "Off" },
    deliveryStates: {
      pending: "Waiting",
      delivering: "Being sent",
      succeeded: "Delivered",
      retrying: "Failed, tried again",
      failed: "Failed",
      canceled: "Canceled"
    }
  },
  events: { type: "Type", about: "About", waiting: "Webhooks that wait" },
  keys: {
    make: "Make a key",
    made: "The key is made",
    secretText: "The key is shown this once. Store it where your server reads it, and nowhere else.",
    name: "Name",
    key: "Key",
    permissions: "What it may do",
    lastUsed: "Used last",
    roll: "Replace",
    revoke: "Revoke",
    scope: "Scope",
    scopes: { merchant: "The whole account", commerce: "Commerce records only" },
    permissionTexts: {
      read: "Read everything",
      write: "Change everything but what sends money",
      refund: "Make refunds and batches, which people approve"
    },
    states: { active: "In use", rotating: "Replaced, ends soon", expired: "Expired", revoked: "Revoked" }
  },
  settings: {
    tokensKeep: "Open payment pages keep what they offered.",
    policies: {
      accept_all: "Every token is accepted but those turned off",
      selective: "Only chosen tokens are accepted",
      accept_none: "No token is accepted"
    },
    accepted: "Accepted",
    blocked: "Turned off",
    noWallets: "No receiving wallet yet: nobody can pay you on a real network.",
    families: {
      evm: "Ethereum and its relatives",
      solana: "Solana",
      ton: "TON",
      sui: "Sui",
      cardano: "Cardano"
    },
    kind: "Kind",
    value: "Public part",
    nextIndex: "Next address",
    highestIndex: "Highest address paid to",
    compare: "Open your wallet: do these addresses match?",
    name: "Name on the payment page",
    accent: "Colour",
    accentHint: "Like #2a4fd8; white text on it must be readable",
    supportEmail: "Address for help",
    payeeProof: "Show payors how to check an address",
    payeeProofText:
      "Below an address of your forwarder wallet the page names your payee and what the address is computed from. Every payor then sees the payee.",
    save: "Save",
    means: "What it means",
    head: "Newest block"
  },
  limits: {
    inForce: "In force",
    pending: "Higher limits that wait",
    none: "No limit",
    raising:
      "A lower limit holds at once. A higher one waits for another owner or admin, where there is one, and then 24 hours.",
    names: {
      auto_approve_limit: "One person approves alone, up to",
      auto_approve_limit_day: "All that one person approves alone on a day (UTC), at most",
      payout_limit_batch: "One batch of payouts, at most",
      payout_limit_day: "All payouts of a day (UTC), at most"
    },
    hints: {
      auto_approve_limit: "In dollars. Above it two people must, where two may approve",
      auto_approve_limit_day:
        "In dollars, of all refunds and payouts together. Above it two people must, where two may approve",
      payout_limit_batch: "In dollars. Empty: no limit",
      payout_limit_day: "In dollars. Empty: no limit"
    },
    save: "Save"
  },
  pending: {
    wallet: (family: string) => `${family}: another wallet waits`,
    needsApproval: "It is not in force. Another owner or admin must approve it; 24 hours later it comes into force.",
    waits: "It is not in force yet. It comes into force by itself, unless somebody cancels it.",
    proposedBy: "Wanted by",
    proposedAt: "Since",
    approvedBy: "Approved by",
    inForceFrom: "In force from",
    approve: "Approve this change",
    cancel: "Cancel this change"
  },
  found: {
    title: "Search",
    nothing: (text: string) => `Nothing found for “${text}”.`,
    hint: "An invoice's number or its end, a transaction, an address, an amount like 49.99, or a customer.",
    kind: "What",
    matched: "Found by"
  },
  team: {
    members: "Members",
    alone: "You are alone here. Invite a second person, so that money takes two.",
    name: "Name",
    email: "E-mail",
    emailHint: "Nothing is sent to it: you give the link yourself",
    sendEmail: "E-mail the link to this address",
    role: "Role",
    joined: "Since",
    change: "Change",
    remove: "Remove",
    removeText: "The person is signed out at once, and needs a new invitation to come back.",
    removeNow: "Yes, remove",
    invite: "Invite a person",
    invited: "The invitation is made",
    invitedSentText: "This link is on its way to the person. It is for one use within seven days, and shown this once.",
    invitedText: "Give this link to the person yourself. It is for one use within seven days, and shown this once.",
    invitations: "Invitations",
    revoke: "Revoke",
    invitationStates: {
      waiting: "Waits for a second owner",
      open: "Open",
      accepted: "Accepted",
      revoked: "Revoked",
      expired: "Expired"
    },
    joinTitle: "Join the team",
    joinText: "Say how the others know you. You are signed in afterwards.",
    join: "Join"
  },
  audit: { who: "Who", what: "What", action: "Did", change: "Change", show: "Show", hash: "Hash" },
  simulator: {
    title: "Simulator",
    text: "Play money. Each button tells one fact to the rules that real money goes through.",
    open: "Simulate",
    close: "Close",
    route: "Token",
    anyRoute: "The one the page shows, or USDC on Base",
    dollars: "Dollars",
    dollarsHint: "Leave it empty for what is missing",
    blocks: "Blocks on top of it",
    blocksHint: "Leave it empty for as many as it needs. 0: seen only",
    groups: {
      transfers: "A transfer comes",
      mistakes: "A transfer goes wrong",
      blocks: "The newest transfer, on the network",
      ends: "The end, and the way to you"
    },
    actions: {
      pay: "Pay",
      partial: "Pay half",
      overpay: "Pay a tenth too much",
      late: "Pay after the end",
      wrong_token: "Another token",
      wrong_network: "Another network",
      missing_memo: "No memo",
      unmatched: "Before the invoice",
      duplicate: "Pay twice",
      dust: "Too small to count",
      confirm: "Confirm",
      reorg: "Move to another block",
      drop: "Take it off the network",
      expire: "End the invoice",
      settle: "Settle",
      fail_settlement: "Fail to settle"
    },
    outcomes: { succeeded: "Simulate: paid out", failed: "Simulate: failed" },
    clock: "Clock",
    clockText: "Moves your Test clock forward: invoices end and waiting deliveries come due. There is no way back.",
    hours: (hours: number) => hours === 1 ? "1 hour later" : `${hours} hours later`,
    payTitle: "A first payment",
    payText: "Opens an invoice and pays it, so that you see all that follows.",
    pay: "Simulate a payment",
    invoiceTitle: "Simulated payment",
    networks: "Networks that fail",
    networksText: "For your own Test invoices only, until the service is started again.",
    modes: { down: "Down", lagging: "Late blocks", ok: "As it is" },
    newest: "Newest payments",
    newestText: "Open one to pay part of it, pay it twice, or let the network undo it."
  },
  tokens: {
    preview: "Your customer sees",
    before: "Now",
    after: "With your change",
    unsaved: "This is not saved yet. Press Save to offer it from now on.",
    look: "Preview",
    policy: "What you accept",
    chosen: "Chosen",
    chosenHint: "What you tick counts where only chosen tokens are accepted, and is kept otherwise.",
    acceptOne: (symbol: string, network: string) => `Accept ${symbol} on ${network}`,
    bulk: "Many at once",
    allNetworks: "All networks",
    acceptAll: "Accept all of it",
    blockAll: "Turn off all of it"
  },
  wallets: {
    kinds: {
      xpub: "Public key of an account",
      address: "One address",
      pool: "List of addresses",
      forwarder: "Forwarder to your address"
    },
    comparePayee: "Is this your own address? All that is paid goes to it, and can go nowhere else.",
    compareText:
      "Tick each one that your own wallet shows in the same place. If one does not match, remove this wallet at once.",
    add: "Set a receiving wallet",
    addText:
      "Give the public part only. Whoever has a private key or a recovery phrase has your money: no page of ours ever asks for one.",
    family: "Networks",
    value: "Public key or address",
    valueHint: "Such as an xpub from your wallet's account settings. A list of addresses is set by the API.",
    startIndex: "First address to use",
    startIndexHint: "0 for an account that was never used, else one past the highest that was. Leave it empty in Test",
    set: "Set this wallet",
    remove: "Remove this wallet",
    removeText: "Invoices get no more addresses of it. Nothing that was paid to it is moved.",
    removeNow: "Yes, remove it"
  },
  preview: {
    title: "Preview",
    text: "Your payment page with invented data. Nothing of it is saved, and nobody can pay on it.",
    look: "Preview",
    state: "State of the payment",
    language: "Language",
    theme: "Light or dark",
    themes: { light: "Light", dark: "Dark" },
    device: "Device",
    devices: { phone: "Phone", desktop: "Desktop" },
    show: "Show",
    frame: (state: string) => `Payment page: ${state}`,
    states: {
      choose: "Choose a currency",
      waiting: "Waiting",
      quote_ended: "Price has ended",
      no_price: "No price",
      confirming: "Confirming",
      partial: "Part paid",
      paid: "Paid",
      overpaid: "Paid too much",
      expired: "Expired",
      late: "Arrived late",
      expired_partial: "Expired, part paid",
      canceled: "Canceled",
      reversed: "Undone by the network",
      rejected: "Not accepted"
    }
  }
} as const
