/** Brazilian Portuguese: signing in, and what a person has for itself. */
import type { AccountTexts } from "../Texts.ts"

export const accountTexts: AccountTexts = {
  signIn: {
    title: "Entrar",
    hello: "Os pagamentos, reembolsos e livros da sua loja.",
    againTitle: "Ainda é você?",
    againText:
      "Isso faz dinheiro sair ou muda quem pode fazê-lo. Comprove que você é a pessoa que entrou; vale por 5 minutos. Depois, aperte mais uma vez.",
    again: "Comprovar com uma chave de acesso",
    back: "Voltar sem comprovar",
    linkTitle: "Entrar com seu link",
    linkText: "O link serve para uma pessoa, uma única vez, em até dez minutos depois de criado.",
    token: "Token do link",
    go: "Continuar",
    passkey: "Entrar com uma chave de acesso",
    wallets: "Carteiras neste navegador",
    wallet: {
      pay: "Entrar com {wallet}",
      asking: "Confirme em {wallet}. Só um texto é assinado; nada é enviado nem gasto.",
      declined: "Você recusou em {wallet}.",
      busy: "{wallet} já está perguntando. Abra a carteira e responda lá.",
      locked: "{wallet} está bloqueada. Abra a carteira e aperte de novo.",
      unknown: "{wallet} não conseguiu assinar. Tente de novo ou entre de outra forma."
    },
    recovery: "Perdeu sua chave de acesso?",
    email: "E-mail",
    code: "Código de recuperação",
    useCode: "Usar um código de recuperação",
    byAddress: (url) =>
      `As chaves de acesso não funcionam em um endereço feito de números. Abra ${url} em vez disso, ou use um link.`,
    needsScript: "Entrar com chave de acesso ou carteira exige um script, que este navegador não executa. Use um link."
  },
  account: {
    title: "Sua conta",
    passkeys: "Chaves de acesso",
    passkeysText:
      "Uma chave de acesso permite entrar com sua digital, seu rosto ou o código do aparelho, e somente neste site. Tenha duas.",
    passkeyName: "Nome da nova chave de acesso",
    passkeyHint: "O do aparelho que a guarda, por exemplo Notebook",
    addPasskey: "Adicionar uma chave de acesso",
    needsScript: "Adicionar uma chave de acesso exige um script, que este navegador não executa.",
    wallets: "Carteiras",
    walletsText:
      "Uma carteira deste navegador faz seu login assinando um texto: nada é enviado nem gasto. Quando estiver instalada aqui, aparece abaixo.",
    walletAddress: "Endereço",
    linkWallet: "Vincular {wallet}",
    walletNeedsScript: "Vincular uma carteira exige um script que este navegador não executa.",
    approves:
      "Em Produção, você aprova com uma chave de acesso ou uma carteira, nunca com um link. As novas valem 24 horas depois de adicionadas; as do primeiro proprietário, na hora.",
    onlyLinks: "Você não tem chave de acesso nem carteira.",
    name: "Nome",
    added: "Adicionada",
    used: "Último uso",
    remove: "Remover",
    waits: "Em produção, não movimenta dinheiro até",
    pages: "Idioma e horário",
    language: "Idioma",
    languageOfBrowser: "O que o navegador pede",
    timeZone: "Fuso horário",
    pagesText: "Somente para você. Os dias e meses dos livros e as exportações continuam em UTC.",
    savePages: "Salvar",
    notices: "Mensagens por e-mail",
    noticesText:
      "Quando um caso precisa de você ou um endpoint de webhook é desativado, conforme sua função. No máximo uma por hora de cada tipo.",
    noticesOf: "Avisar-me sobre",
    noticeChoices: { mainnet: "Somente produção", all: "Produção e teste", none: "Nada" },
    recovery: "Códigos de recuperação",
    recoveryText:
      "Dez códigos para o dia em que todas as suas chaves de acesso se perderem. Códigos novos encerram os anteriores.",
    makeCodes: "Criar códigos novos",
    codes: "Códigos de recuperação",
    codesText:
      "Estes códigos são mostrados só desta vez. Cada um serve para entrar uma vez, com seu e-mail. Guarde-os no papel.",
    sessions: "Onde você está conectado",
    method: "Por",
    methods: { passkey: "Chave de acesso", wallet: "Carteira", link: "Link", recovery: "Código de recuperação" },
    here: "Aqui",
    signedIn: "Desde",
    end: "Sair",
    endAll: "Sair de todos os lugares"
  }
}
