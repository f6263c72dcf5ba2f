# What a vault needs of others, in one image for tests on a cluster: Postgres, Redis, an S3 server and a mail
# server. The context is made by test/labs/cluster-lab; BASE is a Debian 12, APP the image of the app.
ARG BASE
ARG APP
FROM ${APP} AS app
FROM ${BASE}
RUN apt-get update \
  && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends redis-server \
  && rm -rf /var/lib/apt/lists/*
COPY --from=app /usr/local/bin/node /usr/local/bin/node
COPY postgres /opt/postgres
COPY versitygw start-postgres /usr/local/bin/
COPY mail.cjs /opt/
# initdb wants its user to have a name.
RUN echo 'backends:x:10003:10003::/nonexistent:/usr/sbin/nologin' >>/etc/passwd
USER 10003:10003
