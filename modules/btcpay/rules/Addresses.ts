/** Addresses that a shop sends: pages to return to, mailboxes. Pure. */
import { Schema } from "effect"
import { EmailAddress, isLocalPage, ReturnUrl } from "../../../schemas/Web.ts"

const isReturnUrl = Schema.is(ReturnUrl)

export const isEmailAddress: (text: string) => boolean = Schema.is(EmailAddress)

/** A page of the own machine, by http: what a developer's shop has. */
export const isLocalHttpPage = (url: string): boolean => isReturnUrl(url) && isLocalPage(url)

export const isHttpsPage = (url: string): boolean => isReturnUrl(url) && !isLocalPage(url)
