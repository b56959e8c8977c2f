/** The SQL of people, members and invitations. A database fault is a defect. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { systemMerchant, type Write } from "../../../runtime/Commit.ts"
import type { Role } from "../../../schemas/Roles.ts"
import type { PageCursor } from "../../../schemas/Page.ts"
import { type InvitationState, maximumMembers, type MemberState, type PersonState, type Proposal } from "../rules.ts"

export const personWrite = (person: PersonState): Write => ({
  table: "people",
  row: {
    id: person.id,
    merchant_id: systemMerchant,
    version: person.version,
    name: person.name,
    email: person.email,
    recovery_set: person.recoverySet,
    language: person.language,
    time_zone: person.timeZone,
    notices: person.notices,
    created_at: person.createdAt
  }
})

export const memberWrite = (member: MemberState): Write => ({
  table: "members",
  row: {
    id: member.id,
    merchant_id: member.merchantId,
    version: member.version,
    person: member.person,
    role: member.role,
    status: member.status,
    is_first: member.isFirst,
    proposal: member.proposal,
    joined_at: member.joinedAt,
    money_from: member.moneyFrom
  }
})

export const invitationWrite = (invitation: InvitationState): Write => ({
  table: "team_invitations",
  row: {
    id: invitation.id,
    merchant_id: invitation.merchantId,
    version: invitation.version,
    role: invitation.role,
    email: invitation.email,
    status: invitation.status,
    invited_by: invitation.invitedBy,
    needs_approval: invitation.needsApproval,
    approved_by: invitation.approvedBy,
    token_hash: invitation.tokenHash,
    created_at: invitation.createdAt,
    expires_at: invitation.expiresAt
  }
})

/** As a column of its own a number of 8 bytes is a bigint, within JSON it is not. */
export interface PersonRow {
  readonly id: string
  readonly version: bigint | number
  readonly name: string
  readonly email: string | null
  readonly recovery_set: number
  readonly language: PersonState["language"]
  readonly time_zone: string | null
  readonly notices: PersonState["notices"]
  readonly created_at: bigint | number
}

export interface MemberRow {
  readonly id: string
  readonly merchant_id: number
  readonly version: bigint | number
  readonly person: string
  readonly role: Role
  readonly status: "active" | "removed"
  readonly is_first: boolean
  readonly proposal: Proposal | null
  readonly joined_at: bigint | number
  readonly money_from: bigint | number
}

interface InvitationRow {
  readonly id: string
  readonly merchant_id: number
  readonly version: bigint
  readonly role: Role
  readonly email: string | null
  readonly status: InvitationState["status"]
  readonly invited_by: string
  readonly needs_approval: boolean
  readonly approved_by: string | null
  readonly token_hash: string
  readonly created_at: bigint
  readonly expires_at: bigint
}

export const personOfRow = (row: PersonRow): PersonState => ({
  id: row.id,
  name: row.name,
  email: row.email,
  recoverySet: row.recovery_set,
  language: row.language,
  timeZone: row.time_zone,
  notices: row.notices,
  createdAt: Number(row.created_at),
  version: Number(row.version)
})

export const memberOfRow = (row: MemberRow): MemberState => ({
  id: row.id,
  merchantId: row.merchant_id,
  person: row.person,
  role: row.role,
  status: row.status,
  isFirst: row.is_first,
  proposal: row.proposal,
  joinedAt: Number(row.joined_at),
  moneyFrom: Number(row.money_from),
  version: Number(row.version)
})

const invitationOf = (row: InvitationRow): InvitationState => ({
  id: row.id,
  merchantId: row.merchant_id,
  role: row.role,
  email: row.email,
  status: row.status,
  invitedBy: row.invited_by,
  needsApproval: row.needs_approval,
  approvedBy: row.approved_by,
  tokenHash: row.token_hash,
  createdAt: Number(row.created_at),
  expiresAt: Number(row.expires_at),
  version: Number(row.version)
})

/** A page of what a merchant has: the newest, or those beyond a cursor. */
export interface PageQuery {
  readonly merchantId: number
  readonly cursor: PageCursor | null
  readonly limit: number
}

/** Rows in the order of a list, of which one more was read than shown. */
export const pageOf = <Row, A>(rows: ReadonlyArray<Row>, { cursor, limit }: PageQuery, read: (row: Row) => A) => {
  const found = rows.slice(0, limit).map(read)
  return { found: cursor?.direction === "newer" ? found.toReversed() : found, hasMore: rows.length > limit }
}

