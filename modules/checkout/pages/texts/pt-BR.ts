/** Brazilian Portuguese. */
import { plural, type Texts } from "../Texts.ts"

const found = plural("pt-BR", {
  one: "# forma de pagamento",
  many: "# de formas de pagamento",
  other: "# formas de pagamento"
})
const minutesLeft = plural("pt-BR", {
  one: "O preço vale por mais # minuto",
  many: "O preço vale por mais # de minutos",
  other: "O preço vale por mais # minutos"
})

export const ptBR: Texts = {
  locale: "pt-BR",
  language: "Português (Brasil)",
  direction: "ltr",

  testMode: "Modo de teste: sem dinheiro real",
  invoice: "Fatura",
  help: "Ajuda",
  chooseLanguage: "Idioma",
  change: "Alterar",
  checkPayment: "Verificar pagamento",
  amountDue: "Valor a pagar",

  stepWaiting: "Aguardando",
  stepConfirming: "Confirmando",
  stepPaid: "Pago",
  progress: "Andamento do pagamento",

  chooseTitle: "Escolha como pagar",
  chooseLabel: "Moeda e rede",
  search: "Buscar moeda ou rede",
  found,
  nothingFound: "Nenhum resultado",
  noMethods: (merchant) => `Nenhuma forma de pagamento disponível no momento. Fale com ${merchant}.`,
  proceed: "Continuar",
  minimum: (amount) => `a partir de ${amount}`,
  networkDown: "rede com problemas",
  noPriceNow: "sem preço no momento",
  notAvailable: "indisponível",

  waitingTitle: "Aguardando seu pagamento",
  scanOrCopy: "Escaneie o código com sua carteira ou copie os dados abaixo",
  paymentLink: "Link de pagamento",
  addressOnly: "Só o endereço",
  qrName: (amount, address, network) => `QR Code para pagar ${amount} para ${address} na rede ${network}`,
  qrAddressName: (address, network) => `QR Code do endereço ${address} na rede ${network}`,
  priceHeldFor: "Preço garantido por",
  invoiceEnds: "Vencimento da fatura",
  amountToSend: "Valor a enviar",
  remainingToSend: "Valor restante",
  addressOn: (network) => `Endereço na rede ${network}`,
  memo: "Memo",
  memoNeeded: "Sem este memo, não é possível identificar seu pagamento.",
  sendOnly: (token, network) => `Envie somente ${token} na rede ${network}.`,
  otherwiseLost: "O que for enviado em outros tokens ou redes não pode ser recuperado.",
  openInWallet: "Abrir na carteira",
  useAnother: "Usar outra moeda",
  payingWith: (token, network) => `Você paga com ${token} na rede ${network}`,
  copy: "Copiar",
  copyOf: (what) => `Copiar: ${what}`,
  copied: "Copiado",
  minutesLeft,

  quoteEndedTitle: "O preço precisa ser atualizado",
  quoteEnded: "O preço valeu por alguns minutos. Obtenha um novo: o endereço continua o mesmo. " +
    "O que você já enviou não se perde.",
  newPrice: "Obter novo preço",
  noPriceTitle: "Sem preço no momento",
  noPrice: "Não temos preço para esta moeda no momento. O endereço está certo; aguarde um pouco ou use outra moeda.",

  confirmingTitle: "Pagamento detectado, confirmando",
  mayClose: (merchant) => `Você pode fechar esta página. ${merchant} receberá um aviso após a confirmação.`,
  confirmations: (done, needed) => `${done} de ${needed} confirmações`,
  received: "Recebido",
  transaction: "Transação",
  viewTransaction: (hash) => `Ver a transação ${hash} em um explorador de blocos`,

  partialTitle: "Parte do pagamento chegou",
  partial: (received, remaining) => `Recebemos ${received}. Envie os ${remaining} restantes para o mesmo endereço.`,
  stillPayable: "O prazo acabou, mas você ainda pode enviar o restante.",

  paidTitle: "Pagamento concluído",
  paid: (merchant) => `${merchant} recebeu seu pagamento.`,
  overpaidTitle: (extra) => `Pago, com ${extra} a mais`,
  overpaid: (extra, merchant) => `Você enviou ${extra} a mais. Peça a devolução a ${merchant}.`,
  returnTo: (merchant) => `Voltar para ${merchant}`,
  paidAt: "Pago em",
  total: "Total",

  expiredTitle: "Este pagamento expirou",
  expired: "Nada foi recebido. Não envie nada para o endereço antigo.",
  startAgain: "Começar de novo",
  expiredContact: (merchant) => `Peça uma nova fatura a ${merchant}.`,

  lateTitle: "Seu pagamento chegou atrasado",
  late: (received, merchant) => `Recebemos ${received} depois do prazo. ${merchant} pode aceitar ou devolver o valor.`,
  expiredPartialTitle: "O prazo acabou e só parte do pagamento chegou",
  expiredPartial: (received, merchant) =>
    `Recebemos ${received}, menos que o valor devido. ${merchant} pode aceitar ou devolver o valor.`,
  doNotPayAgain: "Não pague novamente.",
  contact: (merchant) => `Falar com ${merchant}`,
  contactNobody: (merchant) => `Fale com ${merchant} e informe a fatura.`,

  canceledTitle: "Esta fatura foi cancelada",
  canceled: (merchant) => `${merchant} cancelou a fatura. Não envie nada.`,

  reversedTitle: "Seu pagamento foi revertido pela rede",
  reversed: "A rede desfez sua transação, e ela não chegou. Confira sua carteira: o dinheiro deve estar lá.",
  payAgain: "Você pode pagar novamente.",
  rejectedTitle: "Recebemos algo diferente",
  rejected: (merchant) => `Chegou uma transferência que esta fatura não aceita. Peça a devolução a ${merchant}.`,

  refundTitle: "Para onde enviar um reembolso?",
  refundAddress: (network) => `Seu endereço na rede ${network}`,
  refundSave: "Salvar endereço",
  refundSaved: "Salvo. Um reembolso irá para lá.",
  refundWrong: (network) => `Este não é um endereço da rede ${network}. Confira, por favor.`,

  offline: "Sem conexão. A página se atualiza sozinha assim que ela voltar.",
  networkDegraded: (network) =>
    `A rede ${network} está com problemas no momento. Seu pagamento pode demorar mais para aparecer.`,

  simulateTitle: "Simular pagamento",
  simulateNote: "Modo de teste: dinheiro fictício, sem carteira.",
  simulatePay: "Pagar",
  simulatePartial: "Pagar metade",
  simulateOver: "Pagar a mais",
  simulateLate: "Pagar com atraso",

  sessionEndedTitle: "Este link não abre um pagamento",
  sessionEnded: "Ele está incompleto ou expirou. Abra de novo o link que você recebeu ou peça um novo à loja.",
  notFoundTitle: "Não há nada aqui",
  notFound: "Este endereço da web não leva a nenhum pagamento. Abra de novo o link que você recebeu.",
  tooManyTitle: "Muitas tentativas",
  tooMany: "Aguarde um instante e recarregue a página.",
  unavailableTitle: "Um momento, por favor",
  unavailable: "Não conseguimos mostrar o seu pagamento agora. O que você já enviou não se perde. Aguarde alguns " +
    "segundos e tente de novo.",
  failedTitle: "Algo deu errado",
  failed: "Nada foi alterado. Recarregue a página em instantes.",
  tryAgain: "Tentar de novo"
}
