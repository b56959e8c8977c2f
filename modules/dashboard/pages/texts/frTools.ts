/** French: the pages of developers and of settings. */
import { plural } from "../../../../runtime/pages/Languages.ts"
import type { ToolTexts } from "../Texts.ts"

const hours = plural("fr", { one: "# heure plus tard", many: "# d’heures plus tard", other: "# heures plus tard" })

export const toolTexts: ToolTexts = {
  exports: {
    title: "Exporter",
    from: "Du",
    until: "Au",
    kinds: {
      invoices: "Factures",
      payments: "Paiements",
      refunds: "Remboursements",
      lots: "Entrées avec leur valeur",
      koinly: "Koinly",
      "balance-transactions": "Mouvements",
      journal: "Journal comptable"
    }
  },
  webhooks: {
    none: "Personne n’est encore averti.",
    add: "Ajouter un point de terminaison",
    added: "Le point de terminaison est ajouté",
    rotated: "Un nouveau secret",
    secretText:
      "Ce secret n’est affiché qu’une fois. Confiez-le à votre boutique, qui vérifie les signatures avec lui\u202f; le précédent reste valable un jour.",
    url: "Adresse",
    urlHint: "https public, sans mot de passe dans l’adresse",
    events: "Événements",
    description: "Description",
    event: "Événement",
    answer: "Réponse",
    millis: "Millisecondes",
    tries: "Tentatives",
    nextTry: "Prochaine tentative",
    attempt: (number) => `Tentative ${number}`,
    error: "Erreur",
    deliveries: "Livraisons",
    sendAgain: "Envoyer de nouveau",
    sendExample: "Envoyer un exemple",
    rotate: "Changer le secret",
    disable: "Désactiver",
    enable: "Activer",
    endpointStates: { enabled: "Actif", disabled: "Désactivé" },
    deliveryStates: {
      pending: "En attente",
      delivering: "En cours d’envoi",
      succeeded: "Livrée",
      retrying: "Échouée, nouvel essai prévu",
      failed: "Échouée",
      canceled: "Annulée"
    }
  },
  events: { type: "Type", about: "Concerne", waiting: "Webhooks en attente" },
  keys: {
    make: "Créer une clé",
    made: "La clé est créée",
    secretText: "La clé n’est affichée qu’une fois. Enregistrez-la là où votre serveur la lit, et nulle part ailleurs.",
    name: "Nom",
    key: "Clé",
    permissions: "Ce qu’elle permet",
    lastUsed: "Dernière utilisation",
    roll: "Remplacer",
    revoke: "Révoquer",
    scope: "Portée",
    use: "Pour",
    uses: { any: "Tout", btcpay: "Seulement une boutique conçue pour BTCPay Server" },
    shopSecretText: (store) =>
      `Saisissez la clé dans votre boutique. Elle n’est affichée que cette fois. Le Store ID est ${store}.`,
    scopes: { merchant: "Tout le compte", commerce: "Données de commerce seulement" },
    permissionTexts: {
      read: "Tout lire",
      write: "Tout modifier, sauf ce qui envoie de l’argent",
      refund: "Créer des remboursements et des lots, que des personnes approuvent"
    },
    states: {
      active: "En service",
      rotating: "Remplacée, se termine bientôt",
      expired: "Expirée",
      revoked: "Révoquée"
    }
  },
  settings: {
    tokensKeep: "Les pages de paiement ouvertes gardent ce qu’elles ont proposé.",
    policies: {
      accept_all: "Tout jeton est accepté, sauf ceux qui sont désactivés",
      selective: "Seuls les jetons choisis sont acceptés",
      accept_none: "Aucun jeton n’est accepté"
    },
    accepted: "Accepté",
    blocked: "Désactivé",
    noWallets: "Aucun portefeuille de réception\u202f: personne ne peut vous payer sur un réseau réel.",
    families: {
      evm: "Ethereum et réseaux apparentés",
      solana: "Solana",
      ton: "TON",
      sui: "Sui",
      cardano: "Cardano"
    },
    kind: "Type",
    value: "Partie publique",
    nextIndex: "Prochaine adresse",
    highestIndex: "Adresse payée la plus haute",
    compare: "Ouvrez votre portefeuille\u202f: ces adresses correspondent-elles\u202f?",
    name: "Nom sur la page de paiement",
    accent: "Couleur",
    accentHint: "Comme #2a4fd8\u202f; un texte blanc doit y être lisible",
    supportEmail: "Adresse pour l’aide",
    payeeProof: "Montrer aux clients comment vérifier une adresse",
    payeeProofText:
      "Sous une adresse de votre portefeuille forwarder, la page nomme votre bénéficiaire et ce dont l’adresse est calculée. Chaque client voit alors le bénéficiaire.",
    save: "Enregistrer",
    means: "Ce que cela signifie",
    head: "Bloc le plus récent"
  },
  views: {
    title: "Vues enregistrées",
    none: "Pas encore de vue de cette liste. Choisissez un filtre, puis enregistrez-le sous un nom.",
    name: "Nom de cette vue",
    share: "Pour tous ceux de la boutique",
    save: "Enregistrer cette vue",
    remove: "Retirer",
    shared: "Partagée"
  },
  domain: {
    title: "Domaine de votre boutique",
    text: "Vos clients le voient sur la page de paiement avec le signe ✓ dès que le domaine lui-même vous nomme.",
    name: "Domaine",
    hint: (domain) => `Par exemple ${domain}`,
    save: "Enregistrer et vérifier",
    how: "Publiez l’un des deux. Le domaine est interrogé maintenant, puis chaque jour.",
    file: "Un fichier, sans redirection",
    address: "À l’adresse",
    content: "Avec le contenu",
    record: "Ou un enregistrement TXT du DNS",
    recordName: "Avec le nom",
    recordValue: "Avec la valeur",
    verified: "Vérifié",
    unverified: "Non vérifié",
    waiting: "La vérification est en cours. Rechargez la page dans une minute.",
    last: "Dernière vérification",
    next: "Prochaine vérification",
    keeps: "La dernière vérification n’a trouvé aucun des deux. Le signe reste trois jours après la dernière réussie.",
    results: {
      proved: "vous nomme",
      other_merchant: "nomme un autre commerçant",
      other_host: "nomme une autre page de paiement",
      absent: "absent",
      unreadable: "n’est pas le contenu ci-dessus",
      refused: "l’adresse n’est pas publique, ou est celle de ce service : utilisez l’enregistrement",
      unreachable: "pas de réponse"
    },
    fileResult: "Fichier",
    recordResult: "Enregistrement"
  },
  limits: {
    inForce: "En vigueur",
    pending: "Plafonds plus élevés en attente",
    none: "Aucun plafond",
    raising:
      "Un plafond plus bas vaut aussitôt. Un plafond plus élevé attend un autre propriétaire ou administrateur, s’il y en a un, puis 24 heures.",
    names: {
      auto_approve_limit: "Une personne approuve seule, jusqu’à",
      auto_approve_limit_day: "Tout ce qu’une personne approuve seule en un jour (UTC), au plus",
      payout_limit_batch: "Un lot de versements, au plus",
      payout_limit_day: "Tous les versements d’un jour (UTC), au plus"
    },
    hints: {
      auto_approve_limit: "En dollars. Au-delà, il faut deux personnes, si deux peuvent approuver",
      auto_approve_limit_day:
        "En dollars, pour tous les remboursements et versements réunis. Au-delà, il faut deux personnes, si deux peuvent approuver",
      payout_limit_batch: "En dollars. Vide\u202f: aucun plafond",
      payout_limit_day: "En dollars. Vide\u202f: aucun plafond"
    },
    save: "Enregistrer"
  },
  pending: {
    wallet: (family) => `${family}\u202f: un autre portefeuille est en attente`,
    needsApproval:
      "Ce n’est pas en vigueur. Un autre propriétaire ou administrateur doit l’approuver\u202f; 24 heures plus tard, cela entre en vigueur.",
    waits: "Ce n’est pas encore en vigueur. Cela entre en vigueur tout seul, sauf si quelqu’un l’annule.",
    proposedBy: "Souhaité par",
    proposedAt: "Depuis",
    approvedBy: "Approuvé par",
    inForceFrom: "En vigueur à partir du",
    approve: "Approuver cette modification",
    cancel: "Annuler cette modification"
  },
  found: {
    title: "Recherche",
    nothing: (text) => `Aucun résultat pour “${text}”.`,
    hint: "Le numéro d’une facture ou sa fin, une transaction, une adresse, un montant comme 49.99, ou un client.",
    kind: "Quoi",
    matched: "Trouvé par"
  },
  team: {
    members: "Membres",
    alone: "Il n’y a que vous ici. Invitez une deuxième personne, pour que l’argent ne sorte qu’à deux.",
    name: "Nom",
    email: "Adresse e-mail",
    emailHint: "Rien n’y est envoyé\u202f: vous donnez le lien vous-même",
    sendEmail: "Envoyer le lien par e-mail à cette adresse",
    role: "Rôle",
    joined: "Depuis",
    change: "Modifier",
    remove: "Retirer",
    removeText: "La personne est déconnectée aussitôt et a besoin d’une nouvelle invitation pour revenir.",
    removeNow: "Oui, retirer",
    invite: "Inviter une personne",
    invited: "L’invitation est créée",
    invitedSentText:
      "Ce lien est en route vers la personne. Il sert une fois, dans les sept jours, et n’est affiché qu’une fois.",
    invitedText:
      "Donnez vous-même ce lien à la personne. Il sert une fois, dans les sept jours, et n’est affiché qu’une fois.",
    invitations: "Invitations",
    revoke: "Révoquer",
    invitationStates: {
      waiting: "En attente d’un deuxième propriétaire",
      open: "Ouverte",
      accepted: "Acceptée",
      revoked: "Révoquée",
      expired: "Expirée"
    },
    joinTitle: "Rejoindre l’équipe",
    joinText: "Dites sous quel nom les autres vous connaissent. Votre session s’ouvre ensuite.",
    join: "Rejoindre"
  },
  audit: { who: "Qui", what: "Quoi", action: "Action", change: "Modification", show: "Afficher", hash: "Hachage" },
  simulator: {
    title: "Simulateur",
    text: "Argent fictif. Chaque bouton annonce un fait aux règles par lesquelles passe l’argent réel.",
    open: "Simuler",
    close: "Fermer",
    route: "Jeton et réseau",
    anyRoute: "Celui que montre la page, ou USDC sur Base",
    dollars: "Montant en dollars",
    dollarsHint: "Laissez vide pour ce qui manque",
    blocks: "Blocs par-dessus",
    blocksHint: "Laissez vide pour autant qu’il en faut. 0\u202f: détecté seulement",
    groups: {
      transfers: "Un transfert arrive",
      mistakes: "Un transfert se passe mal",
      blocks: "Le dernier transfert, sur le réseau",
      ends: "La fin, et le chemin jusqu’à vous"
    },
    actions: {
      pay: "Payer",
      partial: "Payer la moitié",
      overpay: "Payer un dixième en trop",
      late: "Payer après la fin",
      wrong_token: "Payer avec un autre jeton",
      wrong_network: "Payer sur un autre réseau",
      missing_memo: "Payer sans mémo",
      unmatched: "Payer avant la facture",
      duplicate: "Payer deux fois",
      dust: "Payer trop peu pour compter",
      confirm: "Confirmer",
      reorg: "Déplacer vers un autre bloc",
      drop: "Retirer du réseau",
      expire: "Faire expirer la facture",
      settle: "Régler",
      fail_settlement: "Faire échouer le règlement"
    },
    outcomes: { succeeded: "Simuler\u202f: versé", failed: "Simuler\u202f: échoué" },
    clock: "Horloge",
    clockText:
      "Avance votre horloge de test\u202f: les factures expirent et les livraisons en attente arrivent à échéance. Aucun retour en arrière n’est possible.",
    hours,
    payTitle: "Un premier paiement",
    payText: "Crée une facture et la paie, pour vous montrer tout ce qui suit.",
    pay: "Simuler un paiement",
    invoiceTitle: "Paiement simulé",
    networks: "Réseaux en panne",
    networksText: "Pour vos propres factures de test seulement, jusqu’au redémarrage du service.",
    modes: { down: "Mettre en panne", lagging: "Retarder les blocs", ok: "Rétablir" },
    newest: "Paiements les plus récents",
    newestText: "Ouvrez-en un pour le payer en partie, le payer deux fois ou laisser le réseau l’annuler."
  },
  tokens: {
    preview: "Ce que voit votre client",
    before: "Maintenant",
    after: "Avec votre modification",
    unsaved: "Ceci n’est pas encore enregistré. Appuyez sur “Enregistrer” pour le proposer désormais.",
    look: "Voir l’aperçu",
    policy: "Ce que vous acceptez",
    chosen: "Choisi",
    chosenHint:
      "Ce que vous cochez compte quand seuls les jetons choisis sont acceptés, et reste enregistré dans les autres cas.",
    acceptOne: (symbol, network) => `Accepter ${symbol} sur ${network}`,
    bulk: "Plusieurs à la fois",
    allNetworks: "Tous les réseaux",
    acceptAll: "Tout accepter",
    blockAll: "Tout désactiver"
  },
  wallets: {
    kinds: {
      xpub: "Clé publique d’un compte",
      address: "Une adresse",
      pool: "Liste d’adresses",
      forwarder: "Redirection vers votre adresse"
    },
    comparePayee:
      "Est-ce bien votre propre adresse\u202f? Tout ce qui est payé va vers elle et ne peut aller nulle part ailleurs.",
    compareText:
      "Cochez chacune de celles que votre propre portefeuille montre à la même place. Si l’une d’elles ne correspond pas, retirez aussitôt ce portefeuille.",
    add: "Définir un portefeuille de réception",
    addText:
      "Ne donnez que la partie publique. Quiconque a une clé privée ou une phrase de récupération a votre argent\u202f: aucune de nos pages n’en demande jamais.",
    family: "Réseaux",
    value: "Clé publique ou adresse",
    valueHint:
      "Par exemple une xpub, prise dans les paramètres du compte de votre portefeuille. Une liste d’adresses se définit par l’API.",
    startIndex: "Première adresse à utiliser",
    startIndexHint:
      "0 pour un compte jamais utilisé, sinon celle qui suit la plus haute utilisée. Laissez vide en mode test",
    set: "Définir ce portefeuille",
    remove: "Retirer ce portefeuille",
    removeText: "Les factures n’en reçoivent plus d’adresses. Rien de ce qui lui a été payé n’est déplacé.",
    removeNow: "Oui, retirer"
  },
  preview: {
    title: "Aperçu",
    text: "Votre page de paiement avec des données inventées. Rien n’en est enregistré, et personne ne peut y payer.",
    look: "Voir l’aperçu",
    state: "État du paiement",
    language: "Langue",
    theme: "Clair ou sombre",
    themes: { light: "Clair", dark: "Sombre" },
    device: "Appareil",
    devices: { phone: "Téléphone", desktop: "Ordinateur" },
    show: "Afficher",
    frame: (state) => `Page de paiement\u202f: ${state}`,
    states: {
      choose: "Choisir une devise",
      waiting: "En attente",
      quote_ended: "Prix expiré",
      no_price: "Pas de prix",
      confirming: "En cours de confirmation",
      partial: "Payé en partie",
      paid: "Payé",
      overpaid: "Payé en trop",
      expired: "Expiré",
      late: "Arrivé en retard",
      expired_partial: "Expiré, payé en partie",
      canceled: "Annulé",
      reversed: "Annulé par le réseau",
      rejected: "Non accepté"
    }
  }
}
