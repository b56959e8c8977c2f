/** Spanish: signing in, and what a person has for itself. */
import type { AccountTexts } from "../Texts.ts"

export const accountTexts: AccountTexts = {
  signIn: {
    title: "Iniciar sesión",
    hello: "Los pagos, los reembolsos y los libros de su tienda.",
    againTitle: "¿Sigue siendo usted?",
    againText:
      "Esto deja salir dinero o cambia quién puede hacerlo. Demuestre que sigue siendo la persona que inició la sesión; vale durante 5 minutos. Después, pulse una vez más.",
    again: "Demostrarlo con una llave de acceso",
    back: "Volver sin demostrarlo",
    linkTitle: "Iniciar sesión con su enlace",
    linkText: "El enlace sirve para una persona, una sola vez, en los diez minutos siguientes a su creación.",
    token: "Token del enlace",
    go: "Continuar",
    passkey: "Iniciar sesión con una llave de acceso",
    wallets: "Billeteras en este navegador",
    wallet: {
      pay: "Iniciar sesión con {wallet}",
      asking: "Confirme en {wallet}. Solo firma un texto; no se envía ni se gasta nada.",
      declined: "Usted rechazó en {wallet}.",
      busy: "{wallet} ya está preguntando. Ábrala y responda allí.",
      locked: "{wallet} está bloqueada. Ábrala y vuelva a pulsar.",
      unknown: "{wallet} no pudo firmar. Vuelva a intentarlo o inicie sesión de otra manera."
    },
    recovery: "¿Perdió su llave de acceso?",
    email: "Correo electrónico",
    code: "Código de recuperación",
    useCode: "Usar un código de recuperación",
    byAddress: (url) =>
      `Las llaves de acceso no funcionan en una dirección numérica. Abra ${url} en su lugar, o use un enlace.`,
    needsScript:
      "Iniciar sesión con una llave de acceso o una billetera requiere un script que este navegador no ejecuta. Use un enlace."
  },
  account: {
    title: "Su cuenta",
    passkeys: "Llaves de acceso",
    passkeysText:
      "Una llave de acceso le permite entrar con su huella, su rostro o el código de su dispositivo, y solo en este sitio. Tenga dos.",
    passkeyName: "Nombre de la nueva llave de acceso",
    passkeyHint: "El del dispositivo que la guarda, por ejemplo Portátil",
    addPasskey: "Añadir una llave de acceso",
    needsScript: "Añadir una llave de acceso requiere un script que este navegador no ejecuta.",
    wallets: "Carteras",
    walletsText:
      "Una cartera de este navegador inicia su sesión firmando un texto: no se envía ni se gasta nada. Cuando esté instalada aquí, aparecerá abajo.",
    walletAddress: "Dirección",
    linkWallet: "Vincular {wallet}",
    walletNeedsScript: "Para vincular una cartera hace falta un script que este navegador no ejecuta.",
    approves:
      "En Producción se aprueba con una llave de acceso o una cartera, nunca con un enlace. Las nuevas cuentan 24 horas después de añadirlas; las del primer propietario, enseguida.",
    onlyLinks: "No tiene ni llave de acceso ni cartera.",
    name: "Nombre",
    added: "Añadida",
    used: "Último uso",
    remove: "Quitar",
    waits: "En producción no mueve dinero hasta",
    pages: "Idioma y hora",
    language: "Idioma",
    languageOfBrowser: "El que pide el navegador",
    timeZone: "Zona horaria",
    pagesText: "Solo para usted. Los días y meses de los libros y las exportaciones siguen en UTC.",
    savePages: "Guardar",
    notices: "Mensajes por correo",
    noticesText:
      "Cuando un caso le necesita o se desactiva un endpoint de webhook, según su rol. Como máximo uno por hora de cada tipo.",
    noticesOf: "Avisarme de",
    noticeChoices: { mainnet: "Solo producción", all: "Producción y prueba", none: "Nada" },
    recovery: "Códigos de recuperación",
    recoveryText:
      "Diez códigos para el día en que pierda todas sus llaves de acceso. Los nuevos dejan sin efecto los que tenía.",
    makeCodes: "Crear códigos nuevos",
    codes: "Códigos de recuperación",
    codesText:
      "Estos códigos se muestran solo esta vez. Cada uno sirve para entrar una vez, junto con su correo electrónico. Guárdelos en papel.",
    sessions: "Dónde tiene sesiones abiertas",
    method: "Mediante",
    methods: { passkey: "Llave de acceso", wallet: "Billetera", link: "Enlace", recovery: "Código de recuperación" },
    here: "Aquí",
    signedIn: "Desde",
    end: "Cerrar sesión",
    endAll: "Cerrar todas las sesiones"
  }
}
