import { defaultRoles, RoleName } from '../../db/columns/roles.ts';
import { PostgresUrl } from '../../db/postgres-url.ts';
import { RedisUrl } from '../../redis/redis-url.ts';
import { Count, Text } from '../definition/forms.ts';
import { secretSetting, setting } from '../definition/setting.ts';

const postgresForm = '`postgresql://` URL with the name of a database';

/**
 * Settings of the names of the roles, also for `probatio migrate`. Vaults that share a Postgres
 * server need different names.
 */
export const roleSettings = {
  appRole: setting('DATABASE_APP_ROLE', RoleName.default(defaultRoles.app), {
    form: 'name of a role',
    description:
      'The role that the policies of the database name for users. The login in `DATABASE_URL` is ' +
      'this role or its only member. `probatio migrate` needs the same value.',
  }),
  serviceRole: setting('DATABASE_SERVICE_ROLE', RoleName.default(defaultRoles.service), {
    form: 'name of a role',
    description: 'The same for the login in `DATABASE_SERVICE_URL`.',
  }),
};

/** Settings of the database. The app has two logins, so that row-level security binds requests. */
export const databaseSettings = {
  title: 'Database',
  introduction:
    'Postgres needs three logins ([README](../README.md#running-it-elsewhere)); the app uses two ' +
    'of them. The URLs hold passwords: treat them as secrets. With `?sslmode=verify-full` the ' +
    'app connects by TLS, to a server that the URL names by its host name; `sslrootcert` names ' +
    'the PEM file of its authority. `sslcert`, `sslkey`, `host` (of a Unix socket) and ' +
    '`application_name` are the other parameters that a URL may have.',
  settings: {
    url: secretSetting('DATABASE_URL', PostgresUrl, {
      form: postgresForm,
      rereads: 'at each new connection',
      description:
        'The database, with the login `probatio_app`, which row-level security restricts to the ' +
        'rows of one user per transaction. A login that is not fit is refused at the start.',
    }),
    serviceUrl: secretSetting('DATABASE_SERVICE_URL', PostgresUrl, {
      form: postgresForm,
      rereads: 'at each new connection',
      description:
        'The same database, with the login `probatio_service` of the workers and of ' +
        'registration. The commands `probatio grant`, `revoke` and `restored` use it too.',
    }),
    ...roleSettings,
    poolSize: setting('DATABASE_POOL_SIZE', Count.default(20), {
      unit: 'connections',
      description:
        'The most connections that one process opens for each of the two logins. Postgres must ' +
        'allow twice as many for every process of the app, and one more, on which the health ' +
        'checks ask.',
    }),
  },
};

/** Settings of Redis. */
export const redisSettings = {
  title: 'Redis',
  settings: {
    url: secretSetting('REDIS_URL', RedisUrl, {
      form: '`redis://` URL, or `rediss://` for TLS',
      rereads: 'at each new connection, for user and password',
      description:
        'The Redis server, which holds logins in progress, rate limits, the queue of jobs and ' +
        'wake-ups of change feeds. A loss of its data does no lasting harm. The URL may hold a ' +
        'password.',
    }),
  },
};

/** Settings of the connection to the signer. */
export const signerSettings = {
  title: 'Connection to the signer',
  introduction: 'The variables of the signer itself are [below](#signer).',
  settings: {
    socketPath: setting('SIGNER_SOCKET_PATH', Text.max(107), {
      form: 'path of a Unix socket, of at most 107 bytes',
      description: 'The socket that the signer listens on, as in its own `SIGNER_SOCKET_PATH`.',
    }),
  },
};
