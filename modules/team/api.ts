/** The team of a merchant, and what its people have for themselves (modules/docs/reference/team.md): definitions only. */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  Anonymous,
  errors,
  Idempotent,
  listParameterCodes,
  MerchantAuth,
  ParameterCodes,
  PrivateReplies,
  WrappedErrors
} from "../../runtime/Http.ts"
import { RightsOf } from "../../runtime/Rights.ts"
import {
  EpochSeconds,
  MemberId,
  MerchantId,
  PasskeyId,
  PathId,
  PersonId,
  TeamInvitationId,
  TeamSessionId
} from "../../schemas/Ids.ts"
import { Language, TimeZone } from "../../schemas/Languages.ts"
import { NoticeChoice } from "../../schemas/NoticeChoice.ts"
import { Role } from "../../schemas/Roles.ts"
import { success } from "../../schemas/Success.ts"
import { Locale } from "../../schemas/Web.ts"
import { maximumMembers, maximumName, maximumPasskeys, maximumSessions } from "./rules.ts"
import { list, pageErrors, personErrors, query } from "./api/Lists.ts"
import { TeamViewsGroup } from "./api/SavedViews.ts"

export { SavedView } from "./api/SavedViews.ts"
export { filtersOfLists, maximumViewName, type ViewList } from "./rules.ts"

/** Characters of an e-mail address (RFC 5321), and of a token that is looked at. */
const maximumEmail = 254
const maximumToken = 128

const Name = Schema.NonEmptyString.check(Schema.isMaxLength(maximumName))

const Email = Schema.String.check(
  Schema.isMaxLength(maximumEmail),
  Schema.isPattern(/^[^\s\p{C}@<>"]{1,64}@[^\s\p{C}@<>"]{1,253}$/u, { message: "Expected an e-mail address" })
)

const exampleMember = {
  id: MemberId.make("mem_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10"),
  object: "team_member",
  person: PersonId.make("per_5b0f7a52-3a3e-4f5e-9d4b-6f5b1c3b2a10"),
  name: "Mara Lind",
  email: "mara@shop.example",
  role: "admin",
  is_first_owner: false,
  pending_change: null,
  joined_at: 1_766_320_496
} as const

const memberFields = {
  id: MemberId,
  object: Schema.tag("team_member"),
  person: PersonId.annotate({ description: "The same at every merchant that the person is a member of" }),
  name: Schema.String,
  email: Schema.NullOr(Schema.String).annotate({
    description: "As it was invited; nobody has proved that it is theirs"
  }),
  role: Role,
  is_first_owner: Schema.Boolean.annotate({ description: "Whose wallets and keys were there before the team was" }),
  pending_change: Schema.NullOr(Schema.Struct({
    role: Schema.NullOr(Role).annotate({ description: "The role to come; null: removal" }),
    proposed_by: Schema.NullOr(MemberId),
    alone_from: Schema.NullOr(EpochSeconds).annotate({
      description: "From when on the owner who proposed it may do it alone, by the same call; null: another owner must"
    }),
    expires_at: EpochSeconds
  })).annotate({
    description: "What one owner wants and may not do alone at once, where real money is served"
  }),
  joined_at: EpochSeconds
}

export const TeamMember = Schema.Struct(memberFields).annotate({ identifier: "TeamMember", examples: [exampleMember] })

const OneTeamMember = success(TeamMember).annotate({
  identifier: "OneTeamMember",
  examples: [{ success: true, data: exampleMember }]
})

export const TeamMemberChange = Schema.Struct({ role: Role }).annotate({
  identifier: "TeamMemberChange",
  examples: [{ role: "support" }]
})

const exampleInvitation = {
  id: TeamInvitationId.make("tin_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10"),
  object: "team_invitation",
  role: "support",
  email: "ines@shop.example",
  status: "open",
  created_at: 1_766_320_496,
  expires_at: 1_766_925_296
} as const

