/** French; a no-break space stands before `:`, `;`, `?` and `!`. */
import { plural, type Texts } from "../Texts.ts"

const found = plural("fr", {
  one: "# moyen de paiement",
  many: "# de moyens de paiement",
  other: "# moyens de paiement"
})
const minutesLeft = plural("fr", {
  one: "Le prix est garanti encore # minute",
  many: "Le prix est garanti encore # de minutes",
  other: "Le prix est garanti encore # minutes"
})

export const fr: Texts = {
  locale: "fr",
  language: "Français",
  direction: "ltr",

  testMode: "Mode test\u00a0: sans argent réel",
  invoice: "Facture",
  help: "Aide",
  chooseLanguage: "Langue",
  change: "Changer",
  checkPayment: "Vérifier le paiement",
  amountDue: "Montant dû",

  stepWaiting: "En attente",
  stepConfirming: "Confirmation",
  stepPaid: "Payé",
  progress: "Avancement du paiement",

  chooseTitle: "Comment souhaitez-vous payer\u00a0?",
  chooseLabel: "Devise et réseau",
  search: "Chercher devise ou réseau",
  found,
  nothingFound: "Aucun résultat",
  noMethods: (merchant) => `Aucun moyen de paiement n’est disponible pour le moment. Veuillez contacter ${merchant}.`,
  proceed: "Continuer",
  minimum: (amount) => `à partir de ${amount}`,
  networkDown: "réseau perturbé",
  noPriceNow: "pas de prix pour le moment",
  notAvailable: "indisponible",

  waitingTitle: "En attente de votre paiement",
  scanOrCopy: "Scannez le code avec votre portefeuille ou copiez les informations ci-dessous",
  paymentLink: "Lien de paiement",
  addressOnly: "Adresse seule",
  qrName: (amount, address, network) => `Code QR pour payer ${amount} à ${address} sur ${network}`,
  qrAddressName: (address, network) => `Code QR de l’adresse ${address} sur ${network}`,
  priceHeldFor: "Prix garanti pendant",
  invoiceEnds: "Expiration de la facture",
  amountToSend: "Montant à envoyer",
  remainingToSend: "Reste à envoyer",
  addressOn: (network) => `Adresse sur ${network}`,
  memo: "Mémo",
  memoNeeded: "Sans ce mémo, votre paiement ne peut pas être identifié.",
  sendOnly: (token, network) => `Envoyez uniquement ${token} sur ${network}.`,
  otherwiseLost: "Tout envoi avec un autre jeton ou sur un autre réseau est perdu.",
  openInWallet: "Ouvrir dans le portefeuille",
  useAnother: "Utiliser une autre devise",
  payingWith: (token, network) => `Vous payez en ${token} sur ${network}`,
  copy: "Copier",
  copyOf: (what) => `Copier\u00a0: ${what}`,
  copied: "Copié",
  minutesLeft,

  quoteEndedTitle: "Le prix doit être actualisé",
  quoteEnded: "Le prix était garanti quelques minutes. Obtenez-en un nouveau\u00a0: l’adresse reste la même. " +
    "Ce que vous avez déjà envoyé n’est pas perdu.",
  newPrice: "Obtenir un nouveau prix",
  noPriceTitle: "Pas de prix pour le moment",
  noPrice: "Nous n’avons pas de prix pour cette devise en ce moment. L’adresse est bonne\u00a0; patientez un peu " +
    "ou utilisez une autre devise.",

  confirmingTitle: "Paiement détecté, en cours de confirmation",
  mayClose: (merchant) => `Vous pouvez fermer cette page. ${merchant} sera informé dès la confirmation.`,
  confirmations: (done, needed) => `Confirmations\u00a0: ${done} sur ${needed}`,
  received: "Reçu",
  transaction: "Transaction",
  viewTransaction: (hash) => `Voir la transaction ${hash} dans un explorateur de blocs`,

  partialTitle: "Une partie du paiement est arrivée",
  partial: (received, remaining) =>
    `Nous avons reçu ${received}. Envoyez les ${remaining} restants à la même adresse.`,
  stillPayable: "Le délai est écoulé, mais vous pouvez encore envoyer le reste.",

  paidTitle: "Paiement effectué",
  paid: (merchant) => `${merchant} a reçu votre paiement.`,
  overpaidTitle: (extra) => `Payé, avec ${extra} en trop`,
  overpaid: (extra, merchant) => `Vous avez envoyé ${extra} en trop. Demandez le remboursement à ${merchant}.`,
  returnTo: (merchant) => `Retourner à ${merchant}`,
  paidAt: "Payé le",
  total: "Total",

  expiredTitle: "Ce paiement a expiré",
  expired: "Nous n’avons rien reçu. N’envoyez rien à l’ancienne adresse.",
  startAgain: "Recommencer",
  expiredContact: (merchant) => `Demandez une nouvelle facture à ${merchant}.`,

  lateTitle: "Votre paiement est arrivé en retard",
  late: (received, merchant) =>
    `Nous avons reçu ${received} après l’échéance. ${merchant} peut accepter ou rembourser ce montant.`,
  expiredPartialTitle: "Délai écoulé, une partie du paiement est arrivée",
  expiredPartial: (received, merchant) =>
    `Nous avons reçu ${received}, moins que le montant dû. ${merchant} peut accepter ou rembourser ce montant.`,
  doNotPayAgain: "Ne payez pas une seconde fois.",
  contact: (merchant) => `Contacter ${merchant}`,
  contactNobody: (merchant) => `Veuillez contacter ${merchant} en indiquant la facture.`,

  canceledTitle: "Cette facture a été annulée",
  canceled: (merchant) => `Annulée par ${merchant}. N’envoyez rien.`,

  reversedTitle: "Votre paiement a été annulé par le réseau",
  reversed: "Le réseau a annulé votre transaction\u00a0; elle n’est pas arrivée. Vérifiez votre portefeuille\u00a0: " +
    "l’argent devrait s’y trouver.",
  payAgain: "Vous pouvez payer à nouveau.",
  rejectedTitle: "Nous avons reçu autre chose",
  rejected: (merchant) =>
    `Nous avons reçu un transfert que cette facture n’accepte pas. Demandez le remboursement à ${merchant}.`,

  refundTitle: "Où envoyer un éventuel remboursement\u00a0?",
  refundAddress: (network) => `Votre adresse sur ${network}`,
  refundSave: "Enregistrer l’adresse",
  refundSaved: "Enregistrée. Un remboursement y sera envoyé.",
  refundWrong: (network) => `Ce n’est pas une adresse sur ${network}. Veuillez la vérifier.`,

  offline: "Pas de connexion. La page s’actualisera d’elle-même dès son retour.",
  networkDegraded: (network) =>
    `${network} est perturbé en ce moment. Votre paiement peut s’afficher plus tard que d’habitude.`,

  simulateTitle: "Simuler un paiement",
  simulateNote: "Mode test\u00a0: argent fictif, aucun portefeuille requis.",
  simulatePay: "Payer",
  simulatePartial: "Payer la moitié",
  simulateOver: "Payer trop",
  simulateLate: "Payer en retard",

  sessionEndedTitle: "Ce lien n’ouvre aucun paiement",
  sessionEnded: "Il est incomplet ou a expiré. Ouvrez à nouveau le lien reçu ou demandez-en un nouveau à la boutique.",
  notFoundTitle: "Il n’y a rien ici",
  notFound: "Cette adresse web ne mène à aucun paiement. Ouvrez à nouveau le lien reçu.",
  tooManyTitle: "Trop de tentatives",
  tooMany: "Patientez un instant, puis rechargez la page.",
  unavailableTitle: "Un instant, s’il vous plaît",
  unavailable: "Nous ne pouvons pas afficher votre paiement pour le moment. Ce que vous avez déjà envoyé n’est pas " +
    "perdu. Patientez quelques secondes, puis réessayez.",
  failedTitle: "Une erreur s’est produite",
  failed: "Rien n’a été modifié. Rechargez la page dans un instant.",
  tryAgain: "Réessayer"
}
