/**
 * French; a narrow no-break space stands before `:`, `;`, `?` and `!`. No merchant follows "à" or "de", which would
 * melt with the article of a name such as "Le Fournil".
 */
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
  fullStop: ".",

  testMode: "Mode test\u202f: aucun argent réel",
  invoice: "Facture",
  help: "Aide",
  chooseLanguage: "Langue",
  change: "Changer",
  checkPayment: "Vérifier le paiement",

  stepWaiting: "Attente",
  stepConfirming: "Confirmation",
  stepPaid: "Payé",
  progress: "Avancement du paiement",

  chooseTitle: "Choisissez comment payer",
  chooseLabel: "Devise et réseau",
  search: "Rechercher devise ou réseau",
  found,
  nothingFound: "Aucun résultat",
  noMethods: (merchant) =>
    `Aucun moyen de paiement n’est disponible pour le moment. Réessayez plus tard ou contactez ${merchant}.`,
  proceed: "Continuer",
  minimum: (amount) => `au moins ${amount}`,
  networkDown: "réseau perturbé",
  noPriceNow: "prix indisponible",
  notAvailable: "indisponible",

  waitingTitle: "En attente de votre paiement",
  scanOrCopy: "Scannez le code avec votre portefeuille ou copiez les informations ci-dessous",
  paymentLink: "Lien de paiement",
  addressOnly: "Adresse seule",
  qrName: (amount, address, network) => `Code QR pour envoyer ${amount} vers ${address} sur le réseau ${network}`,
  qrAddressName: (address, network) => `Code QR de l’adresse ${address} sur le réseau ${network}`,
  priceHeldFor: "Prix garanti pendant",
  timeLeft: "Temps restant pour payer",
  payBy: "À payer avant le",
  amountToSend: "Montant à envoyer",
  remainingToSend: "Reste à envoyer",
  addressOn: (network) => `Adresse sur ${network}`,
  memo: "Mémo",
  memoNeeded:
    "De nombreux paiements arrivent à cette adresse, et le mémo indique lequel est le vôtre. Copiez-le dans " +
    "le champ mémo ou commentaire de votre portefeuille. Sans lui, votre paiement ne peut pas être identifié.",
  memoFromExchange: "Ne payez depuis une plateforme d’échange que si elle vous permet de saisir ce mémo.",
  sendOnly: (token, network) => `Envoyez uniquement ${token} sur le réseau ${network}.`,
  otherwiseLost: "Tout envoi avec un autre jeton ou sur un autre réseau peut être définitivement perdu.",
  openInWallet: "Ouvrir dans le portefeuille",
  useAnother: "Utiliser une autre devise",
  payingWith: (token, network) => `Vous payez en ${token} sur ${network}`,
  copy: "Copier",
  copyOf: (what) => `Copier\u202f: ${what}`,
  copied: "Copié",
  minutesLeft,

  quoteEndedTitle: "Le prix doit être actualisé",
  quoteEnded: "Le prix n’était garanti que quelques minutes. Obtenez-en un nouveau avant d’envoyer\u202f: " +
    "l’adresse reste la même. Ce que vous avez déjà envoyé n’est pas perdu.",
  newPrice: "Obtenir un nouveau prix",
  noPriceTitle: "Pas de prix pour le moment",
  noPrice: "Il n’y a pas de prix pour cette devise en ce moment. N’envoyez rien pour l’instant " +
    "et réessayez dans quelques minutes. Ce que vous avez déjà envoyé n’est pas perdu.",

  confirmingTitle: "Paiement détecté, en cours de confirmation",
  mayClose: (merchant) =>
    `Vous pouvez fermer cette page. ${merchant} recevra une notification dès que votre paiement sera confirmé.`,
  confirmations: (done, needed) => `Confirmations\u202f: ${done} sur ${needed}`,
  received: "Reçu",
  transaction: "Transaction",
  viewTransaction: (hash) => `Voir la transaction ${hash} dans un explorateur de blocs`,

  partialTitle: "Une partie du paiement est arrivée",
  partial: (received, remaining) => `Nous avons reçu ${received}. Envoyez le reste (${remaining}) à la même adresse.`,
  stillPayable: "Le délai est écoulé, mais vous pouvez encore envoyer le reste.",

  paidTitle: "Paiement effectué",
  paid: (merchant) => `${merchant} a reçu votre paiement.`,
  overpaidTitle: (extra) => `Payé, avec ${extra} en trop`,
  overpaid: (extra, merchant) =>
    `Vous avez envoyé ${extra} en trop. Contactez ${merchant} pour obtenir le remboursement.`,
  returnTo: (merchant) => `Revenir chez ${merchant}`,
  paidAt: "Payé le",
  total: "Total",

  expiredTitle: "Ce paiement a expiré",
  expired: "Nous n’avons rien reçu. N’envoyez rien à l’ancienne adresse.",
  expiredSent: "Si vous avez déjà envoyé le paiement, ne payez pas une seconde fois\u202f: " +
    "il s’affichera ici dès son arrivée.",
  startAgain: "Recommencer",
  expiredContact: (merchant) => `Contactez ${merchant} pour obtenir une nouvelle facture.`,

  lateTitle: "Votre paiement est arrivé en retard",
  late: (received, merchant) =>
    `Nous avons reçu ${received} après la fin du délai. ${merchant} peut accepter ou rembourser ce montant.`,
  expiredPartialTitle: "Délai écoulé, une partie du paiement est arrivée",
  expiredPartial: (received, merchant) =>
    `Nous avons reçu ${received}, moins que le montant dû. ${merchant} peut accepter ou rembourser ce montant.`,
  doNotPayAgain: "Ne payez pas une seconde fois.",
  contact: (merchant) => `Contacter ${merchant}`,
  contactNobody: (merchant) => `Contactez ${merchant} en indiquant le numéro de facture ci-dessus.`,

  canceledTitle: "Cette facture a été annulée",
  canceled: (merchant) => `Annulée par ${merchant}. N’envoyez rien. Si vous avez déjà payé, demandez un remboursement.`,

  reversedTitle: "Votre paiement a été annulé par le réseau",
  reversed: "Le réseau a annulé votre transaction et le paiement n’est pas arrivé. " +
    "L’argent devrait être de retour dans votre portefeuille.",
  payAgain: "Vérifiez d’abord votre portefeuille. Si l’argent s’y trouve, vous pouvez payer à nouveau.",
  rejectedTitle: "Nous avons reçu autre chose",
  rejected: (merchant) =>
    "Nous avons reçu un transfert que cette facture n’accepte pas. Il n’est pas compté comme paiement. " +
    `Contactez ${merchant} pour obtenir le remboursement.`,

  refundTitle: "Où envoyer un éventuel remboursement\u202f?",
  refundAddress: (network) => `Votre adresse sur le réseau ${network}`,
  refundSave: "Enregistrer l’adresse",
  refundSaved: "Adresse enregistrée. Un éventuel remboursement y sera envoyé.",
  refundWrong: (network) => `Ce n’est pas une adresse du réseau ${network}. Veuillez la vérifier.`,

  offline: "Pas de connexion. Cette page s’actualisera d’elle-même dès le retour de la connexion. " +
    "Ce que vous avez déjà envoyé n’est pas perdu.",
  networkDegraded: (network) =>
    `Le réseau ${network} est perturbé en ce moment. Votre paiement peut s’afficher plus tard que d’habitude. ` +
    "Si vous l’avez déjà envoyé, ne l’envoyez pas une seconde fois.",

  simulateTitle: "Simuler un paiement",
  simulateNote: "Mode test\u202f: argent fictif, aucun portefeuille nécessaire.",
  simulatePay: "Payer",
  simulatePartial: "Payer la moitié",
  simulateOver: "Payer trop",
  simulateLate: "Payer en retard",

  sessionEndedTitle: "Ce lien n’ouvre aucun paiement",
  sessionEnded: "Il est incomplet ou a expiré. Ouvrez à nouveau le lien reçu ou demandez-en un nouveau à la boutique.",
  notFoundTitle: "Il n’y a rien ici",
  notFound: "Il n’y a aucun paiement à cette adresse web. Ouvrez à nouveau le lien reçu.",
  tooManyTitle: "Trop de tentatives",
  tooMany: "Patientez un instant, puis rechargez la page.",
  unavailableTitle: "Un instant, s’il vous plaît",
  unavailable: "Nous ne pouvons pas afficher votre paiement pour le moment. " +
    "Ce que vous avez déjà envoyé n’est pas perdu. Patientez quelques secondes, puis réessayez.",
  failedTitle: "Une erreur s’est produite",
  failed: "Rechargez la page dans un instant. Ce que vous avez déjà envoyé n’est pas perdu.",
  tryAgain: "Réessayer"
}
