/** How the simulated retailer reads an address: written in one form, and refused where a carrier could not deliver. */
import type { AddressValidation, PostalAddress } from "../../plugin.ts"
import { zipCodes } from "./Shop.ts"

/** Zip codes of countries whose form is known here; elsewhere any will do. */
const zipForms: Readonly<Record<string, RegExp>> = {
  US: /^\d{5}(?:-\d{4})?$/,
  CA: /^[A-Z]\d[A-Z] ?\d[A-Z]\d$/,
  DE: /^\d{5}$/
}

const anyZip = /^[A-Z0-9](?:[A-Z0-9 -]{0,8}[A-Z0-9])?$/

/** States of the United States are two letters. */
const usState = /^[A-Z]{2}$/

const normalizeSpaces = (text: string): string => text.trim().replace(/\s+/g, " ")

const standardize = (address: PostalAddress): PostalAddress => {
  const country = normalizeSpaces(address.country).toUpperCase()
  const state = normalizeSpaces(address.state)
  const line2 = address.addressLine2 === null ? "" : normalizeSpaces(address.addressLine2)
  return {
    firstName: normalizeSpaces(address.firstName),
    lastName: normalizeSpaces(address.lastName),
    streetAddress: normalizeSpaces(address.streetAddress),
    addressLine2: line2 === "" ? null : line2,
    city: normalizeSpaces(address.city),
    state: country === "US" ? state.toUpperCase() : state,
    zipCode: normalizeSpaces(address.zipCode).toUpperCase(),
    country,
    phone: normalizeSpaces(address.phone),
    email: normalizeSpaces(address.email)
  }
}

/** Validates an address; what is wrong stands under the wire name of its field. */
export const validateAddress = (input: PostalAddress): AddressValidation => {
  const address = standardize(input)
  const fields: Record<string, string> = {}
  if (address.firstName === "") fields["first_name"] = "Missing"
  if (address.lastName === "") fields["last_name"] = "Missing"
  if (address.streetAddress === "") fields["street_address"] = "Missing"
  if (address.city === "") fields["city"] = "Missing"
  if (!/^[A-Z]{2}$/.test(address.country)) fields["country"] = "Not a country code of two letters"
  if (address.country === "US" && !usState.test(address.state)) fields["state"] = "Not a state's two letters"
  if (address.zipCode === zipCodes.invalid) fields["zip_code"] = "There is no such zip code"
  else if (!(zipForms[address.country] ?? anyZip).test(address.zipCode)) {
    fields["zip_code"] = "Not a zip code of this country"
  }
  return Object.keys(fields).length === 0 ? { _tag: "Valid", address } : { _tag: "Invalid", fields }
}
