/** German: what is signed by a wallet. `{wallet}` and the like are filled in by the script. */
import type { SigningTexts } from "../Texts.ts"

export const signingTexts: SigningTexts = {
  signing: {
    title: "Signieren und bezahlen",
    text:
      "Ihre Wallet bezahlt diese Zeilen. Sie zählen als bezahlt, wenn das Netzwerk es zeigt, was auch immer eine Wallet oder eine Person sagt.",
    collectText: "Jede Wallet darf dies senden. Es kann niemandem zugutekommen als Ihrer eigenen Empfangswallet.",
    part: (part, parts) => parts === 1 ? "Alle Zeilen" : `Teil ${part} von ${parts}`,
    wallets: "Wallets in diesem Browser",
    needsScript:
      "Eine Wallet dieses Browsers braucht ein Skript, das dieser Browser nicht ausführt. Nehmen Sie eine Form weiter unten.",
    form: "Form",
    formats: {
      eip5792: "Aufrufe (EIP-5792)",
      transactions: "Transaktionen, eine nach der anderen",
      safe: "Safe, Transaction Builder",
      csv: "Liste (CSV)",
      solana: "Solana-Transaktion",
      ton: "TON-Connect-Nachricht",
      sui: "Sui-Transaktion",
      cardano: "Cardano-Transaktion"
    },
    show: "Anzeigen",
    payloadText:
      "Das bekommt die Wallet. Zeigen Sie es an, so oft Sie möchten: Es bleibt gleich, solange es signiert werden kann.",
    back: "Zurück zum Sammelauftrag",
    already: "Mit einer anderen Wallet gesendet?",
    hash: "Ihre Transaktion",
    hashHint: "Wir sehen zuerst dort nach. Was bezahlt ist, entscheidet das Netzwerk.",
    tell: "Dort nachsehen",
    wallet: {
      pay: "Mit {wallet} signieren",
      asking: "Bestätigen Sie in {wallet}. Diese Seite sagt erst „Erledigt“, wenn das Netzwerk es zeigt.",
      step: "Bestätigen Sie Schritt {step} von {steps} in {wallet}.",
      waiting: "Schritt {step} von {steps} ist gesendet. Der nächste kommt, wenn er in einem Block ist.",
      sent: "Mit {wallet} gesendet. Wir warten, bis das Netzwerk es zeigt.",
      declined: "Sie haben in {wallet} abgelehnt. Drücken Sie noch einmal, um fortzufahren.",
      busy: "{wallet} fragt schon. Öffnen Sie die Wallet und antworten Sie dort.",
      locked: "{wallet} ist gesperrt. Öffnen Sie die Wallet und drücken Sie noch einmal.",
      chain: "{wallet} kann dieses Netzwerk nicht verwenden. Nehmen Sie eine andere Wallet oder eine andere Form.",
      account:
        "Dieser Sammelauftrag wird von {account} bezahlt. Wählen Sie dieses Konto in {wallet} und drücken Sie noch einmal.",
      given: "{wallet} hat dies schon. Öffnen Sie die Wallet und sehen Sie dort nach: Es wird nie doppelt bezahlt.",
      funds: "Das Konto hat dafür zu wenig.",
      fee: "Das Konto hat zu wenig für die Netzwerkgebühr.",
      failed: "Das Netzwerk hat es abgelehnt. Sehen Sie die Transaktion in {wallet} an und drücken Sie noch einmal.",
      unknown:
        "{wallet} konnte es nicht senden. Soweit bekannt, ist nichts gesendet; es wird nie doppelt bezahlt, Sie können also noch einmal drücken."
    }
  }
}
