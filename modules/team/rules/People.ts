/** People, and what they sign in by. Pure. */
import type { Language } from "../../../schemas/Languages.ts"
import type { Environment } from "../../../schemas/Network.ts"
import type { NoticeChoice } from "../../../schemas/NoticeChoice.ts"

export interface PersonState {
  /** `per_<uuid>` */
  readonly id: string
  readonly name: string
  /** In lower case; null: unknown. Nobody has proved that it is theirs. */
  readonly email: string | null
  /** Which set of recovery codes counts; 0: there was none yet. */
  readonly recoverySet: number
  /** In which pages are shown; null: in the one that the browser asks for. */
  readonly language: Language | null
  /** In which times are shown; null: UTC. */
  readonly timeZone: string | null
  readonly notices: NoticeChoice
  readonly createdAt: number
  readonly version: number
}

export const newPerson = (id: string, name: string, email: string | null, now: number): PersonState => ({
  id,
  name,
  email: email === null ? null : normalEmail(email),
  recoverySet: 0,
  language: null,
  timeZone: null,
  notices: "mainnet",
  createdAt: now,
  version: 1
})

/** What somebody chooses for its pages and messages; what is left out stays. */
export interface PageChoices {
  readonly language?: Language | null
  readonly timeZone?: string | null
  readonly notices?: NoticeChoice
}

/** The person with other choices; the same one where they are what it has. */
export const choosePages = (person: PersonState, choices: PageChoices): PersonState => {
  const { language = person.language, notices = person.notices, timeZone = person.timeZone } = choices
  return language === person.language && timeZone === person.timeZone && notices === person.notices
    ? person
    : { ...person, language, timeZone, notices, version: person.version + 1 }
}

/** Whether a person is told of what happens in an environment. */
export const wantsNotices = ({ notices }: Pick<PersonState, "notices">, environment: Environment): boolean =>
  notices === "all" || notices === environment

export const normalEmail = (email: string): string => email.trim().toLowerCase()

/** Passkeys that a person may have: several devices, each with a spare. */
export const maximumPasskeys = 20

/** Characters of the name of a passkey or a person, at most. */
export const maximumName = 100

export interface PasskeyState {
  readonly id: string
  readonly person: string
  readonly name: string
  /** As the authenticator names it, base64url. */
  readonly credentialId: string
  /** COSE, base64url. */
  readonly publicKey: string
  readonly counter: number
  readonly transports: ReadonlyArray<string>
  readonly status: "active" | "removed"
  readonly moneyFrom: number
  readonly createdAt: number
  readonly lastUsedAt: number | null
  readonly version: number
}

export const renamePasskey = (passkey: PasskeyState, name: string): PasskeyState => ({
  ...passkey,
  name,
  version: passkey.version + 1
})

export const removePasskey = (passkey: PasskeyState): PasskeyState => ({
  ...passkey,
  status: "removed",
  version: passkey.version + 1
})

/** The passkey after a sign-in by it. */
export const usePasskey = (passkey: PasskeyState, counter: number, now: number): PasskeyState => ({
  ...passkey,
  counter,
  lastUsedAt: now,
  version: passkey.version + 1
})

/** A code of a set, by its hash, which is of the code alone: two people may have one e-mail address. */
export interface RecoveryCodeState {
  readonly id: string
  readonly person: string
  readonly set: number
  /** When it was used, or gave way to a new set; null: it is good. */
  readonly endedAt: number | null
  readonly version: number
}

export const endRecoveryCode = (code: RecoveryCodeState, now: number): RecoveryCodeState => ({
  ...code,
  endedAt: now,
  version: code.version + 1
})

/** Whether a code signs its person in by an e-mail address, in lower case. */
export const isCodeGood = ({ endedAt, set }: RecoveryCodeState, person: PersonState, email: string): boolean =>
  endedAt === null && person.email === email && person.recoverySet === set