const invitationFields = {
  id: TeamInvitationId,
  object: Schema.tag("team_invitation"),
  role: Role,
  email: Schema.NullOr(Schema.String),
  status: Schema.Literals(["waiting", "open", "accepted", "revoked", "expired"]).annotate({
    description: "`waiting`: for the approval of another owner"
  }),
  created_at: EpochSeconds,
  expires_at: EpochSeconds
}

export const TeamInvitation = Schema.Struct(invitationFields).annotate({
  identifier: "TeamInvitation",
  examples: [exampleInvitation]
})

const OneTeamInvitation = success(TeamInvitation).annotate({
  identifier: "OneTeamInvitation",
  examples: [{ success: true, data: exampleInvitation }]
})

const exampleUrl = "https://pay.example/dashboard/invitation#t=Zk3vQm1x8yB0c2J5dGVzLW9mLXJhbmRvbW5lc3MhISE"

const CreatedTeamInvitation = success(Schema.Struct({
  ...invitationFields,
  url: Schema.String.annotate({ description: "What the invited person opens, shown this once" })
})).annotate({
  identifier: "CreatedTeamInvitation",
  examples: [{ success: true, data: { ...exampleInvitation, url: exampleUrl } }]
})

export const NewTeamInvitation = Schema.Struct({
  role: Role,
  email: Schema.optionalKey(Schema.NullOr(Email)).annotate({
    description: "By which the person is named, and recovers later"
  }),
  send_email: Schema.optionalKey(Schema.NullOr(Schema.Boolean)).annotate({
    description: "True: the link is also sent to `email`. Absent or false: nothing is sent, give the link yourself"
  }),
  locale: Schema.optionalKey(Schema.NullOr(Locale)).annotate({
    description: "Language of that message. Absent: English"
  })
}).annotate({ identifier: "NewTeamInvitation", examples: [{ role: "support", email: "ines@shop.example" }] })

export const InvitationAcceptance = Schema.Struct({
  token: Schema.String.check(Schema.isMaxLength(maximumToken)).annotate({
    description: "What stands after `#t=` in the invitation's link"
  }),
  name: Name
}).annotate({
  identifier: "InvitationAcceptance",
  examples: [{ token: "Zk3vQm1x8yB0c2J5dGVzLW9mLXJhbmRvbW5lc3MhISE", name: "Ines Roth" }]
})

const AcceptedTeamInvitation = success(Schema.Struct({
  member: TeamMember,
  merchant: Schema.Struct({ id: MerchantId, name: Schema.String }),
  sign_in_url: Schema.String.annotate({ description: "Signs the new member in, once, within 10 minutes" }),
  sign_in_expires_at: EpochSeconds
})).annotate({
  identifier: "AcceptedTeamInvitation",
  examples: [{
    success: true,
    data: {
      member: exampleMember,
      merchant: { id: MerchantId.make(123), name: "Shop" },
      sign_in_url: "https://pay.example/dashboard/signin/link#t=Zk3vQm1x8yB0c2J5dGVzLW9mLXJhbmRvbW5lc3MhISE",
      sign_in_expires_at: 1_766_321_096
    }
  }]
})

const exampleAccount = {
  id: PersonId.make("per_5b0f7a52-3a3e-4f5e-9d4b-6f5b1c3b2a10"),
  object: "person",
  name: "Mara Lind",
  email: "mara@shop.example",
  language: "de",
  time_zone: "Europe/Berlin",
  notices: "mainnet"
} as const

const Account = success(Schema.Struct({
  id: PersonId,
  object: Schema.tag("person"),
  name: Schema.String,
  email: Schema.NullOr(Schema.String),
  language: Schema.NullOr(Language).annotate({
    description: "In which the dashboard is shown; null: in the one that the browser asks for"
  }),
  time_zone: Schema.NullOr(Schema.String).annotate({ description: "In which the dashboard shows times; null: UTC" }),
  notices: NoticeChoice
})).annotate({ identifier: "Account", examples: [{ success: true, data: exampleAccount }] })

