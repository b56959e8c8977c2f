/** Spanish: the pages of developers and of settings. */
import { plural } from "../../../../runtime/pages/Languages.ts"
import type { ToolTexts } from "../Texts.ts"

const hours = plural("es", { one: "# hora después", many: "# de horas después", other: "# horas después" })

export const toolTexts: ToolTexts = {
  exports: {
    title: "Exportar",
    from: "Desde",
    until: "Hasta",
    kinds: {
      invoices: "Facturas",
      payments: "Pagos",
      refunds: "Reembolsos",
      lots: "Entradas con su valor",
      koinly: "Koinly",
      "balance-transactions": "Movimientos",
      journal: "Diario"
    }
  },
  webhooks: {
    none: "Todavía no se avisa a nadie.",
    add: "Añadir un punto de conexión",
    added: "El punto de conexión está añadido",
    rotated: "Un secreto nuevo",
    secretText:
      "Este secreto se muestra solo esta vez. Guárdelo en su tienda, que comprueba las firmas con él; el anterior sigue siendo válido durante un día.",
    url: "Dirección",
    urlHint: "https público, sin contraseña en la dirección",
    events: "Eventos",
    description: "Descripción",
    event: "Evento",
    answer: "Respuesta",
    millis: "Milisegundos",
    tries: "Intentos",
    nextTry: "Próximo intento",
    attempt: (number) => `Intento ${number}`,
    error: "Error",
    deliveries: "Entregas",
    sendAgain: "Enviar de nuevo",
    sendExample: "Enviar un ejemplo",
    rotate: "Cambiar el secreto",
    disable: "Desactivar",
    enable: "Activar",
    endpointStates: { enabled: "Activado", disabled: "Desactivado" },
    deliveryStates: {
      pending: "Pendiente",
      delivering: "Enviando",
      succeeded: "Entregada",
      retrying: "Falló, se reintenta",
      failed: "Fallida",
      canceled: "Anulada"
    }
  },
  events: { type: "Tipo", about: "Sobre", waiting: "Webhooks en espera" },
  keys: {
    make: "Crear una clave",
    made: "La clave está creada",
    secretText: "La clave se muestra solo esta vez. Guárdela donde su servidor la lea, y en ningún otro lugar.",
    name: "Nombre",
    key: "Clave",
    permissions: "Qué puede hacer",
    lastUsed: "Último uso",
    roll: "Reemplazar",
    revoke: "Revocar",
    scope: "Alcance",
    use: "Para",
    uses: { any: "Todo", btcpay: "Solo una tienda hecha para BTCPay Server" },
    shopSecretText: (store) => `Introduzca la clave en su tienda. Se muestra solo esta vez. El Store ID es ${store}.`,
    scopes: { merchant: "Toda la cuenta", commerce: "Solo datos de comercio" },
    permissionTexts: {
      read: "Leer todo",
      write: "Cambiar todo menos lo que envía dinero",
      refund: "Crear reembolsos y lotes, que aprueban personas"
    },
    states: { active: "En uso", rotating: "Reemplazada, termina pronto", expired: "Expirada", revoked: "Revocada" }
  },
  settings: {
    tokensKeep: "Las páginas de pago abiertas conservan lo que ofrecían.",
    policies: {
      accept_all: "Se acepta cualquier token salvo los desactivados",
      selective: "Solo se aceptan los tokens elegidos",
      accept_none: "No se acepta ningún token"
    },
    accepted: "Aceptado",
    blocked: "Desactivado",
    noWallets: "Todavía no hay billetera receptora: nadie puede pagarle en una red real.",
    families: {
      evm: "Ethereum y redes afines",
      solana: "Solana",
      ton: "TON",
      sui: "Sui",
      cardano: "Cardano"
    },
    kind: "Tipo",
    value: "Parte pública",
    nextIndex: "Próxima dirección",
    highestIndex: "Dirección más alta con pagos",
    compare: "Abra su billetera: ¿coinciden estas direcciones?",
    name: "Nombre en la página de pago",
    accent: "Color",
    accentHint: "Como #2a4fd8; el texto blanco encima debe poder leerse",
    supportEmail: "Dirección de ayuda",
    payeeProof: "Mostrar a los clientes cómo comprobar una dirección",
    payeeProofText:
      "Debajo de una dirección de su monedero forwarder, la página nombra al beneficiario y los datos con los que se calcula la dirección. Todos los clientes ven entonces al beneficiario.",
    save: "Guardar",
    means: "Qué significa",
    head: "Bloque más reciente"
  },
  views: {
    title: "Vistas guardadas",
    none: "Aún no hay vistas de esta lista. Elija un filtro y guárdelo con un nombre.",
    name: "Nombre de esta vista",
    share: "Para todos los de la tienda",
    save: "Guardar esta vista",
    remove: "Quitar",
    shared: "Compartida"
  },
  domain: {
    title: "Dominio de su tienda",
    text: "Sus clientes lo ven en la página de pago con el signo ✓ en cuanto el propio dominio le nombra.",
    name: "Dominio",
    hint: (domain) => `Por ejemplo, ${domain}`,
    save: "Guardar y comprobar",
    how: "Publique una de las dos cosas. El dominio se consulta ahora y después cada día.",
    file: "Un archivo, sin redirección",
    address: "En la dirección",
    content: "Con el contenido",
    record: "O un registro TXT del DNS",
    recordName: "Con el nombre",
    recordValue: "Con el valor",
    verified: "Verificado",
    unverified: "Sin verificar",
    waiting: "Se está comprobando. Vuelva a cargar la página en un minuto.",
    last: "Última comprobación",
    next: "Próxima comprobación",
    keeps:
      "La última comprobación no encontró ninguna de las dos. El signo se mantiene tres días desde la última que sí.",
    results: {
      proved: "le nombra",
      other_merchant: "nombra a otro comerciante",
      other_host: "nombra otra página de pago",
      absent: "no existe",
      unreadable: "no es el contenido de arriba",
      refused: "la dirección no es pública o es de este servicio: use el registro",
      unreachable: "sin respuesta"
    },
    fileResult: "Archivo",
    recordResult: "Registro"
  },
  limits: {
    inForce: "Vigentes",
    pending: "Límites más altos en espera",
    none: "Sin límite",
    raising:
      "Un límite más bajo vale de inmediato. Uno más alto espera a otro propietario o administrador, si lo hay, y después 24 horas.",
    names: {
      auto_approve_limit: "Una persona aprueba sola, hasta",
      auto_approve_limit_day: "Todo lo que una persona aprueba sola en un día (UTC), como máximo",
      payout_limit_batch: "Un lote de pagos a terceros, como máximo",
      payout_limit_day: "Todos los pagos a terceros de un día (UTC), como máximo"
    },
    hints: {
      auto_approve_limit: "En dólares. Por encima deben aprobar dos personas, si dos pueden aprobar",
      auto_approve_limit_day:
        "En dólares, de todos los reembolsos y pagos a terceros juntos. Por encima deben aprobar dos personas, si dos pueden aprobar",
      payout_limit_batch: "En dólares. Vacío: sin límite",
      payout_limit_day: "En dólares. Vacío: sin límite"
    },
    save: "Guardar"
  },
  pending: {
    wallet: (family) => `${family}: otra billetera en espera`,
    needsApproval:
      "No está en vigor. Otro propietario o administrador debe aprobarlo; 24 horas después entra en vigor.",
    waits: "Todavía no está en vigor. Entra en vigor por sí solo, salvo que alguien lo anule.",
    proposedBy: "Solicitado por",
    proposedAt: "Desde",
    approvedBy: "Aprobado por",
    inForceFrom: "En vigor desde",
    approve: "Aprobar este cambio",
    cancel: "Anular este cambio"
  },
  found: {
    title: "Búsqueda",
    nothing: (text) => `No se encontró nada para «${text}».`,
    hint: "El número de una factura o su final, una transacción, una dirección, un importe como 49.99 o un cliente.",
    kind: "Qué",
    matched: "Encontrado por"
  },
  team: {
    members: "Miembros",
    alone: "Usted es la única persona aquí. Invite a una segunda persona, para que el dinero salga solo entre dos.",
    name: "Nombre",
    email: "Correo electrónico",
    emailHint: "No se envía nada: usted entrega el enlace directamente",
    sendEmail: "Enviar el enlace por correo a esta dirección",
    role: "Rol",
    joined: "Desde",
    change: "Cambiar",
    remove: "Quitar",
    removeText: "Se cierra su sesión de inmediato y necesita una nueva invitación para volver.",
    removeNow: "Sí, quitar",
    invite: "Invitar a una persona",
    invited: "La invitación está creada",
    invitedSentText:
      "Este enlace va en camino a la persona. Sirve una sola vez, en los próximos siete días, y se muestra solo esta vez.",
    invitedText:
      "Entregue usted este enlace directamente a la persona. Sirve una sola vez, en los próximos siete días, y se muestra solo esta vez.",
    invitations: "Invitaciones",
    revoke: "Revocar",
    invitationStates: {
      waiting: "Espera a un segundo propietario",
      open: "Abierta",
      accepted: "Aceptada",
      revoked: "Revocada",
      expired: "Expirada"
    },
    joinTitle: "Unirse al equipo",
    joinText: "Indique con qué nombre lo conocen los demás. Después su sesión queda iniciada.",
    join: "Unirse"
  },
  audit: { who: "Quién", what: "Qué", action: "Acción", change: "Cambio", show: "Mostrar", hash: "Hash" },
  simulator: {
    title: "Simulador",
    text: "Dinero ficticio. Cada botón comunica un hecho a las reglas por las que pasa el dinero real.",
    open: "Simular",
    close: "Cerrar",
    route: "Token y red",
    anyRoute: "El que muestra la página, o USDC en Base",
    dollars: "Dólares",
    dollarsHint: "Déjelo vacío para lo que falta",
    blocks: "Bloques por encima",
    blocksHint: "Déjelo vacío para tantos como necesite. 0: solo detectado",
    groups: {
      transfers: "Llega una transferencia",
      mistakes: "Una transferencia sale mal",
      blocks: "La última transferencia, en la red",
      ends: "El final, y el camino hasta usted"
    },
    actions: {
      pay: "Pagar",
      partial: "Pagar la mitad",
      overpay: "Pagar una décima parte de más",
      late: "Pagar después del final",
      wrong_token: "Pagar con otro token",
      wrong_network: "Pagar por otra red",
      missing_memo: "Pagar sin memo",
      unmatched: "Pagar antes de la factura",
      duplicate: "Pagar dos veces",
      dust: "Pagar demasiado poco para contar",
      confirm: "Confirmar",
      reorg: "Mover a otro bloque",
      drop: "Quitar de la red",
      expire: "Dejar expirar la factura",
      settle: "Liquidar",
      fail_settlement: "Hacer fallar la liquidación"
    },
    outcomes: { succeeded: "Simular: pagado", failed: "Simular: fallido" },
    clock: "Reloj",
    clockText:
      "Adelanta su reloj de prueba: las facturas expiran y llega la hora de las entregas en espera. No hay vuelta atrás.",
    hours,
    payTitle: "Un primer pago",
    payText: "Crea una factura y la paga, para que usted vea todo lo que sigue.",
    pay: "Simular un pago",
    invoiceTitle: "Pago simulado",
    networks: "Redes que fallan",
    networksText: "Solo para sus propias facturas de prueba, hasta que el servicio se reinicie.",
    modes: { down: "Hacer caer", lagging: "Retrasar bloques", ok: "Restablecer" },
    newest: "Pagos más recientes",
    newestText: "Abra uno para pagarlo en parte, pagarlo dos veces o dejar que la red lo revierta."
  },
  tokens: {
    preview: "Lo que ve su cliente",
    before: "Ahora",
    after: "Con su cambio",
    unsaved: "Esto todavía no está guardado. Pulse «Guardar» para ofrecerlo a partir de ahora.",
    look: "Ver la vista previa",
    policy: "Lo que usted acepta",
    chosen: "Elegido",
    chosenHint: "Lo que marque vale cuando solo se aceptan los tokens elegidos; en los demás casos, se conserva.",
    acceptOne: (symbol, network) => `Aceptar ${symbol} en ${network}`,
    bulk: "Muchos a la vez",
    allNetworks: "Todas las redes",
    acceptAll: "Aceptar todos",
    blockAll: "Desactivar todos"
  },
  wallets: {
    kinds: {
      xpub: "Clave pública de una cuenta",
      address: "Una dirección",
      pool: "Lista de direcciones",
      forwarder: "Reenvío a su dirección"
    },
    comparePayee: "¿Es esta su propia dirección? Todo lo que se pague irá a ella y no puede ir a ninguna otra.",
    compareText:
      "Marque cada una que su propia billetera muestre en el mismo lugar. Si alguna no coincide, quite esta billetera de inmediato.",
    add: "Establecer una billetera receptora",
    addText:
      "Indique solo la parte pública. Quien tenga una clave privada o una frase de recuperación tiene su dinero: ninguna página nuestra la pide jamás.",
    family: "Redes",
    value: "Clave pública o dirección",
    valueHint:
      "Por ejemplo, un xpub de la configuración de la cuenta en su billetera. Una lista de direcciones se establece por la API.",
    startIndex: "Primera dirección que se usará",
    startIndexHint:
      "0 para una cuenta que nunca se usó; si no, una más que la más alta usada. En modo de prueba, déjelo vacío",
    set: "Establecer esta billetera",
    remove: "Quitar esta billetera",
    removeText: "Las facturas ya no reciben direcciones de ella. No se mueve nada de lo que se le pagó.",
    removeNow: "Sí, quitar"
  },
  preview: {
    title: "Vista previa",
    text: "Su página de pago con datos inventados. No se guarda nada de ella, y nadie puede pagar en ella.",
    look: "Ver la vista previa",
    state: "Estado del pago",
    language: "Idioma",
    theme: "Claro u oscuro",
    themes: { light: "Claro", dark: "Oscuro" },
    device: "Dispositivo",
    devices: { phone: "Teléfono", desktop: "Computadora" },
    show: "Mostrar",
    frame: (state) => `Página de pago: ${state}`,
    states: {
      choose: "Elegir una moneda",
      waiting: "Pendiente",
      quote_ended: "Precio expirado",
      no_price: "Sin precio",
      confirming: "Confirmando",
      partial: "Pagado en parte",
      paid: "Pagado",
      overpaid: "Pagado de más",
      expired: "Expirado",
      late: "Llegó tarde",
      expired_partial: "Expirado, pagado en parte",
      canceled: "Anulado",
      reversed: "Revertido por la red",
      rejected: "No aceptado"
    }
  }
}
