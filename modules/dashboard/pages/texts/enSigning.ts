/** English: what is signed by a wallet. `{wallet}` and the like are filled in by the script. */
export const signingTexts = {
  signing: {
    title: "Sign and pay",
    text:
      "Your wallet pays these lines. They count as paid when the network shows it, whatever a wallet or a person says.",
    collectText: "Any wallet may send this. It can pay nobody but your own receiving wallet.",
    part: (part: number, parts: number) => parts === 1 ? "All lines" : `Part ${part} of ${parts}`,
    wallets: "Wallets of this browser",
    needsScript: "A wallet of this browser needs a script, which this browser does not run. Use a form below.",
    form: "Form",
    formats: {
      eip5792: "Calls (EIP-5792)",
      transactions: "Transactions, one by one",
      safe: "Safe, Transaction Builder",
      csv: "List (CSV)",
      solana: "Solana transaction",
      ton: "TON Connect message",
      sui: "Sui transaction",
      cardano: "Cardano transaction"
    },
    show: "Show it",
    payloadText:
      "This is what the wallet is given. Show it again as often as you like: it stays the same while it can be signed.",
    back: "Back to the batch",
    already: "Sent from another wallet?",
    hash: "Its transaction",
    hashHint: "We look there first. The network decides what was paid.",
    tell: "Look there",
    wallet: {
      pay: "Sign with {wallet}",
      asking: "Confirm in {wallet}. This page says \"Done\" only when the network shows it.",
      step: "Confirm step {step} of {steps} in {wallet}.",
      waiting: "Step {step} of {steps} was sent. The next one comes when it is in a block.",
      sent: "Sent from {wallet}. Waiting for the network to show it.",
      declined: "You declined in {wallet}. Press again to go on.",
      busy: "{wallet} is already asking. Open it and answer there.",
      locked: "{wallet} is locked. Open it, then press again.",
      chain: "{wallet} can not use this network. Use another wallet, or another form.",
      account: "This batch is paid from {account}. Choose that account in {wallet}, then press again.",
      given: "{wallet} has this already. Open it and look there: it is never paid twice.",
      funds: "The account has too little for this.",
      fee: "The account has too little for the network's fee.",
      failed: "The network refused it. Look at the transaction in {wallet}, then press again.",
      unknown:
        "{wallet} could not send it. Nothing is known to be sent; it is never paid twice, so you may press again."
    }
  }
} as const
