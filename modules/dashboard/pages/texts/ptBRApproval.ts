/** Brazilian Portuguese: what is said to whoever approves that money goes out. */
import type { ApprovalTexts } from "../Texts.ts"

export const approvalTexts: ApprovalTexts = {
  title: "O que você aprova",
  text:
    "É isto que você assina, palavra por palavra. Fica guardado com a sua aprovação, para que qualquer pessoa possa conferir depois.",
  approve: "Aprovar",
  withoutSigning: "Aprovar sem assinatura, pois é dinheiro fictício",
  changed: "Isto mudou desde que você abriu a página. Leia de novo e aperte mais uma vez.",
  needsScript: "Aprovar dinheiro real exige uma assinatura e, para ela, um script, que este navegador não executa.",
  nothingToSign:
    "Aprovar dinheiro real exige uma chave de acesso ou uma carteira sua. Adicione uma à sua conta: um dia depois, ela aprova dinheiro real.",
  toAccount: "Adicionar uma chave de acesso",
  waits: "Você entrou por um link ou acabou de entrar na equipe. Poderá aprovar dinheiro real a partir de:",
  wallet: {
    pay: "Aprovar com {wallet}",
    asking: "Leia o texto em {wallet} e assine-o. Nada é enviado nem gasto.",
    declined: "Você recusou em {wallet}.",
    busy: "{wallet} já está perguntando. Abra a carteira e responda lá.",
    locked: "{wallet} está bloqueada. Abra a carteira e aperte de novo.",
    unknown: "{wallet} não conseguiu assinar. Tente de novo ou use uma chave de acesso."
  }
}
