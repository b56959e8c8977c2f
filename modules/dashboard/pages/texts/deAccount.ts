/** German: signing in, and what a person has for itself. */
import type { AccountTexts } from "../Texts.ts"

export const accountTexts: AccountTexts = {
  signIn: {
    title: "Anmelden",
    hello: "Die Zahlungen, Erstattungen und Bücher Ihres Shops.",
    againTitle: "Sind Sie es noch?",
    againText:
      "Damit geht Geld hinaus, oder es ändert sich, wer das darf. Weisen Sie nach, dass Sie noch dieselbe Person sind; das gilt 5 Minuten. Drücken Sie danach noch einmal.",
    again: "Mit einem Passkey nachweisen",
    back: "Zurück, ohne Nachweis",
    linkTitle: "Mit Ihrem Link anmelden",
    linkText: "Der Link meldet eine Person einmal an, binnen zehn Minuten, nachdem er erstellt wurde.",
    token: "Token des Links",
    go: "Weiter",
    passkey: "Mit einem Passkey anmelden",
    wallets: "Wallets in diesem Browser",
    wallet: {
      pay: "Mit {wallet} anmelden",
      asking: "Bestätigen Sie in {wallet}. Es wird ein Text signiert, nichts wird gesendet oder ausgegeben.",
      declined: "Sie haben in {wallet} abgelehnt.",
      busy: "{wallet} fragt schon. Öffnen Sie die Wallet und antworten Sie dort.",
      locked: "{wallet} ist gesperrt. Öffnen Sie die Wallet und drücken Sie noch einmal.",
      unknown: "{wallet} konnte nicht signieren. Versuchen Sie es noch einmal oder melden Sie sich anders an."
    },
    recovery: "Passkey verloren?",
    email: "E-Mail-Adresse",
    code: "Wiederherstellungscode",
    useCode: "Mit dem Code anmelden",
    byAddress: (url) =>
      `Passkeys funktionieren nicht unter einer Adresse aus Zahlen. Öffnen Sie stattdessen ${url} oder nehmen Sie einen Link.`,
    needsScript:
      "Die Anmeldung mit Passkey oder Wallet braucht ein Skript, das dieser Browser nicht ausführt. Nehmen Sie einen Link."
  },
  account: {
    title: "Ihr Konto",
    passkeys: "Passkeys",
    passkeysText:
      "Ein Passkey meldet Sie mit Fingerabdruck, Gesicht oder Gerätecode an, und nur auf dieser Website. Halten Sie zwei bereit.",
    passkeyName: "Name des neuen Passkeys",
    passkeyHint: "Nach dem Gerät, auf dem er liegt, zum Beispiel Laptop",
    addPasskey: "Passkey hinzufügen",
    needsScript: "Einen Passkey hinzuzufügen braucht ein Skript, das dieser Browser nicht ausführt.",
    wallets: "Wallets",
    walletsText:
      "Eine Wallet dieses Browsers meldet Sie an, indem sie einen Text signiert: Nichts wird gesendet oder ausgegeben. Sobald sie hier installiert ist, erscheint sie unten.",
    walletAddress: "Adresse",
    linkWallet: "{wallet} verknüpfen",
    walletNeedsScript: "Zum Verknüpfen einer Wallet ist ein Skript nötig, das dieser Browser nicht ausführt.",
    approves:
      "In Live genehmigen Sie mit einem Passkey oder einer Wallet, nie mit einem Link. Neue zählen 24 Stunden nach dem Hinzufügen, die des ersten Inhabers sofort.",
    onlyLinks: "Sie haben weder einen Passkey noch eine Wallet.",
    name: "Name",
    added: "Hinzugefügt",
    used: "Zuletzt verwendet",
    remove: "Entfernen",
    waits: "Bewegt auf Live kein Geld bis",
    pages: "Sprache und Zeit",
    language: "Sprache",
    languageOfBrowser: "Wie der Browser es verlangt",
    timeZone: "Zeitzone",
    pagesText: "Nur für Sie. Tage und Monate der Bücher sowie Exporte bleiben in UTC.",
    savePages: "Speichern",
    notices: "Nachrichten per E-Mail",
    noticesText:
      "Wenn ein Fall Sie braucht oder ein Webhook-Endpunkt abgeschaltet wird, soweit Ihre Rolle es zulässt. Von jedem höchstens eine pro Stunde.",
    noticesOf: "Benachrichtigen über",
    noticeChoices: { mainnet: "Nur Live", all: "Live und Test", none: "Nichts" },
    recovery: "Wiederherstellungscodes",
    recoveryText:
      "Zehn Codes für den Tag, an dem alle Ihre Passkeys verloren sind. Neue machen die bisherigen ungültig.",
    makeCodes: "Neue Codes erstellen",
    codes: "Wiederherstellungscodes",
    codesText:
      "Diese Codes werden nur dieses eine Mal gezeigt. Jeder meldet Sie einmal an, zusammen mit Ihrer E-Mail-Adresse. Bewahren Sie sie auf Papier auf.",
    sessions: "Wo Sie angemeldet sind",
    method: "Womit",
    methods: { passkey: "Passkey", wallet: "Wallet", link: "Link", recovery: "Wiederherstellungscode" },
    here: "Hier",
    signedIn: "Seit",
    end: "Abmelden",
    endAll: "Überall abmelden"
  }
}
