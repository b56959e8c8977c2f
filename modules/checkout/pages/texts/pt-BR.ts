/** Brazilian Portuguese. */
import { plural, type Texts } from "../Texts.ts"

const found = plural("pt-BR", { one: "# moeda", many: "# de moedas", other: "# moedas" })
const minutesLeft = plural("pt-BR", {
  one: "O preço vale por mais # minuto",
  many: "O preço vale por mais # de minutos",
  other: "O preço vale por mais # minutos"
})
const networks = plural("pt-BR", { one: "# rede", many: "# de redes", other: "# redes" })

export const ptBR: Texts = {
  locale: "pt-BR",
  language: "Português (Brasil)",
  direction: "ltr",
  fullStop: ".",

  testMode: "Modo de teste: sem dinheiro real",
  domainVerified: "Domínio verificado:",
  domainChecked: (domain, when) =>
    `${domain} declara que recebe nesta página os pagamentos desta loja. Verificado em ${when}.`,
  returnsTo: (host) => `Depois, volta para ${host}`,
  invoice: "Fatura",
  help: "Ajuda",
  chooseLanguage: "Idioma",
  change: "Alterar",
  checkPayment: "Verificar pagamento",

  stepWaiting: "Aguardando",
  stepConfirming: "Confirmando",
  stepPaid: "Pago",
  progress: "Andamento do pagamento",

  chooseTitle: "Escolha como pagar",
  stepCurrency: "1. Moeda",
  stepNetwork: (token) => `2. Rede para ${token}`,
  networks,
  toSend: (amount) => `${amount} a enviar`,
  moreCurrencies: "Mais moedas",
  walletPaysFee: "sua carteira paga a taxa de rede",
  feeUnder: (amount) => `taxa abaixo de ${amount}`,
  feeAbout: (amount) => `taxa de cerca de ${amount}`,
  lowestFee: "menor taxa",
  aboutSeconds: (count) => `cerca de ${count} s`,
  aboutMinutes: (count) => `cerca de ${count} min`,
  whichNetwork: (token) => `Na dúvida? Escolha a rede em que sua carteira tem ${token}.`,
  search: "Buscar moeda ou rede",
  found,
  nothingFound: "Nenhum resultado",
  noMethods: (merchant) =>
    `Nenhuma forma de pagamento está disponível no momento. Tente mais tarde ou fale com ${merchant}.`,
  noOfferedMethods: (merchant) =>
    "Não é possível pagar agora: nenhuma das moedas que a loja aceita para o seu pedido está disponível. " +
    `Tente mais tarde ou entre em contato com ${merchant}.`,
  proceed: "Continuar",
  proceedWith: (token, network) => `Continuar com ${token} pela rede ${network}`,
  minimum: (amount) => `mínimo de ${amount}`,
  networkDown: "rede com problemas",
  noPriceNow: "sem preço no momento",
  notAvailable: "indisponível",

  waitingTitle: "Aguardando seu pagamento",
  payTitle: (amount, network) => `Pague ${amount} pela rede ${network}`,
  scanCode: "QR Code para uma carteira em outro aparelho",
  paymentLink: "Link de pagamento",
  addressOnly: "Só o endereço",
  qrName: (amount, address, network) => `QR Code para pagar ${amount} para ${address} pela rede ${network}`,
  qrAddressName: (address, network) => `QR Code do endereço ${address} na rede ${network}`,
  priceHeldFor: "Preço garantido por",
  priceRenews: "O preço está garantido e se renova sozinho.",
  timeLeft: "Tempo para pagar",
  payBy: "Pague até",
  amountToSend: "Valor a enviar",
  remainingToSend: "Valor restante",
  addressOn: (network) => `Endereço na rede ${network}`,
  memo: "Memo",
  memoNeeded: "Muitos pagamentos chegam a este endereço, e o memo diz qual é o seu. Copie-o no campo de memo ou " +
    "comentário da sua carteira. Sem ele, não é possível identificar seu pagamento.",
  memoFromExchange: "Pague a partir de uma corretora somente se ela permitir informar este memo.",
  sendOnly: (token, network) => `Envie somente ${token} pela rede ${network}.`,
  otherwiseLost: "O que for enviado em outro token ou por outra rede pode se perder para sempre.",
  payeeTitle: "Quem recebe este dinheiro",
  payee: (merchant) =>
    `O que é enviado para este endereço só pode ir para uma carteira. Se ${merchant} publicou a própria ` +
    "carteira, compare as duas.",
  payeeCheck: "Como conferir: o endereço é calculado a partir destes valores, por CREATE2 (EIP-1014).",
  openInWallet: "Abrir na carteira",
  walletList: "Carteiras neste navegador",
  walletPay: (wallet) => `Pagar com ${wallet}`,
  walletAsking: (wallet, amount, network, address) =>
    `Confirme em ${wallet}: ${amount} pela rede ${network} para ${address}. Esta página só mostra o pagamento ` +
    "quando ele aparece na rede.",
  walletDeclined: (wallet) => `Você recusou em ${wallet}. Nada foi enviado.`,
  walletBusy: (wallet) => `${wallet} já está perguntando. Abra a carteira e responda lá.`,
  walletLocked: (wallet) => `${wallet} está bloqueada. Abra a carteira e toque de novo.`,
  walletChain: (wallet, network) =>
    `${wallet} não consegue usar a rede ${network}. Use outra carteira ou escaneie o código.`,
  walletFunds: (amount, network) =>
    `Esta conta tem menos de ${amount} na rede ${network}. Escolha outra conta ou outra moeda.`,
  walletFee: (coin, network) => `Esta conta não tem ${coin} suficiente na rede ${network} para a taxa de rede.`,
  walletSilent: (wallet) =>
    `Sem resposta de ${wallet}. Se você confirmou, é só esperar: esta página se atualiza sozinha.`,
  walletUnknown: (wallet) =>
    `${wallet} informou um erro. Mesmo assim, o pagamento pode ter sido enviado: verifique sua carteira antes de ` +
    "tentar de novo.",
  walletChanged: "Este pagamento mudou nesse meio-tempo. Nada foi enviado: confira o valor antes de tocar de novo.",
  walletSent: (wallet) => `Enviado com ${wallet}. Aguardando aparecer na rede.`,
  walletAgain: (sent, amount) =>
    `Talvez você já tenha enviado ${sent}: verifique sua carteira. Toque de novo só para enviar mais ${amount}.`,
  useAnother: "Usar outra moeda",
  payingWith: (token, network) => `Pagando com ${token} pela rede ${network}`,
  copy: "Copiar",
  copyOf: (what) => `Copiar: ${what}`,
  copied: "Copiado",
  minutesLeft,

  quoteEndedTitle: "O preço precisa ser atualizado",
  quoteEnded: "O preço valeu só por alguns minutos. Obtenha um novo antes de enviar: o endereço continua o mesmo. " +
    "O que você já enviou não está perdido.",
  newPrice: "Obter novo preço",
  noPriceTitle: "Sem preço no momento",
  noPrice: "Não há preço para esta moeda no momento. Não envie nada ainda e tente de novo em alguns minutos. " +
    "O que você já enviou não está perdido.",

  confirmingTitle: "Pagamento detectado, confirmando",
  mayClose: (merchant) =>
    `Você pode fechar esta página. ${merchant} receberá um aviso quando seu pagamento for confirmado.`,
  confirmations: (done, needed) => `Confirmações: ${done} de ${needed}`,
  received: "Recebido",
  transaction: "Transação",
  viewTransaction: (hash) => `Ver a transação ${hash} em um explorador de blocos`,

  partialTitle: "Parte do pagamento chegou",
  partial: (received, remaining) => `Recebemos ${received}. Envie o restante (${remaining}) para o mesmo endereço.`,
  partialReceived: (received) => `Recebemos ${received}.`,
  stillPayable: "O prazo acabou, mas você ainda pode enviar o restante.",

  paidTitle: "Pagamento concluído",
  paid: (merchant) => `${merchant} recebeu seu pagamento.`,
  overpaidTitle: (extra) => `Pago, com ${extra} a mais`,
  overpaid: (extra, merchant) => `Você enviou ${extra} a mais. Peça o reembolso a ${merchant}.`,
  returnTo: (merchant) => `Voltar para ${merchant}`,
  returnsIn: (merchant) => `Retorno para ${merchant} em`,
  returnsSoon: (merchant, seconds, stay) =>
    `Você volta para ${merchant} em ${seconds} segundos. Para ficar, pressione: ${stay}.`,
  stayHere: "Ficar nesta página",
  paidAt: "Pago em",
  total: "Total",
  inDollars: "Em dólares americanos",
  receipt: "Recibo",
  receiptOpen: "Abrir o recibo",
  receiptAmount: "Você pagou",
  receiptFor: "Referente a",
  receiptTo: "Para",
  receiptAddress: "Para o endereço",
  receiptExtra: "A mais",

  expiredTitle: "Este pagamento expirou",
  expired: "Nada foi recebido. Não envie nada para o endereço antigo.",
  expiredSent: "Se você já enviou o pagamento, não pague de novo: ele aparecerá aqui assim que chegar.",
  startAgain: "Começar de novo",
  expiredContact: (merchant) => `Peça uma nova fatura a ${merchant}.`,

  lateTitle: "Seu pagamento chegou depois do prazo",
  late: (received, merchant) =>
    `Recebemos ${received} depois do prazo. ${merchant} pode aceitar ou reembolsar o valor.`,
  expiredPartialTitle: "O prazo acabou e só parte do pagamento chegou",
  expiredPartial: (received, merchant) =>
    `Recebemos ${received}, menos que o valor devido. ${merchant} pode aceitar ou reembolsar o valor.`,
  accepted: (merchant, time) => `${merchant} aceitou, ${time}.`,
  keptAsCredit: (merchant) => `${merchant} guarda o valor como crédito seu.`,
  refundAwaited: (amount, merchant) =>
    `${amount} serão devolvidos a você. ${merchant} enviará um link para você dizer para onde.`,
  refundUnderWay: (amount) => `Um reembolso de ${amount} está a caminho.`,
  refundDone: (amount) => `${amount} foram reembolsados a você.`,
  doNotPayAgain: "Não pague de novo.",
  contact: (merchant) => `Falar com ${merchant}`,
  contactNobody: (merchant) => `Fale com ${merchant} e informe o número da fatura acima.`,

  canceledTitle: "Esta fatura foi cancelada",
  canceled: (merchant) => `${merchant} cancelou a fatura. Não envie nada. Se você já pagou, peça o reembolso.`,

  reversedTitle: "Seu pagamento foi revertido pela rede",
  reversed: "A rede desfez sua transação e o pagamento não chegou. O dinheiro já deve ter voltado para a sua carteira.",
  payAgain: "Confira primeiro sua carteira. Se o dinheiro estiver lá, você pode pagar de novo.",
  rejectedTitle: "Recebemos algo diferente",
  rejected: (merchant) =>
    "Chegou uma transferência que esta fatura não aceita. Ela não conta como pagamento. " +
    `Peça o reembolso a ${merchant}.`,

  refundTitle: "Para onde enviar um possível reembolso?",
  refundAddress: (network) => `Seu endereço na rede ${network}`,
  refundSave: "Salvar endereço",
  refundSaved: "Endereço salvo. Se houver reembolso, ele irá para lá.",
  refundWrong: (network) => `Este não é um endereço da rede ${network}. Confira, por favor.`,

  claimOpenTitle: "Abrir seu reembolso",
  claimOpen: "Cole o link completo que você recebeu. Ele abre o seu reembolso: não mostre a ninguém.",
  claimLink: "Link do seu reembolso",
  claimAddressTitle: "Para onde enviar seu reembolso?",
  claimFrom: (merchant) => `${merchant} está devolvendo dinheiro a você.`,
  claimGive: (token, network) =>
    `Informe um endereço que receba ${token} na rede ${network}: o da sua própria carteira ou o seu endereço de ` +
    "depósito em uma corretora. Em qualquer outra rede, o dinheiro pode se perder para sempre.",
  claimUntil: (moment) => `O link aceita um endereço até ${moment}.`,
  claimAmount: "Você recebe",
  claimFee: "Retido para a taxa de rede",
  claimNetwork: "Rede",
  claimReason: "Motivo",
  claimRequested: "Você pediu",
  claimOverpayment: "Você pagou a mais",
  claimLate: "Seu pagamento chegou tarde",
  claimUnderpayment: "Você pagou a menos",
  claimWrongToken: "Você pagou com outra moeda",
  claimOrderCanceled: "O pedido foi cancelado",
  claimOrderFailed: "Não foi possível concluir o pedido",
  claimDuplicate: "Você pagou duas vezes",
  claimMemo: "Só para uma corretora: copie o memo que ela mostra ao lado do endereço. Sem ele, o dinheiro pode " +
    "não chegar à sua conta.",
  claimCheckTitle: "Este é o seu endereço?",
  claimCheck: "É para cá que vai o seu reembolso. Depois de confirmar, não dá para mudar. Compare cada caractere " +
    "com a sua carteira.",
  claimConfirm: "Enviar meu reembolso para lá",
  claimEdit: "Mudar o endereço",
  claimWrongAddress: (network) =>
    `Na rede ${network} não há carteira com este endereço. Copie de novo o endereço completo da sua carteira.`,
  claimOtherNetwork: (network) =>
    `Este é um endereço de outra rede. O reembolso é pago somente na rede ${network}: copie o seu endereço nessa ` +
    "rede.",
  claimReceiveAddress: (token, network) =>
    "Este endereço recebe pagamentos a lojas, e o reembolso não chegaria a você. Copie o endereço em que a sua " +
    `própria carteira recebe ${token} na rede ${network}.`,
  claimNoWallet: (token, network) =>
    "Este é um token ou outro contrato, e o dinheiro enviado para ele se perde. Copie o endereço em que a sua " +
    `própria carteira recebe ${token} na rede ${network}.`,
  claimRefused: (merchant) =>
    "Não é possível enviar reembolsos para este endereço. Informe outro endereço da sua própria carteira ou fale " +
    `com ${merchant}.`,
  claimWrongMemo: "Um memo tem no máximo 120 letras, números e sinais, sem acentos. Copie de novo ou deixe o " +
    "campo vazio.",
  claimUnchecked: "Não é possível verificar este endereço agora, e nada foi salvo. Tente de novo em alguns minutos.",
  claimApprovalTitle: "Seu endereço está salvo",
  claimApproval: (merchant) =>
    `${merchant} ainda precisa aprovar o reembolso. Você pode fechar esta página: o mesmo link mostra o andamento.`,
  claimKept: (merchant) =>
    "Outro endereço já tinha sido salvo, e é ele que vale: está abaixo. Se não for seu, fale imediatamente com " +
    `${merchant}.`,
  claimProcessingTitle: "Seu reembolso está sendo pago",
  claimProcessing: "Ele vai para o endereço abaixo. Você pode fechar esta página: o mesmo link mostra quando for pago.",
  claimPaidTitle: "Seu reembolso foi pago",
  claimPaid: (amount, network) => `${amount} foi enviado para o endereço abaixo na rede ${network}.`,
  claimFailedTitle: "O reembolso não foi pago",
  claimFailed: (merchant) =>
    `A transferência não funcionou, e seu dinheiro não está perdido. ${merchant} pode tentar de novo ou pedir ` +
    "outro endereço a você.",
  claimExpiredTitle: "Este reembolso expirou",
  claimExpired: (merchant) =>
    `Nenhum endereço foi informado a tempo. Peça para ${merchant} iniciar o reembolso de novo.`,
  claimCanceledTitle: "Este reembolso foi cancelado",
  claimCanceled: (merchant) => `Nada será enviado. Se você não esperava por isso, fale com ${merchant}.`,
  claimUnaddressedTitle: "Este link já foi usado",
  claimUnaddressed: (merchant) => `É preciso informar um endereço de novo. Peça um novo link a ${merchant}.`,
  claimCheckAgain: "Verificar de novo",
  claimNoAnswer: "Não houve resposta. Verifique sua conexão e tente de novo. O que você já confirmou continua salvo.",
  claimEndedTitle: "Este link não abre um reembolso",
  claimEnded: "Ele está incompleto ou não vale mais. Abra de novo o link que você recebeu ou peça um novo à loja.",
  claimUnavailable: "Não conseguimos mostrar seu reembolso agora. Abra de novo o seu link em instantes: ele " +
    "mostra o que foi salvo.",

  offline: "Sem conexão. Esta página se atualiza sozinha assim que a conexão voltar. " +
    "O que você já enviou não está perdido.",
  networkDegraded: (network) =>
    `A rede ${network} está com problemas no momento. Seu pagamento pode demorar mais que o normal para aparecer. ` +
    "Se você já o enviou, não envie outra vez.",

  simulateTitle: "Simular pagamento",
  simulateNote: "Modo de teste: dinheiro fictício, sem necessidade de carteira.",
  simulatePay: "Pagar",
  simulatePartial: "Pagar metade",
  simulateOver: "Pagar a mais",
  simulateLate: "Pagar com atraso",

  sessionEndedTitle: "Este link não abre um pagamento",
  sessionEnded: "Ele está incompleto ou expirou. Abra de novo o link que você recebeu ou peça um novo à loja.",
  notFoundTitle: "Não há nada aqui",
  notFound: "Não há nenhum pagamento neste endereço da web. Abra de novo o link que você recebeu.",
  tooManyTitle: "Muitas tentativas",
  tooMany: "Aguarde um instante e recarregue a página.",
  unavailableTitle: "Um momento, por favor",
  unavailable: "Não conseguimos mostrar seu pagamento agora. O que você já enviou não está perdido. " +
    "Aguarde alguns segundos e tente de novo.",
  failedTitle: "Algo deu errado",
  failed: "Recarregue a página em instantes. O que você já enviou não está perdido.",
  tryAgain: "Tentar de novo"
}
