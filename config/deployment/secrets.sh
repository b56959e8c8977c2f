#!/bin/sh
# Makes the secrets that compose.yaml hands over as files: .secrets/ in the current folder. What is there stays as it is,
# because another master key would leave the database unreadable.
set -eu
mkdir -p .secrets
chmod 0700 .secrets
for name in database_password master_key rpc_token ops_token; do
  [ -e ".secrets/$name" ] && continue
  od -A n -t x1 -N 32 /dev/urandom | tr -d ' \n' >".secrets/$name"
  # The folder is closed to others. The file is open, because the service reads it in a container as another account.
  chmod 0644 ".secrets/$name"
  echo "made .secrets/$name"
done