export const AccountChange = Schema.Struct({
  language: Schema.optionalKey(Schema.NullOr(Language)),
  time_zone: Schema.optionalKey(Schema.NullOr(TimeZone)).annotate({
    description: "A name of the time zone database, such as `Europe/Berlin` or `UTC`"
  }),
  notices: Schema.optionalKey(NoticeChoice)
}).annotate({ identifier: "AccountChange", examples: [{ language: "de", time_zone: "Europe/Berlin" }] })

const exampleSession = {
  id: TeamSessionId.make("tms_5b0f7a52-3a3e-4f5e-9d4b-6f5b1c3b2a10"),
  object: "team_session",
  method: "passkey",
  is_current: true,
  signed_in_at: 1_766_320_496,
  last_used_at: 1_766_324_096,
  expires_at: 1_766_352_896,
  money_from: 1_766_320_496
} as const

export const TeamSessionObject = Schema.Struct({
  id: TeamSessionId,
  object: Schema.tag("team_session"),
  method: Schema.Literals(["passkey", "wallet", "link", "recovery"]),
  is_current: Schema.Boolean.annotate({ description: "Whether this call was made in it" }),
  signed_in_at: EpochSeconds,
  last_used_at: EpochSeconds.annotate({ description: "Told a minute late" }),
  expires_at: EpochSeconds.annotate({ description: "When it ends if nobody uses it" }),
  money_from: EpochSeconds.annotate({ description: "From when on it may move money on mainnet" })
}).annotate({ identifier: "TeamSession", examples: [exampleSession] })

const examplePasskey = {
  id: PasskeyId.make("tpk_5b0f7a52-3a3e-5f5e-9d4b-6f5b1c3b2a10"),
  object: "passkey",
  name: "Laptop",
  created_at: 1_766_320_496,
  last_used_at: 1_766_324_096,
  money_from: 1_766_406_896
} as const

export const Passkey = Schema.Struct({
  id: PasskeyId,
  object: Schema.tag("passkey"),
  name: Schema.String,
  created_at: EpochSeconds,
  last_used_at: Schema.NullOr(EpochSeconds),
  money_from: EpochSeconds.annotate({ description: "From when on it may move money on mainnet" })
}).annotate({ identifier: "Passkey", examples: [examplePasskey] })

const OnePasskey = success(Passkey).annotate({
  identifier: "OnePasskey",
  examples: [{ success: true, data: examplePasskey }]
})

export const PasskeyChange = Schema.Struct({ name: Name }).annotate({
  identifier: "PasskeyChange",
  examples: [{ name: "Laptop" }]
})

const RecoveryCodes = success(Schema.Struct({
  object: Schema.tag("recovery_codes"),
  codes: Schema.Array(Schema.String).annotate({ description: "Shown this once; only hashes of them are kept" })
})).annotate({
  identifier: "RecoveryCodes",
  examples: [{ success: true, data: { object: "recovery_codes", codes: ["7Q4M-X0KD-9TRB", "0C2J-5DGV-ZLW9"] } }]
})

