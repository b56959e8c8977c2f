/** German: the pages of developers and of settings. */
import type { ToolTexts } from "../Texts.ts"

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
    accept: "Annehmen",
    block: "Ausschalten",
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
    save: "Speichern",
    means: "Was das bedeutet",
    head: "Neuester Block"
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
    role: "Rolle",
    joined: "Seit",
    change: "Ändern",
    remove: "Entfernen",
    removeText: "Die Person wird sofort abgemeldet und braucht eine neue Einladung, um wiederzukommen.",
    removeNow: "Ja, entfernen",
    invite: "Person einladen",
    invited: "Die Einladung ist erstellt",
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
  audit: { who: "Wer", what: "Was", action: "Aktion", change: "Änderung", show: "Anzeigen", hash: "Hash" }
}
