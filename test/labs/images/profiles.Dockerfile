# What the profiles of docker-compose.yml add, in one image for tests: Keycloak and Prometheus. The context is
# made by test/labs/images-lab; BASE is a Debian 12.
ARG BASE
FROM ${BASE}
RUN apt-get update \
  && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
    openjdk-17-jre-headless prometheus wget \
  && rm -rf /var/lib/apt/lists/* \
  && install --directory --owner=65534 --group=65534 /prometheus
COPY --chown=1000:0 keycloak /opt/keycloak
USER 1000:0
