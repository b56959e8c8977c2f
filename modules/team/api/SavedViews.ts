/** Lists of the dashboard that people save with their filters: definitions only. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  errors,
  Idempotent,
  listParameterCodes,
  MerchantAuth,
  ParameterCodes,
  PrivateReplies,
  WrappedErrors
} from "../../../runtime/Http.ts"
import { RightsOf } from "../../../runtime/Rights.ts"
import { EpochSeconds, PathId, SavedViewId } from "../../../schemas/Ids.ts"
import { success } from "../../../schemas/Success.ts"
import { maximumViewName, maximumViewQuery, maximumViews, viewLists } from "../rules.ts"
import { list, pageErrors, personErrors, query } from "./Lists.ts"

const ViewListName = Schema.Literals(viewLists)

const viewFields = {
  list: ViewListName.annotate({ description: "The list of the dashboard" }),
  name: Schema.String.check(
    Schema.isMaxLength(maximumViewName),
    Schema.isPattern(/^[^\p{C}\p{Zl}\p{Zp}]*[^\p{C}\p{Z}][^\p{C}\p{Zl}\p{Zp}]*$/u, {
      message: "Expected one line of text"
    })
  ).annotate({ description: `One line, at most ${maximumViewName} characters` }),
  query: Schema.String.check(
    Schema.isMaxLength(maximumViewQuery),
    Schema.isPattern(/^[^\p{C}\s?#]*$/u, { message: "Expected the filters of a list, like status=paid&customer=c_1" })
  ).annotate({ description: "The filters as in the address of the list, without `?`" })
}

export const SavedView = Schema.Struct({
  id: SavedViewId,
  object: Schema.tag("saved_view"),
  list: viewFields.list,
  name: Schema.String,
  query: Schema.String,
  shared: Schema.Boolean.annotate({ description: "Whether everybody of the merchant has it" }),
  is_own: Schema.Boolean.annotate({ description: "Whether you made it" }),
  created_at: EpochSeconds
}).annotate({ identifier: "SavedView" })

const exampleView = {
  id: SavedViewId.make("view_0193a5b2-7c41-7000-9d4b-6f5b1c3b2a10"),
  object: "saved_view",
  list: "payments",
  name: "Unpaid of Ines",
  query: "status=unpaid&customer=c_1",
  shared: false,
  is_own: true,
  created_at: 1_766_320_496
} as const

export const NewSavedView = Schema.Struct({
  ...viewFields,
  shared: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "Default false. Takes the right `settings:write`" })
  )
}).annotate({
  identifier: "NewSavedView",
  examples: [{ list: "payments", name: "Unpaid of Ines", query: "status=unpaid&customer=c_1" }]
})

const OneSavedView = success(SavedView).annotate({
  identifier: "OneSavedView",
  examples: [{ success: true, data: exampleView }]
})

export class TeamViewsGroup extends HttpApiGroup.make("team-views").add(
  HttpApiEndpoint.get("views", "/views", {
    query: {
      ...query,
      list: Schema.optionalKey(ViewListName.annotate({ description: "Only those of this list of the dashboard" }))
    },
    success: list(SavedView, "SavedViewList", exampleView),
    error: errors("wrapped", ...pageErrors, "CREDENTIAL_NOT_ALLOWED")
  }).annotateMerge(OpenApi.annotations({
    summary: "List saved views, newest first",
    description: "Your own at this merchant, and those that are shared."
  })),
  HttpApiEndpoint.post("saveView", "/views", {
    payload: NewSavedView,
    success: OneSavedView,
    error: errors("wrapped", "VALIDATION_ERROR", "INVALID_JSON", "INVALID_TRANSITION", ...personErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Save a view",
    description: `A list of the dashboard with its filters, under a name. You may have ${maximumViews} at a merchant.`
  })),
  HttpApiEndpoint.delete("removeView", "/views/:id", {
    params: { id: PathId },
    success: OneSavedView,
    error: errors("wrapped", "VALIDATION_ERROR", "NOT_FOUND", ...personErrors)
  }).middleware(Idempotent).annotateMerge(OpenApi.annotations({
    summary: "Remove a saved view",
    description: "One of your own, or with `settings:write` one that is shared. The answer has no name and no filters."
  }))
)
  .middleware(MerchantAuth)
  .annotate(RightsOf, { read: "account:write", write: "account:write" })
  .annotate(PrivateReplies, true)
  .middleware(WrappedErrors)
  .annotate(ParameterCodes, listParameterCodes)
  .prefix("/api/v1/team")
  .annotateMerge(OpenApi.annotations({
    title: "Saved views",
    description:
      "Lists of the dashboard with their filters, for one person or for everybody of a merchant. An API key is "
      + "refused with `CREDENTIAL_NOT_ALLOWED`."
  }))
{}