export class TeamGroup extends HttpApiGroup.make("team").add(
  HttpApiEndpoint.get("members", "/members", {
    query,
    success: list(TeamMember, "TeamMemberList", exampleMember),
    error: errors("wrapped", ...pageErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "List the members, newest first",
    description: "Empty until somebody signs in to the dashboard or is invited: all wallets are one owner until then."
  })),
  HttpApiEndpoint.patch("changeMember", "/members/:id", {
    params: { id: PathId },
    payload: TeamMemberChange,
    success: OneTeamMember,
    error: errors(
      "wrapped",
      "VALIDATION_ERROR",
      "INVALID_JSON",
      "NOT_FOUND",
      "INVALID_TRANSITION",
      "APPROVER_MUST_DIFFER",
      ...personErrors
    )
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Give a member another role",
    description:
      "Ends the member's sessions. The only owner stays one. Where real money is served, what makes or unmakes an owner "
      + "or an admin, who approve, stands in `pending_change` first: where two owners exist, until a second one sends "
      + "the same call within 24 hours; where only admins are beside the owner, until the owner sends it again after 24 "
      + "hours. The role that the member has ends what is pending."
  })),
  HttpApiEndpoint.delete("removeMember", "/members/:id", {
    params: { id: PathId },
    success: OneTeamMember,
    error: errors(
      "wrapped",
      "VALIDATION_ERROR",
      "NOT_FOUND",
      "INVALID_TRANSITION",
      "APPROVER_MUST_DIFFER",
      ...personErrors
    )
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Remove a member",
    description:
      "Ends its sessions and unlinks its wallets. The API keys that it made go on as yours. An owner or an admin "
      + "is removed as one is made: see the change of a role."
  })),
  HttpApiEndpoint.get("invitations", "/invitations", {
    query,
    success: list(TeamInvitation, "TeamInvitationList", exampleInvitation),
    error: errors("wrapped", ...pageErrors)
  }).annotateMerge(
    OpenApi.annotations({
      summary: "List invitations, newest first",
      description: "Those that were accepted, revoked or are too old included. No link is shown again."
    })
  ),
  HttpApiEndpoint.post("invite", "/invitations", {
    payload: NewTeamInvitation,
    success: CreatedTeamInvitation,
    error: errors("wrapped", "VALIDATION_ERROR", "INVALID_JSON", "NOT_FOUND", "INVALID_TRANSITION", ...personErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Invite a person",
    description:
      "Answers a link for one use within 7 days, shown this once: give it to the person yourself, or have it "
      + "sent by `send_email`, which is 404 `NOT_FOUND` where the deployment sends no mail. At most "
      + `${maximumMembers} members and open invitations.`
  })),
  HttpApiEndpoint.delete("revokeInvitation", "/invitations/:id", {
    params: { id: PathId },
    success: OneTeamInvitation,
    error: errors("wrapped", "VALIDATION_ERROR", "NOT_FOUND", "INVALID_TRANSITION", ...personErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Revoke an invitation",
    description: "Its link opens nothing any more. Revoking twice is the same as once."
  })),
  HttpApiEndpoint.post("approveInvitation", "/invitations/:id/approve", {
    params: { id: PathId },
    success: OneTeamInvitation,
    error: errors(
      "wrapped",
      "VALIDATION_ERROR",
      "NOT_FOUND",
      "INVALID_TRANSITION",
      "APPROVER_MUST_DIFFER",
      ...personErrors
    )
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Approve an invitation of an owner or an admin",
    description: "By an owner other than the one who made it."
  }))
)
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "team:read", write: "team:write" })
  .annotate(PrivateReplies, true)
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, listParameterCodes)
  .prefix("/api/v1/team")
  .annotateMerge(OpenApi.annotations({
    title: "Team",
    description:
      "The people of a merchant, and who is to become one. Changes are for people: an API key is refused with "
      + "`CREDENTIAL_NOT_ALLOWED`."
  }))
{}

export class TeamJoinGroup extends HttpApiGroup.make("team-join").add(
  HttpApiEndpoint.post("accept", "/api/v1/team/invitations/accept", {
    payload: InvitationAcceptance,
    success: AcceptedTeamInvitation,
    error: errors(
      "wrapped",
      "VALIDATION_ERROR",
      "INVALID_JSON",
      "TOKEN_INVALID",
      "APPROVAL_REQUIRED",
      "INVALID_TRANSITION",
      "RATE_LIMIT_EXCEEDED"
    )
  }).annotateMerge(OpenApi.annotations({
    summary: "Accept an invitation",
    description: "Makes a new person a member, once. Whoever is a member of another merchant accepts in the dashboard."
  }))
)
  .middleware(Anonymous)
  .middleware(WrappedErrors)
  .annotateMerge(OpenApi.annotations({ title: "Joining a team", description: "For whoever has an invitation's link." }))
{}

