import { z } from 'zod';
import { defaultTerminationLog } from '../log/termination-log.ts';
import { fileVariable } from '../protocol/process/environment.ts';
import { tracingVariables } from '../protocol/tracing/tracing-settings.ts';

/** The texts about a variable in docs/configuration.md that cannot be derived from its schema. */
interface Description {
  /** Complete sentences that say what the variable does, and whether a setting weakens security. */
  readonly description: string;
  /** The unit of a number, such as `milliseconds`. */
  readonly unit?: string;
  /** The allowed values of a text. */
  readonly form?: string;
  /** States what applies if the variable is not set, where there is no fixed default value. */
  readonly whenUnset?: string;
  /** When the file of a secret is read, which `<variable>_FILE` names. */
  readonly rereads?: string;
}

function variable<Schema extends z.ZodType>(schema: Schema, description: Description): Schema {
  return schema.meta({ ...description });
}

const Path = z.string().min(1);
const Milliseconds = z.coerce.number().int().min(10).max(3_600_000);

/**
 * Schema of a PIN. An empty or too long PIN is refused here, because a login with it would still
 * use up one of the few attempts that a token allows.
 */
const Pin = z
  .string()
  .min(4, 'has under 4 characters; set it to the PIN of the token')
  .max(255, 'has over 255 characters; set it to the PIN of the token')
  .refine((pin) => pin === pin.trim(), 'begins or ends with a space; remove the space');

const Issuers = z
  .string()
  .transform((text) => text.split(',').map((url) => url.trim().replace(/\/+$/, '')))
  .pipe(
    z
      .array(z.url({ protocol: /^https?$/, error: 'must be URLs, separated by commas' }).max(2048))
      .min(1),
  );

/** Variables that every program of the signer reads: they name the token and describe its keys. */
export const tokenVariables = {
  SIGNER_LIBRARY: variable(Path, {
    form: 'path of a shared library',
    description:
      'The PKCS#11 library of the HSM. Variables that the library itself reads, such as ' +
      '`SOFTHSM2_CONF`, are passed through. The library runs in the process that knows the PIN: ' +
      'let nobody else write the file.',
  }),
  SIGNER_TOKEN_LABEL: variable(z.string().regex(/^[!-~]([ -~]{0,30}[!-~])?$/), {
    form: '1 to 32 printable ASCII characters, without spaces at either end',
    description: 'The label of the token. The token is found by its label, never by its slot.',
  }),
  SIGNER_TOKEN_KEY_BITS: variable(
    z.coerce.number().int().min(2048).max(4096).multipleOf(1024).default(2048),
    {
      unit: 'bits',
      description: 'The size of new RSA keys, which sign access tokens. Existing keys stay.',
    },
  ),
};

/** Variables of the signer and of its HSM process. */
export const processVariables = {
  ...tokenVariables,
  SIGNER_SESSIONS: variable(z.coerce.number().int().min(1).max(64).default(8), {
    unit: 'sessions',
    description:
      'The PKCS#11 sessions of the pool, and so how many operations the HSM does at once. The ' +
      'thread pool of the HSM process follows it, unless `UV_THREADPOOL_SIZE` is set.',
  }),
  SIGNER_QUEUE_LIMIT: variable(z.coerce.number().int().min(1).default(1024), {
    unit: 'operations',
    description:
      'How many operations may wait for a session in each of two queues, which are served in ' +
      'turn: one for batches of entries and one for everything else. Beyond that, requests are ' +
      'answered with 503 `busy`.',
  }),
  SIGNER_KEEP_ALIVE_MS: variable(Milliseconds.default(30_000), {
    unit: 'milliseconds',
    description: 'How often idle sessions are probed, so that a lost HSM is noticed.',
  }),
  LOG_LEVEL: variable(
    z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
    { description: 'The least severe level that the signer logs.' },
  ),
  TERMINATION_LOG: variable(z.string().min(1).default(defaultTerminationLog), {
    form: 'path of a file',
    description:
      'A signer that cannot start, or that an error ends, writes the reason to this file if it ' +
      'exists. Set it to the `terminationMessagePath` of the container if that differs.',
  }),
};

