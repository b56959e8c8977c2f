/** What is said to whoever approves that money goes out, in French. */
import type { ApprovalTexts } from "../Texts.ts"

export const approvalTexts: ApprovalTexts = {
  title: "Ce que vous approuvez",
  text:
    "Voici ce que vous signez, mot pour mot. Ce texte est conservé avec votre approbation, pour que chacun puisse le vérifier plus tard.",
  approve: "Approuver",
  withoutSigning: "Approuver sans signature, car l’argent est fictif",
  changed: "Ceci a changé depuis que vous avez ouvert la page. Relisez-le, puis appuyez de nouveau.",
  needsScript: "Approuver de l’argent réel demande une signature, et donc un script, que ce navigateur n’exécute pas.",
  nothingToSign:
    "Approuver de l’argent réel demande une clé d’accès ou un portefeuille à vous. Ajoutez-en un à votre compte\u202f: un jour plus tard, il permet d’approuver de l’argent réel.",
  toAccount: "Ajouter une clé d’accès",
  waits:
    "Votre session vient d’un lien, ou vous venez de rejoindre l’équipe. Vous pourrez approuver de l’argent réel à partir du\u202f:",
  wallet: {
    pay: "Approuver avec {wallet}",
    asking: "Lisez le texte dans {wallet} et signez-le. Rien n’est envoyé ni dépensé.",
    declined: "Vous avez refusé dans {wallet}.",
    busy: "{wallet} vous attend déjà. Ouvrez le portefeuille et répondez-y.",
    locked: "{wallet} est verrouillé. Ouvrez-le, puis appuyez de nouveau.",
    unknown: "{wallet} n’a pas pu signer. Réessayez, ou utilisez une clé d’accès."
  }
}
