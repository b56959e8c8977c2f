/**
 * Spanish, without a country; formal. An invoice is "anulada" and a payment "expirado": in much of America "cancelada"
 * means paid, and "vencido" overdue.
 */
import { plural, type Texts } from "../Texts.ts"

const found = plural("es", { one: "# moneda", many: "# de monedas", other: "# monedas" })
const minutesLeft = plural("es", {
  one: "El precio se mantiene # minuto más",
  many: "El precio se mantiene # de minutos más",
  other: "El precio se mantiene # minutos más"
})
const networks = plural("es", { one: "# red", many: "# de redes", other: "# redes" })

export const es: Texts = {
  locale: "es",
  language: "Español",
  direction: "ltr",
  fullStop: ".",

  testMode: "Modo de prueba: sin dinero real",
  domainVerified: "Dominio verificado:",
  domainChecked: (domain, when) =>
    `${domain} declara que cobra en esta página los pagos de esta tienda. Comprobado: ${when}.`,
  returnsTo: (host) => `Después se vuelve a ${host}`,
  invoice: "Factura",
  help: "Ayuda",
  chooseLanguage: "Idioma",
  change: "Cambiar",
  checkPayment: "Comprobar el pago",

  stepWaiting: "Pendiente",
  stepConfirming: "Confirmando",
  stepPaid: "Pagado",
  progress: "Progreso del pago",

  chooseTitle: "Elija cómo pagar",
  stepCurrency: "1. Moneda",
  stepNetwork: (token) => `2. Red para ${token}`,
  networks,
  toSend: (amount) => `${amount} por enviar`,
  moreCurrencies: "Más monedas",
  walletPaysFee: "su billetera paga la comisión de red",
  feeUnder: (amount) => `comisión inferior a ${amount}`,
  feeAbout: (amount) => `comisión aprox. ${amount}`,
  lowestFee: "la comisión más baja",
  aboutSeconds: (count) => `unos ${count} s`,
  aboutMinutes: (count) => `unos ${count} min`,
  whichNetwork: (token) => `¿Tiene dudas? Elija la red en la que su billetera tiene ${token}.`,
  search: "Buscar moneda o red",
  found,
  nothingFound: "Sin resultados",
  noMethods: (merchant) =>
    `En este momento no hay formas de pago disponibles. Inténtelo más tarde o póngase en contacto con ${merchant}.`,
  noOfferedMethods: (merchant) =>
    "Ahora mismo no se puede pagar: no está disponible ninguna de las monedas que la tienda acepta para su " +
    `pedido. Inténtelo más tarde o póngase en contacto con ${merchant}.`,
  proceed: "Continuar",
  proceedWith: (token, network) => `Continuar con ${token} por la red ${network}`,
  minimum: (amount) => `mínimo ${amount}`,
  networkDown: "red con problemas",
  noPriceNow: "sin precio por ahora",
  notAvailable: "no disponible",

  waitingTitle: "Esperando su pago",
  payTitle: (amount, network) => `Pague ${amount} por la red ${network}`,
  scanCode: "Código QR para una billetera en otro dispositivo",
  paymentLink: "Enlace de pago",
  addressOnly: "Solo la dirección",
  qrName: (amount, address, network) => `Código QR para pagar ${amount} a ${address} en la red ${network}`,
  qrAddressName: (address, network) => `Código QR de la dirección ${address} en la red ${network}`,
  priceHeldFor: "Precio garantizado durante",
  priceRenews: "El precio está garantizado y se renueva solo.",
  timeLeft: "Tiempo para pagar",
  payBy: "Pagar antes del",
  amountToSend: "Importe a enviar",
  remainingToSend: "Importe restante",
  addressOn: (network) => `Dirección en la red ${network}`,
  memo: "Memo",
  memoNeeded: "A esta dirección llegan muchos pagos y el memo indica cuál es el suyo. Cópielo en el campo de memo o " +
    "comentario de su billetera. Sin él no se puede identificar su pago.",
  memoFromExchange: "Pague desde un exchange solo si le permite introducir este memo.",
  sendOnly: (token, network) => `Envíe solo ${token} por la red ${network}.`,
  otherwiseLost: "Lo que envíe con otro token o por otra red puede perderse para siempre.",
  payeeTitle: "Quién recibe este dinero",
  payee: (merchant) =>
    `Lo que se envía a esta dirección solo puede ir a una billetera. Si ${merchant} ha publicado la suya, compárelas.`,
  payeeCheck: "Cómo comprobarlo: la dirección se calcula a partir de estos valores, con CREATE2 (EIP-1014).",
  openInWallet: "Abrir en la billetera",
  walletList: "Billeteras en este navegador",
  walletPay: (wallet) => `Pagar con ${wallet}`,
  walletAsking: (wallet, amount, network, address) =>
    `Confirme en ${wallet}: ${amount} por la red ${network} a ${address}. Esta página solo da el pago por hecho ` +
    "cuando la red lo muestra.",
  walletDeclined: (wallet) => `Usted rechazó en ${wallet}. No se envió nada.`,
  walletBusy: (wallet) => `${wallet} ya está preguntando. Ábrala y responda allí.`,
  walletLocked: (wallet) => `${wallet} está bloqueada. Ábrala y vuelva a pulsar.`,
  walletChain: (wallet, network) =>
    `${wallet} no puede usar la red ${network}. Use otra billetera o escanee el código.`,
  walletFunds: (amount, network) =>
    `Esta cuenta tiene menos de ${amount} en la red ${network}. Elija otra cuenta u otra moneda.`,
  walletFee: (coin, network) => `Esta cuenta no tiene suficiente ${coin} en la red ${network} para la comisión de red.`,
  walletSilent: (wallet) => `${wallet} no responde. Si ya confirmó, solo espere: esta página se actualiza sola.`,
  walletUnknown: (wallet) =>
    `${wallet} indicó un error. Es posible que el pago se haya enviado de todos modos: revise su billetera antes de ` +
    "volver a intentarlo.",
  walletChanged: "Este pago cambió entretanto. No se envió nada: revise el importe antes de volver a pulsar.",
  walletSent: (wallet) => `Enviado con ${wallet}. Esperando a que la red lo muestre.`,
  walletAgain: (sent, amount) =>
    `Es posible que ya haya enviado ${sent}: revise su billetera. Pulse de nuevo solo para enviar otros ${amount}.`,
  useAnother: "Usar otra moneda",
  payingWith: (token, network) => `Pago con ${token} por la red ${network}`,
  copy: "Copiar",
  copyOf: (what) => `Copiar: ${what}`,
  copied: "Copiado",
  minutesLeft,

  quoteEndedTitle: "Hay que actualizar el precio",
  quoteEnded: "El precio solo se mantuvo unos minutos. Obtenga uno nuevo antes de enviar: la dirección es la misma. " +
    "Lo que ya haya enviado no se pierde.",
  newPrice: "Obtener nuevo precio",
  noPriceTitle: "Sin precio por ahora",
  noPrice: "En este momento no hay precio para esta moneda; no envíe nada todavía. " +
    "Vuelva a intentarlo en unos minutos. Lo que ya haya enviado no se pierde.",

  confirmingTitle: "Pago detectado, confirmando",
  mayClose: (merchant) => `Puede cerrar esta página. ${merchant} recibirá un aviso cuando se confirme el pago.`,
  confirmations: (done, needed) => `Confirmaciones: ${done} de ${needed}`,
  received: "Recibido",
  transaction: "Transacción",
  viewTransaction: (hash) => `Ver la transacción ${hash} en un explorador de bloques`,

  partialTitle: "Llegó una parte del pago",
  partial: (received, remaining) => `Recibimos ${received}. Envíe el resto (${remaining}) a la misma dirección.`,
  partialReceived: (received) => `Recibimos ${received}.`,
  stillPayable: "El plazo terminó, pero todavía puede enviar el resto.",

  paidTitle: "Pago completado",
  paid: (merchant) => `${merchant} ha recibido su pago.`,
  overpaidTitle: (extra) => `Pagado, con ${extra} de más`,
  overpaid: (extra, merchant) => `Usted envió ${extra} de más. Solicite el reembolso a ${merchant}.`,
  returnTo: (merchant) => `Volver a ${merchant}`,
  returnsIn: (merchant) => `Vuelve a ${merchant} en`,
  returnsSoon: (merchant, seconds, stay) =>
    `Volverá a ${merchant} en ${seconds} segundos. Para quedarse, pulse: ${stay}.`,
  stayHere: "Quedarse en esta página",
  paidAt: "Pagado el",
  total: "Total",
  inDollars: "En dólares estadounidenses",
  receipt: "Recibo",
  receiptOpen: "Abrir el recibo",
  receiptAmount: "Ha pagado",
  receiptFor: "Concepto",
  receiptTo: "Para",
  receiptAddress: "A la dirección",
  receiptExtra: "De más",

  expiredTitle: "Este pago ha expirado",
  expired: "No se recibió nada. No envíe nada a la dirección anterior.",
  expiredSent: "Si ya envió el pago, no vuelva a pagar: aparecerá aquí en cuanto llegue.",
  startAgain: "Empezar de nuevo",
  expiredContact: (merchant) => `Solicite una nueva factura a ${merchant}.`,

  lateTitle: "Su pago llegó tarde",
  late: (received, merchant) =>
    `Recibimos ${received} después del plazo. ${merchant} puede aceptar o devolver este importe.`,
  expiredPartialTitle: "El plazo terminó y solo llegó una parte del pago",
  expiredPartial: (received, merchant) =>
    `Recibimos ${received}, menos de lo debido. ${merchant} puede aceptar o devolver este importe.`,
  accepted: (merchant, time) => `${merchant} lo aceptó, ${time}.`,
  keptAsCredit: (merchant) => `${merchant} lo guarda como saldo a su favor.`,
  refundAwaited: (amount, merchant) =>
    `Se le devolverán ${amount}. ${merchant} le enviará un enlace para indicar adónde.`,
  refundUnderWay: (amount) => `Un reembolso de ${amount} está en camino.`,
  refundDone: (amount) => `Se le reembolsaron ${amount}.`,
  doNotPayAgain: "No vuelva a pagar.",
  contact: (merchant) => `Contactar con ${merchant}`,
  contactNobody: (merchant) => `Póngase en contacto con ${merchant} e indique el número de factura de arriba.`,

  canceledTitle: "Esta factura ha sido anulada",
  canceled: (merchant) => `${merchant} la anuló. No envíe nada. Si ya pagó, solicite el reembolso.`,

  reversedTitle: "La red revirtió su pago",
  reversed: "La red deshizo su transacción y el pago no llegó. El dinero debería estar de nuevo en su billetera.",
  payAgain: "Revise primero su billetera. Si el dinero está allí, puede volver a pagar.",
  rejectedTitle: "Recibimos algo distinto",
  rejected: (merchant) =>
    "Llegó una transferencia que esta factura no acepta y que no cuenta como pago. " +
    `Solicite el reembolso a ${merchant}.`,

  refundTitle: "¿Adónde enviar un posible reembolso?",
  refundAddress: (network) => `Su dirección en la red ${network}`,
  refundSave: "Guardar dirección",
  refundSaved: "Dirección guardada. Si hay un reembolso, se enviará allí.",
  refundWrong: (network) => `Esta no es una dirección de la red ${network}. Revísela, por favor.`,

  claimOpenTitle: "Abrir su reembolso",
  claimOpen: "Pegue el enlace completo que recibió. Abre su reembolso: no se lo muestre a nadie.",
  claimLink: "Enlace de su reembolso",
  claimAddressTitle: "¿Adónde enviamos su reembolso?",
  claimFrom: (merchant) => `${merchant} le devuelve dinero.`,
  claimGive: (token, network) =>
    `Indique una dirección que reciba ${token} en ${network}: la de su propia billetera o su dirección de depósito ` +
    "en un exchange. En cualquier otra red, el dinero puede perderse para siempre.",
  claimUntil: (moment) => `El enlace admite una dirección hasta el ${moment}.`,
  claimAmount: "Usted recibe",
  claimFee: "Retenido por la comisión de red",
  claimNetwork: "Red",
  claimReason: "Motivo",
  claimRequested: "Usted lo solicitó",
  claimOverpayment: "Pagó de más",
  claimLate: "Su pago llegó tarde",
  claimUnderpayment: "Pagó de menos",
  claimWrongToken: "Pagó con otra moneda",
  claimOrderCanceled: "El pedido fue anulado",
  claimOrderFailed: "No se pudo completar el pedido",
  claimDuplicate: "Pagó dos veces",
  claimMemo: "Solo para un exchange: copie el memo que muestra junto a la dirección. Sin él, es posible que el " +
    "dinero no llegue a su cuenta.",
  claimCheckTitle: "¿Es esta su dirección?",
  claimCheck: "Aquí se enviará su reembolso. Una vez confirmada, la dirección no se puede cambiar. Compare cada " +
    "carácter con su billetera.",
  claimConfirm: "Enviar mi reembolso ahí",
  claimEdit: "Cambiar la dirección",
  claimWrongAddress: (network) =>
    `En ${network} no hay ninguna billetera con esta dirección. Copie de nuevo la dirección completa desde su ` +
    "billetera.",
  claimOtherNetwork: (network) =>
    `Esta es una dirección de otra red. El reembolso se paga solo en ${network}: copie su dirección en esa red.`,
  claimReceiveAddress: (token, network) =>
    "En esta dirección se reciben pagos a tiendas, así que el reembolso no le llegaría. Copie la dirección en la " +
    `que su propia billetera recibe ${token} en ${network}.`,
  claimNoWallet: (token, network) =>
    "Esto es un token u otro contrato, y el dinero enviado ahí se pierde. Copie la dirección en la que su propia " +
    `billetera recibe ${token} en ${network}.`,
  claimRefused: (merchant) =>
    "No se pueden enviar reembolsos a esta dirección. Indique otra dirección de su propia billetera o consulte a " +
    `${merchant}.`,
  claimWrongMemo: "Un memo tiene como máximo 120 letras, cifras y signos, sin acentos. Cópielo de nuevo o deje " +
    "el campo vacío.",
  claimUnchecked: "Ahora mismo no se puede comprobar esta dirección y no se guardó nada. Inténtelo de nuevo en " +
    "unos minutos.",
  claimApprovalTitle: "Su dirección está guardada",
  claimApproval: (merchant) =>
    `${merchant} todavía debe aprobar el reembolso. Puede cerrar esta página: el mismo enlace muestra cómo avanza.`,
  claimKept: (merchant) =>
    "Antes se guardó otra dirección, y es la que vale: está abajo. Si no es suya, contacte de inmediato con " +
    `${merchant}.`,
  claimProcessingTitle: "Su reembolso se está pagando",
  claimProcessing: "Va a la dirección de abajo. Puede cerrar esta página: el mismo enlace muestra cuándo se paga.",
  claimPaidTitle: "Su reembolso está pagado",
  claimPaid: (amount, network) => `${amount} se envió a la dirección de abajo en ${network}.`,
  claimFailedTitle: "El reembolso no se pagó",
  claimFailed: (merchant) =>
    `La transferencia no funcionó, y su dinero no se ha perdido. ${merchant} puede intentarlo de nuevo o pedirle ` +
    "otra dirección.",
  claimExpiredTitle: "Este reembolso ha expirado",
  claimExpired: (merchant) =>
    `No se indicó ninguna dirección a tiempo. Pida a ${merchant} que inicie de nuevo el reembolso.`,
  claimCanceledTitle: "Este reembolso fue anulado",
  claimCanceled: (merchant) => `No se enviará nada. Si no lo esperaba, consulte a ${merchant}.`,
  claimUnaddressedTitle: "Este enlace ya se usó",
  claimUnaddressed: (merchant) => `Hace falta de nuevo una dirección. Pida un enlace nuevo a ${merchant}.`,
  claimCheckAgain: "Comprobar de nuevo",
  claimNoAnswer: "No hubo respuesta. Compruebe su conexión e inténtelo de nuevo. Lo que ya confirmó queda guardado.",
  claimEndedTitle: "Este enlace no abre ningún reembolso",
  claimEnded: "Está incompleto o ya no vale. Abra de nuevo el enlace que recibió o pida uno nuevo a la tienda.",
  claimUnavailable: "Ahora mismo no podemos mostrar su reembolso. Abra de nuevo su enlace en un momento: muestra " +
    "lo que se guardó.",

  offline: "Sin conexión. Esta página se actualizará sola en cuanto vuelva la conexión. " +
    "Lo que ya haya enviado no se pierde.",
  networkDegraded: (network) =>
    `La red ${network} tiene problemas en este momento. Su pago puede tardar más de lo habitual en aparecer. ` +
    "Si ya lo envió, no lo envíe otra vez.",

  simulateTitle: "Simular pago",
  simulateNote: "Modo de prueba: dinero ficticio, no hace falta billetera.",
  simulatePay: "Pagar",
  simulatePartial: "Pagar la mitad",
  simulateOver: "Pagar de más",
  simulateLate: "Pagar tarde",

  sessionEndedTitle: "Este enlace no abre ningún pago",
  sessionEnded: "Está incompleto o ha expirado. Abra de nuevo el enlace que recibió o pida uno nuevo a la tienda.",
  notFoundTitle: "Aquí no hay nada",
  notFound: "En esta dirección web no hay ningún pago. Abra de nuevo el enlace que recibió.",
  tooManyTitle: "Demasiados intentos",
  tooMany: "Espere un momento y vuelva a cargar la página.",
  unavailableTitle: "Un momento, por favor",
  unavailable: "Ahora mismo no podemos mostrar su pago. Lo que ya haya enviado no se pierde. " +
    "Espere unos segundos y vuelva a intentarlo.",
  failedTitle: "Algo salió mal",
  failed: "Vuelva a cargar la página en un momento. Lo que ya haya enviado no se pierde.",
  tryAgain: "Reintentar"
}
