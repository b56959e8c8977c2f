/** Words of the ABI of contracts: 32 bytes, as hexadecimal digits without `0x`. */

/** Digits of a word. */
const wordDigits = 64

/** Bytes of a word. */
export const wordBytes = 32

/** The word of an address, or of any number written in hexadecimal, with or without `0x`. */
export const word = (hex: string): string => hex.replace(/^0x/, "").toLowerCase().padStart(wordDigits, "0")

export const numberWord = (value: bigint | number): string => word(value.toString(16))
