-- What each instance of a cluster does (runtime/leases/Division.ts): a row for each of its roles, with the names of all
-- work of that role which it knows. The address is that of cluster_runners.
CREATE TABLE cluster_roles (
  address text NOT NULL,
  role text NOT NULL,
  names text[] NOT NULL,
  PRIMARY KEY (address, role)
);
