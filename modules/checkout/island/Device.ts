/** What the server cannot know of a device: where it is, and what it is pressed with. */

/** Puts every moment of a screen into the zone of its reader. */
export const localMoments = (state: HTMLElement): void => {
  const { format } = new Intl.DateTimeFormat(document.documentElement.lang, {
    dateStyle: "medium",
    timeStyle: "short",
    numberingSystem: "latn"
  })
  for (const each of state.querySelectorAll<HTMLElement>("[data-moment]")) {
    each.textContent = format(1000 * Number(each.dataset.moment))
  }
}

/**
 * Folds the code of a new screen away on a phone, whose camera cannot see it, and opens it on a desk. How the payor
 * left it on the screen before is restored after that.
 */
export const foldCode = (): void => {
  const scan = document.getElementById("scan") as HTMLDetailsElement | null
  if (scan) scan.open = !matchMedia("(pointer:coarse)").matches
}
