/** German. */
import { plural, type Texts } from "../Texts.ts"

const found = plural("de", { one: "# Zahlungsart", other: "# Zahlungsarten" })
const minutesLeft = plural("de", { one: "Der Preis gilt noch # Minute", other: "Der Preis gilt noch # Minuten" })

export const de: Texts = {
  locale: "de",
  language: "Deutsch",
  direction: "ltr",

  testMode: "Testmodus: Es fließt kein echtes Geld",
  invoice: "Rechnung",
  help: "Hilfe",
  chooseLanguage: "Sprache",
  change: "Ändern",
  checkPayment: "Zahlung prüfen",
  amountDue: "Zu zahlen",

  stepWaiting: "Offen",
  stepConfirming: "Bestätigung",
  stepPaid: "Bezahlt",
  progress: "Fortschritt der Zahlung",

  chooseTitle: "Zahlungsart wählen",
  chooseLabel: "Währung und Netzwerk",
  search: "Währung/Netzwerk suchen",
  found,
  nothingFound: "Nichts gefunden",
  noMethods: (merchant) => `Zurzeit ist keine Zahlungsart verfügbar. Bitte wenden Sie sich an ${merchant}.`,
  proceed: "Weiter",
  minimum: (amount) => `ab ${amount}`,
  networkDown: "Netzwerk gestört",
  noPriceNow: "zurzeit ohne Preis",
  notAvailable: "nicht verfügbar",

  waitingTitle: "Wir warten auf Ihre Zahlung",
  scanOrCopy: "Scannen Sie den Code mit Ihrer Wallet, oder kopieren Sie die Angaben unten",
  paymentLink: "Zahlungslink",
  addressOnly: "Nur Adresse",
  qrName: (amount, address, network) => `QR-Code zur Zahlung von ${amount} an ${address} über ${network}`,
  qrAddressName: (address, network) => `QR-Code der Adresse ${address} auf ${network}`,
  priceHeldFor: "Preis gilt noch",
  invoiceEnds: "Ablauf der Rechnung",
  amountToSend: "Betrag",
  remainingToSend: "Restbetrag",
  addressOn: (network) => `Adresse auf ${network}`,
  memo: "Memo",
  memoNeeded: "Ohne dieses Memo können wir Ihre Zahlung nicht zuordnen.",
  sendOnly: (token, network) => `Senden Sie nur ${token} über ${network}.`,
  otherwiseLost: "Zahlungen mit anderen Token oder über andere Netzwerke sind verloren.",
  openInWallet: "In Wallet öffnen",
  useAnother: "Andere Währung wählen",
  payingWith: (token, network) => `Sie zahlen mit ${token} über ${network}`,
  copy: "Kopieren",
  copyOf: (what) => `Kopieren: ${what}`,
  copied: "Kopiert",
  minutesLeft,

  quoteEndedTitle: "Der Preis ist abgelaufen",
  quoteEnded: "Der Preis galt nur wenige Minuten. Holen Sie einen neuen: Die Adresse bleibt gleich. " +
    "Was Sie schon gesendet haben, geht nicht verloren.",
  newPrice: "Neuen Preis holen",
  noPriceTitle: "Zurzeit kein Preis",
  noPrice: "Für diese Währung haben wir gerade keinen Preis. Die Adresse stimmt. Warten Sie kurz, " +
    "oder wählen Sie eine andere Währung.",

  confirmingTitle: "Zahlung erkannt, wird bestätigt",
  mayClose: (merchant) => `Sie können diese Seite schließen. ${merchant} wird nach der Bestätigung benachrichtigt.`,
  confirmations: (done, needed) => `${done} von ${needed} Bestätigungen`,
  received: "Eingegangen",
  transaction: "Transaktion",
  viewTransaction: (hash) => `Transaktion ${hash} in einem Block-Explorer ansehen`,

  partialTitle: "Ein Teil der Zahlung ist da",
  partial: (received, remaining) =>
    `${received} sind eingegangen. Senden Sie die restlichen ${remaining} an dieselbe Adresse.`,
  stillPayable: "Die Zeit ist abgelaufen, aber Sie können den Rest noch senden.",

  paidTitle: "Zahlung abgeschlossen",
  paid: (merchant) => `${merchant} hat Ihre Zahlung erhalten.`,
  overpaidTitle: (extra) => `Bezahlt, ${extra} zu viel`,
  overpaid: (extra, merchant) =>
    `Sie haben ${extra} zu viel gesendet. Bitten Sie ${merchant} um Rückzahlung.`,
  returnTo: (merchant) => `Zurück zu ${merchant}`,
  paidAt: "Bezahlt am",
  total: "Gesamt",

  expiredTitle: "Diese Zahlung ist abgelaufen",
  expired: "Es ist nichts eingegangen. Senden Sie nichts mehr an die alte Adresse.",
  startAgain: "Neu beginnen",
  expiredContact: (merchant) => `Bitten Sie ${merchant} um eine neue Rechnung.`,

  lateTitle: "Ihre Zahlung kam zu spät an",
  late: (received, merchant) =>
    `${received} sind nach Fristende eingegangen. ${merchant} kann den Betrag annehmen oder zurückzahlen.`,
  expiredPartialTitle: "Frist abgelaufen, nur ein Teil ist angekommen",
  expiredPartial: (received, merchant) =>
    `${received} sind eingegangen, weniger als gefordert. ${merchant} kann den Betrag annehmen oder zurückzahlen.`,
  doNotPayAgain: "Bitte zahlen Sie nicht noch einmal.",
  contact: (merchant) => `${merchant} kontaktieren`,
  contactNobody: (merchant) => `Bitte wenden Sie sich an ${merchant}, und nennen Sie die Rechnung.`,

  canceledTitle: "Diese Rechnung wurde storniert",
  canceled: (merchant) => `${merchant} hat sie storniert. Bitte senden Sie nichts.`,

  reversedTitle: "Das Netzwerk hat Ihre Zahlung zurückgenommen",
  reversed: "Ihre Transaktion wurde vom Netzwerk verworfen und ist nicht angekommen. Sehen Sie in Ihrer Wallet nach: " +
    "Das Geld sollte dort sein.",
  payAgain: "Sie können erneut zahlen.",
  rejectedTitle: "Es ist etwas anderes eingegangen",
  rejected: (merchant) =>
    `Eine Überweisung ist eingegangen, die diese Rechnung nicht annimmt. Bitten Sie ${merchant} um Rückzahlung.`,

  refundTitle: "Wohin soll eine Rückzahlung gehen?",
  refundAddress: (network) => `Ihre Adresse auf ${network}`,
  refundSave: "Adresse speichern",
  refundSaved: "Gespeichert. Eine Rückzahlung geht dorthin.",
  refundWrong: (network) => `Das ist keine Adresse auf ${network}. Bitte prüfen Sie sie.`,

  offline: "Keine Verbindung. Sobald sie wieder da ist, aktualisiert sich die Seite von selbst.",
  networkDegraded: (network) =>
    `${network} ist zurzeit gestört. Ihre Zahlung wird vielleicht später angezeigt als sonst.`,

  simulateTitle: "Zahlung simulieren",
  simulateNote: "Testmodus: Spielgeld, keine Wallet nötig.",
  simulatePay: "Zahlen",
  simulatePartial: "Die Hälfte zahlen",
  simulateOver: "Zu viel zahlen",
  simulateLate: "Zu spät zahlen",

  sessionEndedTitle: "Dieser Link führt zu keiner Zahlung",
  sessionEnded: "Er ist unvollständig oder abgelaufen. Öffnen Sie den Link, den Sie erhalten haben, noch einmal, " +
    "oder bitten Sie den Shop um einen neuen.",
  notFoundTitle: "Hier ist nichts",
  notFound: "Diese Webadresse führt zu keiner Zahlung. Öffnen Sie den Link, den Sie erhalten haben, noch einmal.",
  tooManyTitle: "Zu viele Versuche",
  tooMany: "Warten Sie einen Moment, und laden Sie die Seite dann neu.",
  unavailableTitle: "Einen Moment, bitte",
  unavailable: "Wir können Ihre Zahlung gerade nicht anzeigen. Was Sie schon gesendet haben, geht nicht verloren. " +
    "Warten Sie einige Sekunden, und versuchen Sie es dann erneut.",
  failedTitle: "Etwas ist schiefgegangen",
  failed: "Es wurde nichts geändert. Laden Sie die Seite gleich noch einmal.",
  tryAgain: "Erneut versuchen"
}
