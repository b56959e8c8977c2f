/** German. */
import { plural, type Texts } from "../Texts.ts"

const found = plural("de", { one: "# Währung", other: "# Währungen" })
const minutesLeft = plural("de", { one: "Der Preis gilt noch # Minute", other: "Der Preis gilt noch # Minuten" })
const networks = plural("de", { one: "# Netzwerk", other: "# Netzwerke" })

export const de: Texts = {
  locale: "de",
  language: "Deutsch",
  direction: "ltr",
  fullStop: ".",

  testMode: "Testmodus: Es fließt kein echtes Geld",
  domainVerified: "Geprüfte Domain:",
  domainChecked: (domain, when) =>
    `${domain} gibt selbst an, auf dieser Seite Zahlungen für diesen Shop anzunehmen. Geprüft: ${when}.`,
  returnsTo: (host) => `Zurück geht es zu ${host}`,
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
  stepCurrency: "1. Währung",
  stepNetwork: (token) => `2. Netzwerk für ${token}`,
  networks,
  toSend: (amount) => `${amount} zu senden`,
  moreCurrencies: "Weitere Währungen",
  walletPaysFee: "die Netzwerkgebühr zahlt Ihre Wallet",
  feeUnder: (amount) => `Gebühr unter ${amount}`,
  feeAbout: (amount) => `Gebühr etwa ${amount}`,
  lowestFee: "niedrigste Gebühr",
  aboutSeconds: (count) => `etwa ${count} s`,
  aboutMinutes: (count) => `etwa ${count} min`,
  whichNetwork: (token) => `Unsicher? Wählen Sie das Netzwerk, auf dem Ihre Wallet ${token} hält.`,
  search: "Währung/Netzwerk suchen",
  found,
  nothingFound: "Nichts gefunden",
  noMethods: (merchant) =>
    "Zurzeit ist keine Zahlungsart verfügbar. Versuchen Sie es später noch einmal, " +
    `oder wenden Sie sich an ${merchant}.`,
  noOfferedMethods: (merchant) =>
    "Derzeit ist keine Zahlung möglich: Keine der Währungen, die der Shop für diese Bestellung annimmt, ist " +
    `verfügbar. Bitte versuchen Sie es später noch einmal oder wenden Sie sich an ${merchant}.`,
  proceed: "Weiter",
  proceedWith: (token, network) => `Weiter mit ${token} auf ${network}`,
  minimum: (amount) => `mindestens ${amount}`,
  networkDown: "Netzwerk gestört",
  noPriceNow: "zurzeit ohne Preis",
  notAvailable: "nicht verfügbar",

  waitingTitle: "Wir warten auf Ihre Zahlung",
  payTitle: (amount, network) => `${amount} über ${network} zahlen`,
  scanCode: "QR-Code für eine Wallet auf einem anderen Gerät",
  paymentLink: "Zahlungslink",
  addressOnly: "Nur Adresse",
  qrName: (amount, address, network) => `QR-Code zur Zahlung von ${amount} an ${address} über ${network}`,
  qrAddressName: (address, network) => `QR-Code der Adresse ${address} auf ${network}`,
  priceHeldFor: "Preis gilt noch",
  priceRenews: "Der Preis ist fest und erneuert sich von selbst.",
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
  payeeTitle: "Wer dieses Geld bekommt",
  payee: (merchant) =>
    `Was an diese Adresse gesendet wird, kann nur an eine einzige Wallet gehen. Wenn ${merchant} die eigene ` +
    "Wallet veröffentlicht hat, vergleichen Sie die beiden.",
  payeeCheck: "So prüfen Sie es: Die Adresse ergibt sich aus diesen Werten, nach CREATE2 (EIP-1014).",
  openInWallet: "In Wallet öffnen",
  walletList: "Wallets in diesem Browser",
  walletPay: (wallet) => `Mit ${wallet} zahlen`,
  walletAsking: (wallet, amount, network, address) =>
    `Bestätigen Sie in ${wallet}: ${amount} über ${network} an ${address}. Diese Seite zeigt die Zahlung erst ` +
    "an, wenn das Netzwerk sie zeigt.",
  walletDeclined: (wallet) => `Sie haben in ${wallet} abgelehnt. Es wurde nichts gesendet.`,
  walletBusy: (wallet) => `${wallet} fragt schon. Öffnen Sie die Wallet und antworten Sie dort.`,
  walletLocked: (wallet) => `${wallet} ist gesperrt. Öffnen Sie die Wallet und drücken Sie noch einmal.`,
  walletChain: (wallet, network) =>
    `${wallet} kann ${network} nicht verwenden. Nehmen Sie eine andere Wallet oder scannen Sie den Code.`,
  walletFunds: (amount, network) =>
    `Dieses Konto hat weniger als ${amount} auf ${network}. Wählen Sie ein anderes Konto oder eine andere ` +
    "Währung.",
  walletFee: (coin, network) => `Dieses Konto hat auf ${network} zu wenig ${coin} für die Netzwerkgebühr.`,
  walletSilent: (wallet) =>
    `Keine Antwort von ${wallet}. Wenn Sie bestätigt haben, warten Sie einfach: Diese Seite folgt von selbst.`,
  walletUnknown: (wallet) =>
    `${wallet} meldet einen Fehler. Vielleicht wurde trotzdem gesendet: Sehen Sie in Ihrer Wallet nach, bevor Sie es ` +
    "noch einmal versuchen.",
  walletChanged:
    "Diese Zahlung hat sich inzwischen geändert. Es wurde nichts gesendet: Prüfen Sie den Betrag, bevor Sie noch einmal drücken.",
  walletSent: (wallet) => `Mit ${wallet} gesendet. Wir warten, bis das Netzwerk die Zahlung zeigt.`,
  walletAgain: (sent, amount) =>
    `Vielleicht haben Sie ${sent} schon gesendet: Sehen Sie in Ihrer Wallet nach. Drücken Sie nur dann noch ` +
    `einmal, wenn Sie weitere ${amount} senden möchten.`,
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
  partialReceived: (received) => `Wir haben ${received} erhalten.`,
  stillPayable: "Die Frist ist abgelaufen, aber Sie können den Rest noch senden.",

  paidTitle: "Zahlung abgeschlossen",
  paid: (merchant) => `${merchant} hat Ihre Zahlung erhalten.`,
  overpaidTitle: (extra) => `Bezahlt, ${extra} zu viel`,
  overpaid: (extra, merchant) => `Sie haben ${extra} zu viel gesendet. Bitten Sie ${merchant} um Erstattung.`,
  returnTo: (merchant) => `Zurück zu ${merchant}`,
  returnsIn: (merchant) => `Zurück zu ${merchant} in`,
  returnsSoon: (merchant, seconds, stay) =>
    `Sie gehen in ${seconds} Sekunden zurück zu ${merchant}. Um zu bleiben, drücken Sie: ${stay}.`,
  stayHere: "Auf dieser Seite bleiben",
  paidAt: "Bezahlt am",
  total: "Gesamt",
  inDollars: "In US-Dollar",
  receipt: "Beleg",
  receiptOpen: "Beleg öffnen",
  receiptAmount: "Sie haben bezahlt",
  receiptFor: "Für",
  receiptTo: "An",
  receiptAddress: "An die Adresse",
  receiptExtra: "Zu viel",

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
  accepted: (merchant, time) => `${merchant} hat sie angenommen, ${time}.`,
  keptAsCredit: (merchant) => `${merchant} schreibt sie Ihnen gut.`,
  refundAwaited: (amount, merchant) =>
    `${amount} gehen an Sie zurück. ${merchant} schickt Ihnen einen Link, über den Sie sagen, wohin.`,
  refundUnderWay: (amount) => `Eine Rückzahlung von ${amount} ist unterwegs.`,
  refundDone: (amount) => `${amount} wurden Ihnen zurückgezahlt.`,
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

  claimOpenTitle: "Ihre Erstattung öffnen",
  claimOpen: "Fügen Sie den ganzen Link ein, den Sie erhalten haben. Er öffnet Ihre Erstattung, zeigen Sie ihn " +
    "also niemandem.",
  claimLink: "Link zu Ihrer Erstattung",
  claimAddressTitle: "Wohin soll Ihre Erstattung gehen?",
  claimFrom: (merchant) => `${merchant} erstattet Ihnen Geld.`,
  claimGive: (token, network) =>
    `Geben Sie eine Adresse an, die ${token} auf ${network} empfängt: die Ihrer eigenen Wallet oder Ihre ` +
    "Einzahlungsadresse bei einer Börse. In jedem anderen Netzwerk kann das Geld endgültig verloren sein.",
  claimUntil: (moment) => `Der Link nimmt eine Adresse an bis ${moment}.`,
  claimAmount: "Sie erhalten",
  claimFee: "Einbehalten als Netzwerkgebühr",
  claimNetwork: "Netzwerk",
  claimReason: "Grund",
  claimRequested: "Sie haben darum gebeten",
  claimOverpayment: "Sie haben zu viel gezahlt",
  claimLate: "Ihre Zahlung kam zu spät",
  claimUnderpayment: "Sie haben zu wenig gezahlt",
  claimWrongToken: "Sie haben mit etwas anderem gezahlt",
  claimOrderCanceled: "Die Bestellung wurde storniert",
  claimOrderFailed: "Die Bestellung konnte nicht ausgeführt werden",
  claimDuplicate: "Sie haben doppelt gezahlt",
  claimMemo: "Nur bei einer Börse: Kopieren Sie das Memo, das sie neben der Adresse anzeigt. Ohne es erreicht " +
    "das Geld Ihr Konto vielleicht nicht.",
  claimCheckTitle: "Ist das Ihre Adresse?",
  claimCheck: "Hierhin geht Ihre Erstattung. Sobald Sie bestätigen, lässt sich das nicht mehr ändern. " +
    "Vergleichen Sie jedes Zeichen mit Ihrer Wallet.",
  claimConfirm: "Erstattung dorthin senden",
  claimEdit: "Adresse ändern",
  claimWrongAddress: (network) =>
    `Auf ${network} gibt es keine Wallet mit dieser Adresse. Kopieren Sie die ganze Adresse noch einmal aus Ihrer ` +
    "Wallet.",
  claimOtherNetwork: (network) =>
    `Das ist eine Adresse eines anderen Netzwerks. Die Erstattung wird nur auf ${network} gezahlt: Kopieren Sie ` +
    "Ihre Adresse in diesem Netzwerk.",
  claimReceiveAddress: (token, network) =>
    "An dieser Adresse gehen Zahlungen an Shops ein, die Erstattung käme nicht bei Ihnen an. Kopieren Sie die " +
    `Adresse, an der Ihre eigene Wallet ${token} auf ${network} empfängt.`,
  claimNoWallet: (token, network) =>
    "Das ist ein Token oder ein anderer Vertrag, und dorthin gesendetes Geld ist verloren. Kopieren Sie die " +
    `Adresse, an der Ihre eigene Wallet ${token} auf ${network} empfängt.`,
  claimRefused: (merchant) =>
    "An diese Adresse können keine Erstattungen gesendet werden. Geben Sie eine andere Adresse Ihrer eigenen " +
    `Wallet an, oder fragen Sie ${merchant}.`,
  claimWrongMemo: "Ein Memo hat höchstens 120 Buchstaben, Ziffern und Zeichen, ohne Umlaute. Kopieren Sie es " +
    "noch einmal, oder lassen Sie das Feld leer.",
  claimUnchecked: "Diese Adresse lässt sich gerade nicht prüfen, und es wurde nichts gespeichert. Versuchen Sie " +
    "es in einigen Minuten erneut.",
  claimApprovalTitle: "Ihre Adresse ist gespeichert",
  claimApproval: (merchant) =>
    `${merchant} muss die Erstattung noch freigeben. Sie können diese Seite schließen: Derselbe Link zeigt, wie ` +
    "weit sie ist.",
  claimKept: (merchant) =>
    "Vorher wurde eine andere Adresse gespeichert, und sie bleibt: Es ist die unten. Wenn es nicht Ihre ist, " +
    `wenden Sie sich sofort an ${merchant}.`,
  claimProcessingTitle: "Ihre Erstattung wird gezahlt",
  claimProcessing: "Sie geht an die Adresse unten. Sie können diese Seite schließen: Derselbe Link zeigt, wann " +
    "sie gezahlt ist.",
  claimPaidTitle: "Ihre Erstattung ist gezahlt",
  claimPaid: (amount, network) => `${amount} ging an die Adresse unten auf ${network}.`,
  claimFailedTitle: "Die Erstattung wurde nicht gezahlt",
  claimFailed: (merchant) =>
    `Der Transfer hat nicht geklappt, und Ihr Geld ist nicht verloren. ${merchant} kann es erneut versuchen oder ` +
    "Sie um eine andere Adresse bitten.",
  claimExpiredTitle: "Diese Erstattung ist abgelaufen",
  claimExpired: (merchant) =>
    `Es wurde nicht rechtzeitig eine Adresse angegeben. Bitten Sie ${merchant}, die Erstattung neu zu beginnen.`,
  claimCanceledTitle: "Diese Erstattung wurde abgebrochen",
  claimCanceled: (merchant) => `Es wird nichts gesendet. Wenn Sie das nicht erwartet haben, fragen Sie ${merchant}.`,
  claimUnaddressedTitle: "Dieser Link wurde schon benutzt",
  claimUnaddressed: (merchant) =>
    `Es wird noch einmal eine Adresse gebraucht. Bitten Sie ${merchant} um einen neuen Link.`,
  claimCheckAgain: "Erneut nachsehen",
  claimNoAnswer: "Es kam keine Antwort. Prüfen Sie Ihre Verbindung, und versuchen Sie es dann erneut. Was Sie " +
    "schon bestätigt haben, bleibt gespeichert.",
  claimEndedTitle: "Dieser Link führt zu keiner Erstattung",
  claimEnded: "Er ist unvollständig oder gilt nicht mehr. Öffnen Sie den Link, den Sie erhalten haben, noch " +
    "einmal, oder bitten Sie den Shop um einen neuen.",
  claimUnavailable: "Wir können Ihre Erstattung gerade nicht anzeigen. Öffnen Sie Ihren Link gleich noch einmal: " +
    "Er zeigt, was gespeichert wurde.",

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