export class TeamAccountGroup extends HttpApiGroup.make("team-account").add(
  HttpApiEndpoint.get("me", "/me", {
    success: Account,
    error: errors("wrapped", "NOT_FOUND", ...personErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "Get who you are",
    description: "Your name, and how the dashboard is shown to you: the same at every merchant that you belong to."
  })),
  HttpApiEndpoint.patch("changeMe", "/me", {
    payload: AccountChange,
    success: Account,
    error: errors("wrapped", "VALIDATION_ERROR", "INVALID_JSON", "NOT_FOUND", ...personErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Choose your language and time zone",
    description: "Of the dashboard. What is left out stays; null takes the choice back. Exports, books and days stay "
      + "in UTC."
  })),
  HttpApiEndpoint.get("sessions", "/sessions", {
    success: list(TeamSessionObject, "TeamSessionList", exampleSession),
    error: errors("wrapped", ...personErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "List your open sessions, newest first",
    description: `All of them: there are never more than ${maximumSessions}.`
  })),
  HttpApiEndpoint.delete("endSessions", "/sessions", {
    success: list(TeamSessionObject, "EndedTeamSessionList", exampleSession),
    error: errors("wrapped", ...personErrors)
  }).annotateMerge(
    OpenApi.annotations({ summary: "Sign out everywhere", description: "Answers the sessions that ended." })
  ),
  HttpApiEndpoint.delete("endSession", "/sessions/:id", {
    params: { id: PathId },
    success: success(TeamSessionObject).annotate({
      identifier: "OneTeamSession",
      examples: [{ success: true, data: exampleSession }]
    }),
    error: errors("wrapped", "VALIDATION_ERROR", "NOT_FOUND", ...personErrors)
  }).annotateMerge(
    OpenApi.annotations({
      summary: "End one of your sessions",
      description: "Its tokens are refused at once, and what it has open closes within 5 seconds."
    })
  ),
  HttpApiEndpoint.get("passkeys", "/passkeys", {
    success: list(Passkey, "PasskeyList", examplePasskey),
    error: errors("wrapped", ...personErrors)
  }).annotateMerge(OpenApi.annotations({
    summary: "List your passkeys, newest first",
    description: `All of them: there are never more than ${maximumPasskeys}. They are added in the dashboard.`
  })),
  HttpApiEndpoint.patch("changePasskey", "/passkeys/:id", {
    params: { id: PathId },
    payload: PasskeyChange,
    success: OnePasskey,
    error: errors("wrapped", "VALIDATION_ERROR", "INVALID_JSON", "NOT_FOUND", ...personErrors)
  }).middleware(Idempotent).annotateMerge(
    OpenApi.annotations({
      summary: "Rename one of your passkeys",
      description: "The name is for you alone: it tells your devices apart."
    })
  ),
  HttpApiEndpoint.delete("removePasskey", "/passkeys/:id", {
    params: { id: PathId },
    success: OnePasskey,
    error: errors("wrapped", "VALIDATION_ERROR", "NOT_FOUND", ...personErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Remove one of your passkeys",
    description: "It signs nobody in any more. Sessions that it opened, or was asked for last, end: it may be this one."
  })),
  HttpApiEndpoint.post("makeRecoveryCodes", "/recovery-codes", {
    success: RecoveryCodes,
    error: errors("wrapped", "VALIDATION_ERROR", "INVALID_TRANSITION", ...personErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Make new recovery codes",
    description:
      "Ten codes, each good for one sign-in with your e-mail address. Those that were made before count no more. "
      + "Without an address there are none."
  }))
)
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "account:write", write: "account:write" })
  .annotate(PrivateReplies, true)
  .middleware(WrappedErrors)
  .prefix("/api/v1/team")
  .annotateMerge(OpenApi.annotations({
    title: "Your account",
    description: "What a person has for itself, at whichever merchant it calls. An API key is refused with "
      + "`CREDENTIAL_NOT_ALLOWED`."
  }))
{}

export class TeamApi
  extends HttpApi.make("team-api").add(TeamGroup).add(TeamJoinGroup).add(TeamAccountGroup).add(TeamViewsGroup)
{}
