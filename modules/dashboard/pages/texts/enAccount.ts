/** English: signing in, and what a person has for itself. */
export const accountTexts = {
  signIn: {
    title: "Sign in",
    hello: "Your shop's payments, refunds and books.",
    againTitle: "Is it still you?",
    againText:
      "This lets money go, or changes who may. Prove that you are the one who signed in; it holds for 5 minutes. Then press once more.",
    again: "Prove it with a passkey",
    back: "Back, without a proof",
    linkTitle: "Sign in with your link",
    linkText: "The link signs in one person, once, within ten minutes of being made.",
    token: "Token of the link",
    go: "Continue",
    passkey: "Sign in with a passkey",
    wallets: "Wallets of this browser",
    wallet: {
      pay: "Sign in with {wallet}",
      asking: "Confirm in {wallet}. It signs a text, and nothing is sent or spent.",
      declined: "You declined in {wallet}.",
      busy: "{wallet} is already asking. Open it and answer there.",
      locked: "{wallet} is locked. Open it, then press again.",
      unknown: "{wallet} could not sign. Try again, or sign in another way."
    },
    recovery: "Lost your passkey?",
    email: "E-mail",
    code: "Recovery code",
    useCode: "Use a recovery code",
    byAddress: (url: string) => `Passkeys do not work on an address of numbers. Open ${url} instead, or use a link.`,
    needsScript: "Signing in with a passkey or a wallet needs a script, which this browser does not run. Use a link."
  },
  account: {
    title: "Your account",
    passkeys: "Passkeys",
    passkeysText:
      "A passkey signs you in by your fingerprint, your face or your device's code, on this site only. Keep two.",
    passkeyName: "Name of the new passkey",
    passkeyHint: "Of the device that keeps it, such as Laptop",
    addPasskey: "Add a passkey",
    needsScript: "Adding a passkey needs a script, which this browser does not run.",
    wallets: "Wallets",
    walletsText:
      "A wallet of this browser signs you in by signing a text: nothing is sent or spent. Once it is installed here, it appears below.",
    walletAddress: "Address",
    linkWallet: "Link {wallet}",
    walletNeedsScript: "Linking a wallet needs a script, which this browser does not run.",
    approves:
      "On Live you approve with a passkey or a wallet, never with a link. A new one counts 24 hours after it was added, the first owner's at once.",
    onlyLinks: "You have neither a passkey nor a wallet.",
    name: "Name",
    added: "Added",
    used: "Last used",
    remove: "Remove",
    waits: "Moves no money on Live until",
    pages: "Language and time",
    language: "Language",
    languageOfBrowser: "As the browser asks for",
    timeZone: "Time zone",
    pagesText: "For you alone. Days and months of the books, and exports, stay in UTC.",
    savePages: "Save",
    notices: "Messages by e-mail",
    noticesText:
      "When a case needs you, or a webhook endpoint is disabled, as your role allows. At most one an hour of each.",
    noticesOf: "Tell me of",
    noticeChoices: { mainnet: "Live only", all: "Live and Test", none: "Nothing" },
    recovery: "Recovery codes",
    recoveryText: "Ten codes for the day all your passkeys are lost. New ones end those you had.",
    makeCodes: "Make new codes",
    codes: "Recovery codes",
    codesText: "These codes are shown this once. Each signs you in once, with your e-mail address. Keep them on paper.",
    sessions: "Where you are signed in",
    method: "By",
    methods: { passkey: "Passkey", wallet: "Wallet", link: "Link", recovery: "Recovery code" },
    here: "Here",
    signedIn: "Since",
    end: "Sign out",
    endAll: "Sign out everywhere"
  }
} as const
