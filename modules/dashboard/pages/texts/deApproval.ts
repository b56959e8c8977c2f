/** What is said to whoever approves that money goes out, in German. */
import type { ApprovalTexts } from "../Texts.ts"

export const approvalTexts: ApprovalTexts = {
  title: "Was Sie freigeben",
  text: "Das signieren Sie, Wort für Wort. Es wird mit Ihrer Freigabe aufbewahrt, damit es später jeder prüfen kann.",
  approve: "Freigeben",
  withoutSigning: "Ohne Signatur freigeben, da es Spielgeld ist",
  changed:
    "Das hat sich geändert, seit Sie die Seite geöffnet haben. Lesen Sie es noch einmal und drücken Sie dann erneut.",
  needsScript:
    "Wer echtes Geld freigibt, muss signieren. Dazu braucht es ein Skript, das dieser Browser nicht ausführt.",
  nothingToSign:
    "Um echtes Geld freizugeben, brauchen Sie einen Passkey oder eine eigene Wallet. Fügen Sie Ihrem Konto eines davon hinzu: Einen Tag später können Sie damit echtes Geld freigeben.",
  toAccount: "Passkey hinzufügen",
  waits:
    "Sie haben sich mit einem Link angemeldet oder sind gerade erst beigetreten. Echtes Geld dürfen Sie freigeben ab:",
  wallet: {
    pay: "Mit {wallet} freigeben",
    asking: "Lesen Sie den Text in {wallet} und signieren Sie ihn. Es wird nichts gesendet oder ausgegeben.",
    declined: "Sie haben in {wallet} abgelehnt.",
    busy: "{wallet} fragt schon. Öffnen Sie die Wallet und antworten Sie dort.",
    locked: "{wallet} ist gesperrt. Öffnen Sie die Wallet und drücken Sie noch einmal.",
    unknown: "{wallet} konnte nicht signieren. Versuchen Sie es noch einmal oder nehmen Sie einen Passkey."
  }
}
