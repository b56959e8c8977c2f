/** French: signing in, and what a person has for itself. */
import type { AccountTexts } from "../Texts.ts"

export const accountTexts: AccountTexts = {
  signIn: {
    title: "Se connecter",
    hello: "Les paiements, les remboursements et les comptes de votre boutique.",
    againTitle: "Est-ce toujours vous\u202f?",
    againText:
      "Ceci fait sortir de l’argent, ou change qui peut le faire. Prouvez que vous êtes bien la personne qui s’est connectée\u202f; la preuve vaut 5 minutes. Appuyez ensuite une fois de plus.",
    again: "Le prouver avec une clé d’accès",
    back: "Revenir sans preuve",
    linkTitle: "Se connecter avec votre lien",
    linkText: "Le lien connecte une personne, une seule fois, dans les dix minutes qui suivent sa création.",
    token: "Jeton du lien",
    go: "Continuer",
    passkey: "Se connecter avec une clé d’accès",
    wallets: "Portefeuilles de ce navigateur",
    wallet: {
      pay: "Se connecter avec {wallet}",
      asking: "Confirmez dans {wallet}. Seul un texte est signé\u202f; rien n’est envoyé ni dépensé.",
      declined: "Vous avez refusé dans {wallet}.",
      busy: "{wallet} vous attend déjà. Ouvrez le portefeuille et répondez-y.",
      locked: "{wallet} est verrouillé. Ouvrez-le, puis appuyez de nouveau.",
      unknown: "{wallet} n’a pas pu signer. Réessayez, ou connectez-vous autrement."
    },
    recovery: "Clé d’accès perdue\u202f?",
    email: "Adresse e-mail",
    code: "Code de secours",
    useCode: "Utiliser un code de secours",
    byAddress: (url) =>
      `Les clés d’accès ne fonctionnent pas à une adresse faite de chiffres. Ouvrez plutôt ${url}, ou utilisez un lien.`,
    needsScript:
      "La connexion par clé d’accès ou portefeuille demande un script, que ce navigateur n’exécute pas. Utilisez un lien."
  },
  account: {
    title: "Votre compte",
    passkeys: "Clés d’accès",
    passkeysText:
      "Une clé d’accès vous connecte par votre empreinte, votre visage ou le code de votre appareil, et sur ce site seulement. Gardez-en deux.",
    passkeyName: "Nom de la nouvelle clé d’accès",
    passkeyHint: "Celui de l’appareil qui la garde, par exemple Portable",
    addPasskey: "Ajouter une clé d’accès",
    needsScript: "L’ajout d’une clé d’accès demande un script, que ce navigateur n’exécute pas.",
    wallets: "Portefeuilles",
    walletsText:
      "Un portefeuille de ce navigateur vous connecte en signant un texte\u202f: rien n’est envoyé ni dépensé. Une fois installé ici, il apparaît ci-dessous.",
    walletAddress: "Adresse",
    linkWallet: "Lier {wallet}",
    walletNeedsScript: "Lier un portefeuille demande un script que ce navigateur n’exécute pas.",
    approves:
      "En Production, vous approuvez avec une clé d’accès ou un portefeuille, jamais avec un lien. Les nouveaux comptent 24 heures après leur ajout, ceux du premier propriétaire aussitôt.",
    onlyLinks: "Vous n’avez ni clé d’accès ni portefeuille.",
    name: "Nom",
    added: "Ajoutée",
    used: "Dernière utilisation",
    remove: "Retirer",
    waits: "En production, aucun mouvement d’argent avant le",
    pages: "Langue et heure",
    language: "Langue",
    languageOfBrowser: "Celle que demande le navigateur",
    timeZone: "Fuseau horaire",
    pagesText: "Pour vous uniquement. Les jours et les mois des comptes, ainsi que les exports, restent en UTC.",
    savePages: "Enregistrer",
    notices: "Messages par e-mail",
    noticesText:
      "Quand un cas a besoin de vous ou qu’un endpoint de webhook est désactivé, selon votre rôle. Au plus un par heure de chaque sorte.",
    noticesOf: "M’avertir pour",
    noticeChoices: { mainnet: "Production seulement", all: "Production et test", none: "Rien" },
    recovery: "Codes de secours",
    recoveryText:
      "Dix codes pour le jour où toutes vos clés d’accès sont perdues. De nouveaux codes mettent fin aux précédents.",
    makeCodes: "Créer de nouveaux codes",
    codes: "Codes de secours",
    codesText:
      "Ces codes ne sont affichés qu’une fois. Chacun vous connecte une fois, avec votre adresse e-mail. Gardez-les sur papier.",
    sessions: "Vos sessions ouvertes",
    method: "Par",
    methods: { passkey: "Clé d’accès", wallet: "Portefeuille", link: "Lien", recovery: "Code de secours" },
    here: "Ici",
    signedIn: "Depuis",
    end: "Déconnecter",
    endAll: "Déconnecter partout"
  }
}
