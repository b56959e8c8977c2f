-- Up to which index instances have said that they derive a wallet's addresses (runtime/chains/DerivationClaims.ts). It
-- only keeps two instances from deriving the same ones: which are derived is in `wallet_addresses`.
CREATE TABLE wallet_derivations (
  fingerprint text PRIMARY KEY,
  claimed_to bigint NOT NULL
);
