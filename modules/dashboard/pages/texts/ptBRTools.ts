/** Brazilian Portuguese: the pages of developers and of settings. */
import { plural } from "../../../../runtime/pages/Languages.ts"
import type { ToolTexts } from "../Texts.ts"

const hours = plural("pt-BR", { one: "Adiantar # hora", many: "Adiantar # de horas", other: "Adiantar # horas" })

export const toolTexts: ToolTexts = {
  exports: {
    title: "Exportar",
    from: "De",
    until: "Até",
    kinds: {
      invoices: "Faturas",
      payments: "Pagamentos",
      refunds: "Reembolsos",
      lots: "Entradas com seu valor",
      koinly: "Koinly",
      "balance-transactions": "Movimentos",
      journal: "Diário"
    }
  },
  webhooks: {
    none: "Ninguém é avisado ainda.",
    add: "Adicionar um endpoint",
    added: "O endpoint foi adicionado",
    rotated: "Um novo segredo",
    secretText:
      "Este segredo é mostrado só desta vez. Guarde-o na sua loja, que confere as assinaturas com ele; o anterior ainda vale por um dia.",
    url: "Endereço",
    urlHint: "https público, sem senha no endereço",
    events: "Eventos",
    description: "Descrição",
    event: "Evento",
    answer: "Resposta",
    millis: "Milissegundos",
    tries: "Tentativas",
    nextTry: "Próxima tentativa",
    attempt: (number) => `Tentativa ${number}`,
    error: "Erro",
    deliveries: "Entregas",
    sendAgain: "Enviar de novo",
    sendExample: "Enviar um exemplo",
    rotate: "Trocar o segredo",
    disable: "Desativar",
    enable: "Ativar",
    endpointStates: { enabled: "Ativado", disabled: "Desativado" },
    deliveryStates: {
      pending: "Aguardando",
      delivering: "Sendo enviada",
      succeeded: "Entregue",
      retrying: "Falhou, nova tentativa prevista",
      failed: "Falhou",
      canceled: "Cancelada"
    }
  },
  events: { type: "Tipo", about: "Sobre", waiting: "Webhooks em espera" },
  keys: {
    make: "Criar uma chave",
    made: "A chave foi criada",
    secretText: "A chave é mostrada só desta vez. Guarde-a onde seu servidor a lê, e em nenhum outro lugar.",
    name: "Nome",
    key: "Chave",
    permissions: "O que ela pode fazer",
    lastUsed: "Último uso",
    roll: "Substituir",
    revoke: "Revogar",
    scope: "Escopo",
    use: "Para",
    uses: { any: "Tudo", btcpay: "Somente uma loja feita para o BTCPay Server" },
    shopSecretText: (store) => `Informe a chave na sua loja. Ela é mostrada só desta vez. O Store ID é ${store}.`,
    scopes: { merchant: "A conta inteira", commerce: "Somente dados de comércio" },
    permissionTexts: {
      read: "Ler tudo",
      write: "Alterar tudo, menos o que envia dinheiro",
      refund: "Criar reembolsos e lotes, que pessoas aprovam"
    },
    states: { active: "Em uso", rotating: "Substituída, termina em breve", expired: "Expirada", revoked: "Revogada" }
  },
  settings: {
    tokensKeep: "As páginas de pagamento abertas mantêm o que ofereceram.",
    policies: {
      accept_all: "Todo token é aceito, menos os desativados",
      selective: "Somente os tokens escolhidos são aceitos",
      accept_none: "Nenhum token é aceito"
    },
    accepted: "Aceito",
    blocked: "Desativado",
    noWallets: "Ainda não há carteira de recebimento: ninguém pode pagar você em uma rede real.",
    families: {
      evm: "Ethereum e redes aparentadas",
      solana: "Solana",
      ton: "TON",
      sui: "Sui",
      cardano: "Cardano"
    },
    kind: "Tipo",
    value: "Parte pública",
    nextIndex: "Próximo endereço",
    highestIndex: "Maior endereço com pagamento",
    compare: "Abra sua carteira: estes endereços conferem?",
    name: "Nome na página de pagamento",
    accent: "Cor",
    accentHint: "Como #2a4fd8; um texto branco sobre ela precisa ser legível",
    supportEmail: "Endereço para ajuda",
    payeeProof: "Mostrar aos clientes como conferir um endereço",
    payeeProofText:
      "Abaixo de um endereço da sua carteira forwarder, a página mostra o beneficiário e os dados com que o endereço é calculado. Todos os clientes veem então o beneficiário.",
    save: "Salvar",
    means: "O que significa",
    head: "Bloco mais recente"
  },
  views: {
    title: "Visões salvas",
    none: "Ainda não há visões desta lista. Escolha um filtro e salve-o com um nome.",
    name: "Nome desta visão",
    share: "Para todos da loja",
    save: "Salvar esta visão",
    remove: "Remover",
    shared: "Compartilhada"
  },
  domain: {
    title: "Domínio da sua loja",
    text: "Seus clientes o veem na página de pagamento com o sinal ✓ assim que o próprio domínio indica você.",
    name: "Domínio",
    hint: (domain) => `Por exemplo, ${domain}`,
    save: "Salvar e verificar",
    how: "Publique um dos dois. O domínio é consultado agora e depois todos os dias.",
    file: "Um arquivo, sem redirecionamento",
    address: "No endereço",
    content: "Com o conteúdo",
    record: "Ou um registro TXT do DNS",
    recordName: "Com o nome",
    recordValue: "Com o valor",
    verified: "Verificado",
    unverified: "Não verificado",
    waiting: "A verificação está em andamento. Recarregue a página em um minuto.",
    last: "Última verificação",
    next: "Próxima verificação",
    keeps:
      "A última verificação não encontrou nenhum dos dois. O sinal permanece por três dias após a última que encontrou.",
    results: {
      proved: "indica você",
      other_merchant: "indica outro comerciante",
      other_host: "indica outra página de pagamento",
      absent: "não existe",
      unreadable: "não é o conteúdo acima",
      refused: "o endereço não é público ou é deste serviço: use o registro",
      unreachable: "sem resposta"
    },
    fileResult: "Arquivo",
    recordResult: "Registro"
  },
  limits: {
    inForce: "Em vigor",
    pending: "Limites maiores em espera",
    none: "Sem limite",
    raising:
      "Um limite menor vale na hora. Um maior espera outro proprietário ou administrador, se houver, e depois 24 horas.",
    names: {
      auto_approve_limit: "Uma pessoa aprova sozinha, até",
      auto_approve_limit_day: "Tudo o que uma pessoa aprova sozinha em um dia (UTC), no máximo",
      payout_limit_batch: "Um lote de pagamentos a terceiros, no máximo",
      payout_limit_day: "Todos os pagamentos a terceiros de um dia (UTC), no máximo"
    },
    hints: {
      auto_approve_limit: "Em dólares. Acima disso são necessárias duas pessoas, se duas puderem aprovar",
      auto_approve_limit_day:
        "Em dólares, de todos os reembolsos e pagamentos a terceiros juntos. Acima disso são necessárias duas pessoas, se duas puderem aprovar",
      payout_limit_batch: "Em dólares. Vazio: sem limite",
      payout_limit_day: "Em dólares. Vazio: sem limite"
    },
    save: "Salvar"
  },
  pending: {
    wallet: (family) => `${family}: outra carteira em espera`,
    needsApproval:
      "Não está em vigor. Outro proprietário ou administrador precisa aprovar; 24 horas depois entra em vigor.",
    waits: "Ainda não está em vigor. Entra em vigor sozinha, a menos que alguém cancele.",
    proposedBy: "Pedido por",
    proposedAt: "Desde",
    approvedBy: "Aprovado por",
    inForceFrom: "Em vigor a partir de",
    approve: "Aprovar esta alteração",
    cancel: "Cancelar esta alteração"
  },
  found: {
    title: "Busca",
    nothing: (text) => `Nada encontrado para “${text}”.`,
    hint: "O número de uma fatura ou o fim dele, uma transação, um endereço, um valor como 49.99 ou um cliente.",
    kind: "O quê",
    matched: "Encontrado por"
  },
  team: {
    members: "Membros",
    alone: "Só há você aqui. Convide uma segunda pessoa, para que o dinheiro só saia com duas.",
    name: "Nome",
    email: "E-mail",
    emailHint: "Nada é enviado: você entrega o link pessoalmente",
    sendEmail: "Enviar o link por e-mail a este endereço",
    role: "Função",
    joined: "Desde",
    change: "Alterar",
    remove: "Remover",
    removeText: "A sessão da pessoa termina na hora, e ela precisa de um novo convite para voltar.",
    removeNow: "Sim, remover",
    invite: "Convidar uma pessoa",
    invited: "O convite foi criado",
    invitedSentText:
      "Este link está a caminho da pessoa. Ele serve uma única vez, em até sete dias, e é mostrado só desta vez.",
    invitedText:
      "Entregue este link à pessoa pessoalmente. Ele serve uma única vez, em até sete dias, e é mostrado só desta vez.",
    invitations: "Convites",
    revoke: "Revogar",
    invitationStates: {
      waiting: "Aguarda um segundo proprietário",
      open: "Aberto",
      accepted: "Aceito",
      revoked: "Revogado",
      expired: "Expirado"
    },
    joinTitle: "Entrar na equipe",
    joinText: "Diga com que nome os outros conhecem você. Depois disso, sua sessão estará aberta.",
    join: "Participar"
  },
  audit: { who: "Quem", what: "O quê", action: "Ação", change: "Alteração", show: "Mostrar", hash: "Hash" },
  simulator: {
    title: "Simulador",
    text: "Dinheiro fictício. Cada botão informa um fato às regras pelas quais passa o dinheiro real.",
    open: "Simular",
    close: "Fechar",
    route: "Token e rede",
    anyRoute: "O que a página mostra, ou USDC na rede Base",
    dollars: "Dólares",
    dollarsHint: "Deixe vazio para o valor que falta",
    blocks: "Confirmações",
    blocksHint: "Deixe vazio para quantas forem necessárias. 0: somente detectada",
    groups: {
      transfers: "Chega uma transferência",
      mistakes: "Uma transferência dá errado",
      blocks: "A transferência mais recente, na rede",
      ends: "O encerramento e o caminho até você"
    },
    actions: {
      pay: "Pagar",
      partial: "Pagar metade",
      overpay: "Pagar um décimo a mais",
      late: "Pagar depois do prazo",
      wrong_token: "Pagar com outro token",
      wrong_network: "Pagar por outra rede",
      missing_memo: "Pagar sem memo",
      unmatched: "Pagar antes da fatura",
      duplicate: "Pagar duas vezes",
      dust: "Pagar um valor pequeno demais para contar",
      confirm: "Confirmar",
      reorg: "Mover para outro bloco",
      drop: "Retirar da rede",
      expire: "Encerrar o prazo da fatura",
      settle: "Liquidar",
      fail_settlement: "Fazer a liquidação falhar"
    },
    outcomes: { succeeded: "Simular: pago", failed: "Simular: falhou" },
    clock: "Relógio",
    clockText:
      "Adianta o seu relógio de teste: prazos de faturas terminam e entregas em espera são feitas. Não há como voltar atrás.",
    hours,
    payTitle: "Um primeiro pagamento",
    payText: "Cria uma fatura e a paga, para que você veja tudo o que vem depois.",
    pay: "Simular um pagamento",
    invoiceTitle: "Pagamento simulado",
    networks: "Redes com falha",
    networksText: "Somente para as suas próprias faturas de teste, até que o serviço seja iniciado de novo.",
    modes: { down: "Fora do ar", lagging: "Blocos atrasados", ok: "Como está" },
    newest: "Pagamentos mais recentes",
    newestText: "Abra um para pagá-lo em parte, pagá-lo duas vezes ou deixar a rede revertê-lo."
  },
  tokens: {
    preview: "Seu cliente vê",
    before: "Agora",
    after: "Com a sua alteração",
    unsaved: "Isto ainda não está salvo. Aperte Salvar para oferecer assim a partir de agora.",
    look: "Pré-visualizar",
    policy: "O que você aceita",
    chosen: "Escolhido",
    chosenHint:
      "O que você marcar vale quando somente os tokens escolhidos são aceitos; nos outros casos, fica guardado.",
    acceptOne: (symbol, network) => `Aceitar ${symbol} na rede ${network}`,
    bulk: "Vários de uma vez",
    allNetworks: "Todas as redes",
    acceptAll: "Aceitar todos",
    blockAll: "Desativar todos"
  },
  wallets: {
    kinds: {
      xpub: "Chave pública de uma conta",
      address: "Um único endereço",
      pool: "Lista de endereços",
      forwarder: "Encaminhamento ao seu endereço"
    },
    comparePayee: "Este é o seu próprio endereço? Tudo o que for pago vai para ele e não pode ir para nenhum outro.",
    compareText:
      "Marque cada um que a sua própria carteira mostra na mesma posição. Se algum não conferir, remova esta carteira imediatamente.",
    add: "Definir uma carteira de recebimento",
    addText:
      "Informe somente a parte pública. Quem tem uma chave privada ou uma frase de recuperação tem o seu dinheiro: nenhuma página nossa jamais pede isso.",
    family: "Redes",
    value: "Chave pública ou endereço",
    valueHint:
      "Por exemplo, um xpub das configurações de conta da sua carteira. Uma lista de endereços é definida pela API.",
    startIndex: "Primeiro endereço a usar",
    startIndexHint:
      "0 para uma conta que nunca foi usada; senão, um a mais que o maior já usado. Em Teste, deixe vazio",
    set: "Definir esta carteira",
    remove: "Remover esta carteira",
    removeText: "As faturas não recebem mais endereços dela. Nada do que foi pago a ela é movido.",
    removeNow: "Sim, remover"
  },
  preview: {
    title: "Pré-visualização",
    text: "Sua página de pagamento com dados inventados. Nada dela é salvo, e ninguém pode pagar nela.",
    look: "Pré-visualizar",
    state: "Situação do pagamento",
    language: "Idioma",
    theme: "Claro ou escuro",
    themes: { light: "Claro", dark: "Escuro" },
    device: "Aparelho",
    devices: { phone: "Celular", desktop: "Computador" },
    show: "Mostrar",
    frame: (state) => `Página de pagamento: ${state}`,
    states: {
      choose: "Escolher a moeda",
      waiting: "Aguardando",
      quote_ended: "Preço expirado",
      no_price: "Sem preço",
      confirming: "Confirmando",
      partial: "Pago em parte",
      paid: "Pago",
      overpaid: "Pago a mais",
      expired: "Expirado",
      late: "Chegou depois do prazo",
      expired_partial: "Expirado, pago em parte",
      canceled: "Cancelado",
      reversed: "Revertido pela rede",
      rejected: "Não aceito"
    }
  }
}
