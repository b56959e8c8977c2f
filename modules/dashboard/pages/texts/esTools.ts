/** Spanish: the pages of developers and of settings. */
import type { ToolTexts } from "../Texts.ts"

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
    accept: "Aceptar",
    block: "Desactivar",
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
    save: "Guardar",
    means: "Qué significa",
    head: "Bloque más reciente"
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
    role: "Rol",
    joined: "Desde",
    change: "Cambiar",
    remove: "Quitar",
    removeText: "Se cierra su sesión de inmediato y necesita una nueva invitación para volver.",
    removeNow: "Sí, quitar",
    invite: "Invitar a una persona",
    invited: "La invitación está creada",
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
  audit: { who: "Quién", what: "Qué", action: "Acción", change: "Cambio", show: "Mostrar", hash: "Hash" }
}
