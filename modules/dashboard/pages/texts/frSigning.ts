/** French: what is signed by a wallet. `{wallet}` and the like are filled in by the script. */
import type { SigningTexts } from "../Texts.ts"

export const signingTexts: SigningTexts = {
  signing: {
    title: "Signer et payer",
    text:
      "Votre portefeuille paie ces lignes. Elles comptent comme payées quand le réseau le montre, quoi qu’en dise un portefeuille ou une personne.",
    collectText: "Tout portefeuille peut envoyer ceci. Il ne peut payer que votre propre portefeuille de réception.",
    part: (part, parts) => parts === 1 ? "Toutes les lignes" : `Partie ${part} sur ${parts}`,
    wallets: "Portefeuilles de ce navigateur",
    needsScript:
      "Un portefeuille de ce navigateur demande un script, que ce navigateur n’exécute pas. Utilisez une des formes ci-dessous.",
    form: "Forme",
    formats: {
      eip5792: "Appels (EIP-5792)",
      transactions: "Transactions, une par une",
      safe: "Safe, Transaction Builder",
      csv: "Liste (CSV)",
      solana: "Transaction Solana",
      ton: "Message TON Connect",
      sui: "Transaction Sui",
      cardano: "Transaction Cardano"
    },
    show: "Afficher",
    payloadText:
      "Voici ce que reçoit le portefeuille. Affichez-le aussi souvent que vous voulez\u202f: il reste le même tant qu’il peut être signé.",
    back: "Revenir au lot",
    already: "Envoyé depuis un autre portefeuille\u202f?",
    hash: "Sa transaction",
    hashHint: "Nous y regardons d’abord. C’est le réseau qui décide de ce qui est payé.",
    tell: "Regarder là",
    wallet: {
      pay: "Signer avec {wallet}",
      asking: "Confirmez dans {wallet}. Cette page n’indique “Effectué” que lorsque le réseau le montre.",
      step: "Confirmez l’étape {step} sur {steps} dans {wallet}.",
      waiting: "L’étape {step} sur {steps} est envoyée. La suivante vient quand elle est dans un bloc.",
      sent: "Envoyé avec {wallet}. En attente que le réseau le montre.",
      declined: "Vous avez refusé dans {wallet}. Appuyez de nouveau pour continuer.",
      busy: "{wallet} vous attend déjà. Ouvrez le portefeuille et répondez-y.",
      locked: "{wallet} est verrouillé. Ouvrez-le, puis appuyez de nouveau.",
      chain: "{wallet} ne peut pas utiliser ce réseau. Prenez un autre portefeuille, ou une autre forme.",
      account: "Ce lot est payé depuis {account}. Choisissez ce compte dans {wallet}, puis appuyez de nouveau.",
      given: "{wallet} l’a déjà. Ouvrez-le et regardez-y\u202f: rien n’est jamais payé deux fois.",
      funds: "Le compte n’a pas assez pour cela.",
      fee: "Le compte n’a pas assez pour les frais de réseau.",
      failed: "Le réseau l’a refusé. Regardez la transaction dans {wallet}, puis appuyez de nouveau.",
      unknown:
        "{wallet} n’a pas pu l’envoyer. À notre connaissance, rien n’est envoyé\u202f; rien n’est jamais payé deux fois, vous pouvez donc appuyer de nouveau."
    }
  }
}
