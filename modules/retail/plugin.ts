/** Retailers: the port that sellers of goods register at (`modules/retailers/`). */
import * as Plugin from "../../runtime/Plugin.ts"
import { Retailers } from "./actor.ts"

export {
  type AddressVerdict,
  type Offer,
  type OfferedItem,
  type OrderedItem,
  type PlacedOrder,
  type Placement,
  type PostalAddress,
  type RefusedItem,
  type ReportHandler,
  type RetailerDriver,
  type RetailerReport,
  Retailers,
  RetailerUnavailable,
  type ShippingOption,
  type WantedItem
} from "./actor.ts"

export const plugin = Plugin.make({ name: "retail", slot: "modules", layer: () => Retailers.layer })
