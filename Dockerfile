# An image of the service: its bundle and Node, with an external PostgreSQL. `docker build -t tillwire .`
# Guide: modules/docs/guides/deployment.md. Both bases can be others of your own: any Linux with glibc; BUILD_BASE with
# npm and Node 20 or newer.
ARG BUILD_BASE=node:24-bookworm-slim
ARG BASE=debian:bookworm-slim

FROM ${BUILD_BASE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
# The Node that the lock file names, for the processor that this image is built on.
RUN npm run build -- /out/tillwire && mkdir -m 700 /out/data \
  && cp node_modules/node-linux-*/bin/node /out/tillwire/node \
  && printf '#!/bin/sh\nexec /opt/tillwire/node /opt/tillwire/modules/cli/bin.cjs "$@"\n' \
    > /out/tillwire/tillwire && chmod 755 /out/tillwire/tillwire

FROM ${BASE}
LABEL org.opencontainers.image.title="Tillwire" \
  org.opencontainers.image.description="A crypto payments service that merchants and platforms run themselves" \
  org.opencontainers.image.licenses="MIT"
# Certificates for nodes, price sources and webhooks come with Node.
COPY --from=build /out/tillwire /opt/tillwire
# An account without a name in /etc/passwd is enough: only the embedded database asks for one, and it is not in here.
# The folder is owned by the account, so that a new volume is as well.
COPY --from=build --chown=10001:10001 /out/data /var/lib/tillwire
USER 10001:10001
WORKDIR /var/lib/tillwire
ENV PATH=/opt/tillwire:/usr/local/bin:/usr/bin:/bin \
  NODE_ENV=production \
  TILLWIRE__DATA__DIRECTORY=/var/lib/tillwire \
  TILLWIRE__HTTP__HOST=0.0.0.0
EXPOSE 8080
VOLUME /var/lib/tillwire
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["/opt/tillwire/node", "-e", "fetch('http://127.0.0.1:' + (process.env.TILLWIRE__HTTP__PORT || 8080) + '/health/ready').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Of every command that is run in the container, too.
ENV TILLWIRE_CONFIG=/etc/tillwire/config.jsonc
ENTRYPOINT ["tillwire"]
CMD ["start"]