/** Variables of the signer alone. */
export const serverVariables = {
  SIGNER_SOCKET_PATH: variable(Path.max(107), {
    form: 'path of a Unix socket, of at most 107 bytes',
    description:
      'The socket that the signer listens on, with mode 0660. Whoever can open it can have ' +
      'entries and tokens signed: share it with the app only. A socket that a dead signer left ' +
      'is replaced; one that is in use is not.',
  }),
  SIGNER_ISSUERS: variable(Issuers, {
    form: 'URLs, separated by commas',
    description:
      'The URL of the vault, exactly as `HTTP_PUBLIC_URL` of the app. The signer signs only ' +
      'entries and tokens that name it. After a change of the URL, list the earlier one behind ' +
      'it as long as entries of that time may be unsealed.',
  }),
  SIGNER_METRICS_HOST: variable(z.string().min(1).default('127.0.0.1'), {
    form: 'IP address or host name',
    description:
      'The address on which `/metrics` and `/live` are served; `0.0.0.0` in a pod. Nobody needs ' +
      'a key: let only your monitoring, and the probes of Kubernetes, reach it.',
  }),
  SIGNER_METRICS_PORT: variable(z.coerce.number().int().min(0).max(65_535).optional(), {
    unit: 'port',
    whenUnset: 'not served',
    description:
      'The TCP port of `/metrics` ([metrics.md](metrics.md)) and of `/live`, which answers for ' +
      'as long as the process does, whatever the HSM does. With 0 the system picks a free port.',
  }),
  SIGNER_TOKENS_PER_USER: variable(z.coerce.number().int().min(1).max(1_000_000).default(20), {
    unit: 'tokens a second',
    description:
      'How many tokens the signer signs a second for one user. Beyond that it answers 503 ' +
      '`busy`, counts and logs it.',
  }),
  SIGNER_TOKENS_PER_SECOND: variable(z.coerce.number().int().min(1).max(1_000_000).default(1_000), {
    unit: 'tokens a second',
    description: 'How many tokens the signer signs a second for all users.',
  }),
  ...tracingVariables,
  SIGNER_OPERATION_TIMEOUT_MS: variable(Milliseconds.default(10_000), {
    unit: 'milliseconds',
    description:
      'After this time the HSM counts as hanging and the HSM process is killed. Each full batch ' +
      'in progress adds the same time. Below 10000, the limit of the app, requests to an HSM ' +
      'that hangs fail with `hsm_unavailable`; above it, they fail with `timeout`.',
  }),
};

/** The PIN of the HSM process and of the command line. */
export const pinVariables = {
  SIGNER_PIN: variable(Pin, {
    form: '4 to 255 characters',
    description:
      'The PIN of the token. In the environment it weakens security: other processes can read ' +
      'it there. Prefer the file, and let only the user of the signer read it.',
    rereads: 'when the HSM process starts, also after a crash',
  }),
};

/** The security officer's PIN, for the command line. */
export const soPinVariables = {
  SIGNER_SO_PIN: variable(Pin.optional(), {
    form: '4 to 255 characters',
    whenUnset: '`init` creates no token',
    description:
      "The security officer's PIN, with which `node signer/cli.ts init` creates a token. Prefer " +
      'the file, and give it to no running signer.',
    rereads: 'by each command',
  }),
};

const variables = {
  ...serverVariables,
  ...processVariables,
  ...pinVariables,
  ...soPinVariables,
};

/** The variables that hold a secret. */
export const secretNames: readonly string[] = [
  ...Object.keys(pinVariables),
  ...Object.keys(soPinVariables),
];

/** All variables of the programs of the signer, with those that name the files of secrets. */
export const allVariables: readonly string[] = [
  ...Object.keys(variables),
  ...secretNames.map(fileVariable),
];

/** Returns the JSON Schema of all variables, from which docs/configuration.md is made. */
export function describeVariables(): object {
  const description =
    'The signer ([signer.md](signer.md)) and its command line, `node signer/cli.ts`, read these ' +
    'variables.';
  return z.toJSONSchema(z.object(variables).meta({ title: 'Signer', description }), {
    io: 'input',
    unrepresentable: 'any',
  });
}
