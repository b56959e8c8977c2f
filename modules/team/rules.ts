/** The rules of people, their memberships and their sessions, by what they are about. Pure. */
export * from "./rules/Memberships.ts"
export * from "./rules/People.ts"
export * from "./rules/RecoveryCodes.ts"
export * from "./rules/SavedViews.ts"
export * from "./rules/TeamSessions.ts"
