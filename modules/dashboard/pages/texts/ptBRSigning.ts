/** Brazilian Portuguese: what is signed by a wallet. `{wallet}` and the like are filled in by the script. */
import type { SigningTexts } from "../Texts.ts"

export const signingTexts: SigningTexts = {
  signing: {
    title: "Assinar e pagar",
    text:
      "Sua carteira paga estas linhas. Elas contam como pagas quando a rede mostra isso, diga o que disser uma carteira ou uma pessoa.",
    collectText: "Qualquer carteira pode enviar isto. Só pode pagar à sua própria carteira de recebimento.",
    part: (part, parts) => parts === 1 ? "Todas as linhas" : `Parte ${part} de ${parts}`,
    wallets: "Carteiras neste navegador",
    needsScript:
      "Uma carteira deste navegador exige um script, que este navegador não executa. Use uma das formas abaixo.",
    form: "Forma",
    formats: {
      eip5792: "Chamadas (EIP-5792)",
      transactions: "Transações, uma por uma",
      safe: "Safe, Transaction Builder",
      csv: "Lista (CSV)",
      solana: "Transação Solana",
      ton: "Mensagem TON Connect",
      sui: "Transação Sui",
      cardano: "Transação Cardano"
    },
    show: "Mostrar",
    payloadText:
      "É isto que a carteira recebe. Mostre quantas vezes quiser: continua igual enquanto puder ser assinado.",
    back: "Voltar ao lote",
    already: "Enviou de outra carteira?",
    hash: "A transação dela",
    hashHint: "Olhamos lá primeiro. A rede decide o que foi pago.",
    tell: "Olhar lá",
    wallet: {
      pay: "Assinar com {wallet}",
      asking: "Confirme em {wallet}. Esta página só diz “Concluído” quando a rede mostra isso.",
      step: "Confirme o passo {step} de {steps} em {wallet}.",
      waiting: "O passo {step} de {steps} foi enviado. O próximo vem quando ele estiver em um bloco.",
      sent: "Enviado com {wallet}. Aguardando aparecer na rede.",
      declined: "Você recusou em {wallet}. Aperte de novo para continuar.",
      busy: "{wallet} já está perguntando. Abra a carteira e responda lá.",
      locked: "{wallet} está bloqueada. Abra a carteira e aperte de novo.",
      chain: "{wallet} não consegue usar esta rede. Use outra carteira ou outra forma.",
      account: "Este lote é pago de {account}. Escolha essa conta em {wallet} e aperte de novo.",
      given: "{wallet} já tem isto. Abra a carteira e olhe lá: nunca é pago duas vezes.",
      funds: "A conta não tem o suficiente para isto.",
      fee: "A conta não tem o suficiente para a taxa de rede.",
      failed: "A rede recusou. Veja a transação em {wallet} e aperte de novo.",
      unknown:
        "{wallet} não conseguiu enviar. Até onde se sabe, nada foi enviado; nunca é pago duas vezes, então você pode apertar de novo."
    }
  }
}
