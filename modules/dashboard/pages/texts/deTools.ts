/** German: the pages of developers and of settings. */
import { plural } from "../../../../runtime/pages/Languages.ts"
import type { ToolTexts } from "../Texts.ts"

const hours = plural("de", { one: "# Stunde später", other: "# Stunden später" })

export const toolTexts: ToolTexts = {
  exports: {
    title: "Exportieren",
    from: "Von",
    until: "Bis",
    kinds: {
      invoices: "Rechnungen",
      payments: "Zahlungen",
      refunds: "Erstattungen",
      lots: "Eingänge mit ihrem Wert",
      koinly: "Koinly",
      "balance-transactions": "Bewegungen",
      journal: "Journal"
    }
  },
  webhooks: {
    none: "Noch wird niemand benachrichtigt.",
    add: "Endpunkt hinzufügen",
    added: "Der Endpunkt ist hinzugefügt",
    rotated: "Ein neues Geheimnis",
    secretText:
      "Dieses Geheimnis wird nur dieses eine Mal gezeigt. Hinterlegen Sie es in Ihrem Shop, der damit Signaturen prüft; das bisherige gilt noch einen Tag.",
    url: "Adresse",
    urlHint: "Öffentliches https, ohne Passwort darin",
    events: "Ereignisse",
    description: "Beschreibung",
    event: "Ereignis",
    answer: "Antwort",
    millis: "Millisekunden",
    tries: "Versuche",
    nextTry: "Nächster Versuch",
    attempt: (number) => `Versuch ${number}`,
    error: "Fehler",
    deliveries: "Zustellungen",
    sendAgain: "Noch einmal senden",
    sendExample: "Beispiel senden",
    rotate: "Geheimnis wechseln",
    disable: "Ausschalten",
    enable: "Einschalten",
    endpointStates: { enabled: "An", disabled: "Aus" },
    deliveryStates: {
      pending: "Wartet",
      delivering: "Wird gesendet",
      succeeded: "Zugestellt",
      retrying: "Fehlgeschlagen, wird wiederholt",
      failed: "Fehlgeschlagen",
      canceled: "Abgebrochen"
    }
  },
  events: { type: "Art", about: "Betrifft", waiting: "Webhooks, die warten" },
  keys: {
    make: "Schlüssel erstellen",
    made: "Der Schlüssel ist erstellt",
    secretText:
      "Der Schlüssel wird nur dieses eine Mal gezeigt. Speichern Sie ihn dort, wo Ihr Server ihn liest, und nirgends sonst.",
    name: "Name",
    key: "Schlüssel",
    permissions: "Was er darf",
    lastUsed: "Zuletzt verwendet",
    roll: "Ersetzen",
    revoke: "Widerrufen",
    scope: "Geltungsbereich",
    use: "Für",
    uses: { any: "Alles", btcpay: "Nur einen Shop, der für BTCPay Server gebaut ist" },
    shopSecretText: (store) =>
      `Tragen Sie den Schlüssel in Ihrem Shop ein. Er wird nur dieses eine Mal gezeigt. Die Store ID ist ${store}.`,
    scopes: { merchant: "Das ganze Konto", commerce: "Nur Handelsdaten" },
    permissionTexts: {
      read: "Alles lesen",
      write: "Alles ändern, außer was Geld sendet",
      refund: "Erstattungen und Sammelaufträge anlegen, die Personen freigeben"
    },
    states: { active: "In Gebrauch", rotating: "Ersetzt, endet bald", expired: "Abgelaufen", revoked: "Widerrufen" }
  },
  settings: {
    tokensKeep: "Offene Zahlungsseiten behalten, was sie angeboten haben.",
    policies: {
      accept_all: "Jeder Token wird angenommen, außer den ausgeschalteten",
      selective: "Nur ausgewählte Token werden angenommen",
      accept_none: "Kein Token wird angenommen"
    },
    accepted: "Angenommen",
    blocked: "Ausgeschaltet",
    noWallets: "Noch keine Empfangswallet: In einem echten Netzwerk kann Sie niemand bezahlen.",
    families: {
      evm: "Ethereum und verwandte Netzwerke",
      solana: "Solana",
      ton: "TON",
      sui: "Sui",
      cardano: "Cardano"
    },
    kind: "Art",
    value: "Öffentlicher Teil",
    nextIndex: "Nächste Adresse",
    highestIndex: "Höchste Adresse mit Eingang",
    compare: "Öffnen Sie Ihre Wallet: Stimmen diese Adressen überein?",
    name: "Name auf der Zahlungsseite",
    accent: "Farbe",
    accentHint: "Wie #2a4fd8; weißer Text darauf muss lesbar sein",
    supportEmail: "Adresse für Hilfe",
    payeeProof: "Kunden zeigen, wie sie eine Adresse prüfen",
    payeeProofText:
      "Unter einer Adresse Ihrer Forwarder-Wallet nennt die Seite Ihren Zahlungsempfänger und woraus die Adresse berechnet wird. Jeder Kunde sieht dann den Empfänger.",
    save: "Speichern",
    means: "Was das bedeutet",
    head: "Neuester Block"
  },
  views: {
    title: "Gespeicherte Ansichten",
    none: "Noch keine Ansichten dieser Liste. Wählen Sie einen Filter und speichern Sie ihn unter einem Namen.",
    name: "Name dieser Ansicht",
    share: "Für alle im Shop",
    save: "Diese Ansicht speichern",
    remove: "Entfernen",
    shared: "Geteilt"
  },
  domain: {
    title: "Domain Ihres Shops",
    text: "Ihre Kunden sehen sie auf der Zahlungsseite mit dem Zeichen ✓, sobald die Domain selbst Sie nennt.",
    name: "Domain",
    hint: (domain) => `Zum Beispiel ${domain}`,
    save: "Speichern und prüfen",
    how: "Veröffentlichen Sie eines von beiden. Die Domain wird jetzt gefragt und danach jeden Tag.",
    file: "Eine Datei, ohne Weiterleitung",
    address: "Unter der Adresse",
    content: "Mit dem Inhalt",
    record: "Oder ein TXT-Eintrag im DNS",
    recordName: "Mit dem Namen",
    recordValue: "Mit dem Wert",
    verified: "Geprüft",
    unverified: "Nicht geprüft",
    waiting: "Die Prüfung läuft. Laden Sie die Seite in einer Minute neu.",
    last: "Letzte Prüfung",
    next: "Nächste Prüfung",
    keeps:
      "Die letzte Prüfung fand keines von beiden. Das Zeichen bleibt noch drei Tage nach der letzten erfolgreichen.",
    results: {
      proved: "nennt Sie",
      other_merchant: "nennt einen anderen Händler",
      other_host: "nennt eine andere Zahlungsseite",
      absent: "nicht vorhanden",
      unreadable: "nicht der Inhalt von oben",
      refused: "die Adresse ist nicht öffentlich oder gehört diesem Dienst: nehmen Sie den Eintrag",
      unreachable: "keine Antwort"
    },
    fileResult: "Datei",
    recordResult: "Eintrag"
  },
  limits: {
    inForce: "In Kraft",
    pending: "Höhere Limits, die warten",
    none: "Kein Limit",
    raising:
      "Ein niedrigeres Limit gilt sofort. Ein höheres wartet auf einen anderen Inhaber oder Administrator, wenn es einen gibt, und dann 24 Stunden.",
    names: {
      auto_approve_limit: "Eine Person allein gibt frei, bis zu",
      auto_approve_limit_day: "Alles, was eine Person an einem Tag (UTC) allein freigibt, höchstens",
      payout_limit_batch: "Eine Sammelauszahlung, höchstens",
      payout_limit_day: "Alle Auszahlungen eines Tages (UTC), höchstens"
    },
    hints: {
      auto_approve_limit: "In Dollar. Darüber müssen es zwei sein, wenn zwei freigeben dürfen",
      auto_approve_limit_day:
        "In Dollar, alle Erstattungen und Auszahlungen zusammen. Darüber müssen es zwei sein, wenn zwei freigeben dürfen",
      payout_limit_batch: "In Dollar. Leer: kein Limit",
      payout_limit_day: "In Dollar. Leer: kein Limit"
    },
    save: "Speichern"
  },
  pending: {
    wallet: (family) => `${family}: Eine andere Wallet wartet`,
    needsApproval:
      "Die Änderung gilt noch nicht. Ein anderer Inhaber oder Administrator muss sie freigeben; 24 Stunden danach tritt sie in Kraft.",
    waits: "Die Änderung gilt noch nicht. Sie tritt von selbst in Kraft, wenn sie niemand abbricht.",
    proposedBy: "Gewünscht von",
    proposedAt: "Seit",
    approvedBy: "Freigegeben von",
    inForceFrom: "In Kraft ab",
    approve: "Diese Änderung freigeben",
    cancel: "Diese Änderung abbrechen"
  },
  found: {
    title: "Suche",
    nothing: (text) => `Zu „${text}“ wurde nichts gefunden.`,
    hint:
      "Die Nummer einer Rechnung oder ihr Ende, eine Transaktion, eine Adresse, ein Betrag wie 49.99 oder ein Kunde.",
    kind: "Was",
    matched: "Gefunden über"
  },
  team: {
    members: "Mitglieder",
    alone: "Sie sind hier allein. Laden Sie eine zweite Person ein, damit Geld nur zu zweit hinausgeht.",
    name: "Name",
    email: "E-Mail-Adresse",
    emailHint: "Es wird nichts dorthin gesendet: Sie geben den Link selbst weiter",
    sendEmail: "Link per E-Mail an diese Adresse senden",
    role: "Rolle",
    joined: "Seit",
    change: "Ändern",
    remove: "Entfernen",
    removeText: "Die Person wird sofort abgemeldet und braucht eine neue Einladung, um wiederzukommen.",
    removeNow: "Ja, entfernen",
    invite: "Person einladen",
    invited: "Die Einladung ist erstellt",
    invitedSentText:
      "Dieser Link ist zu der Person unterwegs. Er gilt einmal, binnen sieben Tagen, und wird nur dieses eine Mal gezeigt.",
    invitedText:
      "Geben Sie der Person diesen Link selbst. Er gilt einmal, binnen sieben Tagen, und wird nur dieses eine Mal gezeigt.",
    invitations: "Einladungen",
    revoke: "Widerrufen",
    invitationStates: {
      waiting: "Wartet auf einen zweiten Inhaber",
      open: "Offen",
      accepted: "Angenommen",
      revoked: "Widerrufen",
      expired: "Abgelaufen"
    },
    joinTitle: "Dem Team beitreten",
    joinText: "Sagen Sie, unter welchem Namen die anderen Sie kennen. Danach sind Sie angemeldet.",
    join: "Beitreten"
  },
  audit: { who: "Wer", what: "Was", action: "Aktion", change: "Änderung", show: "Anzeigen", hash: "Hash" },
  simulator: {
    title: "Simulation",
    text: "Spielgeld. Jede Schaltfläche meldet den Regeln, durch die auch echtes Geld geht, eine Tatsache.",
    open: "Simulieren",
    close: "Schließen",
    route: "Token und Netzwerk",
    anyRoute: "Was die Seite zeigt, sonst USDC auf Base",
    dollars: "Dollar",
    dollarsHint: "Leer lassen für das, was noch fehlt",
    blocks: "Blöcke darüber",
    blocksHint: "Leer lassen für so viele wie nötig. 0: nur erkannt",
    groups: {
      transfers: "Ein Transfer geht ein",
      mistakes: "Bei einem Transfer geht etwas schief",
      blocks: "Der neueste Transfer, im Netzwerk",
      ends: "Das Ende und der Weg zu Ihnen"
    },
    actions: {
      pay: "Zahlen",
      partial: "Die Hälfte zahlen",
      overpay: "Ein Zehntel zu viel zahlen",
      late: "Nach Ablauf zahlen",
      wrong_token: "Anderen Token zahlen",
      wrong_network: "Über anderes Netzwerk zahlen",
      missing_memo: "Ohne Memo zahlen",
      unmatched: "Vor der Rechnung zahlen",
      duplicate: "Doppelt zahlen",
      dust: "Zu wenig zahlen, um zu zählen",
      confirm: "Bestätigen",
      reorg: "In einen anderen Block verschieben",
      drop: "Aus dem Netzwerk nehmen",
      expire: "Rechnung ablaufen lassen",
      settle: "Abrechnen",
      fail_settlement: "Abrechnung fehlschlagen lassen"
    },
    outcomes: { succeeded: "Simulieren: ausgezahlt", failed: "Simulieren: fehlgeschlagen" },
    clock: "Uhr",
    clockText:
      "Stellt Ihre Uhr im Testmodus vor: Rechnungen laufen ab, und wartende Zustellungen werden fällig. Zurückstellen lässt sie sich nicht.",
    hours,
    payTitle: "Eine erste Zahlung",
    payText: "Legt eine Rechnung an und bezahlt sie, damit Sie alles sehen, was darauf folgt.",
    pay: "Zahlung simulieren",
    invoiceTitle: "Simulierte Zahlung",
    networks: "Netzwerke mit Störung",
    networksText: "Nur für Ihre eigenen Rechnungen im Testmodus, bis der Dienst neu gestartet wird.",
    modes: { down: "Ausfallen lassen", lagging: "Blöcke verzögern", ok: "Zurücksetzen" },
    newest: "Neueste Zahlungen",
    newestText:
      "Öffnen Sie eine, um sie teilweise oder doppelt zu bezahlen oder vom Netzwerk rückgängig machen zu lassen."
  },
  tokens: {
    preview: "Das sieht Ihr Kunde",
    before: "Jetzt",
    after: "Mit Ihrer Änderung",
    unsaved: "Das ist noch nicht gespeichert. Drücken Sie „Speichern“, um es von nun an anzubieten.",
    look: "Vorschau anzeigen",
    policy: "Was Sie annehmen",
    chosen: "Ausgewählt",
    chosenHint: "Ihre Auswahl zählt, wenn nur ausgewählte Token angenommen werden; sonst bleibt sie gespeichert.",
    acceptOne: (symbol, network) => `${symbol} auf ${network} annehmen`,
    bulk: "Viele auf einmal",
    allNetworks: "Alle Netzwerke",
    acceptAll: "Alle annehmen",
    blockAll: "Alle ausschalten"
  },
  wallets: {
    kinds: {
      xpub: "Öffentlicher Schlüssel eines Kontos",
      address: "Eine Adresse",
      pool: "Liste von Adressen",
      forwarder: "Weiterleitung an Ihre Adresse"
    },
    comparePayee: "Ist das Ihre eigene Adresse? Alles, was gezahlt wird, geht an sie und kann nirgends sonst hin.",
    compareText:
      "Haken Sie jede ab, die Ihre eigene Wallet an derselben Stelle zeigt. Wenn eine nicht übereinstimmt, entfernen Sie diese Wallet sofort.",
    add: "Empfangswallet festlegen",
    addText:
      "Geben Sie nur den öffentlichen Teil an. Wer einen privaten Schlüssel oder eine Wiederherstellungsphrase hat, hat Ihr Geld: Keine unserer Seiten fragt je danach.",
    family: "Netzwerke",
    value: "Öffentlicher Schlüssel oder Adresse",
    valueHint:
      "Zum Beispiel ein xpub aus den Kontoeinstellungen Ihrer Wallet. Eine Liste von Adressen wird über die API festgelegt.",
    startIndex: "Erste Adresse, die verwendet wird",
    startIndexHint:
      "0 für ein Konto, das nie verwendet wurde, sonst eins mehr als die höchste verwendete. Im Testmodus leer lassen",
    set: "Diese Wallet festlegen",
    remove: "Diese Wallet entfernen",
    removeText: "Rechnungen bekommen keine Adressen mehr von ihr. Was an sie gezahlt wurde, wird nicht bewegt.",
    removeNow: "Ja, entfernen"
  },
  preview: {
    title: "Vorschau",
    text: "Ihre Zahlungsseite mit erfundenen Daten. Nichts davon wird gespeichert, und niemand kann darauf zahlen.",
    look: "Vorschau anzeigen",
    state: "Status der Zahlung",
    language: "Sprache",
    theme: "Hell oder dunkel",
    themes: { light: "Hell", dark: "Dunkel" },
    device: "Gerät",
    devices: { phone: "Telefon", desktop: "Computer" },
    show: "Anzeigen",
    frame: (state) => `Zahlungsseite: ${state}`,
    states: {
      choose: "Währung wählen",
      waiting: "Wartet",
      quote_ended: "Preis abgelaufen",
      no_price: "Kein Preis",
      confirming: "Wird bestätigt",
      partial: "Teilweise bezahlt",
      paid: "Bezahlt",
      overpaid: "Zu viel bezahlt",
      expired: "Abgelaufen",
      late: "Zu spät eingegangen",
      expired_partial: "Abgelaufen, teilweise bezahlt",
      canceled: "Storniert",
      reversed: "Vom Netzwerk rückgängig gemacht",
      rejected: "Nicht angenommen"
    }
  }
}
