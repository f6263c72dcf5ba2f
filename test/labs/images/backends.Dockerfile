# What a vault needs of others, in one image for tests on a cluster and of docker-compose.yml: Postgres, Redis,
# an S3 server, a mail server and the proxy of an ingress. The context is made by test/labs/images-lab; BASE is
# a Debian 12, APP the image of the app. The commands in public/ are those that docker-compose.yml runs in
# public images.
ARG BASE
ARG APP
FROM ${APP} AS app
FROM ${BASE}
RUN apt-get update \
  && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends redis-server nginx-light \
  && rm -rf /var/lib/apt/lists/*
COPY --from=app /usr/local/bin/node /usr/local/bin/node
COPY postgres /opt/postgres
COPY versitygw start-postgres /usr/local/bin/
COPY mail.cjs /opt/
COPY public/postgres public/pg_isready public/wget /usr/local/bin/
COPY public/mailpit /mailpit
# initdb wants its user to have a name.
RUN echo 'backends:x:10003:10003::/nonexistent:/usr/sbin/nologin' >>/etc/passwd \
  && echo 'postgres:x:999:999::/nonexistent:/usr/sbin/nologin' >>/etc/passwd \
  && install --directory --owner=999 --group=999 /var/lib/postgresql \
  && ln --symbolic redis-server /usr/bin/valkey-server && ln --symbolic redis-cli /usr/bin/valkey-cli
USER 10003:10003
