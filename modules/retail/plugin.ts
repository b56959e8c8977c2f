/** Retailers: the port that sellers of goods register at (`modules/retail/drivers/`). */
import * as Plugin from "../../runtime/Plugin.ts"
import { Retailers } from "./service.ts"

export {
  type AddressValidation,
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
} from "./service.ts"

export const plugin = Plugin.make({ name: "retail", slot: "modules", layer: () => Retailers.layer })