export const makeMembersRepo = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const first = <Row, A>(rows: Effect.Effect<ReadonlyArray<Row>, unknown>, read: (row: Row) => A) =>
    Effect.map(Effect.orDie(rows), ([row]) => row === undefined ? undefined : read(row))
  const all = <Row, A>(rows: Effect.Effect<ReadonlyArray<Row>, unknown>, read: (row: Row) => A) =>
    Effect.map(Effect.orDie(rows), (found) => found.map(read))
  return {
    person: (id: string) => first(sql<PersonRow>`SELECT * FROM people WHERE id = ${id}`, personOfRow),
    people: (ids: ReadonlyArray<string>) =>
      all(sql<PersonRow>`SELECT * FROM people WHERE id = ANY (${[...ids]}::text[])`, personOfRow),
    /** Those who are members now, the oldest first. */
    members: (merchantId: number) =>
      all(
        sql<MemberRow>`SELECT * FROM members WHERE merchant_id = ${merchantId} AND status = 'active'
          ORDER BY joined_at, id LIMIT ${maximumMembers}`,
        memberOfRow
      ),
    /** Whoever it is or was. */
    member: (merchantId: number, id: string) =>
      first(sql<MemberRow>`SELECT * FROM members WHERE merchant_id = ${merchantId} AND id = ${id}`, memberOfRow),
    /** Those of `ids` that are members now. */
    activeMembers: (ids: ReadonlyArray<string>) =>
      all(
        sql<MemberRow>`SELECT * FROM members WHERE id = ANY (${[...ids]}::text[]) AND status = 'active'`,
        memberOfRow
      ),
    /** The same by person. */
    memberByPerson: (merchantId: number, person: string) =>
      first(
        sql<MemberRow>`SELECT * FROM members WHERE merchant_id = ${merchantId} AND person = ${person}`,
        memberOfRow
      ),
    /** The first owner, a member or not any more; undefined: nobody was ever a member. */
    firstOwner: (merchantId: number) =>
      first(sql<MemberRow>`SELECT * FROM members WHERE merchant_id = ${merchantId} AND is_first`, memberOfRow),
    /** All merchants that somebody is a member of now. */
    membershipsOf: (person: string) =>
      all(
        sql<MemberRow>`SELECT * FROM members WHERE person = ${person} AND status = 'active'
          ORDER BY joined_at, merchant_id LIMIT ${maximumMembers}`,
        memberOfRow
      ),
    /** Members now, the newest id first: a page of the list. */
    memberPage: (query: PageQuery) => {
      const newer = query.cursor?.direction === "newer"
      const beyond = query.cursor === null
        ? sql.literal("")
        : sql`AND id ${sql.literal(newer ? ">" : "<")} ${query.cursor.id}`
      return Effect.map(
        Effect.orDie(sql<MemberRow>`SELECT * FROM members WHERE merchant_id = ${query.merchantId}
          AND status = 'active' ${beyond} ORDER BY id ${sql.literal(newer ? "ASC" : "DESC")} LIMIT ${query.limit + 1}`),
        (rows) => pageOf(rows, query, memberOfRow)
      )
    },
    invitation: (merchantId: number, id: string) =>
      first(
        sql<InvitationRow>`SELECT * FROM team_invitations WHERE merchant_id = ${merchantId} AND id = ${id}`,
        invitationOf
      ),
    invitationByToken: (hashes: ReadonlyArray<string>) =>
      first(
        sql<InvitationRow>`SELECT * FROM team_invitations WHERE token_hash = ANY (${[...hashes]}::text[])`,
        invitationOf
      ),
    /** Those that may still be accepted at a moment. */
    openInvitations: (merchantId: number, now: number) =>
      Effect.map(
        Effect.orDie(sql<{ n: bigint }>`SELECT count(*) AS n FROM team_invitations WHERE merchant_id = ${merchantId}
          AND status = 'open' AND expires_at > ${now}`),
        ([row]) => Number(row!.n)
      ),
    /** Newest first. */
    invitationPage: (query: PageQuery) => {
      const newer = query.cursor?.direction === "newer"
      const beyond = query.cursor === null
        ? sql.literal("")
        : sql`AND id ${sql.literal(newer ? ">" : "<")} ${query.cursor.id}`
      return Effect.map(
        Effect.orDie(sql<InvitationRow>`SELECT * FROM team_invitations WHERE merchant_id = ${query.merchantId} ${beyond}
          ORDER BY id ${sql.literal(newer ? "ASC" : "DESC")} LIMIT ${query.limit + 1}`),
        (rows) => pageOf(rows, query, invitationOf)
      )
    }
  }
})
