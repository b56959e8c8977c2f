// Made by `npm run openapi` of the OpenAPI document. Do not edit.
type Language="en"|"es"|"de"|"fr"|"pt-BR"|"ja"|"zh-Hans"|"ar"
type ApiKeyStatus="active"|"rotating"|"expired"|"revoked"
type Family="evm"|"solana"|"ton"|"sui"|"cardano"
type TokenType="native"|"erc20"|"spl"|"sui"|"ton"
type Network="ethereum"|"base"|"solana"|"avalanche"|"ton"|"bsc"|"arbitrum"|"optimism"|"cardano"|"sui"
type BalanceTransactionType="payment"|"payment_reversal"|"settlement"|"refund"|"refund_reversal"|"fee"|"adjustment"|"suspense"|"tolerance_writeoff"|"credit"|"payout"
type BatchStatus="pending_approval"|"ready"|"open"|"paid"|"partly_paid"|"canceled"|"expired"
type BatchStatus2="ready"|"out"|"lapsed"|"seen"|"paid"|"mismatch"|"released"
type OrderStatus="pending_payment"|"processing"|"placed"|"shipped"|"delivered"|"cancelled"|"failed"
type Substatus="AWAITING_PAYMENT"|"PARTIALLY_PAID"|"PAYMENT_CONFIRMING"|"AWAITING_SETTLEMENT"|"SETTLEMENT_REVIEW"|"PROVIDER_PLACEMENT_SUBMITTED"|"PROVIDER_PLACEMENT_RETRYING"|"AWAITING_TRACKING"|"CANCELLATION_REQUESTED"|"IN_TRANSIT"|"OUT_FOR_DELIVERY"|"DELIVERY_EXCEPTION"|"DELIVERED"|"DELIVERY_CONFIRMED"|"PAYMENT_EXPIRED"|"CANCELLED_BY_MERCHANT"|"CANCELLED_BY_RETAILER"|"SETTLEMENT_FAILED"|"PLACEMENT_FAILED"|"PAYMENT_REVERSED"
type Retailer="amazon"|"walmart"|"target"|"ebay"|"bestbuy"|"other"
type CommerceOrderStatus="unpaid"|"underpaid"|"paid"|"expired"|"canceled"
type RefundStatus="NONE"|"AWAITING_DESTINATION"|"PENDING"|"PROCESSING"|"REFUNDED"|"PARTIALLY_REFUNDED"|"FAILED"
type Role="owner"|"admin"|"developer"|"support"|"accountant"|"viewer"
type CreatedTeamInvitationStatus="waiting"|"open"|"accepted"|"revoked"|"expired"
type Code="NO_ELIGIBLE_OFFER"|"UNSUPPORTED_RETAILER"|"OUT_OF_STOCK"|"NOT_DELIVERABLE"|"QUANTITY_LIMIT"
type ExceptionType="underpaid_expired"|"overpaid"|"late_payment"|"wrong_token"|"wrong_network"|"missing_memo"|"duplicate_payment"|"below_dust"|"reorged"|"screened"|"settlement_failed"|"expiry_unseen"|"unmatched_payment"|"duplicate_payout"|"payout_mismatch"
type AllowedActions="accept"|"refund"|"credit"|"assign"|"ignore"
type Reason="requested_by_customer"|"overpayment"|"late_payment"|"underpayment"|"wrong_token"|"order_cancelled"|"order_failed"|"duplicate"|"other"
type Format="eip5792"|"transactions"|"safe"|"solana"|"ton"|"sui"|"cardano"|"csv"
type QuoteStatus="available"|"unavailable"|"expired"
type StatusCode="ok"|"quote_unavailable"|"quote_expired"|"settlement_unavailable"|"network_degraded"
type InvoicePaymentStatus="pending"|"underpaid"|"confirmed"|"manual_retry"|"reverted"|"rejected"
type LatePaymentPolicy="spot_rate"|"locked_rate"|"manual"
type Kind="xpub"|"address"|"pool"|"forwarder"
type List="payments"|"todo"|"refunds"|"events"|"audit"
type AcceptancePolicy="accept_all"|"selective"|"accept_none"
type OneWebhookDeliveryStatus="pending"|"delivering"|"succeeded"|"retrying"|"failed"|"canceled"
type RefundStatus2="awaiting_destination"|"pending_approval"|"processing"|"succeeded"|"failed"|"canceled"|"expired"
type SettlementPreferenceSettlementPreference="stables_only"|"stables_preferred"|"tokens"
export type AcceptedTeamInvitation={success:true;data:{member:TeamMember;merchant:{id:number;name:string};sign_in_url:string;sign_in_expires_at:number}}
export type Account={success:true;data:{id:string;object:"person";name:string;email:string|null;language:Language|null;time_zone:string|null;notices:"mainnet"|"all"|"none"}}
export type AccountChange={language?:Language|null;time_zone?:string|null;notices?:"mainnet"|"all"|"none"}
export type AddedCartItem={success:true;data:{item_id:string;quantity:number;updated:boolean}}
export type AddressRequest={network:string;token_id?:number;tokenId?:number}
export type AddressedEstimate={address_id:string;validated:true;standardized:{first_name:string;last_name:string;street_address:string;address_line2:string|null;city:string;state:string;zip_code:string;country:string;phone:string;email:string};shipping_options:{id:string;name:string;amount:number;amount_decimal:string;estimated_days:string}[];estimate:Estimate}
export type Adjustment={id:string;object:"adjustment";account:string;asset:string;units:string;token_amount:string|null;amount:number;amount_decimal:string;note:string;period:string|null;explains:string|null;balance_transaction_id:string;created_at:number}
export type AdjustmentRequest={asset:string;token_amount:string;amount?:number;account?:string;note:string;period?:string;explains?:string}
export type ApiKey={id:string;object:"api_key";name:string;prefix:string;last4:string;scope:"merchant"|"commerce";environment:"devnet"|"mainnet";status:ApiKeyStatus;permissions:("read"|"write"|"refund")[];expires_at:number|null;ip_allowlist:string[];api_version:string;last_used_at:number|null;replaced_by:string|null;created_by:string|null;created_at:number}
export type ApiKeyChange={name?:string;expires_at?:number|string|null;ip_allowlist?:string[];api_version?:string}
export type ApiKeyList={success:true;data:{object:"list";data:ApiKey[];has_more:boolean}}
export type ApiKeyRevocation={child_keys?:"keep"|"revoke"}
export type ApiKeyRotation={overlap_seconds?:number}
export type Approval={id:string;object:"approval";approves:{object:"refund"|"batch";id:string};environment:"devnet"|"mainnet";person:string;by:string;at:number;counts:boolean;text:string|null;signature:{type:"passkey";credential_id:string;public_key:unknown;rp_id:string;origin:string;authenticator_data:string;client_data_json:string;signature:string}|{type:"wallet";family:Family;address:string;chain_id:string|null;signature:string;public_key:string|null;proof:unknown|null}|null}
export type ApprovalChallenge={id:string;object:"approval_challenge";text:string;expires_at:number;passkey:unknown|null;wallets:({family:Family;address:string;chain_id:string|null})[]}
export type ApprovalList={success:true;data:{object:"list";data:Approval[];has_more:boolean}}
export type Approve={proof?:{id:string;passkey?:unknown|null;wallet?:{family:Family;address:string;signature:string;public_key?:string|null;proof?:unknown|null}|null}|null}
export type AuditEntry={id:string;object:"audit_entry";environment:"devnet"|"mainnet";actor:string;action:string;subject:{object:string;id:string};before:unknown;after:unknown;request_id:string|null;created_at:number;place:number|null;previous_hash:string|null;hash:string|null}
export type AuditLogPage={success:true;data:{object:"list";data:AuditEntry[];has_more:boolean}}
export type AvailableToken={id:number;token_symbol:string;token_name:string;token_type:TokenType;network:Network;token_decimals:number;token_address:string|null;requires_memo:boolean;photo_uri:string;has_settlement_route:boolean;supports_stable_settlement:boolean;is_monitored:boolean;settlement_rate:number|null;settlement_cost_usd:number;is_same_token_settlement:boolean;tier:null;tier_fee:null;availability_status:"DEVNET"|"AVAILABLE"|"STALE"|"NO_LIQUIDITY"|"QUOTE_REQUIRED"|"NETWORK_DEGRADED";rate_updated_at:number|null;unavailable_reason:string|null;min_amount:number;network_fee_usd:number|null;expected_seconds:number}
export type Balance={success:true;data:{object:"balance";environment:"devnet"|"mainnet";currency:"usd";amount_unit:"usd_millis";available:number;available_decimal:string;pending:number;pending_decimal:string;refund_payable:number;refund_payable_decimal:string;suspense:number;suspense_decimal:string;ignored:number;ignored_decimal:string;assets:({asset:string;token:{id:number;symbol:string;decimals:number}|null;available:{amount:number;amount_decimal:string;units:string;token_amount:string|null};pending:{amount:number;amount_decimal:string;units:string;token_amount:string|null};refund_payable:{amount:number;amount_decimal:string;units:string;token_amount:string|null};suspense:{amount:number;amount_decimal:string;units:string;token_amount:string|null};ignored:{amount:number;amount_decimal:string;units:string;token_amount:string|null};chain:{amount:number;amount_decimal:string;units:string;token_amount:string|null}})[]}}
export type BalanceTransaction={id:string;object:"balance_transaction";type:BalanceTransactionType;status:"pending"|"available"|"voided";amount:number;amount_decimal:string;fee:number;fee_decimal:string;net:number;net_decimal:string;currency:"usd";amount_unit:"usd_millis";asset:string|null;units:string;token_amount:string|null;source:{object:"invoice_payment"|"exception"|"refund"|"invoice"|"adjustment"|"batch_line";id:string};reverses:string|null;environment:"devnet"|"mainnet";created_at:number;available_at:number|null;entries:({kind:"booked"|"posted"|"voided";debit:string;credit:string;asset:string;units:string;usd_millis:number;created_at:number})[]}
export type BalanceTransactionCreatedEvent={id:string;object:"event";api_version:string;created:number;type:"balance_transaction.created";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:BalanceTransaction;previous_attributes:unknown}}
export type BalanceTransactionList={success:true;data:{object:"list";data:BalanceTransaction[];has_more:boolean}}
export type Batch={id:string;object:"batch";kind:"refunds"|"payouts"|"collect";status:BatchStatus;environment:"devnet"|"mainnet";network:Network;from:string|null;lines_total:number;amount:number;amount_decimal:string;amount_unit:"usd_millis";currency:"usd";totals:({token_id:number|null;symbol:string;token_amount:string})[];parts:({part:number;status:BatchStatus2;lines:number;reference:string;format:string|null;unguarded:boolean;valid_until:number|null;tx_hash:string|null;fee:string|null;releasable_at:number|null;releases:{by:string;at:number;note:string}[]})[];content_hash:string;approval_code:string;approvals_required:number;approvals:{by:string;at:number}[];valid_for_seconds:number;created_by:string;created_at:number;updated_at:number;expires_at:number|null;closed_at:number|null;metadata:unknown}
export type BatchClosedEvent={id:string;object:"event";api_version:string;created:number;type:"batch.closed";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:Batch;previous_attributes:unknown}}
export type BatchCreatedEvent={id:string;object:"event";api_version:string;created:number;type:"batch.created";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:Batch;previous_attributes:unknown}}
export type BatchList={success:true;data:{object:"list";data:Batch[];has_more:boolean}}
export type BatchPaidEvent={id:string;object:"event";api_version:string;created:number;type:"batch.paid";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:Batch;previous_attributes:unknown}}
export type BatchSimulation={part:number;outcome:"once"|"twice"|"changed_destination"|"late"|"frozen_recipient"}
export type BatchUpdatedEvent={id:string;object:"event";api_version:string;created:number;type:"batch.updated";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:Batch;previous_attributes:unknown}}
export type BulkOrderPaymentStatus={order_ids:string[]}
export type CancelOrder=unknown
export type CancelledOrder={success:true;data:{order_id:string;status:OrderStatus;substatus:Substatus;refund_quote:{amount:number;amount_decimal:string;fee:number;fee_decimal:string;net_amount:number;net_amount_decimal:string;token:string;network:Network;valid_until:number}|null}}
export type Cart={merchant_id:number;customer_id:string|null;wallet_address:string|null;wallet_network:Network|null;items:CartItem[];subtotal:number;subtotal_decimal:string;amount_unit:"usd_millis";item_count:number;created_at:number;updated_at:number}
export type CartItem={item_id:string;product_id:string;retailer:Retailer;title:string;quantity:number;unit_amount:number;unit_amount_decimal:string;amount:number;amount_decimal:string;image_url:string|null;product_url:string|null}
export type CartItemChange=unknown
export type CartTotals={success:true;data:Pricing}
export type ClaimLinkEmail={email:string;locale?:string|null}
export type ClosedPeriod={object:"closed_period";period:string;previous_hash:string;hash:string;actor:string;closed_at:number}
export type ClosedPeriodReport={object:"closed_period";period:string;previous_hash:string;hash:string;actor:string;closed_at:number;report:Reconciliation}
export type CollectableList={success:true;data:{object:"list";data:({network:Network;token_id:number;symbol:string;token_amount:string;amount:number|null;amount_decimal:string|null;amount_unit:"usd_millis";currency:"usd";addresses:number;method:"collector"|"owner";estimated_gas:string|null;sources?:({address:string;index:number;token_amount:string;amount:number|null;amount_decimal:string|null;payee:string|null;salt:string|null})[]})[];has_more:boolean}}
export type CommerceOrder={object:"commerce_order";id:string;merchant_id:number;invoice_id:string;environment:"devnet"|"mainnet";retailer:Retailer|null;status:OrderStatus;substatus:Substatus;actions:{can_cancel:boolean;can_set_refund_destination:boolean;cancel_reason_code:string|null};timeline:{status:OrderStatus;substatus:Substatus;timestamp:number;message:string}[];payment:{status:CommerceOrderStatus;amount_paid:number;amount_paid_decimal:string;tx_hash:string|null;network:Network|null;paid_at:number|null;settlement:{status:string|null;tx_hash:string|null;network:Network|null;settled_at:number|null}};fulfillment:{provider_order_id:string|null;placed_at:number|null;delivered_at:number|null;shipments:({shipment_id:string;carrier:string|null;tracking_number:string|null;carrier_tracking_url:string|null;delivery_status:"pending"|"in_transit"|"out_for_delivery"|"delivered"|"exception"|"returned";retailer_tracking_number:string|null;retailer_tracking_url:string|null;obtained_at:number;line_item_ids:string[]})[]};line_items:({id:string;product_id:string;title:string;image_url:string|null;quantity:number;unit_amount:number;unit_amount_decimal:string;amount:number;amount_decimal:string;status:"pending"|"processing"|"placed"|"shipped"|"delivered"|"cancelled"|"failed"|"refunded"})[];currency:"usd";total_amount:number;total_amount_decimal:string;amount_unit:"usd_millis";customer_id:string|null;wallet_address:string|null;wallet_network:Network|null;cancellation_status:"none"|"requested"|"accepted"|"rejected";refund_status:RefundStatus;refund:{status:RefundStatus;refund_id:string|null;amount:number|null;amount_decimal:string|null;fee:number|null;fee_decimal:string|null;destination_wallet_address:string|null;destination_network:Network|null;tx_hash:string|null;reason:string|null};refund_quote:{amount:number;amount_decimal:string;fee:number;fee_decimal:string;net_amount:number;net_amount_decimal:string;token:string;network:Network;valid_until:number}|null;created_at:number;updated_at:number}
export type CommerceOrderCreatedEvent={id:string;object:"event";api_version:string;created:number;type:"commerce.order.created";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:CommerceOrder;previous_attributes:unknown}}
export type CommerceOrderUpdatedEvent={id:string;object:"event";api_version:string;created:number;type:"commerce.order.updated";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:CommerceOrder;previous_attributes:unknown}}
export type ConfirmedForwarder={payee:string;confirmed_at:number}
export type ConfirmedRecovery={checksum:string;environment?:"devnet"|"mainnet"}
export type CreatedApiKey={success:true;data:{id:string;object:"api_key";key:string;name:string;prefix:string;last4:string;scope:"merchant"|"commerce";environment:"devnet"|"mainnet";status:ApiKeyStatus;permissions:("read"|"write"|"refund")[];expires_at:number|null;ip_allowlist:string[];api_version:string;last_used_at:number|null;replaced_by:string|null;created_by:string|null;created_at:number}}
export type CreatedInvoice={invoice_id:string;payment_url:string;session_token:string;signature:string;expires_at:number;payment_session_headers:{"x-session-token":string;"x-signature":string};invoice:Invoice}
export type CreatedRefunds={success:true;data:Refund;refunds:Refund_1[]}
export type CreatedTeamInvitation={success:true;data:{id:string;object:"team_invitation";role:Role;email:string|null;status:CreatedTeamInvitationStatus;created_at:number;expires_at:number;url:string}}
export type CreatedWebhookEndpoint={success:true;data:{id:string;object:"webhook_endpoint";url:string;status:"enabled"|"disabled";enabled_events:string[];environment:"devnet"|"mainnet"|null;api_version:string;description:string|null;secret:string;ordered:boolean;previous_secret_expires_at:number|null;consecutive_failures:number;disabled_reason:string|null;created_at:number;updated_at:number}}
export type CustomerEmail={email:string}
export type CustomerErasure={object:"customer_erasure";customer:string;environment:"devnet"|"mainnet";status:"pending"|"done";waiting_for:string|null;requested_at:number;finished_at:number|null}
export type CustomerExport={success:true;data:{object:"customer_export";customer_id:string;environment:"devnet"|"mainnet";created_at:number;records:{kind:string;data:unknown}[]}}
export type CustomerIdentity=unknown
export type DomainCheck={file_url:string;file:{merchant_id:number;pay_host:string};dns_name:string;dns_value:string;checked_at:number|null;next_check_at:number;file_result:"proved"|"other_merchant"|"other_host"|"absent"|"unreadable"|"refused"|"unreachable"|null;dns_result:"proved"|"other_merchant"|"other_host"|"absent"|"unreachable"|null}
export type EndedTeamSessionList={success:true;data:{object:"list";data:TeamSession[];has_more:boolean}}
export type Estimate={estimate_id:string;merchant_id:number;environment:"devnet"|"mainnet";customer_id:string|null;wallet_address:string|null;wallet_network:Network|null;valid_items:({product_id:string;retailer:Retailer;title:string;quantity:number;unit_amount:number;unit_amount_decimal:string;amount:number;amount_decimal:string;price_changed:boolean;image_url:string|null})[];invalid_items:{product_id:string;retailer:string;code:Code;message:string}[];pricing:Pricing;created_at:number;expires_at:number}
export type Event=InvoiceCreatedEvent|InvoiceUpdatedEvent|InvoicePaidEvent|InvoicePartialPaymentEvent|InvoiceOverpaidEvent|InvoiceExpiredEvent|InvoiceCanceledEvent|InvoicePaymentCreatedEvent|InvoicePaymentUpdatedEvent|InvoicePaymentRefundedEvent|CommerceOrderCreatedEvent|CommerceOrderUpdatedEvent|PaymentQuoteUpdatedEvent|ExceptionOpenedEvent|ExceptionResolvedEvent|BalanceTransactionCreatedEvent|BatchCreatedEvent|BatchUpdatedEvent|BatchPaidEvent|BatchClosedEvent|TestPingEvent
export type Exception={id:string;object:"exception";type:ExceptionType;status:"open"|"resolved";environment:"devnet"|"mainnet";invoice_id:string|null;invoice_payment_id:string|null;customer_id:string|null;amount:number;amount_decimal:string;amount_unit:"usd_millis";currency:"usd";network:Network|null;token:{id:number|null;symbol:string|null;decimals:number|null;address:string|null}|null;token_amount:string|null;tx_hash:string|null;evidence:unknown;allowed_actions:AllowedActions[];resolution:{action:AllowedActions;note:string;actor:string;refund_id:string|null;invoice_id:string|null;at:number}|null;created_at:number;resolved_at:number|null}
export type ExceptionDecision={action:AllowedActions;note?:string|null;invoice_id?:string|null;refund?:{destination?:"claim"|{network:Network;address:string;memo?:string|null}|null;fee_bearer?:"payor"|"merchant"|null;auto_approve?:boolean|null;reason?:Reason|null;amount?:number|null}|null}
export type ExceptionList={success:true;data:{object:"list";data:Exception[];has_more:boolean}}
export type ExceptionOpenedEvent={id:string;object:"event";api_version:string;created:number;type:"exception.opened";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:Exception;previous_attributes:unknown}}
export type ExceptionResolvedEvent={id:string;object:"event";api_version:string;created:number;type:"exception.resolved";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:Exception;previous_attributes:unknown}}
export type ExpandedInvoice={object:"invoice";id:string;merchant_id:number;status:CommerceOrderStatus;invoice_type:"standard"|"commerce";currency:"usd";amount:number;amount_decimal:string;amount_paid:number;amount_paid_decimal:string;amount_remaining:number;amount_remaining_decimal:string;amount_unit:"usd_millis";customer_id:string|null;payer_wallet_address:string|null;payer_wallet_network:Network|null;commerce_order_id:string|null;environment:"devnet"|"mainnet";expires_at:number;created_at:number;paid_at:number|null;last_payment_at:number|null;metadata:unknown;latest_payment?:InvoicePayment|null;payments?:InvoicePaymentList;payment_url?:string;details?:InvoiceDetails;payor?:InvoicePayor}
export type ExportedPart={success:true;data:{object:"batch_export";batch_id:string;part:number;format:Format;payload:string;valid_until:number|null;lines:number;simulated:boolean;notices:string[]}}
export type FlatError={error:string;code:string}
export type ForwarderProof={address:string;payee:string;salt:string;collector:string;init_code_hash:string}
export type ForwarderRecovery={collector:string;deployer:string;payee:string;seed:string;next_index:number;init_code_hash:string;is_current:boolean;confirmed_at:number|null;created_at:number}
export type FoundToken={id:number;token_symbol:string;token_name:string;network:Network;network_environment:"devnet"|"mainnet";is_blocked:boolean;price:{usd:number;last_updated_at:number;provider_type:string}|null;token_address:string;token_decimals:number;token_type:TokenType;requires_memo:boolean;photo_uri:string;supports_stable_settlement:boolean;is_active:boolean;is_monitored:boolean}
export type HealthReport={status:"ok"|"degraded"|"unavailable";unavailable:{check:string;message:string}[];degraded:{check:string;message:string}[];checks:{database:{ok:boolean};migrations:{ok:boolean};deliveries:{ok:boolean;oldest_due_seconds:number|null};accepting:{ok:boolean};writes:{ok:boolean};networks:{ok:boolean};leases:{ok:boolean};transfers:{ok:boolean};timers:{ok:boolean};prices:{ok:boolean}}}
export type IdentifiedPaymentQuote={id:string|null;object:"payment_quote";invoice_id:string;network:Network;supported_token_id:number|null;settlement_token_id:number|null;currency:"usd";amount_remaining:number;amount_remaining_decimal:string;amount_unit:"usd_millis";estimated_token_amount_remaining:string|null;exchange_rate:string|null;quote_last_updated_at:number|null;quote_valid_until:number|null;quote_expires_in_seconds:number|null;quote_status:QuoteStatus|null;status_code:StatusCode|null;message:string|null;retryable:boolean|null;retry_after_seconds:number|null}
export type InvitationAcceptance={token:string;name:string}
export type Invoice={object:"invoice";id:string;merchant_id:number;status:CommerceOrderStatus;invoice_type:"standard"|"commerce";currency:"usd";amount:number;amount_decimal:string;amount_paid:number;amount_paid_decimal:string;amount_remaining:number;amount_remaining_decimal:string;amount_unit:"usd_millis";customer_id:string|null;payer_wallet_address:string|null;payer_wallet_network:Network|null;commerce_order_id:string|null;environment:"devnet"|"mainnet";expires_at:number;created_at:number;paid_at:number|null;last_payment_at:number|null;metadata:unknown}
export type InvoiceCanceledEvent={id:string;object:"event";api_version:string;created:number;type:"invoice.canceled";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:Invoice;previous_attributes:unknown}}
export type InvoiceChange={metadata?:unknown|null;description?:string|null}
export type InvoiceCreatedEvent={id:string;object:"event";api_version:string;created:number;type:"invoice.created";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:Invoice;previous_attributes:unknown}}
export type InvoiceDetails={description:string|null;title:string|null;footer:string|null;customer_email:string|null;payment_return_url:string|null;locale:string|null}
export type InvoiceExpiredEvent={id:string;object:"event";api_version:string;created:number;type:"invoice.expired";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:Invoice;previous_attributes:unknown}}
export type InvoiceList={object:"list";data:ExpandedInvoice[];has_more:boolean;page:number;limit:number;total:number}
export type InvoiceOverpaidEvent={id:string;object:"event";api_version:string;created:number;type:"invoice.overpaid";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:Invoice;previous_attributes:unknown}}
export type InvoicePaidEvent={id:string;object:"event";api_version:string;created:number;type:"invoice.paid";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:Invoice;previous_attributes:unknown}}
export type InvoicePartialPaymentEvent={id:string;object:"event";api_version:string;created:number;type:"invoice.partial_payment";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:Invoice;previous_attributes:unknown}}
export type InvoicePayment={object:"invoice_payment";id:string;invoice_id:string;merchant_id:number;invoice_type:"standard"|"commerce";environment:"devnet"|"mainnet";customer_id:string|null;commerce_order_id:string|null;status:InvoicePaymentStatus;network:Network|null;payer_tx_hash:string|null;payer_wallet_address:string|null;payer_wallet_network:Network|null;payer_amount_token:string|null;currency:"usd";amount:number;amount_decimal:string;amount_unit:"usd_millis";confirmed_at:number|null;settlement_status:"pending"|"processing"|"manual"|"failed"|"settled"|"partially_refunded"|"refunded"|null;settled_amount:number|null;settled_amount_decimal:string|null;balance_transaction_id:string|null;settled_at:number|null;settlement:{summary_status:string|null;stage:string|null;merchant_settlement_id:number|null;settlement_tx_hash:string|null;network:string|null;status:string|null}|null;metadata:{quote:{quote_id:string|null;exchange_rate:string;rate_source:string;priced_at:number;pricing:"locked"|"spot";pricing_reason?:"locked_rate_ended"}|null;confirmations:number;required_confirmations:number;block_number:number|null;exception:{id:string;type:"underpaid_expired"|"overpaid"|"late_payment"|"wrong_token"|"wrong_network"|"missing_memo"|"duplicate_payment"|"below_dust"|"reorged"|"screened"|"settlement_failed"|"expiry_unseen";status:"open"|"resolved"}|null;late_at?:number;token:{id:number|null;symbol:string|null;address:string|null;decimals:number|null}|null}|unknown}
export type InvoicePaymentCreatedEvent={id:string;object:"event";api_version:string;created:number;type:"invoice_payment.created";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:InvoicePayment;previous_attributes:unknown}}
export type InvoicePaymentList={object:"list";data:InvoicePayment[];has_more:boolean}
export type InvoicePaymentRefundedEvent={id:string;object:"event";api_version:string;created:number;type:"invoice_payment.refunded";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:InvoicePayment;previous_attributes:unknown}}
export type InvoicePaymentUpdatedEvent={id:string;object:"event";api_version:string;created:number;type:"invoice_payment.updated";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:InvoicePayment;previous_attributes:unknown}}
export type InvoicePayor={email:string|null;refund_destinations:({network:Network;address:string;memo:string|null})[]}
export type InvoiceStatus={object:"invoice_status";invoice:Invoice;latest_payment:InvoicePayment|null}
export type InvoiceTotal={count:number;amount:number;amount_decimal:string;amount_paid:number;amount_paid_decimal:string}
export type InvoiceTotals={object:"invoice_totals";currency:"usd";amount_unit:"usd_millis";totals:{all:InvoiceTotal;paid:InvoiceTotal;unpaid:InvoiceTotal;underpaid:InvoiceTotal;expired:InvoiceTotal;canceled:InvoiceTotal}}
export type InvoiceUpdatedEvent={id:string;object:"event";api_version:string;created:number;type:"invoice.updated";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:Invoice;previous_attributes:unknown}}
export type JsonWebKeySet={keys:{kty:"OKP";crv:"Ed25519";x:string;kid:string;use:"sig";alg:"EdDSA"}[]}
export type LinkedSignInWallet={success:true;data:SignInWallet}
export type LoggedOut={success:true;data:{logged_out:true}}
export type LogoutRequest={refresh_token?:string|null}
export type MerchantSettings={payment_tolerance_bps:number;payment_tolerance_amount:number;overpay_tolerance_amount:number;late_payment_policy:LatePaymentPolicy;late_window_seconds:number;underpaid_grace_seconds:number;partial_payment_policy:"lock_route"|"any_route";invoice_default_expires_in:number;confirmation_policy:"fast"|"standard"|"final";auto_approve_limit:number;auto_approve_limit_day:number;payout_limit_batch:number|null;payout_limit_day:number|null;default_environment:"devnet"|"mainnet";branding:{name:string;logo_uri:string|null;accent:string;support_email:string|null;domain:string|null;frame_ancestors:string[];default_locale:string;allow_restart:boolean;show_payee_proof:boolean;domain_verified_at:number|null};pending_change:PendingSettings|null;domain_check:DomainCheck|null}
export type MerchantSettingsChange={payment_tolerance_bps?:number|null;payment_tolerance_amount?:number|null;overpay_tolerance_amount?:number|null;late_payment_policy?:LatePaymentPolicy|null;late_window_seconds?:number|null;underpaid_grace_seconds?:number|null;partial_payment_policy?:"lock_route"|"any_route"|null;invoice_default_expires_in?:number|null;confirmation_policy?:"fast"|"standard"|"final"|null;auto_approve_limit?:number|null;auto_approve_limit_day?:number|null;payout_limit_batch?:number|null;payout_limit_day?:number|null;default_environment?:"devnet"|"mainnet"|null;branding?:{name?:string|null;logo_uri?:string|null;accent?:string|null;support_email?:string|null;domain?:string|null;frame_ancestors?:string[]|null;default_locale?:string|null;allow_restart?:boolean|null;show_payee_proof?:boolean|null}|null}
export type MerchantSettlement={id:number;object:"settlement";environment:"devnet"|"mainnet";period_start:number;period_end:number;asset:string;token:{id:number;symbol:string;decimals:number}|null;wallet:string;currency:"usd";amount_unit:"usd_millis";amount:number;amount_decimal:string;units:string;token_amount:string|null}
export type Metrics={object:"metrics";from:number;to:number;interval:"hour"|"day"|"week"|"month";timezone:string;currency:"usd";amount_unit:"usd_millis";totals:{invoices_created:number;invoices_paid:number;invoices_expired:number;invoices_underpaid:number;amount_created:number;amount_created_decimal:string;amount_paid:number;amount_paid_decimal:string;paid_ratio:number|"Infinity"|"-Infinity"|"NaN"|null;median_seconds_to_pay:number|null;payments:number;payments_late:number;payments_reverted:number;webhook_attempts:number;webhook_success_ratio:number|"Infinity"|"-Infinity"|"NaN"|null};series:{start:number;invoices_created:number;invoices_paid:number;amount_paid:number;amount_paid_decimal:string}[];groups:({network:Network;payments:number;amount_paid:number;amount_paid_decimal:string}|{token:number|null;payments:number;amount_paid:number;amount_paid_decimal:string}|{customer:string|null;payments:number;amount_paid:number;amount_paid_decimal:string})[];groups_has_more:boolean}
export type MetricsAnswer={success:true;data:Metrics}
export type NetworkState={network:Network;environment:"devnet"|"mainnet";healthy:boolean;condition:"ok"|"silent"|"frozen"|"disagreement"|"no_common_block"|"disabled";message:string;head_height:number|null;head_time:number|null}
export type NetworkStates={success:true;data:{object:"list";data:NetworkState[];has_more:boolean}}
export type NewAddress=unknown
export type NewApiKey={name:string;scope:"merchant"|"commerce";environment?:"devnet"|"mainnet"|null;permissions?:("read"|"write"|"refund")[]|null;expires_at?:number|string|null;ip_allowlist?:string[]|null}
export type NewBatch={kind:"refunds"|"payouts"|"collect";network:Network;from?:string|null;refund_ids?:"all"|string[]|null;lines?:({token_id:number;token_amount:string;destination:{address:string;memo?:string|null};reference?:string|null})[]|null;token_ids?:number[]|null;valid_for_seconds?:number|null;metadata?:unknown}
export type NewBatchExport={part:number;format:Format}
export type NewCart=unknown
export type NewCartItem=unknown
export type NewEstimate=unknown
export type NewInvoice=unknown
export type NewPaymentLink={title:string;description?:string|null;amount?:number|null;amount_usd?:number|string|null;minimum_amount?:number|null;maximum_amount?:number|null;maximum_payments?:number|null;expires_at?:number|null}
export type NewPurchase=unknown
export type NewQuote={invoice_id:string;network:string;token_id:number;settlement_token_id?:number|null}
export type NewQuotes={invoice_id:string;routes:{network:string;token_id:number}[]}
export type NewReceivingWallet={kind:Kind;value:string;environment?:"devnet"|"mainnet";start_index?:number}
export type NewRefund={invoice_id:string;invoice_payment_id?:string|null;amount_mode:"full"|"overpaid"|"remaining"|"custom";amount?:number|null;token_amount?:string|null;reason:Reason;destination?:"claim"|{network:Network;address:string;memo?:string|null}|null;fee_bearer:"payor"|"merchant";auto_approve?:boolean|null}
export type NewSavedView={list:List;name:string;query:string;shared?:boolean}
export type NewStreamTicket={scope:"merchant"|"commerce";ttl_seconds?:number}
export type NewTeamInvitation={role:Role;email?:string|null;send_email?:boolean|null;locale?:string|null}
export type NewTokenPolicy={acceptance_policy:AcceptancePolicy;environment?:"devnet"|"mainnet"}
export type NewWebhookEndpoint={url:string;enabled_events:string[];environment?:string|null;description?:string|null;ordered?:boolean|null;api_version?:string|null}
export type Nonce={success:true;data:{nonce:string;message:string;expires_at:number}}
export type NonceRequest={address:string;network:Network}
export type OneApiKey={success:true;data:ApiKey}
export type OneApprovalChallenge={success:true;data:ApprovalChallenge}
export type OneBalanceTransaction={success:true;data:BalanceTransaction}
export type OneBatch={success:true;data:Batch}
export type OneCustomerErasure={success:true;data:CustomerErasure}
export type OneException={success:true;data:Exception}
export type OneOrder={success:true;data:CommerceOrder}
export type OneOrderPaymentStatus={success:true;data:OrderPaymentStatus}
export type OnePasskey={success:true;data:Passkey}
export type OnePaymentLink={success:true;data:PaymentLink}
export type OneReadBatch={success:true;data:ReadBatch}
export type OneRefund={success:true;data:Refund_1}
export type OneSavedView={success:true;data:SavedView}
export type OneSettlement={success:true;data:MerchantSettlement}
export type OneTeamInvitation={success:true;data:TeamInvitation}
export type OneTeamMember={success:true;data:TeamMember}
export type OneTeamSession={success:true;data:TeamSession}
export type OneWebhookDelivery={success:true;data:{id:string;object:"webhook_delivery";endpoint_id:string;event_id:string;event_type:string;status:OneWebhookDeliveryStatus;attempt_count:number;next_attempt_at:number|null;response_status:number|null;error:string|null;latency_ms:number|null;created_at:number;finished_at:number|null;attempts:WebhookAttempt[]}}
export type OneWebhookEndpoint={success:true;data:WebhookEndpoint}
export type OrderList={success:true;data:{orders:CommerceOrder[];pagination:{limit:number;offset:number;count:number;total:number}}}
export type OrderPaymentStatus={order_id:string;invoice_id:string;environment:"devnet"|"mainnet";status:CommerceOrderStatus;order_status:OrderStatus;order_substatus:Substatus;amount:number;amount_decimal:string;amount_paid:number;amount_paid_decimal:string;amount_remaining:number;amount_remaining_decimal:string;amount_unit:"usd_millis";tx_hash:string|null;network:Network|null;paid_at:number|null;settlement_status:string|null;settled_at:number|null;refund_status:RefundStatus}
export type OrderPaymentStatusList={success:true;data:{payments:OrderPaymentStatus[];not_found:string[]}}
export type OrderRefundDestination={address:string;network:Network;memo?:string|null}
export type Passkey={id:string;object:"passkey";name:string;created_at:number;last_used_at:number|null;money_from:number}
export type PasskeyChange={name:string}
export type PasskeyList={success:true;data:{object:"list";data:Passkey[];has_more:boolean}}
export type PaymentAddress={success:true;temp_address:string;network:Network;supported_token_id:number;memo:string|null;requires_memo:boolean;payment_uri:string|null;estimated_token_amount:string|null;exchange_rate:string|null;usd_amount:number;quote:PaymentQuote;quote_status:QuoteStatus|null;status_code:StatusCode|null;message:string|null;quote_last_updated_at:number|null;quote_valid_until:number|null;quote_expires_in_seconds:number|null;retryable:boolean|null;retry_after_seconds:number|null;ws_connection:{token:string;endpoint:"/ws/payment";format:"event_v1";ws_url:string;expires_at:number}}
export type PaymentLink={id:string;object:"payment_link";merchant_id:number;environment:"devnet"|"mainnet";url:string;status:"active"|"inactive"|"expired"|"completed";title:string;description:string|null;amount:number|null;amount_decimal:string|null;amount_unit:"usd_millis";minimum_amount:number|null;minimum_amount_decimal:string|null;maximum_amount:number|null;maximum_amount_decimal:string|null;maximum_payments:number|null;payment_count:number;open_count:number;amount_paid:number;amount_paid_decimal:string;expires_at:number|null;created_at:number;updated_at:number}
export type PaymentLinkChange={active:boolean}
export type PaymentLinkList={success:true;data:{object:"list";data:PaymentLink[];has_more:boolean}}
export type PaymentQuote={object:"payment_quote";invoice_id:string;network:Network;supported_token_id:number|null;settlement_token_id:number|null;currency:"usd";amount_remaining:number;amount_remaining_decimal:string;amount_unit:"usd_millis";estimated_token_amount_remaining:string|null;exchange_rate:string|null;quote_last_updated_at:number|null;quote_valid_until:number|null;quote_expires_in_seconds:number|null;quote_status:QuoteStatus|null;status_code:StatusCode|null;message:string|null;retryable:boolean|null;retry_after_seconds:number|null}
export type PaymentQuoteUpdatedEvent={id:string;object:"event";api_version:string;created:number;type:"payment_quote.updated";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:PaymentQuote;previous_attributes:unknown}}
export type PaymentStatusReport={status:CommerceOrderStatus;paid_at:number|null;amount_paid:number;amount_paid_decimal:string;amount_remaining:number;amount_remaining_decimal:string;amount_unit:"usd_millis";latest_payment:{object:"invoice_payment";id:string;invoice_id:string;merchant_id:number;invoice_type:"standard"|"commerce";environment:"devnet"|"mainnet";customer_id:null;commerce_order_id:string|null;status:InvoicePaymentStatus;network:Network|null;payer_tx_hash:string|null;payer_wallet_address:string|null;payer_wallet_network:Network|null;payer_amount_token:string|null;currency:"usd";amount:number;amount_decimal:string;amount_unit:"usd_millis";confirmed_at:number|null;metadata:unknown;confirmations:number;required_confirmations:number;explorer_url:string|null}|null;next_poll_seconds:number}
export type PayorDone={success:true}
export type PendingChange={id:string;proposed_by:string;proposed_at:number;needs_approval:boolean;approved_by:string|null;in_force_from:number|null}
export type PendingSettings={id:string;proposed_by:string;proposed_at:number;needs_approval:boolean;approved_by:string|null;in_force_from:number|null;settings:{auto_approve_limit?:number;auto_approve_limit_day?:number;payout_limit_batch?:number|null;payout_limit_day?:number|null}}
export type PeriodToClose={period:string}
export type Pricing={currency:"usd";amount_unit:"usd_millis";subtotal:number;subtotal_decimal:string;shipping:number;shipping_decimal:string;tax:number;tax_decimal:string;fees:number;fees_decimal:string;total:number;total_decimal:string}
export type Purchase={order_id:string;invoice_id:string;payment_url:string;session_token:string;signature:string;payment_session_headers:{"x-session-token":string;"x-signature":string};merchant_id:number;environment:"devnet"|"mainnet";customer_id:string|null;amount:number;amount_decimal:string;amount_unit:"usd_millis";status:CommerceOrderStatus;expires_at:number;order:CommerceOrder;endpoints:{check_order:string;check_payment:string;cancel_order:string}}
export type QueuedReplay={success:true;data:{queued:number;has_more:boolean;next_event_id:string|null}}
export type QueuedWebhookDelivery={success:true;data:WebhookDelivery}
export type QuoteEstimate={object:"quote_estimate";network:Network;supported_token_id:number;settlement_token_id:number;currency:"usd";amount:number;amount_decimal:string;amount_unit:"usd_millis";estimated_token_amount:string;exchange_rate:string;quote_last_updated_at:number}
export type QuoteRouteResult={network:string;token_id:number;quote:IdentifiedPaymentQuote|null;error:{code:string;message:string;param:string|null}|null}
export type ReadBatch={id:string;object:"batch";kind:"refunds"|"payouts"|"collect";status:BatchStatus;environment:"devnet"|"mainnet";network:Network;from:string|null;lines_total:number;amount:number;amount_decimal:string;amount_unit:"usd_millis";currency:"usd";totals:({token_id:number|null;symbol:string;token_amount:string})[];parts:({part:number;status:BatchStatus2;lines:number;reference:string;format:string|null;unguarded:boolean;valid_until:number|null;tx_hash:string|null;fee:string|null;releasable_at:number|null;releases:{by:string;at:number;note:string}[]})[];content_hash:string;approval_code:string;approvals_required:number;approvals:{by:string;at:number}[];valid_for_seconds:number;created_by:string;created_at:number;updated_at:number;expires_at:number|null;closed_at:number|null;metadata:unknown;lines?:({line:number;part:number;status:"pending"|"seen"|"paid"|"mismatch"|"released";token_id:number|null;symbol:string;token_address:string|null;token_amount:string;units:string;amount:number;amount_decimal:string;destination:{address:string;memo:string|null};source_address:string|null;reference:string;refund_id:string|null;tx_hash:string|null})[]}
export type ReceivingWallet={id:string;family:Family;kind:Kind;environment:"devnet"|"mainnet";value_preview:string;first_addresses:string[];payee:string|null;next_index:number;highest_used_index:number|null;addresses_left:number|null;created_at:number;pending_change:PendingChange|null}
export type Reconciliation={object:"reconciliation";environment:"devnet"|"mainnet";period:string|null;from:number;to:number;currency:"usd";amount_unit:"usd_millis";wallets:({asset:string;symbol:string|null;account:string;opening:{amount:number;amount_decimal:string;units:string;token_amount:string|null};received:{amount:number;amount_decimal:string;units:string;token_amount:string|null};unmatched:{amount:number;amount_decimal:string;units:string;token_amount:string|null};refunded:{amount:number;amount_decimal:string;units:string;token_amount:string|null};paid_out:{amount:number;amount_decimal:string;units:string;token_amount:string|null};collected_in:{amount:number;amount_decimal:string;units:string;token_amount:string|null};collected_out:{amount:number;amount_decimal:string;units:string;token_amount:string|null};fees:{amount:number;amount_decimal:string;units:string;token_amount:string|null};other:{amount:number;amount_decimal:string;units:string;token_amount:string|null};closing:{amount:number;amount_decimal:string;units:string;token_amount:string|null};chain_balance:{units:string;token_amount:string|null}|null;as_of:{height:string;hash:string;time:number}|null;chain_balance_reason:"collected"|"not_followed"|"not_offered"|"too_many_addresses"|"shared"|"unknown_wallet"|"missed"|"not_read_yet"|null})[];sources:{chain:{asset:string;count:number;units:string}[];ledger:{asset:string;count:number;units:string}[];events:{token:string;count:number;amount:number;amount_decimal:string}[]|null};differences:({cause:"unmatched_chain"|"unmatched_ledger"|"amount"|"timing"|"reorg"|"fee"|"dust"|"unknown_token"|"external_spend";is_explained:boolean;asset:string;account:string|null;amount:number;amount_decimal:string;units:string;token_amount:string|null;age_seconds:number;payment_id:string|null;exception_id:string|null;tx_hash:string|null;url:string|null})[];has_more_differences:boolean;explained_ppm:number;suspense:{age:string;count:number;amount:number;amount_decimal:string}[];ledger_trial_balance:number}
export type RecoveryCodes={success:true;data:{object:"recovery_codes";codes:string[]}}
export type RefreshRequest={refresh_token:string}
export type RefreshedTokens={success:true;data:{access_token:string;token_type:"Bearer";expires_in:number;refresh_token:string;refresh_expires_in:number}}
export type Refund={id:string;object:"refund";invoice_id:string|null;invoice_payment_id:string|null;exception_id:string|null;commerce_order_id:string|null;status:RefundStatus2;amount:number;amount_decimal:string;amount_unit:"usd_millis";currency:"usd";token_amount:string|null;token_symbol:string|null;token_id:number|null;token_address:string|null;network:Network|null;received_tx_hash:string|null;fee:number;fee_decimal:string;net_amount:number;net_amount_decimal:string;destination_address:string|null;tx_hash:string|null;balance_transaction_id:string|null;claim_url:string|null;approvals:{by:string;at:number}[];reason:Reason;failure_code:string|null;created_at:number;updated_at:number}
export type RefundAddress={network:string;address:string;memo?:string|null}
export type RefundList={success:true;data:{object:"list";data:Refund_1[];has_more:boolean}}
export type Refund_1={id:string;object:"refund";invoice_id:string|null;invoice_payment_id:string|null;exception_id:string|null;commerce_order_id:string|null;status:RefundStatus2;amount:number;amount_decimal:string;amount_unit:"usd_millis";currency:"usd";token_amount:string|null;token_symbol:string|null;token_id:number|null;token_address:string|null;network:Network|null;received_tx_hash:string|null;fee:number;fee_decimal:string;net_amount:number;net_amount_decimal:string;destination_address:string|null;tx_hash:string|null;balance_transaction_id:string|null;claim_url:string|null;approvals:{by:string;at:number}[];reason:Reason;failure_code:string|null;created_at:number;updated_at:number}
export type ReleasedPart={part:number;note:string}
export type RemovedItems={success:true;data:{items_removed:number}}
export type ResolvedException={success:true;data:Exception;refunds?:Refund_1[]}
export type RevokedApiKey={success:true;data:{id:string;object:"api_key";name:string;prefix:string;last4:string;scope:"merchant"|"commerce";environment:"devnet"|"mainnet";status:ApiKeyStatus;permissions:("read"|"write"|"refund")[];expires_at:number|null;ip_allowlist:string[];api_version:string;last_used_at:number|null;replaced_by:string|null;created_by:string|null;created_at:number;child_keys:ApiKey[]}}
export type RotatedApiKey={success:true;data:{id:string;object:"api_key";key:string;name:string;prefix:string;last4:string;scope:"merchant"|"commerce";environment:"devnet"|"mainnet";status:ApiKeyStatus;permissions:("read"|"write"|"refund")[];expires_at:number|null;ip_allowlist:string[];api_version:string;last_used_at:number|null;replaced_by:string|null;created_by:string|null;created_at:number;previous_key_id:string;previous_key_expires_at:number}}
export type RotatedSecret={success:true;data:{secret:string;previous_secret_expires_at:number|null}}
export type SavedView={id:string;object:"saved_view";list:List;name:string;query:string;shared:boolean;is_own:boolean;created_at:number}
export type SavedViewList={success:true;data:{object:"list";data:SavedView[];has_more:boolean}}
export type SearchResult={object:"search_result";kind:"invoice"|"event"|"exception"|"refund"|"batch"|"webhook_endpoint"|"webhook_delivery"|"balance_transaction";id:string;matched:"id"|"transaction"|"address"|"amount"|"customer"}
export type SearchResults={success:true;data:{object:"list";data:SearchResult[];has_more:boolean}}
export type SecretRotation={overlap_seconds?:number}
export type SentPart={part:number;tx_hash:string}
export type SentTest={success:true;data:{delivery_id:string;event_id:string}}
export type SessionDetails={invoice_id:string;invoice_status:CommerceOrderStatus;amount:number;amount_decimal:string;amount_paid:number;amount_paid_decimal:string;amount_remaining:number;amount_remaining_decimal:string;amount_unit:"usd_millis";currency:"usd";amount_usd:number;amount_remaining_usd:number;description:string|null;invoice_title:string|null;invoice_footer:string|null;expires_at:number;remaining_time:number;merchant_name:string;merchant_email:string|null;network_environment:"devnet"|"mainnet";payment_return_url:string|null;locked_network:Network|null;locked_token_id:number|null;locked_payment_address:string|null;branding:{name:string;logo_uri:string|null;accent:string;support_email:string|null;domain:string|null;domain_verified_at:number|null};payments:({object:"invoice_payment";id:string;invoice_id:string;merchant_id:number;invoice_type:"standard"|"commerce";environment:"devnet"|"mainnet";customer_id:null;commerce_order_id:string|null;status:InvoicePaymentStatus;network:Network|null;payer_tx_hash:string|null;payer_wallet_address:string|null;payer_wallet_network:Network|null;payer_amount_token:string|null;currency:"usd";amount:number;amount_decimal:string;amount_unit:"usd_millis";confirmed_at:number|null;metadata:unknown;confirmations:number;required_confirmations:number;explorer_url:string|null})[]}
export type SettlementList={success:true;data:{object:"list";data:MerchantSettlement[];has_more:boolean}}
export type SettlementPreference={settlement_preference:SettlementPreferenceSettlementPreference;settlement_token_id:null}
export type SettlementPreferenceChange={settlement_preference:SettlementPreferenceSettlementPreference}
export type SettlementTokenChange={settlement_token_id:number|null}
export type SignInRequest={message:string;signature:string;public_key?:string|null;proof?:unknown|null}
export type SignInWallet={id:string;object:"sign_in_wallet";family:Family;address:string;chain_id:string|null;is_own:boolean;linked_at:number;last_sign_in_at:number|null;money_from:number}
export type SignInWalletList={success:true;data:{object:"list";data:SignInWallet[];has_more:false}}
export type SignedInMerchant={success:true;data:{access_token:string;token_type:"Bearer";expires_in:number;refresh_token:string;refresh_expires_in:number;merchant:{id:number;name:string;environment:"devnet"|"mainnet";created:boolean}}}
export type SimulateOrder=unknown
export type SimulatedPart={success:true;data:{object:"batch_simulation";batch_id:string;part:number;tx_hash:string|null}}
export type StreamTicket={success:true;data:{token:string;scope:"merchant"|"commerce";environment:"devnet"|"mainnet";endpoint:string;format:"event_v1";ws_url:string;expires_at:number}}
export type SupportedToken={id:number;token_symbol:string;token_name:string;network:Network;network_environment:"devnet"|"mainnet";is_blocked:boolean;price:{usd:number;last_updated_at:number;provider_type:string}|null}
export type SupportedTokenList={acceptance_policy:AcceptancePolicy;environment:"devnet"|"mainnet";tokens:SupportedToken[]}
export type TeamInvitation={id:string;object:"team_invitation";role:Role;email:string|null;status:CreatedTeamInvitationStatus;created_at:number;expires_at:number}
export type TeamInvitationList={success:true;data:{object:"list";data:TeamInvitation[];has_more:boolean}}
export type TeamMember={id:string;object:"team_member";person:string;name:string;email:string|null;role:Role;is_first_owner:boolean;pending_change:{role:Role|null;proposed_by:string|null;alone_from:number|null;expires_at:number}|null;joined_at:number}
export type TeamMemberChange={role:Role}
export type TeamMemberList={success:true;data:{object:"list";data:TeamMember[];has_more:boolean}}
export type TeamSession={id:string;object:"team_session";method:"passkey"|"wallet"|"link"|"recovery";is_current:boolean;signed_in_at:number;last_used_at:number;expires_at:number;money_from:number}
export type TeamSessionList={success:true;data:{object:"list";data:TeamSession[];has_more:boolean}}
export type TestPing={object:"test_ping";id:string;message:string;created_at:number}
export type TestPingEvent={id:string;object:"event";api_version:string;created:number;type:"test.ping";livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:TestPing;previous_attributes:unknown}}
export type TokenBlock={blocked:boolean}
export type TokenBlockBulk={token_ids:number[];blocked:boolean}
export type TokenBlocked={success:true;blocked:boolean}
export type TokenPolicy={acceptance_policy:AcceptancePolicy;environment:"devnet"|"mainnet";blocked_token_ids:number[]}
export type TokenSearchPage={acceptance_policy:AcceptancePolicy;environment:"devnet"|"mainnet";total:number;limit:number;offset:number;tokens:FoundToken[]}
export type TokensBlocked={success:true;updated:number}
export type ValidatedCart={success:true;data:{valid_items:({product_id:string;retailer:Retailer;title:string;quantity:number;unit_amount:number;unit_amount_decimal:string;amount:number;amount_decimal:string;price_changed:boolean;image_url:string|null})[];invalid_items:{product_id:string;retailer:string;code:Code;message:string}[]}}
export type WebhookAttempt={number:number;status:"succeeded"|"failed"|"timed_out";response_status:number|null;error:string|null;latency_ms:number;response_body:string|null;ended_at:number}
export type WebhookDelivery={id:string;object:"webhook_delivery";endpoint_id:string;event_id:string;event_type:string;status:OneWebhookDeliveryStatus;attempt_count:number;next_attempt_at:number|null;response_status:number|null;error:string|null;latency_ms:number|null;created_at:number;finished_at:number|null}
export type WebhookDeliveryList={success:true;data:{object:"list";data:WebhookDelivery[];has_more:boolean}}
export type WebhookEndpoint={id:string;object:"webhook_endpoint";url:string;status:"enabled"|"disabled";enabled_events:string[];environment:"devnet"|"mainnet"|null;api_version:string;description:string|null;ordered:boolean;previous_secret_expires_at:number|null;consecutive_failures:number;disabled_reason:string|null;created_at:number;updated_at:number}
export type WebhookEndpointChange={url?:string;enabled_events?:string[];environment?:string|null;description?:string|null;status?:"enabled"|"disabled";ordered?:boolean;api_version?:string|null}
export type WebhookEndpointList={success:true;data:{object:"list";data:WebhookEndpoint[];has_more:boolean}}
export type WebhookReplay={from_event_id?:string|null;created_gte?:number|string|null;created_lte?:number|string|null;types?:string[]|null;only_failed?:boolean|null}
export type WrappedError={success:false;error:{code:string;message:string;param:string|null;details:unknown|null;request_id:string}}
export interface Paths{
"/api/v1/api-keys":{post:{body:NewApiKey;answer:CreatedApiKey};get:{query?:{limit?:number;starting_after?:string;ending_before?:string;environment?:"devnet"|"mainnet"};answer:ApiKeyList}}
"/api/v1/api-keys/{id}":{patch:{path:{id:string};body:ApiKeyChange;answer:OneApiKey};delete:{path:{id:string};body:ApiKeyRevocation;answer:RevokedApiKey}}
"/api/v1/api-keys/{id}/rotate":{post:{path:{id:string};body:ApiKeyRotation;answer:RotatedApiKey}}
"/api/v1/auth/nonce":{post:{body:NonceRequest;answer:Nonce}}
"/api/v1/auth/verify":{post:{body:SignInRequest;answer:SignedInMerchant}}
"/api/v1/auth/refresh":{post:{body:RefreshRequest;answer:RefreshedTokens}}
"/api/v1/auth/logout":{post:{body:LogoutRequest;answer:LoggedOut}}
"/api/v1/auth/wallets":{get:{answer:SignInWalletList};post:{body:SignInRequest;answer:LinkedSignInWallet}}
"/api/v1/auth/wallets/nonce":{post:{body:NonceRequest;answer:Nonce}}
"/api/v1/auth/wallets/{id}":{delete:{path:{id:string};answer:LinkedSignInWallet}}
"/.well-known/jwks.json":{get:{answer:JsonWebKeySet}}
"/api/v1/team/members":{get:{query?:{limit?:number;starting_after?:string;ending_before?:string};answer:TeamMemberList}}
"/api/v1/team/members/{id}":{patch:{path:{id:string};body:TeamMemberChange;answer:OneTeamMember};delete:{path:{id:string};answer:OneTeamMember}}
"/api/v1/team/invitations":{get:{query?:{limit?:number;starting_after?:string;ending_before?:string};answer:TeamInvitationList};post:{body:NewTeamInvitation;answer:CreatedTeamInvitation}}
"/api/v1/team/invitations/{id}":{delete:{path:{id:string};answer:OneTeamInvitation}}
"/api/v1/team/invitations/{id}/approve":{post:{path:{id:string};answer:OneTeamInvitation}}
"/api/v1/team/invitations/accept":{post:{body:InvitationAcceptance;answer:AcceptedTeamInvitation}}
"/api/v1/team/me":{get:{answer:Account};patch:{body:AccountChange;answer:Account}}
"/api/v1/team/sessions":{get:{answer:TeamSessionList};delete:{answer:EndedTeamSessionList}}
"/api/v1/team/sessions/{id}":{delete:{path:{id:string};answer:OneTeamSession}}
"/api/v1/team/passkeys":{get:{answer:PasskeyList}}
"/api/v1/team/passkeys/{id}":{patch:{path:{id:string};body:PasskeyChange;answer:OnePasskey};delete:{path:{id:string};answer:OnePasskey}}
"/api/v1/team/recovery-codes":{post:{answer:RecoveryCodes}}
"/api/v1/team/views":{get:{query?:{limit?:number;starting_after?:string;ending_before?:string;list?:List};answer:SavedViewList};post:{body:NewSavedView;answer:OneSavedView}}
"/api/v1/team/views/{id}":{delete:{path:{id:string};answer:OneSavedView}}
"/api/v1/merchant/settings":{get:{query?:{environment?:"devnet"|"mainnet"};answer:MerchantSettings};patch:{query?:{environment?:"devnet"|"mainnet"};body:MerchantSettingsChange;answer:MerchantSettings}}
"/api/v1/merchant/settings/changes/{id}/approve":{post:{path:{id:string};query?:{environment?:"devnet"|"mainnet"};answer:MerchantSettings}}
"/api/v1/merchant/settings/changes/{id}":{delete:{path:{id:string};query?:{environment?:"devnet"|"mainnet"};answer:MerchantSettings}}
"/api/v1/events":{get:{query?:{type?:string;"created[gte]"?:string;"created[lte]"?:string;limit?:number;starting_after?:string;ending_before?:string;invoice_id?:string;order_id?:string;customer_id?:string;environment?:"devnet"|"mainnet"};answer:{success:true;data:{object:"list";data:Event[];has_more:boolean}}}}
"/api/v1/events/{eventId}":{get:{path:{eventId:string};answer:{success:true;data:Event}}}
"/api/v1/merchant/tokens":{get:{query?:{environment?:"devnet"|"mainnet"};answer:SupportedTokenList}}
"/api/v1/merchant/tokens/search":{get:{query?:{environment?:"devnet"|"mainnet";limit?:number;offset?:number;search?:string;network?:Network;token_type?:TokenType;is_active?:"true"|"false";supports_stable_settlement?:"true"|"false";blocked?:"true"|"false"};answer:TokenSearchPage}}
"/api/v1/merchant/tokens/policy":{get:{query?:{environment?:"devnet"|"mainnet"};answer:TokenPolicy};put:{body:NewTokenPolicy;answer:TokenPolicy}}
"/api/v1/merchant/tokens/{tokenId}/block":{post:{path:{tokenId:string};body:TokenBlock;answer:TokenBlocked}}
"/api/v1/merchant/tokens/block-bulk":{post:{body:TokenBlockBulk;answer:TokensBlocked}}
"/api/v1/networks/status":{get:{query?:{environment?:"devnet"|"mainnet"};answer:NetworkStates}}
"/api/v1/merchant/wallets":{get:{query?:{environment?:"devnet"|"mainnet"};answer:{wallets:ReceivingWallet[];pending_wallets:ReceivingWallet[]}}}
"/api/v1/merchant/wallets/{family}":{put:{path:{family:Family};body:NewReceivingWallet;answer:ReceivingWallet};delete:{path:{family:Family};query?:{environment?:"devnet"|"mainnet"};answer:{success:true}}}
"/api/v1/merchant/wallets/{family}/changes/{id}/approve":{post:{path:{family:Family;id:string};query?:{environment?:"devnet"|"mainnet"};answer:ReceivingWallet}}
"/api/v1/merchant/wallets/{family}/changes/{id}":{delete:{path:{family:Family;id:string};query?:{environment?:"devnet"|"mainnet"};answer:{success:true}}}
"/api/v1/merchant/wallets/{family}/recovery":{get:{path:{family:Family};query?:{environment?:"devnet"|"mainnet"};answer:{wallets:ForwarderRecovery[]}}}
"/api/v1/merchant/wallets/{family}/proof":{get:{path:{family:Family};query:{address:string;environment?:"devnet"|"mainnet"};answer:ForwarderProof}}
"/api/v1/merchant/wallets/{family}/recovery/confirm":{post:{path:{family:Family};body:ConfirmedRecovery;answer:ConfirmedForwarder}}
"/api/v1/invoices":{post:{query?:{environment?:"devnet"|"mainnet"};body:NewInvoice;answer:CreatedInvoice};get:{query?:{page?:number;limit?:number;status?:string;invoice_type?:"standard"|"commerce";environment?:"devnet"|"mainnet";created_gte?:string;created_lte?:string;payer_wallet_address?:string;payer_wallet_network?:Network;starting_after?:string;ending_before?:string;expand?:string;payments_limit?:number;customer_id?:string};answer:InvoiceList}}
"/api/v1/invoices/totals":{get:{query?:{invoice_type?:"standard"|"commerce";customer_id?:string;environment?:"devnet"|"mainnet";created_gte?:string;created_lte?:string};answer:InvoiceTotals}}
"/api/v1/invoices/customer/{customer_id}":{get:{path:{customer_id:string};query?:{page?:number;limit?:number;status?:string;invoice_type?:"standard"|"commerce";environment?:"devnet"|"mainnet";created_gte?:string;created_lte?:string;payer_wallet_address?:string;payer_wallet_network?:Network;starting_after?:string;ending_before?:string;expand?:string;payments_limit?:number};answer:InvoiceList}}
"/api/v1/invoices/{customer_id}":{get:{path:{customer_id:string};query?:{environment?:"devnet"|"mainnet";expand?:string;payments_limit?:number};answer:ExpandedInvoice};patch:{path:{customer_id:string};query?:{environment?:"devnet"|"mainnet"};body:InvoiceChange;answer:Invoice}}
"/api/v1/invoices/{id}/status":{get:{path:{id:string};query?:{environment?:"devnet"|"mainnet"};answer:InvoiceStatus}}
"/api/v1/invoices/{id}/payments":{get:{path:{id:string};query?:{environment?:"devnet"|"mainnet";limit?:number;starting_after?:string;ending_before?:string};answer:InvoicePaymentList}}
"/api/v1/invoice-payments/{payment_id}":{get:{path:{payment_id:string};query?:{environment?:"devnet"|"mainnet"};answer:InvoicePayment}}
"/api/v1/invoices/{id}/cancel":{post:{path:{id:string};query?:{environment?:"devnet"|"mainnet"};answer:Invoice}}
"/api/v1/quotes":{post:{body:NewQuote;answer:{success:true;data:IdentifiedPaymentQuote}}}
"/api/v1/quotes/batch":{post:{body:NewQuotes;answer:{success:true;data:{object:"list";data:QuoteRouteResult[]}}}}
"/api/v1/quotes/estimate":{get:{query:{amount?:number;amount_usd?:string;network:string;token_id:number;environment?:"devnet"|"mainnet"};answer:{success:true;data:QuoteEstimate}}}
"/api/v1/quotes/{quote_id}":{get:{path:{quote_id:string};query?:{environment?:"devnet"|"mainnet"};answer:{success:true;data:IdentifiedPaymentQuote}}}
"/api/v1/payments/session-details":{get:{answer:SessionDetails}}
"/api/v1/payments/available-tokens":{get:{query?:{mode?:"monitored"|"all"|"network";network?:Network;available_only?:"true"|"false"};answer:AvailableToken[]}}
"/api/v1/payments/payment-addresses":{post:{body:AddressRequest;answer:PaymentAddress}}
"/api/v1/payments/payment-status":{get:{answer:PaymentStatusReport}}
"/api/v1/payments/customer-email":{post:{body:CustomerEmail;answer:PayorDone}}
"/api/v1/payments/refund-address":{post:{body:RefundAddress;answer:PayorDone}}
"/api/v1/search":{get:{query:{q:string;environment?:"devnet"|"mainnet"};answer:SearchResults}}
"/api/v1/audit-log":{get:{query?:{environment?:"devnet"|"mainnet";created_gte?:string;created_lte?:string;limit?:number;starting_after?:string;ending_before?:string;action?:string;subject_id?:string};answer:AuditLogPage}}
"/api/v1/balance":{get:{query?:{environment?:"devnet"|"mainnet"};answer:Balance}}
"/api/v1/balance-transactions":{get:{query?:{environment?:"devnet"|"mainnet";created_gte?:string;created_lte?:string;limit?:number;starting_after?:string;ending_before?:string;type?:BalanceTransactionType;asset?:string;source_id?:string};answer:BalanceTransactionList}}
"/api/v1/balance-transactions/{id}":{get:{path:{id:string};query?:{environment?:"devnet"|"mainnet"};answer:OneBalanceTransaction}}
"/api/v1/settlements":{get:{query?:{environment?:"devnet"|"mainnet";limit?:number;starting_after?:string;ending_before?:string};answer:SettlementList}}
"/api/v1/settlements/{id}":{get:{path:{id:string};query?:{environment?:"devnet"|"mainnet"};answer:OneSettlement}}
"/api/v1/merchant/settlement-preference":{get:{query?:{environment?:"devnet"|"mainnet"};answer:SettlementPreference};put:{body:SettlementPreferenceChange;answer:SettlementPreference}}
"/api/v1/merchant/settlement-token":{put:{body:SettlementTokenChange;answer:SettlementPreference}}
"/api/v1/reconciliation":{get:{query?:{environment?:"devnet"|"mainnet";period?:string;from?:string;to?:string};answer:{success:true;data:Reconciliation}}}
"/api/v1/reconciliation/close":{post:{body:PeriodToClose;answer:{success:true;data:ClosedPeriodReport}}}
"/api/v1/reconciliation/closed":{get:{query?:{environment?:"devnet"|"mainnet";limit?:number;starting_after?:string};answer:{success:true;data:{object:"list";data:ClosedPeriod[];has_more:boolean;next_period:string|null}}}}
"/api/v1/reconciliation/closed/{period}":{get:{path:{period:string};query?:{environment?:"devnet"|"mainnet";format?:"csv"|"json"};answer:{success:true;data:ClosedPeriodReport}}}
"/api/v1/reconciliation/adjustments":{post:{body:AdjustmentRequest;answer:{success:true;data:Adjustment}}}
"/api/v1/refunds":{post:{body:NewRefund;answer:CreatedRefunds};get:{query?:{environment?:"devnet"|"mainnet";status?:RefundStatus2;invoice_id?:string;exception_id?:string;created_gte?:string;created_lte?:string;limit?:number;starting_after?:string;ending_before?:string};answer:RefundList}}
"/api/v1/refunds/{id}":{get:{path:{id:string};query?:{environment?:"devnet"|"mainnet"};answer:OneRefund}}
"/api/v1/refunds/{id}/approve/challenge":{post:{path:{id:string};answer:OneApprovalChallenge}}
"/api/v1/refunds/{id}/approve":{post:{path:{id:string};body:Approve;answer:OneRefund}}
"/api/v1/refunds/{id}/approvals":{get:{path:{id:string};query?:{environment?:"devnet"|"mainnet";limit?:number;starting_after?:string;ending_before?:string};answer:ApprovalList}}
"/api/v1/refunds/{id}/cancel":{post:{path:{id:string};answer:OneRefund}}
"/api/v1/refunds/{id}/claim-link":{post:{path:{id:string};answer:OneRefund}}
"/api/v1/refunds/{id}/claim-link/email":{post:{path:{id:string};body:ClaimLinkEmail;answer:OneRefund}}
"/api/v1/refunds/{id}/retry":{post:{path:{id:string};answer:OneRefund}}
"/api/v1/exceptions":{get:{query?:{environment?:"devnet"|"mainnet";created_gte?:string;created_lte?:string;limit?:number;starting_after?:string;ending_before?:string;status?:"open"|"resolved";type?:ExceptionType;invoice_id?:string;network?:Network};answer:ExceptionList}}
"/api/v1/exceptions/{id}":{get:{path:{id:string};query?:{environment?:"devnet"|"mainnet"};answer:OneException}}
"/api/v1/exceptions/{id}/resolve":{post:{path:{id:string};body:ExceptionDecision;answer:ResolvedException}}
"/api/v1/batches":{post:{body:NewBatch;answer:OneBatch};get:{query?:{environment?:"devnet"|"mainnet";created_gte?:string;created_lte?:string;limit?:number;starting_after?:string;ending_before?:string;kind?:"refunds"|"payouts"|"collect";status?:BatchStatus;network?:Network};answer:BatchList}}
"/api/v1/batches/{id}":{get:{path:{id:string};query?:{environment?:"devnet"|"mainnet";expand?:"lines"};answer:OneReadBatch}}
"/api/v1/batches/{id}/approve/challenge":{post:{path:{id:string};answer:OneApprovalChallenge}}
"/api/v1/batches/{id}/approve":{post:{path:{id:string};body:Approve;answer:OneBatch}}
"/api/v1/batches/{id}/approvals":{get:{path:{id:string};query?:{environment?:"devnet"|"mainnet";limit?:number;starting_after?:string;ending_before?:string};answer:ApprovalList}}
"/api/v1/batches/{id}/cancel":{post:{path:{id:string};answer:OneBatch}}
"/api/v1/batches/{id}/export":{post:{path:{id:string};body:NewBatchExport;answer:ExportedPart}}
"/api/v1/batches/{id}/release":{post:{path:{id:string};body:ReleasedPart;answer:OneBatch}}
"/api/v1/batches/{id}/sent":{post:{path:{id:string};body:SentPart;answer:OneBatch}}
"/api/v1/devnet/batches/{id}/simulate":{post:{path:{id:string};body:BatchSimulation;answer:SimulatedPart}}
"/api/v1/collectable":{get:{query?:{environment?:"devnet"|"mainnet";network?:Network;token_id?:number;min_value?:number;expand?:"addresses";format?:"csv"|"json"};answer:CollectableList}}
"/api/commerce/merchant/orders":{get:{query?:{status?:OrderStatus;customer_id?:string;wallet?:string;wallet_network?:Network;retailer?:Retailer;created_from?:string;created_to?:string;limit?:number;offset?:number;environment?:"devnet"|"mainnet"};answer:OrderList}}
"/api/commerce/merchant/orders/{order_id}":{get:{path:{order_id:string};query?:{environment?:"devnet"|"mainnet"};answer:OneOrder}}
"/api/commerce/merchant/orders/{order_id}/cancel":{post:{path:{order_id:string};query?:{environment?:"devnet"|"mainnet"};body:CancelOrder;answer:CancelledOrder}}
"/api/commerce/merchant/orders/{order_id}/refund-destination":{put:{path:{order_id:string};query?:{environment?:"devnet"|"mainnet"};body:OrderRefundDestination;answer:OneOrder}}
"/api/commerce/merchant/payments/{order_id}/status":{get:{path:{order_id:string};query?:{environment?:"devnet"|"mainnet"};answer:OneOrderPaymentStatus}}
"/api/commerce/merchant/payments/bulk-status":{post:{query?:{environment?:"devnet"|"mainnet"};body:BulkOrderPaymentStatus;answer:OrderPaymentStatusList}}
"/api/commerce/merchant/checkout/estimate":{post:{body:NewEstimate;answer:{success:true;data:Estimate}}}
"/api/commerce/merchant/checkout/address":{post:{body:NewAddress;answer:{success:true;data:AddressedEstimate}}}
"/api/commerce/merchant/checkout/invoice":{post:{body:NewPurchase;answer:{success:true;data:Purchase}}}
"/api/commerce/merchant/carts":{get:{query?:{customer_id?:string;wallet_address?:string;wallet_network?:Network};answer:{success:true;data:Cart}};post:{query?:{customer_id?:string;wallet_address?:string;wallet_network?:Network};body:NewCart;answer:{success:true;data:Cart}};delete:{query?:{customer_id?:string;wallet_address?:string;wallet_network?:Network};body:CustomerIdentity;answer:RemovedItems}}
"/api/commerce/merchant/carts/items":{post:{query?:{customer_id?:string;wallet_address?:string;wallet_network?:Network};body:NewCartItem;answer:AddedCartItem}}
"/api/commerce/merchant/carts/items/{item_id}":{put:{path:{item_id:string};query?:{customer_id?:string;wallet_address?:string;wallet_network?:Network};body:CartItemChange;answer:{success:true;data:CartItem}};delete:{path:{item_id:string};query?:{customer_id?:string;wallet_address?:string;wallet_network?:Network};body:CustomerIdentity;answer:RemovedItems}}
"/api/commerce/merchant/carts/validate":{post:{query?:{customer_id?:string;wallet_address?:string;wallet_network?:Network};body:CustomerIdentity;answer:ValidatedCart}}
"/api/commerce/merchant/carts/totals":{get:{query?:{customer_id?:string;wallet_address?:string;wallet_network?:Network;zip_code?:string};answer:CartTotals}}
"/api/v1/payment-links":{post:{query?:{environment?:"devnet"|"mainnet"};body:NewPaymentLink;answer:OnePaymentLink};get:{query?:{environment?:"devnet"|"mainnet";limit?:number;starting_after?:string;ending_before?:string};answer:PaymentLinkList}}
"/api/v1/payment-links/{id}":{get:{path:{id:string};query?:{environment?:"devnet"|"mainnet"};answer:OnePaymentLink};patch:{path:{id:string};query?:{environment?:"devnet"|"mainnet"};body:PaymentLinkChange;answer:OnePaymentLink}}
"/api/v1/metrics":{get:{query?:{from?:string;to?:string;interval?:"hour"|"day"|"week"|"month";timezone?:string;environment?:"devnet"|"mainnet";group_by?:"network"|"token"|"customer"};answer:MetricsAnswer}}
"/api/v1/customers/{id}/export":{post:{path:{id:string};answer:CustomerExport}}
"/api/v1/customers/{id}/erase":{post:{path:{id:string};answer:OneCustomerErasure}}
"/api/v1/customers/{id}/erasure":{get:{path:{id:string};query?:{environment?:"devnet"|"mainnet"};answer:OneCustomerErasure}}
"/api/v1/exports/{kind}":{get:{path:{kind:"invoices"|"payments"|"refunds"|"lots"|"koinly"|"balance-transactions"|"journal"};query:{format?:"csv"|"json";from:string;to:string;environment?:"devnet"|"mainnet";metadata_keys?:string};answer:(Record<string,string|null>)[]}}
"/api/v1/webhooks":{post:{body:NewWebhookEndpoint;answer:CreatedWebhookEndpoint};get:{query?:{environment?:"devnet"|"mainnet";limit?:number;starting_after?:string;ending_before?:string};answer:WebhookEndpointList}}
"/api/v1/webhooks/{id}":{get:{path:{id:string};answer:OneWebhookEndpoint};patch:{path:{id:string};body:WebhookEndpointChange;answer:OneWebhookEndpoint};delete:{path:{id:string};answer:OneWebhookEndpoint}}
"/api/v1/webhooks/{id}/rotate-secret":{post:{path:{id:string};body:SecretRotation;answer:RotatedSecret}}
"/api/v1/webhooks/{id}/test":{post:{path:{id:string};answer:SentTest}}
"/api/v1/webhooks/{id}/replay":{post:{path:{id:string};body:WebhookReplay;answer:QueuedReplay}}
"/api/v1/webhooks/{id}/deliveries":{get:{path:{id:string};query?:{status?:OneWebhookDeliveryStatus;event_id?:string;type?:string;created_gte?:string;limit?:number;starting_after?:string;ending_before?:string};answer:WebhookDeliveryList}}
"/api/v1/webhooks/deliveries/{delivery_id}":{get:{path:{delivery_id:string};answer:OneWebhookDelivery}}
"/api/v1/webhooks/deliveries/{delivery_id}/redeliver":{post:{path:{delivery_id:string};answer:QueuedWebhookDelivery}}
"/api/v1/ws/token":{post:{query?:{environment?:"devnet"|"mainnet"};body:NewStreamTicket;answer:StreamTicket}}
"/api/v1/devnet/invoices/{id}/simulate":{post:{path:{id:string};body:{action:"pay"|"partial"|"overpay"|"late"|"confirm"|"reorg"|"drop"|"wrong_token"|"wrong_network"|"missing_memo"|"unmatched"|"duplicate"|"dust"|"expire"|"settle"|"fail_settlement";network?:Network;token_id?:number;amount?:number;confirmations?:number};answer:{success:true;data:{invoice:Invoice;invoice_payment:InvoicePayment|null;event_ids:string[]}}}}
"/api/commerce/devnet/orders/{order_id}/simulate":{post:{path:{order_id:string};body:SimulateOrder;answer:{success:true;data:{order:CommerceOrder;event_ids:string[];allowed_transitions:("payment_confirmed"|"payment_settled"|"placed"|"shipped"|"delivery_confirmed"|"failed"|"cancelled"|"cancellation_rejected"|"refunded")[]}}}}
"/api/v1/devnet/refunds/{id}/simulate":{post:{path:{id:string};body:{outcome:"succeeded"|"failed"};answer:{success:true;data:Refund_1}}}
"/api/v1/devnet/networks/{network}/fault":{post:{path:{network:string};body:{mode:"down"|"lagging"|"ok"};answer:{success:true;data:{network:Network;mode:"down"|"lagging"|"ok"}}}}
"/api/v1/devnet/clock/advance":{post:{body:{seconds:number};answer:{success:true;data:{now:number;ahead_seconds:number}}}}
"/health/live":{get:{answer:{status:"ok"}}}
"/health/ready":{get:{answer:HealthReport}}
"/metrics":{get:{answer:undefined}}
}
