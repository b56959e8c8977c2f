/**
 * French; a narrow no-break space stands before `:`, `;`, `?` and `!`. No merchant follows "à" or "de", which would
 * melt with the article of a name such as "Le Fournil".
 */
import { plural, type Texts } from "../Texts.ts"

const found = plural("fr", { one: "# devise", many: "# de devises", other: "# devises" })
const minutesLeft = plural("fr", {
  one: "Le prix est garanti encore # minute",
  many: "Le prix est garanti encore # de minutes",
  other: "Le prix est garanti encore # minutes"
})
const networks = plural("fr", { one: "# réseau", many: "# de réseaux", other: "# réseaux" })

export const fr: Texts = {
  locale: "fr",
  language: "Français",
  direction: "ltr",
  fullStop: ".",

  testMode: "Mode test\u202f: aucun argent réel",
  domainVerified: "Domaine vérifié\u202f:",
  domainChecked: (domain, when) =>
    `${domain} déclare encaisser sur cette page les paiements de cette boutique. Vérifié le ${when}.`,
  returnsTo: (host) => `Retour ensuite vers ${host}`,
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
  stepCurrency: "1. Devise",
  stepNetwork: (token) => `2. Réseau pour ${token}`,
  networks,
  toSend: (amount) => `${amount} à envoyer`,
  moreCurrencies: "Autres devises",
  walletPaysFee: "votre portefeuille paie les frais de réseau",
  feeUnder: (amount) => `frais sous ${amount}`,
  feeAbout: (amount) => `frais d’environ ${amount}`,
  lowestFee: "frais les plus bas",
  aboutSeconds: (count) => `environ ${count} s`,
  aboutMinutes: (count) => `environ ${count} min`,
  whichNetwork: (token) => `Un doute\u202f? Choisissez le réseau sur lequel votre portefeuille détient ${token}.`,
  search: "Rechercher devise ou réseau",
  found,
  nothingFound: "Aucun résultat",
  noMethods: (merchant) =>
    `Aucun moyen de paiement n’est disponible pour le moment. Réessayez plus tard ou contactez ${merchant}.`,
  noOfferedMethods: (merchant) =>
    "Aucun paiement n’est possible pour le moment\u202f: aucune des devises que la boutique accepte pour " +
    `votre commande n’est disponible. Réessayez plus tard ou contactez ${merchant}.`,
  proceed: "Continuer",
  proceedWith: (token, network) => `Continuer avec ${token} sur ${network}`,
  minimum: (amount) => `au moins ${amount}`,
  networkDown: "réseau perturbé",
  noPriceNow: "prix indisponible",
  notAvailable: "indisponible",

  waitingTitle: "En attente de votre paiement",
  payTitle: (amount, network) => `Payer ${amount} sur ${network}`,
  scanCode: "Code QR pour un portefeuille sur un autre appareil",
  paymentLink: "Lien de paiement",
  addressOnly: "Adresse seule",
  qrName: (amount, address, network) => `Code QR pour envoyer ${amount} vers ${address} sur le réseau ${network}`,
  qrAddressName: (address, network) => `Code QR de l’adresse ${address} sur le réseau ${network}`,
  priceHeldFor: "Prix garanti pendant",
  priceRenews: "Le prix est garanti et se renouvelle tout seul.",
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
  payeeTitle: "Qui reçoit cet argent",
  payee: (merchant) =>
    `Ce qui est envoyé à cette adresse ne peut aller que vers un seul portefeuille. Si ${merchant} a publié ` +
    "le sien, comparez-les.",
  payeeCheck: "Pour vérifier : l’adresse se calcule à partir de ces valeurs, par CREATE2 (EIP-1014).",
  openInWallet: "Ouvrir dans le portefeuille",
  walletList: "Portefeuilles de ce navigateur",
  walletPay: (wallet) => `Payer avec ${wallet}`,
  walletAsking: (wallet, amount, network, address) =>
    `Confirmez dans ${wallet}\u202f: ${amount} sur ${network} vers ${address}. Cette page n’indique le paiement ` +
    "que lorsque le réseau le montre.",
  walletDeclined: (wallet) => `Vous avez refusé dans ${wallet}. Rien n’a été envoyé.`,
  walletBusy: (wallet) => `${wallet} vous attend déjà. Ouvrez le portefeuille et répondez-y.`,
  walletLocked: (wallet) => `${wallet} est verrouillé. Ouvrez-le, puis appuyez de nouveau.`,
  walletChain: (wallet, network) =>
    `${wallet} ne peut pas utiliser ${network}. Prenez un autre portefeuille ou scannez le code.`,
  walletFunds: (amount, network) =>
    `Il manque des fonds sur ce compte\u202f: il faut ${amount} sur ${network}. Choisissez un autre compte ou ` +
    "une autre devise.",
  walletFee: (coin, network) => `Ce compte n’a pas assez en ${coin} sur ${network} pour les frais de réseau.`,
  walletSilent: (wallet) =>
    `Pas de réponse de la part du portefeuille ${wallet}. Si vous avez confirmé, attendez\u202f: cette page suit ` +
    "toute seule.",
  walletUnknown: (wallet) =>
    `${wallet} a signalé une erreur. Le paiement est peut-être parti quand même\u202f: vérifiez votre portefeuille ` +
    "avant de réessayer.",
  walletChanged:
    "Ce paiement a changé entre-temps. Rien n’a été envoyé\u202f: vérifiez le montant avant d’appuyer de nouveau.",
  walletSent: (wallet) => `Envoyé avec ${wallet}. En attente que le réseau le montre.`,
  walletAgain: (sent, amount) =>
    `Vous avez peut-être déjà envoyé ${sent}\u202f: vérifiez votre portefeuille. N’appuyez de nouveau que ` +
    `pour envoyer ${amount} en plus.`,
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
  partialReceived: (received) => `Nous avons reçu ${received}.`,
  stillPayable: "Le délai est écoulé, mais vous pouvez encore envoyer le reste.",

  paidTitle: "Paiement effectué",
  paid: (merchant) => `${merchant} a reçu votre paiement.`,
  overpaidTitle: (extra) => `Payé, avec ${extra} en trop`,
  overpaid: (extra, merchant) =>
    `Vous avez envoyé ${extra} en trop. Contactez ${merchant} pour obtenir le remboursement.`,
  returnTo: (merchant) => `Revenir chez ${merchant}`,
  returnsIn: (merchant) => `Retour chez ${merchant} dans`,
  returnsSoon: (merchant, seconds, stay) =>
    `Vous retournez chez ${merchant} dans ${seconds} secondes. Pour rester, appuyez sur\u202f: ${stay}.`,
  stayHere: "Rester sur cette page",
  paidAt: "Payé le",
  total: "Total",
  inDollars: "En dollars américains",
  receipt: "Reçu",
  receiptOpen: "Ouvrir le reçu",
  receiptAmount: "Vous avez payé",
  receiptFor: "Pour",
  receiptTo: "À",
  receiptAddress: "À l’adresse",
  receiptExtra: "En trop",

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
  accepted: (merchant, time) => `${merchant} l’a accepté, ${time}.`,
  keptAsCredit: (merchant) => `${merchant} le garde comme avoir en votre faveur.`,
  refundAwaited: (amount, merchant) =>
    `${amount} vous seront rendus. ${merchant} vous envoie un lien pour indiquer où.`,
  refundUnderWay: (amount) => `${amount} sont en route vers vous.`,
  refundDone: (amount) => `${amount} vous ont été remboursés.`,
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

  claimOpenTitle: "Ouvrir votre remboursement",
  claimOpen: "Collez le lien complet que vous avez reçu. Il ouvre votre remboursement\u202f: ne le montrez à personne.",
  claimLink: "Lien de votre remboursement",
  claimAddressTitle: "Où envoyer votre remboursement\u202f?",
  claimFrom: (merchant) => `${merchant} vous rembourse.`,
  claimGive: (token, network) =>
    `Indiquez une adresse qui reçoit ${token} sur ${network}\u202f: celle de votre propre portefeuille ou votre ` +
    "adresse de dépôt sur une plateforme d’échange. Sur tout autre réseau, l’argent peut être perdu définitivement.",
  claimUntil: (moment) => `Le lien accepte une adresse jusqu’au ${moment}.`,
  claimAmount: "Vous recevez",
  claimFee: "Retenu pour les frais de réseau",
  claimNetwork: "Réseau",
  claimReason: "Motif",
  claimRequested: "Vous l’avez demandé",
  claimOverpayment: "Vous avez trop payé",
  claimLate: "Votre paiement est arrivé en retard",
  claimUnderpayment: "Vous n’avez pas assez payé",
  claimWrongToken: "Vous avez payé avec autre chose",
  claimOrderCanceled: "La commande a été annulée",
  claimOrderFailed: "La commande n’a pas pu aboutir",
  claimDuplicate: "Vous avez payé deux fois",
  claimMemo: "Seulement pour une plateforme d’échange\u202f: copiez le mémo affiché à côté de l’adresse. Sans " +
    "lui, l’argent risque de ne pas arriver sur votre compte.",
  claimCheckTitle: "Est-ce votre adresse\u202f?",
  claimCheck: "Votre remboursement sera envoyé ici. Une fois confirmée, l’adresse ne peut plus être changée. " +
    "Comparez chaque caractère avec votre portefeuille.",
  claimConfirm: "Envoyer mon remboursement ici",
  claimEdit: "Changer l’adresse",
  claimWrongAddress: (network) =>
    `Le réseau ${network} n’a aucun portefeuille à cette adresse. Copiez à nouveau l’adresse complète depuis ` +
    "votre portefeuille.",
  claimOtherNetwork: (network) =>
    `C’est une adresse d’un autre réseau. Le remboursement est payé uniquement sur ${network}\u202f: copiez votre ` +
    "adresse sur ce réseau.",
  claimReceiveAddress: (token, network) =>
    "Des paiements à des boutiques arrivent à cette adresse\u202f: le remboursement ne vous parviendrait pas. " +
    `Copiez l’adresse à laquelle votre propre portefeuille reçoit ${token} sur ${network}.`,
  claimNoWallet: (token, network) =>
    "C’est un jeton ou un autre contrat, et l’argent envoyé là est perdu. Copiez l’adresse à laquelle votre " +
    `propre portefeuille reçoit ${token} sur ${network}.`,
  claimRefused: (merchant) =>
    "Aucun remboursement ne peut être envoyé à cette adresse. Indiquez une autre adresse de votre propre " +
    `portefeuille ou contactez ${merchant}.`,
  claimWrongMemo: "Un mémo compte au plus 120 lettres, chiffres et signes, sans accents. Copiez-le à nouveau ou " +
    "laissez le champ vide.",
  claimUnchecked: "Cette adresse ne peut pas être vérifiée pour le moment et rien n’a été enregistré. Réessayez " +
    "dans quelques minutes.",
  claimApprovalTitle: "Votre adresse est enregistrée",
  claimApproval: (merchant) =>
    `${merchant} doit encore approuver le remboursement. Vous pouvez fermer cette page\u202f: le même lien montre ` +
    "où il en est.",
  claimKept: (merchant) =>
    "Une autre adresse avait déjà été enregistrée et reste valable\u202f: elle figure ci-dessous. Si ce n’est " +
    `pas la vôtre, contactez immédiatement ${merchant}.`,
  claimProcessingTitle: "Votre remboursement est en cours de paiement",
  claimProcessing: "Il est envoyé à l’adresse ci-dessous. Vous pouvez fermer cette page\u202f: le même lien " +
    "montre quand il est payé.",
  claimPaidTitle: "Votre remboursement est payé",
  claimPaid: (amount, network) => `${amount} envoyés à l’adresse ci-dessous sur ${network}.`,
  claimFailedTitle: "Le remboursement n’a pas été payé",
  claimFailed: (merchant) =>
    `Le transfert n’a pas abouti et votre argent n’est pas perdu. ${merchant} peut réessayer ou vous demander une ` +
    "autre adresse.",
  claimExpiredTitle: "Ce remboursement a expiré",
  claimExpired: (merchant) =>
    `Aucune adresse n’a été indiquée à temps. Contactez ${merchant} pour relancer le remboursement.`,
  claimCanceledTitle: "Ce remboursement a été annulé",
  claimCanceled: (merchant) => `Rien ne sera envoyé. Si vous ne vous y attendiez pas, contactez ${merchant}.`,
  claimUnaddressedTitle: "Ce lien a déjà été utilisé",
  claimUnaddressed: (merchant) =>
    `Une adresse est de nouveau nécessaire. Contactez ${merchant} pour obtenir un nouveau lien.`,
  claimCheckAgain: "Vérifier à nouveau",
  claimNoAnswer: "Aucune réponse. Vérifiez votre connexion, puis réessayez. Ce que vous avez déjà confirmé est " +
    "conservé.",
  claimEndedTitle: "Ce lien n’ouvre aucun remboursement",
  claimEnded: "Il est incomplet ou n’est plus valable. Ouvrez à nouveau le lien reçu ou demandez-en un nouveau à " +
    "la boutique.",
  claimUnavailable: "Nous ne pouvons pas afficher votre remboursement pour le moment. Ouvrez à nouveau votre " +
    "lien dans un instant\u202f: il montre ce qui a été enregistré.",

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
