import { z } from 'zod';
import { PostgresUrl } from '../../db/postgres-url.ts';
import { Count, Text } from '../definition/forms.ts';
import { setting } from '../definition/setting.ts';

const postgresForm = '`postgresql://` URL with the name of a database';

/** Settings of the database. The app has two logins, so that row-level security binds requests. */
export const databaseSettings = {
  title: 'Database',
  introduction:
    'Postgres needs three logins ([README](../README.md#running-it-elsewhere)); the app uses two ' +
    'of them. The URLs hold passwords: treat them as secrets.',
  settings: {
    url: setting('DATABASE_URL', PostgresUrl, {
      form: postgresForm,
      description:
        'The database, with the login `probatio_app`, which row-level security restricts to the ' +
        'rows of one user per transaction.',
    }),
    serviceUrl: setting('DATABASE_SERVICE_URL', PostgresUrl, {
      form: postgresForm,
      description:
        'The same database, with the login `probatio_service` of the workers and of ' +
        'registration. The commands `probatio grant`, `revoke` and `restored` use it too.',
    }),
    poolSize: setting('DATABASE_POOL_SIZE', Count.default(20), {
      unit: 'connections',
      description:
        'The most connections that one process opens for each of the two logins. Postgres must ' +
        'allow twice as many for every process of the app.',
    }),
  },
};

/** Settings of Redis. */
export const redisSettings = {
  title: 'Redis',
  settings: {
    url: setting('REDIS_URL', z.url({ protocol: /^rediss?$/ }), {
      form: '`redis://` URL, or `rediss://` for TLS',
      description:
        'The Redis server, which holds logins in progress, rate limits and wake-ups of change ' +
        'feeds. A loss of its data does no lasting harm. The URL may hold a password.',
    }),
  },
};

/** Settings of the connection to the signer. */
export const signerSettings = {
  title: 'Connection to the signer',
  introduction: 'The variables of the signer itself are [below](#signer).',
  settings: {
    socketPath: setting('SIGNER_SOCKET_PATH', Text, {
      form: 'path of a Unix socket',
      description: 'The socket that the signer listens on, as in its own `SIGNER_SOCKET_PATH`.',
    }),
  },
};
