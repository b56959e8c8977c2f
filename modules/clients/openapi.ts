// Made by `npm run openapi` of the OpenAPI document. Do not edit.
type Data<T>={success:true;data:T}
type List<T>=Data<{object:"list";data:T[];has_more:boolean}>
/** An amount of US dollars: in thousandths as a number, and as a decimal text. */
type Usd<N extends string>={[K in N]:number}&{[K in `${N}_decimal`]:string}
type EventOf<T extends string,O>=T extends string?{id:string;object:"event";api_version:string;created:number;type:T;livemode:boolean;pending_webhooks:number;request:{id:string|null;idempotency_key:string|null};data:{object:O;previous_attributes:unknown}}:never
type InUsd={currency:"usd";amount_unit:"usd_millis"}
type Texts<N extends string>={[K in N]:string}
type TextsOrNull<N extends string>={[K in N]:string|null}
type Numbers<N extends string>={[K in N]:number}
type NumbersOrNull<N extends string>={[K in N]:number|null}
/** The calls below a path. */
type Under<P extends string,T>={[K in keyof T as `${P}${K&string}`]:T[K]}
type Page={limit?:number;starting_after?:string;ending_before?:string}
type InEnv={environment?:Environment}
type Created={created_gte?:string;created_lte?:string}
type Environment="devnet"|"mainnet"
type Scope="merchant"|"commerce"
type ApiKeyStatus="active"|"rotating"|"expired"|"revoked"
type Permissions="read"|"write"|"refund"
type Family="evm"|"solana"|"ton"|"sui"|"cardano"
type BalanceTransactionType="payment"|"payment_reversal"|"settlement"|"refund"|"refund_reversal"|"fee"|"adjustment"|"suspense"|"tolerance_writeoff"|"credit"|"payout"
type BatchKind="refunds"|"payouts"|"collect"
type BatchStatus="pending_approval"|"ready"|"open"|"paid"|"partly_paid"|"canceled"|"expired"
type Network="ethereum"|"base"|"solana"|"avalanche"|"ton"|"bsc"|"arbitrum"|"optimism"|"cardano"|"sui"
type Totals={token_id:number|null;symbol:string;token_amount:string}
type BatchStatus2="ready"|"out"|"lapsed"|"seen"|"paid"|"mismatch"|"released"
type Retailer="amazon"|"walmart"|"target"|"ebay"|"bestbuy"|"other"
type OrderStatus="pending_payment"|"processing"|"placed"|"shipped"|"delivered"|"cancelled"|"failed"
type Substatus="AWAITING_PAYMENT"|"PARTIALLY_PAID"|"PAYMENT_CONFIRMING"|"AWAITING_SETTLEMENT"|"SETTLEMENT_REVIEW"|"PROVIDER_PLACEMENT_SUBMITTED"|"PROVIDER_PLACEMENT_RETRYING"|"AWAITING_TRACKING"|"CANCELLATION_REQUESTED"|"IN_TRANSIT"|"OUT_FOR_DELIVERY"|"DELIVERY_EXCEPTION"|"DELIVERED"|"DELIVERY_CONFIRMED"|"PAYMENT_EXPIRED"|"CANCELLED_BY_MERCHANT"|"CANCELLED_BY_RETAILER"|"SETTLEMENT_FAILED"|"PLACEMENT_FAILED"|"PAYMENT_REVERSED"
type CommerceOrderStatus="unpaid"|"underpaid"|"paid"|"expired"|"canceled"
type RefundStatus="NONE"|"AWAITING_DESTINATION"|"PENDING"|"PROCESSING"|"REFUNDED"|"PARTIALLY_REFUNDED"|"FAILED"
type Code="NO_ELIGIBLE_OFFER"|"UNSUPPORTED_RETAILER"|"OUT_OF_STOCK"|"NOT_DELIVERABLE"|"QUANTITY_LIMIT"
type ExceptionType="underpaid_expired"|"overpaid"|"late_payment"|"wrong_token"|"wrong_network"|"missing_memo"|"duplicate_payment"|"below_dust"|"reorged"|"screened"|"settlement_failed"|"expiry_unseen"|"unmatched_payment"|"duplicate_payout"|"payout_mismatch"
type ExceptionToken=TextsOrNull<"symbol"|"address">&NumbersOrNull<"id"|"decimals">
type AllowedActions="accept"|"refund"|"credit"|"assign"|"ignore"
type InvoiceType="standard"|"commerce"
type QuoteStatus="available"|"unavailable"|"expired"
type StatusCode="ok"|"quote_unavailable"|"quote_expired"|"settlement_unavailable"|"network_degraded"
type InvoicePaymentStatus="pending"|"underpaid"|"confirmed"|"manual_retry"|"reverted"|"rejected"
type MerchantSettlementToken={id:number;symbol:string;decimals:number}
type Opening={units:string;token_amount:string|null}&Usd<"amount">
type Ledger={asset:string;count:number;units:string}
type Refund_1Status="awaiting_destination"|"pending_approval"|"processing"|"succeeded"|"failed"|"canceled"|"expired"
type Reason="requested_by_customer"|"overpayment"|"late_payment"|"underpayment"|"wrong_token"|"order_cancelled"|"order_failed"|"duplicate"|"other"
type AcceptancePolicy="accept_all"|"selective"|"accept_none"
type WebhookDeliveryStatus="pending"|"delivering"|"succeeded"|"retrying"|"failed"|"canceled"
type Price={usd:number;last_updated_at:number;provider_type:string}
type TokenType="native"|"erc20"|"spl"|"sui"|"ton"
type Format="eip5792"|"transactions"|"safe"|"solana"|"ton"|"sui"|"cardano"|"csv"
type ExportsKind="invoices"|"payments"|"refunds"|"lots"|"koinly"|"balance-transactions"|"journal"
type Parts={part:number;status:BatchStatus2;lines:number;reference:string;unguarded:boolean;releases:{by:string;at:number;note:string}[]}&TextsOrNull<"format"|"tx_hash"|"fee">&NumbersOrNull<"valid_until"|"releasable_at">
type RefundQuote={token:string;network:Network;valid_until:number}&Usd<"amount"|"fee"|"net_amount">
type ValidItems={product_id:string;retailer:Retailer;title:string;quantity:number;price_changed:boolean;image_url:string|null}&Usd<"unit_amount"|"amount">
type Payments=InUsd&{object:"invoice_payment";id:string;invoice_id:string;invoice_type:InvoiceType;environment:Environment;customer_id:null;status:InvoicePaymentStatus;network:Network|null;payer_wallet_network:Network|null;confirmed_at:number|null;metadata:unknown}&Usd<"amount">&TextsOrNull<"commerce_order_id"|"payer_tx_hash"|"payer_wallet_address"|"payer_amount_token"|"explorer_url">&Numbers<"merchant_id"|"confirmations"|"required_confirmations">
type Query={customer_id?:string;wallet_address?:string;wallet_network?:Network}
type ApiKey={object:"api_key";scope:Scope;environment:Environment;status:ApiKeyStatus;permissions:Permissions[];use?:"btcpay";ip_allowlist:string[];created_at:number}&Texts<"id"|"name"|"prefix"|"last4"|"api_version">&TextsOrNull<"replaced_by"|"created_by">&NumbersOrNull<"expires_at"|"last_used_at">
type ApprovalList=List<{object:"approval";approves:{object:"refund"|"batch";id:string};environment:Environment;at:number;counts:boolean;text:string|null;signature:{type:"passkey";public_key:unknown}&Texts<"credential_id"|"rp_id"|"origin"|"authenticator_data"|"client_data_json"|"signature">|{type:"wallet";family:Family;address:string;signature:string;proof:unknown|null}&TextsOrNull<"chain_id"|"public_key">|null}&Texts<"id"|"person"|"by">>
type Approve={proof?:{id:string;passkey?:unknown|null;wallet?:{family:Family;address:string;signature:string;public_key?:string|null;proof?:unknown|null}|null}|null}
type BalanceTransaction=InUsd&{id:string;object:"balance_transaction";type:BalanceTransactionType;status:"pending"|"available"|"voided";units:string;source:{object:"invoice_payment"|"exception"|"refund"|"invoice"|"adjustment"|"batch_line";id:string};environment:Environment;created_at:number;available_at:number|null;entries:({kind:"booked"|"posted"|"voided";usd_millis:number;created_at:number}&Texts<"debit"|"credit"|"asset"|"units">)[]}&Usd<"amount"|"fee"|"net">&TextsOrNull<"asset"|"token_amount"|"reverses">
type Batch=InUsd&{object:"batch";kind:BatchKind;status:BatchStatus;environment:Environment;network:Network;from:string|null;totals:Totals[];parts:Parts[];approvals:{by:string;at:number}[];metadata:unknown}&Usd<"amount">&Texts<"id"|"content_hash"|"approval_code"|"created_by">&Numbers<"lines_total"|"approvals_required"|"valid_for_seconds"|"created_at"|"updated_at">&NumbersOrNull<"expires_at"|"closed_at">
type Cart={wallet_network:Network|null;items:CartItem[];amount_unit:"usd_millis"}&Usd<"subtotal">&TextsOrNull<"customer_id"|"wallet_address">&Numbers<"merchant_id"|"item_count"|"created_at"|"updated_at">
type CartItem={retailer:Retailer;quantity:number}&Usd<"unit_amount"|"amount">&Texts<"item_id"|"product_id"|"title">&TextsOrNull<"image_url"|"product_url">
type ClosedPeriodReport={object:"closed_period";closed_at:number;report:Reconciliation}&Texts<"period"|"previous_hash"|"hash"|"actor">
type CommerceOrder=InUsd&{object:"commerce_order";id:string;invoice_id:string;environment:Environment;retailer:Retailer|null;status:OrderStatus;substatus:Substatus;actions:{can_cancel:boolean;can_set_refund_destination:boolean;cancel_reason_code:string|null};timeline:{status:OrderStatus;substatus:Substatus;timestamp:number;message:string}[];payment:{status:CommerceOrderStatus;tx_hash:string|null;network:Network|null;paid_at:number|null;settlement:{network:Network|null;settled_at:number|null}&TextsOrNull<"status"|"tx_hash">}&Usd<"amount_paid">;fulfillment:{provider_order_id:string|null;shipments:({shipment_id:string;delivery_status:"pending"|"in_transit"|"out_for_delivery"|"delivered"|"exception"|"returned";obtained_at:number;line_item_ids:string[]}&TextsOrNull<"carrier"|"tracking_number"|"carrier_tracking_url"|"retailer_tracking_number"|"retailer_tracking_url">)[]}&NumbersOrNull<"placed_at"|"delivered_at">;line_items:({image_url:string|null;quantity:number;status:"pending"|"processing"|"placed"|"shipped"|"delivered"|"cancelled"|"failed"|"refunded"}&Usd<"unit_amount"|"amount">&Texts<"id"|"product_id"|"title">)[];wallet_network:Network|null;cancellation_status:"none"|"requested"|"accepted"|"rejected";refund_status:RefundStatus;refund:{status:RefundStatus;destination_network:Network|null}&TextsOrNull<"refund_id"|"amount_decimal"|"fee_decimal"|"destination_wallet_address"|"tx_hash"|"reason">&NumbersOrNull<"amount"|"fee">;refund_quote:RefundQuote|null}&Usd<"total_amount">&TextsOrNull<"customer_id"|"wallet_address">&Numbers<"merchant_id"|"created_at"|"updated_at">
type CustomerIdentity=unknown
type Estimate={estimate_id:string;environment:Environment;wallet_network:Network|null;valid_items:ValidItems[];invalid_items:({code:Code}&Texts<"product_id"|"retailer"|"message">)[];pricing:Pricing}&TextsOrNull<"customer_id"|"wallet_address">&Numbers<"merchant_id"|"created_at"|"expires_at">
export type Event=EventOf<"invoice.created"|"invoice.updated"|"invoice.paid"|"invoice.partial_payment"|"invoice.overpaid"|"invoice.expired"|"invoice.canceled",Invoice>|EventOf<"invoice_payment.created"|"invoice_payment.updated"|"invoice_payment.refunded",InvoicePayment>|EventOf<"commerce.order.created"|"commerce.order.updated",CommerceOrder>|EventOf<"payment_quote.updated",PaymentQuote>|EventOf<"exception.opened"|"exception.resolved",Exception>|EventOf<"balance_transaction.created",BalanceTransaction>|EventOf<"batch.created"|"batch.updated"|"batch.paid"|"batch.closed",Batch>|EventOf<"test.ping",{object:"test_ping";id:string;message:string;created_at:number}>
type Exception=InUsd&{id:string;object:"exception";type:ExceptionType;status:"open"|"resolved";environment:Environment;network:Network|null;token:ExceptionToken|null;evidence:unknown;allowed_actions:AllowedActions[];resolution:{action:AllowedActions;note:string;actor:string;at:number}&TextsOrNull<"refund_id"|"invoice_id">|null;created_at:number;resolved_at:number|null}&Usd<"amount">&TextsOrNull<"invoice_id"|"invoice_payment_id"|"customer_id"|"token_amount"|"tx_hash">
type ExpandedInvoice=Invoice&{latest_payment?:InvoicePayment|null;payments?:InvoicePaymentList;payment_url?:string;details?:TextsOrNull<"description"|"title"|"footer"|"customer_email"|"payment_return_url"|"locale">;payor?:{email:string|null;refund_destinations:({network:Network;address:string;memo:string|null})[]}}
type IdentifiedPaymentQuote=PaymentQuote&{id:string|null}
type Invoice=InUsd&{object:"invoice";id:string;status:CommerceOrderStatus;invoice_type:InvoiceType;payer_wallet_network:Network|null;environment:Environment;metadata:unknown}&Usd<"amount"|"amount_paid"|"amount_remaining">&TextsOrNull<"customer_id"|"payer_wallet_address"|"commerce_order_id">&Numbers<"merchant_id"|"expires_at"|"created_at">&NumbersOrNull<"paid_at"|"last_payment_at">
type InvoiceList={object:"list";data:ExpandedInvoice[];has_more:boolean}&Numbers<"page"|"limit"|"total">
type InvoicePayment=InUsd&{object:"invoice_payment";id:string;invoice_id:string;merchant_id:number;invoice_type:InvoiceType;environment:Environment;status:InvoicePaymentStatus;network:Network|null;payer_wallet_network:Network|null;settlement_status:"pending"|"processing"|"manual"|"failed"|"settled"|"partially_refunded"|"refunded"|null;settlement:{merchant_settlement_id:number|null}&TextsOrNull<"summary_status"|"stage"|"settlement_tx_hash"|"network"|"status">|null;metadata:{quote:{quote_id:string|null;exchange_rate:string;rate_source:string;priced_at:number;pricing:"locked"|"spot";pricing_reason?:"locked_rate_ended"}|null;confirmations:number;required_confirmations:number;block_number:number|null;exception:{id:string;type:"underpaid_expired"|"overpaid"|"late_payment"|"wrong_token"|"wrong_network"|"missing_memo"|"duplicate_payment"|"below_dust"|"reorged"|"screened"|"settlement_failed"|"expiry_unseen";status:"open"|"resolved"}|null;late_at?:number;token:ExceptionToken|null}|unknown}&Usd<"amount">&TextsOrNull<"customer_id"|"commerce_order_id"|"payer_tx_hash"|"payer_wallet_address"|"payer_amount_token"|"settled_amount_decimal"|"balance_transaction_id">&NumbersOrNull<"confirmed_at"|"settled_amount"|"settled_at">
type InvoicePaymentList={object:"list";data:InvoicePayment[];has_more:boolean}
type InvoiceTotal={count:number}&Usd<"amount"|"amount_paid">
type LinkedSignInWallet=Data<SignInWallet>
type MerchantSettings={late_payment_policy:"spot_rate"|"locked_rate"|"manual";partial_payment_policy:"lock_route"|"any_route";confirmation_policy:"fast"|"standard"|"final";default_environment:Environment;branding:{frame_ancestors:string[];allow_restart:boolean;show_payee_proof:boolean;domain_verified_at:number|null}&Texts<"name"|"accent"|"default_locale">&TextsOrNull<"logo_uri"|"support_email"|"domain">;pending_change:{id:string;proposed_by:string;proposed_at:number;needs_approval:boolean;approved_by:string|null;in_force_from:number|null;settings:{auto_approve_limit?:number;auto_approve_limit_day?:number;payout_limit_batch?:number|null;payout_limit_day?:number|null}}|null;domain_check:{file:{merchant_id:number;pay_host:string};checked_at:number|null;next_check_at:number;file_result:"proved"|"other_merchant"|"other_host"|"absent"|"unreadable"|"refused"|"unreachable"|null;dns_result:"proved"|"other_merchant"|"other_host"|"absent"|"unreachable"|null}&Texts<"file_url"|"dns_name"|"dns_value">|null}&Numbers<"payment_tolerance_bps"|"payment_tolerance_amount"|"overpay_tolerance_amount"|"late_window_seconds"|"underpaid_grace_seconds"|"invoice_default_expires_in"|"auto_approve_limit"|"auto_approve_limit_day">&NumbersOrNull<"payout_limit_batch"|"payout_limit_day">
type MerchantSettlement=InUsd&{object:"settlement";environment:Environment;token:MerchantSettlementToken|null;token_amount:string|null}&Usd<"amount">&Texts<"asset"|"wallet"|"units">&Numbers<"id"|"period_start"|"period_end">
type Nonce=Data<{nonce:string;message:string;expires_at:number}>
type NonceRequest={address:string;network:Network}
type OneApprovalChallenge=Data<{id:string;object:"approval_challenge";text:string;expires_at:number;passkey:unknown|null;wallets:({family:Family;address:string;chain_id:string|null})[]}>
type OneBatch=Data<Batch>
type OneCustomerErasure=Data<{object:"customer_erasure";customer:string;environment:Environment;status:"pending"|"done";waiting_for:string|null;requested_at:number;finished_at:number|null}>
type OneOrder=Data<CommerceOrder>
type OnePaymentLink=Data<PaymentLink>
type OneRefund=Data<Refund_1>
type OneWebhookEndpoint=Data<WebhookEndpoint>
type OrderPaymentStatus={order_id:string;invoice_id:string;environment:Environment;status:CommerceOrderStatus;order_status:OrderStatus;order_substatus:Substatus;amount_unit:"usd_millis";network:Network|null;refund_status:RefundStatus}&Usd<"amount"|"amount_paid"|"amount_remaining">&TextsOrNull<"tx_hash"|"settlement_status">&NumbersOrNull<"paid_at"|"settled_at">
type PaymentLink={object:"payment_link";environment:Environment;status:"active"|"inactive"|"expired"|"completed";amount_unit:"usd_millis"}&Usd<"amount_paid">&Texts<"id"|"url"|"title">&TextsOrNull<"description"|"amount_decimal"|"minimum_amount_decimal"|"maximum_amount_decimal">&Numbers<"merchant_id"|"payment_count"|"open_count"|"created_at"|"updated_at">&NumbersOrNull<"amount"|"minimum_amount"|"maximum_amount"|"maximum_payments"|"expires_at">
type PaymentQuote=InUsd&{object:"payment_quote";invoice_id:string;network:Network;quote_status:QuoteStatus|null;status_code:StatusCode|null;retryable:boolean|null}&Usd<"amount_remaining">&TextsOrNull<"estimated_token_amount_remaining"|"exchange_rate"|"message">&NumbersOrNull<"supported_token_id"|"settlement_token_id"|"quote_last_updated_at"|"quote_valid_until"|"quote_expires_in_seconds"|"retry_after_seconds">
type PayorDone={success:true}
type Pricing=InUsd&Usd<"subtotal"|"shipping"|"tax"|"fees"|"total">
type ReceivingWallet={id:string;family:Family;kind:"xpub"|"address"|"pool"|"forwarder";environment:Environment;value_preview:string;first_addresses:string[];payee:string|null;next_index:number;created_at:number;pending_change:{id:string;proposed_by:string;proposed_at:number;needs_approval:boolean;approved_by:string|null;in_force_from:number|null}|null}&NumbersOrNull<"highest_used_index"|"addresses_left">
type Reconciliation=InUsd&{object:"reconciliation";environment:Environment;period:string|null;wallets:({asset:string;symbol:string|null;account:string;opening:Opening;received:Opening;unmatched:Opening;refunded:Opening;paid_out:Opening;collected_in:Opening;collected_out:Opening;fees:Opening;other:Opening;closing:Opening;chain_balance:{units:string;token_amount:string|null}|null;as_of:{height:string;hash:string;time:number}|null;chain_balance_reason:"collected"|"not_followed"|"not_offered"|"too_many_addresses"|"shared"|"unknown_wallet"|"missed"|"not_read_yet"|null})[];sources:{chain:Ledger[];ledger:Ledger[];events:({token:string;count:number}&Usd<"amount">)[]|null};differences:({cause:"unmatched_chain"|"unmatched_ledger"|"amount"|"timing"|"reorg"|"fee"|"dust"|"unknown_token"|"external_spend";is_explained:boolean;asset:string;units:string;age_seconds:number}&Usd<"amount">&TextsOrNull<"account"|"token_amount"|"payment_id"|"exception_id"|"tx_hash"|"url">)[];has_more_differences:boolean;suspense:({age:string;count:number}&Usd<"amount">)[]}&Numbers<"from"|"to"|"explained_ppm"|"ledger_trial_balance">
type Refund_1=InUsd&{id:string;object:"refund";status:Refund_1Status;token_id:number|null;network:Network|null;approvals:{by:string;at:number}[];reason:Reason;created_at:number;updated_at:number}&Usd<"amount"|"fee"|"net_amount">&TextsOrNull<"invoice_id"|"invoice_payment_id"|"exception_id"|"commerce_order_id"|"token_amount"|"token_symbol"|"token_address"|"received_tx_hash"|"destination_address"|"tx_hash"|"balance_transaction_id"|"claim_url"|"failure_code">
type RemovedItems=Data<{items_removed:number}>
type SettlementPreference={settlement_preference:"stables_only"|"stables_preferred"|"tokens";settlement_token_id:null}
type SignInRequest={message:string;signature:string;public_key?:string|null;proof?:unknown|null}
type SignInWallet={id:string;object:"sign_in_wallet";family:Family;address:string;chain_id:string|null;is_own:boolean;linked_at:number;last_sign_in_at:number|null;money_from:number}
type TokenPolicy={acceptance_policy:AcceptancePolicy;environment:Environment;blocked_token_ids:number[]}
type WebhookDelivery={object:"webhook_delivery";status:WebhookDeliveryStatus;attempt_count:number;error:string|null;created_at:number}&Texts<"id"|"endpoint_id"|"event_id"|"event_type">&NumbersOrNull<"next_attempt_at"|"response_status"|"latency_ms"|"finished_at">
type WebhookEndpoint={object:"webhook_endpoint";status:"enabled"|"disabled";enabled_events:string[];environment:Environment|null;ordered:boolean;previous_secret_expires_at:number|null}&Texts<"id"|"url"|"api_version">&TextsOrNull<"description"|"disabled_reason">&Numbers<"consecutive_failures"|"created_at"|"updated_at">
export type Paths=Under<"/api/v1",{
"/api-keys":{post:{body:{name:string;scope:Scope;environment?:Environment|null;permissions?:Permissions[]|null;use?:"btcpay"|null;expires_at?:number|string|null;ip_allowlist?:string[]|null};answer:Data<ApiKey&{key:string}>};get:{query?:Page&InEnv;answer:List<ApiKey>}}
"/api-keys/{id}":{patch:{body:{name?:string;expires_at?:number|string|null;ip_allowlist?:string[];api_version?:string};answer:Data<ApiKey>};delete:{body:{child_keys?:"keep"|"revoke"};answer:Data<ApiKey&{child_keys:ApiKey[]}>}}
"/api-keys/{id}/rotate":{post:{body:{overlap_seconds?:number};answer:Data<ApiKey&{key:string;previous_key_id:string;previous_key_expires_at:number}>}}
"/auth/nonce":{post:{body:NonceRequest;answer:Nonce}}
"/auth/verify":{post:{body:SignInRequest;answer:Data<{access_token:string;token_type:"Bearer";expires_in:number;refresh_token:string;refresh_expires_in:number;merchant:{id:number;name:string;environment:Environment;created:boolean}}>}}
"/auth/refresh":{post:{body:{refresh_token:string};answer:Data<{access_token:string;token_type:"Bearer";expires_in:number;refresh_token:string;refresh_expires_in:number}>}}
"/auth/logout":{post:{body:{refresh_token?:string|null};answer:Data<{logged_out:true}>}}
"/auth/wallets":{get:{answer:List<SignInWallet>};post:{body:SignInRequest;answer:LinkedSignInWallet}}
"/auth/wallets/nonce":{post:{body:NonceRequest;answer:Nonce}}
"/auth/wallets/{id}":{delete:{answer:LinkedSignInWallet}}
"/merchant/settings":{get:{query?:InEnv;answer:MerchantSettings};patch:{query?:InEnv;body:{payment_tolerance_bps?:number|null;payment_tolerance_amount?:number|null;overpay_tolerance_amount?:number|null;late_payment_policy?:"spot_rate"|"locked_rate"|"manual"|null;late_window_seconds?:number|null;underpaid_grace_seconds?:number|null;partial_payment_policy?:"lock_route"|"any_route"|null;invoice_default_expires_in?:number|null;confirmation_policy?:"fast"|"standard"|"final"|null;auto_approve_limit?:number|null;auto_approve_limit_day?:number|null;payout_limit_batch?:number|null;payout_limit_day?:number|null;default_environment?:Environment|null;branding?:{name?:string|null;logo_uri?:string|null;accent?:string|null;support_email?:string|null;domain?:string|null;frame_ancestors?:string[]|null;default_locale?:string|null;allow_restart?:boolean|null;show_payee_proof?:boolean|null}|null};answer:MerchantSettings}}
"/merchant/settings/changes/{id}/approve":{post:{query?:InEnv;answer:MerchantSettings}}
"/merchant/settings/changes/{id}":{delete:{query?:InEnv;answer:MerchantSettings}}
"/events":{get:{query?:Page&InEnv&{type?:string;"created[gte]"?:string;"created[lte]"?:string;invoice_id?:string;order_id?:string;customer_id?:string};answer:List<Event>}}
"/events/{eventId}":{get:{answer:Data<Event>}}
"/merchant/tokens":{get:{query?:InEnv;answer:{acceptance_policy:AcceptancePolicy;environment:Environment;tokens:({id:number;token_symbol:string;token_name:string;network:Network;network_environment:Environment;is_blocked:boolean;price:Price|null})[]}}}
"/merchant/tokens/search":{get:{query?:InEnv&{limit?:number;offset?:number;search?:string;network?:Network;token_type?:TokenType;is_active?:"true"|"false";supports_stable_settlement?:"true"|"false";blocked?:"true"|"false"};answer:{acceptance_policy:AcceptancePolicy;environment:Environment;tokens:({id:number;network:Network;network_environment:Environment;is_blocked:boolean;price:Price|null;token_decimals:number;token_type:TokenType;requires_memo:boolean;supports_stable_settlement:boolean;is_active:boolean;is_monitored:boolean}&Texts<"token_symbol"|"token_name"|"token_address"|"photo_uri">)[]}&Numbers<"total"|"limit"|"offset">}}
"/merchant/tokens/policy":{get:{query?:InEnv;answer:TokenPolicy};put:{body:{acceptance_policy:AcceptancePolicy;environment?:Environment};answer:TokenPolicy}}
"/merchant/tokens/{tokenId}/block":{post:{body:{blocked:boolean};answer:{success:true;blocked:boolean}}}
"/merchant/tokens/block-bulk":{post:{body:{token_ids:number[];blocked:boolean};answer:{success:true;updated:number}}}
"/networks/status":{get:{query?:InEnv;answer:List<{network:Network;environment:Environment;healthy:boolean;condition:"ok"|"silent"|"frozen"|"disagreement"|"no_common_block"|"disabled";message:string}&NumbersOrNull<"head_height"|"head_time">>}}
"/merchant/wallets":{get:{query?:InEnv;answer:{wallets:ReceivingWallet[];pending_wallets:ReceivingWallet[]}}}
"/merchant/wallets/{family}":{put:{path:{family:Family};body:{kind:"xpub"|"address"|"pool"|"forwarder";value:string;environment?:Environment;start_index?:number};answer:ReceivingWallet};delete:{path:{family:Family};query?:InEnv;answer:{success:true}}}
"/merchant/wallets/{family}/changes/{id}/approve":{post:{path:{family:Family;id:string};query?:InEnv;answer:ReceivingWallet}}
"/merchant/wallets/{family}/changes/{id}":{delete:{path:{family:Family;id:string};query?:InEnv;answer:{success:true}}}
"/merchant/wallets/{family}/recovery":{get:{path:{family:Family};query?:InEnv;answer:{wallets:({next_index:number;is_current:boolean;confirmed_at:number|null;created_at:number}&Texts<"collector"|"deployer"|"payee"|"seed"|"init_code_hash">)[]}}}
"/merchant/wallets/{family}/proof":{get:{path:{family:Family};query:InEnv&{address:string};answer:Texts<"address"|"payee"|"salt"|"collector"|"init_code_hash">}}
"/merchant/wallets/{family}/recovery/confirm":{post:{path:{family:Family};body:{checksum:string;environment?:Environment};answer:{payee:string;confirmed_at:number}}}
"/invoices":{post:{query?:InEnv;body:unknown;answer:{expires_at:number;payment_session_headers:{"x-session-token":string;"x-signature":string};invoice:Invoice}&Texts<"invoice_id"|"payment_url"|"session_token"|"signature">};get:{query?:Page&Created&InEnv&{page?:number;status?:string;invoice_type?:InvoiceType;payer_wallet_address?:string;payer_wallet_network?:Network;expand?:string;payments_limit?:number;customer_id?:string};answer:InvoiceList}}
"/invoices/totals":{get:{query?:Created&InEnv&{invoice_type?:InvoiceType;customer_id?:string};answer:InUsd&{object:"invoice_totals";totals:{all:InvoiceTotal;paid:InvoiceTotal;unpaid:InvoiceTotal;underpaid:InvoiceTotal;expired:InvoiceTotal;canceled:InvoiceTotal}}}}
"/invoices/customer/{customer_id}":{get:{query?:Page&Created&InEnv&{page?:number;status?:string;invoice_type?:InvoiceType;payer_wallet_address?:string;payer_wallet_network?:Network;expand?:string;payments_limit?:number};answer:InvoiceList}}
"/invoices/{customer_id}":{get:{query?:InEnv&{expand?:string;payments_limit?:number};answer:ExpandedInvoice};patch:{query?:InEnv;body:{metadata?:unknown|null;description?:string|null};answer:Invoice}}
"/invoices/{id}/status":{get:{query?:InEnv;answer:{object:"invoice_status";invoice:Invoice;latest_payment:InvoicePayment|null}}}
"/invoices/{id}/payments":{get:{query?:Page&InEnv;answer:InvoicePaymentList}}
"/invoice-payments/{payment_id}":{get:{query?:InEnv;answer:InvoicePayment}}
"/invoices/{id}/cancel":{post:{query?:InEnv;answer:Invoice}}
"/quotes":{post:{body:{invoice_id:string;network:string;token_id:number;settlement_token_id?:number|null};answer:Data<IdentifiedPaymentQuote>}}
"/quotes/batch":{post:{body:{invoice_id:string;routes:{network:string;token_id:number}[]};answer:Data<{object:"list";data:({network:string;token_id:number;quote:IdentifiedPaymentQuote|null;error:{code:string;message:string;param:string|null}|null})[]}>}}
"/quotes/estimate":{get:{query:InEnv&{amount?:number;amount_usd?:string;network:string;token_id:number};answer:Data<InUsd&{object:"quote_estimate";network:Network;estimated_token_amount:string;exchange_rate:string}&Usd<"amount">&Numbers<"supported_token_id"|"settlement_token_id"|"quote_last_updated_at">>}}
"/quotes/{quote_id}":{get:{query?:InEnv;answer:Data<IdentifiedPaymentQuote>}}
"/payments/session-details":{get:{answer:InUsd&{invoice_id:string;invoice_status:CommerceOrderStatus;merchant_name:string;network_environment:Environment;locked_network:Network|null;locked_token_id:number|null;branding:{name:string;accent:string;domain_verified_at:number|null}&TextsOrNull<"logo_uri"|"support_email"|"domain">;payments:Payments[]}&Usd<"amount"|"amount_paid"|"amount_remaining">&TextsOrNull<"description"|"invoice_title"|"invoice_footer"|"merchant_email"|"payment_return_url"|"locked_payment_address">&Numbers<"amount_usd"|"amount_remaining_usd"|"expires_at"|"remaining_time">}}
"/payments/available-tokens":{get:{query?:{mode?:"monitored"|"all"|"network";network?:Network;available_only?:"true"|"false"};answer:({token_type:TokenType;network:Network;requires_memo:boolean;has_settlement_route:boolean;supports_stable_settlement:boolean;is_monitored:boolean;is_same_token_settlement:boolean;tier:null;tier_fee:null;availability_status:"DEVNET"|"AVAILABLE"|"STALE"|"NO_LIQUIDITY"|"QUOTE_REQUIRED"|"NETWORK_DEGRADED"}&Texts<"token_symbol"|"token_name"|"photo_uri">&TextsOrNull<"token_address"|"unavailable_reason">&Numbers<"id"|"token_decimals"|"settlement_cost_usd"|"min_amount"|"expected_seconds">&NumbersOrNull<"settlement_rate"|"rate_updated_at"|"network_fee_usd">)[]}}
"/payments/payment-addresses":{post:{body:{network:string;token_id?:number;tokenId?:number};answer:{success:true;temp_address:string;network:Network;supported_token_id:number;requires_memo:boolean;usd_amount:number;quote:PaymentQuote;quote_status:QuoteStatus|null;status_code:StatusCode|null;retryable:boolean|null;ws_connection:{token:string;endpoint:"/ws/payment";format:"event_v1";ws_url:string;expires_at:number}}&TextsOrNull<"memo"|"payment_uri"|"estimated_token_amount"|"exchange_rate"|"message">&NumbersOrNull<"quote_last_updated_at"|"quote_valid_until"|"quote_expires_in_seconds"|"retry_after_seconds">}}
"/payments/payment-status":{get:{answer:{status:CommerceOrderStatus;paid_at:number|null;amount_unit:"usd_millis";latest_payment:Payments|null;next_poll_seconds:number}&Usd<"amount_paid"|"amount_remaining">}}
"/payments/customer-email":{post:{body:{email:string};answer:PayorDone}}
"/payments/refund-address":{post:{body:{network:string;address:string;memo?:string|null};answer:PayorDone}}
"/search":{get:{query:InEnv&{q:string};answer:List<{object:"search_result";kind:"invoice"|"event"|"exception"|"refund"|"batch"|"webhook_endpoint"|"webhook_delivery"|"balance_transaction";id:string;matched:"id"|"transaction"|"address"|"amount"|"customer"}>}}
"/audit-log":{get:{query?:Page&Created&InEnv&{action?:string;subject_id?:string};answer:List<{object:"audit_entry";environment:Environment;subject:{object:string;id:string};before:unknown;after:unknown;created_at:number;place:number|null}&Texts<"id"|"actor"|"action">&TextsOrNull<"request_id"|"previous_hash"|"hash">>}}
"/balance":{get:{query?:InEnv;answer:Data<InUsd&{object:"balance";environment:Environment;assets:({asset:string;token:MerchantSettlementToken|null;available:Opening;pending:Opening;refund_payable:Opening;suspense:Opening;ignored:Opening;chain:Opening})[]}&Usd<"available"|"pending"|"refund_payable"|"suspense"|"ignored">>}}
"/balance-transactions":{get:{query?:Page&Created&InEnv&{type?:BalanceTransactionType;asset?:string;source_id?:string};answer:List<BalanceTransaction>}}
"/balance-transactions/{id}":{get:{query?:InEnv;answer:Data<BalanceTransaction>}}
"/settlements":{get:{query?:Page&InEnv;answer:List<MerchantSettlement>}}
"/settlements/{id}":{get:{query?:InEnv;answer:Data<MerchantSettlement>}}
"/merchant/settlement-preference":{get:{query?:InEnv;answer:SettlementPreference};put:{body:{settlement_preference:"stables_only"|"stables_preferred"|"tokens"};answer:SettlementPreference}}
"/merchant/settlement-token":{put:{body:{settlement_token_id:number|null};answer:SettlementPreference}}
"/reconciliation":{get:{query?:InEnv&{period?:string;from?:string;to?:string};answer:Data<Reconciliation>}}
"/reconciliation/close":{post:{body:{period:string};answer:Data<ClosedPeriodReport>}}
"/reconciliation/closed":{get:{query?:InEnv&{limit?:number;starting_after?:string};answer:Data<{object:"list";data:({object:"closed_period";closed_at:number}&Texts<"period"|"previous_hash"|"hash"|"actor">)[];has_more:boolean;next_period:string|null}>}}
"/reconciliation/closed/{period}":{get:{query?:InEnv&{format?:"csv"|"json"};answer:Data<ClosedPeriodReport>}}
"/reconciliation/adjustments":{post:{body:{amount?:number;account?:string;period?:string;explains?:string}&Texts<"asset"|"token_amount"|"note">;answer:Data<{object:"adjustment";created_at:number}&Usd<"amount">&Texts<"id"|"account"|"asset"|"units"|"note"|"balance_transaction_id">&TextsOrNull<"token_amount"|"period"|"explains">>}}
"/refunds":{post:{body:{invoice_id:string;invoice_payment_id?:string|null;amount_mode:"full"|"overpaid"|"remaining"|"custom";amount?:number|null;token_amount?:string|null;reason:Reason;destination?:"claim"|{network:Network;address:string;memo?:string|null}|null;fee_bearer:"payor"|"merchant";auto_approve?:boolean|null};answer:{success:true;data:Refund_1;refunds:Refund_1[]}};get:{query?:Page&Created&InEnv&{status?:Refund_1Status;invoice_id?:string;exception_id?:string};answer:List<Refund_1>}}
"/refunds/{id}":{get:{query?:InEnv;answer:OneRefund}}
"/refunds/{id}/approve/challenge":{post:{answer:OneApprovalChallenge}}
"/refunds/{id}/approve":{post:{body:Approve;answer:OneRefund}}
"/refunds/{id}/approvals":{get:{query?:Page&InEnv;answer:ApprovalList}}
"/refunds/{id}/cancel":{post:{answer:OneRefund}}
"/refunds/{id}/claim-link":{post:{answer:OneRefund}}
"/refunds/{id}/claim-link/email":{post:{body:{email:string;locale?:string|null};answer:OneRefund}}
"/refunds/{id}/retry":{post:{answer:OneRefund}}
"/exceptions":{get:{query?:Page&Created&InEnv&{status?:"open"|"resolved";type?:ExceptionType;invoice_id?:string;network?:Network};answer:List<Exception>}}
"/exceptions/{id}":{get:{query?:InEnv;answer:Data<Exception>}}
"/exceptions/{id}/resolve":{post:{body:{action:AllowedActions;note?:string|null;invoice_id?:string|null;refund?:{destination?:"claim"|{network:Network;address:string;memo?:string|null}|null;fee_bearer?:"payor"|"merchant"|null;auto_approve?:boolean|null;reason?:Reason|null;amount?:number|null}|null};answer:{success:true;data:Exception;refunds?:Refund_1[]}}}
"/batches":{post:{body:{kind:BatchKind;network:Network;from?:string|null;refund_ids?:"all"|string[]|null;lines?:({token_id:number;token_amount:string;destination:{address:string;memo?:string|null};reference?:string|null})[]|null;token_ids?:number[]|null;valid_for_seconds?:number|null;metadata?:unknown};answer:OneBatch};get:{query?:Page&Created&InEnv&{kind?:BatchKind;status?:BatchStatus;network?:Network};answer:List<Batch>}}
"/batches/{id}":{get:{query?:InEnv&{expand?:"lines"};answer:Data<Batch&{lines?:({line:number;part:number;status:"pending"|"seen"|"paid"|"mismatch"|"released";token_id:number|null;destination:{address:string;memo:string|null}}&Usd<"amount">&Texts<"symbol"|"token_amount"|"units"|"reference">&TextsOrNull<"token_address"|"source_address"|"refund_id"|"tx_hash">)[]}>}}
"/batches/{id}/approve/challenge":{post:{answer:OneApprovalChallenge}}
"/batches/{id}/approve":{post:{body:Approve;answer:OneBatch}}
"/batches/{id}/approvals":{get:{query?:Page&InEnv;answer:ApprovalList}}
"/batches/{id}/cancel":{post:{answer:OneBatch}}
"/batches/{id}/export":{post:{body:{part:number;format:Format};answer:Data<{object:"batch_export";batch_id:string;part:number;format:Format;payload:string;valid_until:number|null;lines:number;simulated:boolean;notices:string[]}>}}
"/batches/{id}/release":{post:{body:{part:number;note:string};answer:OneBatch}}
"/batches/{id}/sent":{post:{body:{part:number;tx_hash:string};answer:OneBatch}}
"/devnet/batches/{id}/simulate":{post:{body:{part:number;outcome:"once"|"twice"|"changed_destination"|"late"|"frozen_recipient"};answer:Data<{object:"batch_simulation";batch_id:string;part:number;tx_hash:string|null}>}}
"/collectable":{get:{query?:InEnv&{network?:Network;token_id?:number;min_value?:number;expand?:"addresses";format?:"csv"|"json"};answer:List<InUsd&{network:Network;token_id:number;symbol:string;token_amount:string;amount:number|null;addresses:number;method:"collector"|"owner";sources?:({address:string;index:number;token_amount:string;amount:number|null}&TextsOrNull<"amount_decimal"|"payee"|"salt">)[]}&TextsOrNull<"amount_decimal"|"estimated_gas">>}}
"/payment-links":{post:{query?:InEnv;body:{title:string;description?:string|null;amount?:number|null;amount_usd?:number|string|null;minimum_amount?:number|null;maximum_amount?:number|null;maximum_payments?:number|null;expires_at?:number|null};answer:OnePaymentLink};get:{query?:Page&InEnv;answer:List<PaymentLink>}}
"/payment-links/{id}":{get:{query?:InEnv;answer:OnePaymentLink};patch:{query?:InEnv;body:{active:boolean};answer:OnePaymentLink}}
"/metrics":{get:{query?:InEnv&{from?:string;to?:string;interval?:"hour"|"day"|"week"|"month";timezone?:string;group_by?:"network"|"token"|"customer"};answer:Data<InUsd&{object:"metrics";from:number;to:number;interval:"hour"|"day"|"week"|"month";timezone:string;totals:{paid_ratio:number|"Infinity"|"-Infinity"|"NaN"|null;median_seconds_to_pay:number|null;webhook_success_ratio:number|"Infinity"|"-Infinity"|"NaN"|null}&Usd<"amount_created"|"amount_paid">&Numbers<"invoices_created"|"invoices_paid"|"invoices_expired"|"invoices_underpaid"|"payments"|"payments_late"|"payments_reverted"|"webhook_attempts">;series:(Usd<"amount_paid">&Numbers<"start"|"invoices_created"|"invoices_paid">)[];groups:({network:Network;payments:number}&Usd<"amount_paid">|{token:number|null;payments:number}&Usd<"amount_paid">|{customer:string|null;payments:number}&Usd<"amount_paid">)[];groups_has_more:boolean}>}}
"/customers/{id}/export":{post:{answer:Data<{object:"customer_export";customer_id:string;environment:Environment;created_at:number;records:{kind:string;data:unknown}[]}>}}
"/customers/{id}/erase":{post:{answer:OneCustomerErasure}}
"/customers/{id}/erasure":{get:{query?:InEnv;answer:OneCustomerErasure}}
"/exports/{kind}":{get:{path:{kind:ExportsKind};query:InEnv&{format?:"csv"|"json";from:string;to:string;metadata_keys?:string};answer:(Record<string,string|null>)[]}}
"/webhooks":{post:{body:{url:string;enabled_events:string[];environment?:string|null;description?:string|null;ordered?:boolean|null;api_version?:string|null};answer:Data<WebhookEndpoint&{secret:string}>};get:{query?:Page&InEnv;answer:List<WebhookEndpoint>}}
"/webhooks/{id}":{get:{answer:OneWebhookEndpoint};patch:{body:{url?:string;enabled_events?:string[];environment?:string|null;description?:string|null;status?:"enabled"|"disabled";ordered?:boolean;api_version?:string|null};answer:OneWebhookEndpoint};delete:{answer:OneWebhookEndpoint}}
"/webhooks/{id}/rotate-secret":{post:{body:{overlap_seconds?:number};answer:Data<{secret:string;previous_secret_expires_at:number|null}>}}
"/webhooks/{id}/test":{post:{answer:Data<{delivery_id:string;event_id:string}>}}
"/webhooks/{id}/replay":{post:{body:{from_event_id?:string|null;created_gte?:number|string|null;created_lte?:number|string|null;types?:string[]|null;only_failed?:boolean|null};answer:Data<{queued:number;has_more:boolean;next_event_id:string|null}>}}
"/webhooks/{id}/deliveries":{get:{query?:Page&{status?:WebhookDeliveryStatus;event_id?:string;type?:string;created_gte?:string};answer:List<WebhookDelivery>}}
"/webhooks/deliveries/{delivery_id}":{get:{answer:Data<WebhookDelivery&{attempts:({status:"succeeded"|"failed"|"timed_out";response_status:number|null}&TextsOrNull<"error"|"response_body">&Numbers<"number"|"latency_ms"|"ended_at">)[]}>}}
"/webhooks/deliveries/{delivery_id}/redeliver":{post:{answer:Data<WebhookDelivery>}}
"/ws/token":{post:{query?:InEnv;body:{scope:Scope;ttl_seconds?:number};answer:Data<{scope:Scope;environment:Environment;format:"event_v1";expires_at:number}&Texts<"token"|"endpoint"|"ws_url">>}}
"/devnet/invoices/{id}/simulate":{post:{body:{action:"pay"|"partial"|"overpay"|"late"|"confirm"|"reorg"|"drop"|"wrong_token"|"wrong_network"|"missing_memo"|"unmatched"|"duplicate"|"dust"|"expire"|"settle"|"fail_settlement";network?:Network;token_id?:number;amount?:number;confirmations?:number};answer:Data<{invoice:Invoice;invoice_payment:InvoicePayment|null;event_ids:string[]}>}}
"/devnet/refunds/{id}/simulate":{post:{body:{outcome:"succeeded"|"failed"};answer:Data<Refund_1>}}
"/devnet/networks/{network}/fault":{post:{body:{mode:"down"|"lagging"|"ok"};answer:Data<{network:Network;mode:"down"|"lagging"|"ok"}>}}
"/devnet/clock/advance":{post:{body:{seconds:number};answer:Data<{now:number;ahead_seconds:number}>}}
}>&Under<"/api/commerce/merchant",{
"/orders":{get:{query?:InEnv&{status?:OrderStatus;customer_id?:string;wallet?:string;wallet_network?:Network;retailer?:Retailer;created_from?:string;created_to?:string;limit?:number;offset?:number};answer:Data<{orders:CommerceOrder[];pagination:Numbers<"limit"|"offset"|"count"|"total">}>}}
"/orders/{order_id}":{get:{query?:InEnv;answer:OneOrder}}
"/orders/{order_id}/cancel":{post:{query?:InEnv;body:unknown;answer:Data<{order_id:string;status:OrderStatus;substatus:Substatus;refund_quote:RefundQuote|null}>}}
"/orders/{order_id}/refund-destination":{put:{query?:InEnv;body:{address:string;network:Network;memo?:string|null};answer:OneOrder}}
"/payments/{order_id}/status":{get:{query?:InEnv;answer:Data<OrderPaymentStatus>}}
"/payments/bulk-status":{post:{query?:InEnv;body:{order_ids:string[]};answer:Data<{payments:OrderPaymentStatus[];not_found:string[]}>}}
"/checkout/estimate":{post:{body:unknown;answer:Data<Estimate>}}
"/checkout/address":{post:{body:unknown;answer:Data<{address_id:string;validated:true;standardized:{address_line2:string|null}&Texts<"first_name"|"last_name"|"street_address"|"city"|"state"|"zip_code"|"country"|"phone"|"email">;shipping_options:(Usd<"amount">&Texts<"id"|"name"|"estimated_days">)[];estimate:Estimate}>}}
"/checkout/invoice":{post:{body:unknown;answer:Data<{payment_session_headers:{"x-session-token":string;"x-signature":string};merchant_id:number;environment:Environment;customer_id:string|null;amount_unit:"usd_millis";status:CommerceOrderStatus;expires_at:number;order:CommerceOrder;endpoints:Texts<"check_order"|"check_payment"|"cancel_order">}&Usd<"amount">&Texts<"order_id"|"invoice_id"|"payment_url"|"session_token"|"signature">>}}
"/carts":{get:{query?:Query;answer:Data<Cart>};post:{query?:Query;body:unknown;answer:Data<Cart>};delete:{query?:Query;body:CustomerIdentity;answer:RemovedItems}}
"/carts/items":{post:{query?:Query;body:unknown;answer:Data<{item_id:string;quantity:number;updated:boolean}>}}
"/carts/items/{item_id}":{put:{query?:Query;body:unknown;answer:Data<CartItem>};delete:{query?:Query;body:CustomerIdentity;answer:RemovedItems}}
"/carts/validate":{post:{query?:Query;body:CustomerIdentity;answer:Data<{valid_items:ValidItems[];invalid_items:({code:Code}&Texts<"product_id"|"retailer"|"message">)[]}>}}
"/carts/totals":{get:{query?:{customer_id?:string;wallet_address?:string;wallet_network?:Network;zip_code?:string};answer:Data<Pricing>}}
}>&Under<"",{
"/api/commerce/devnet/orders/{order_id}/simulate":{post:{body:unknown;answer:Data<{order:CommerceOrder;event_ids:string[];allowed_transitions:("payment_confirmed"|"payment_settled"|"placed"|"shipped"|"delivery_confirmed"|"failed"|"cancelled"|"cancellation_rejected"|"refunded")[]}>}}
}>
