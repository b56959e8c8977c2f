-- When the work of a lease last made progress; null: not since the table has this column.
ALTER TABLE leases ADD progressed_at timestamptz;

-- Instances of a cluster (runtime/leases/Cluster.ts), as effect/cluster keeps them.
CREATE TABLE cluster_runners (
  machine_id serial PRIMARY KEY,
  address varchar(255) NOT NULL UNIQUE,
  runner text NOT NULL,
  healthy boolean NOT NULL DEFAULT true,
  last_heartbeat timestamp NOT NULL DEFAULT now()
);
