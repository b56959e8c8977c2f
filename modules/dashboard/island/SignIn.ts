/** Signing in: the token of a link, which stands in the fragment, and passkeys. */

/** Puts the token of `/dashboard/signin/link#t=…` into the form. It is sent when a person presses the button. */
const readLink = (): void => {
  const token = new URLSearchParams(location.hash.slice(1)).get("t")
  const field = document.querySelector<HTMLInputElement>("form[data-link] input[name=token]")
  if (token === null || field === null) return
  field.value = token
  // A page that is reloaded, or its address copied, carries no token any more.
  history.replaceState(null, "", location.pathname + location.search)
  field.form?.querySelector<HTMLButtonElement>("button")?.focus()
}

const post = async (path: string, body: unknown): Promise<any> => {
  const response = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body)
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(answer.error?.message ?? "")
  return answer
}

const usePasskey = async (button: HTMLButtonElement): Promise<void> => {
  const path = button.dataset["passkey"]!
  const options = await post(`${path}-options`, {})
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  const credential = await navigator.credentials.get({ publicKey }) as PublicKeyCredential | null
  if (credential === null) return
  await post(path, credential.toJSON())
  location.assign(button.dataset["next"]!)
}

export const startSignIn = (): void => {
  readLink()
  const button = document.querySelector<HTMLButtonElement>("button[data-passkey]")
  const isKnown = typeof PublicKeyCredential !== "undefined"
    && typeof PublicKeyCredential.parseRequestOptionsFromJSON === "function"
  if (button === null || !isKnown) return
  button.hidden = false
  button.addEventListener("click", () => {
    button.disabled = true
    usePasskey(button).catch((error: unknown) => {
      const place = document.getElementById("said")
      if (place !== null) place.textContent = error instanceof Error ? error.message : ""
    }).finally(() => {
      button.disabled = false
    })
  })
}
