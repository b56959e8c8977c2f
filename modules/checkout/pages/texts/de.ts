/** German. */
import { plural, type Texts } from "../Texts.ts"

const found = plural("de", { one: "# Zahlungsart", other: "# Zahlungsarten" })
const minutesLeft = plural("de", { one: "Der Preis gilt noch # Minute", other: "Der Preis gilt noch # Minuten" })

export const de: Texts = {
  locale: "de",
  language: "Deutsch",
  direction: "ltr",
  fullStop: ".",

  testMode: "Testmodus: Es fließt kein echtes Geld",
  invoice: "Rechnung",
  help: "Hilfe",
  chooseLanguage: "Sprache",
  change: "Ändern",
  checkPayment: "Zahlung prüfen",

  stepWaiting: "Offen",
  stepConfirming: "Bestätigung",
  stepPaid: "Bezahlt",
  progress: "Fortschritt der Zahlung",

  chooseTitle: "Zahlungsart wählen",
  chooseLabel: "Währung und Netzwerk",
  search: "Währung/Netzwerk suchen",
  found,
  nothingFound: "Nichts gefunden",
  noMethods: (merchant) =>
    "Zurzeit ist keine Zahlungsart verfügbar. Versuchen Sie es später noch einmal, " +
    `oder wenden Sie sich an ${merchant}.`,
  proceed: "Weiter",
  minimum: (amount) => `mindestens ${amount}`,
  networkDown: "Netzwerk gestört",
  noPriceNow: "zurzeit ohne Preis",
  notAvailable: "nicht verfügbar",

  waitingTitle: "Wir warten auf Ihre Zahlung",
  scanOrCopy: "Scannen Sie den Code mit Ihrer Wallet oder kopieren Sie die Angaben unten",
  paymentLink: "Zahlungslink",
  addressOnly: "Nur Adresse",
  qrName: (amount, address, network) => `QR-Code zur Zahlung von ${amount} an ${address} über ${network}`,
  qrAddressName: (address, network) => `QR-Code der Adresse ${address} auf ${network}`,
  priceHeldFor: "Preis gilt noch",
  timeLeft: "Zeit zum Zahlen",
  payBy: "Zahlbar bis",
  amountToSend: "Zu senden",
  remainingToSend: "Restbetrag",
  addressOn: (network) => `Adresse auf ${network}`,
  memo: "Memo",
  memoNeeded: "An diese Adresse gehen viele Zahlungen, und das Memo sagt, welche Ihre ist. Kopieren Sie es in das " +
    "Memo- oder Kommentarfeld Ihrer Wallet. Ohne das Memo können wir Ihre Zahlung nicht zuordnen.",
  memoFromExchange: "Zahlen Sie von einer Börse aus nur, wenn Sie dort dieses Memo eingeben können.",
  sendOnly: (token, network) => `Senden Sie nur ${token} über das Netzwerk ${network}.`,
  otherwiseLost: "Was Sie mit einem anderen Token oder über ein anderes Netzwerk senden, " +
    "kann endgültig verloren gehen.",
  openInWallet: "In Wallet öffnen",
  useAnother: "Andere Währung wählen",
  payingWith: (token, network) => `Sie zahlen mit ${token} über ${network}`,
  copy: "Kopieren",
  copyOf: (what) => `Kopieren: ${what}`,
  copied: "Kopiert",
  minutesLeft,

  quoteEndedTitle: "Der Preis muss aktualisiert werden",
  quoteEnded: "Der Preis galt nur wenige Minuten. Rufen Sie vor dem Senden einen neuen ab: " +
    "Die Adresse bleibt gleich. Was Sie schon gesendet haben, ist nicht verloren.",
  newPrice: "Neuen Preis abrufen",
  noPriceTitle: "Zurzeit kein Preis",
  noPrice: "Für diese Währung gibt es gerade keinen Preis. Bitte senden Sie noch nichts, " +
    "und versuchen Sie es in einigen Minuten noch einmal. Was Sie schon gesendet haben, ist nicht verloren.",

  confirmingTitle: "Zahlung erkannt, wird bestätigt",
  mayClose: (merchant) =>
    `Sie können diese Seite schließen. ${merchant} wird benachrichtigt, sobald Ihre Zahlung bestätigt ist.`,
  confirmations: (done, needed) => `Bestätigungen: ${done} von ${needed}`,
  received: "Eingegangen",
  transaction: "Transaktion",
  viewTransaction: (hash) => `Transaktion ${hash} in einem Block-Explorer ansehen`,

  partialTitle: "Ein Teil der Zahlung ist eingegangen",
  partial: (received, remaining) =>
    `Wir haben ${received} erhalten. Senden Sie den Rest (${remaining}) an dieselbe Adresse.`,
  stillPayable: "Die Frist ist abgelaufen, aber Sie können den Rest noch senden.",

  paidTitle: "Zahlung abgeschlossen",
  paid: (merchant) => `${merchant} hat Ihre Zahlung erhalten.`,
  overpaidTitle: (extra) => `Bezahlt, ${extra} zu viel`,
  overpaid: (extra, merchant) => `Sie haben ${extra} zu viel gesendet. Bitten Sie ${merchant} um Erstattung.`,
  returnTo: (merchant) => `Zurück zu ${merchant}`,
  paidAt: "Bezahlt am",
  total: "Gesamt",

  expiredTitle: "Diese Zahlung ist abgelaufen",
  expired: "Es ist nichts eingegangen. Senden Sie nichts an die alte Adresse.",
  expiredSent: "Falls Sie schon gezahlt haben, zahlen Sie nicht noch einmal: Ihre Zahlung erscheint hier, " +
    "sobald sie eingeht.",
  startAgain: "Neu beginnen",
  expiredContact: (merchant) => `Bitten Sie ${merchant} um eine neue Rechnung.`,

  lateTitle: "Ihre Zahlung kam zu spät an",
  late: (received, merchant) =>
    `Wir haben ${received} nach Ablauf der Frist erhalten. ${merchant} kann den Betrag annehmen oder erstatten.`,
  expiredPartialTitle: "Frist abgelaufen, ein Teil der Zahlung ist eingegangen",
  expiredPartial: (received, merchant) =>
    `Wir haben ${received} erhalten, weniger als gefordert. ${merchant} kann den Betrag annehmen oder erstatten.`,
  doNotPayAgain: "Bitte zahlen Sie nicht noch einmal.",
  contact: (merchant) => `${merchant} kontaktieren`,
  contactNobody: (merchant) => `Bitte wenden Sie sich an ${merchant}, und nennen Sie die Rechnungsnummer von oben.`,

  canceledTitle: "Diese Rechnung wurde storniert",
  canceled: (merchant) =>
    `${merchant} hat sie storniert. Bitte senden Sie nichts. Falls Sie schon gezahlt haben, bitten Sie um Erstattung.`,

  reversedTitle: "Ihre Zahlung wurde vom Netzwerk rückgängig gemacht",
  reversed: "Das Netzwerk hat Ihre Transaktion verworfen, und die Zahlung ist nicht angekommen. " +
    "Das Geld sollte wieder in Ihrer Wallet sein.",
  payAgain: "Sehen Sie zuerst in Ihrer Wallet nach. Wenn das Geld dort ist, können Sie erneut zahlen.",
  rejectedTitle: "Es ist etwas anderes eingegangen",
  rejected: (merchant) =>
    "Es ist ein Transfer eingegangen, den diese Rechnung nicht annimmt. Er zählt nicht als Zahlung. " +
    `Bitten Sie ${merchant} um Erstattung.`,

  refundTitle: "Wohin soll eine Erstattung gehen?",
  refundAddress: (network) => `Ihre Adresse auf ${network}`,
  refundSave: "Adresse speichern",
  refundSaved: "Gespeichert. Falls es eine Erstattung gibt, geht sie an diese Adresse.",
  refundWrong: (network) => `Das ist keine Adresse auf ${network}. Bitte prüfen Sie sie.`,

  offline: "Keine Verbindung. Diese Seite aktualisiert sich von selbst, sobald die Verbindung wieder da ist. " +
    "Was Sie schon gesendet haben, ist nicht verloren.",
  networkDegraded: (network) =>
    `Das Netzwerk ${network} ist zurzeit gestört. Ihre Zahlung wird vielleicht später angezeigt als sonst. ` +
    "Wenn Sie schon gezahlt haben, senden Sie nichts noch einmal.",

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
  notFound: "Unter dieser Webadresse gibt es keine Zahlung. Öffnen Sie den Link, den Sie erhalten haben, noch einmal.",
  tooManyTitle: "Zu viele Versuche",
  tooMany: "Warten Sie einen Moment, und laden Sie die Seite dann neu.",
  unavailableTitle: "Einen Moment, bitte",
  unavailable: "Wir können Ihre Zahlung gerade nicht anzeigen. Was Sie schon gesendet haben, ist nicht verloren. " +
    "Warten Sie einige Sekunden, und versuchen Sie es dann erneut.",
  failedTitle: "Etwas ist schiefgegangen",
  failed: "Laden Sie die Seite gleich noch einmal. Was Sie schon gesendet haben, ist nicht verloren.",
  tryAgain: "Erneut versuchen"
}
