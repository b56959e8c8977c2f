/** What is said to whoever approves that money goes out, in English. */
export const approvalTexts = {
  title: "What you approve",
  text: "This is what you sign, word by word. It is kept with your approval, so that anybody can check it later.",
  approve: "Approve",
  withoutSigning: "Approve without a signature, as this is play money",
  changed: "This has changed since you opened the page. Read it again, then press once more.",
  needsScript: "Approving real money takes a signature, which needs a script that this browser does not run.",
  nothingToSign:
    "Approving real money takes a passkey or a wallet of yours. Add one to your account: it approves real money a day later.",
  toAccount: "Add a passkey",
  waits: "You signed in by a link, or have just joined. You may approve real money from then on:",
  wallet: {
    pay: "Approve with {wallet}",
    asking: "Read the text in {wallet} and sign it. Nothing is sent or spent.",
    declined: "You declined in {wallet}.",
    busy: "{wallet} is already asking. Open it and answer there.",
    locked: "{wallet} is locked. Open it, then press again.",
    unknown: "{wallet} could not sign. Try again, or use a passkey."
  }
} as const
