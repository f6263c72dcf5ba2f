import { z } from 'zod';

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
}

function variable<Schema extends z.ZodType>(schema: Schema, description: Description): Schema {
  return schema.meta({ ...description });
}

const Path = z.string('is missing').min(1);
const Milliseconds = z.coerce.number().int().min(10).max(3_600_000);

/**
 * Schema of a PIN. An empty or too long PIN is refused here, because a login with it would still
 * use up one of the few attempts that a token allows.
 */
const Pin = z.string('is missing').min(4, 'is too short').max(255, 'is too long');

/** Variables that every program of the signer reads: they name the token and describe its keys. */
export const tokenVariables = {
  SIGNER_LIBRARY: variable(Path, {
    form: 'path of a shared library',
    description:
      'The PKCS#11 library of the HSM. Variables that the library itself reads, such as ' +
      '`SOFTHSM2_CONF`, are passed through. The library runs in the process that knows the PIN: ' +
      'let nobody else write the file.',
  }),
  SIGNER_TOKEN_LABEL: variable(
    z.string('is missing').regex(/^[!-~]([ -~]{0,30}[!-~])?$/, 'must be 1 to 32 ASCII characters'),
    {
      form: '1 to 32 printable ASCII characters, without spaces at either end',
      description: 'The label of the token. The token is found by its label, never by its slot.',
    },
  ),
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
};

/** Variables of the signer alone. */
export const serverVariables = {
  SIGNER_SOCKET_PATH: variable(z.string('is missing').min(1).max(107), {
    form: 'path of a Unix socket, of at most 107 bytes',
    description:
      'The socket that the signer listens on, with mode 0660. Whoever can open it can have ' +
      'entries and tokens signed: share it with the app only. A socket that a dead signer left ' +
      'is replaced; one that is in use is not.',
  }),
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
    whenUnset: 'required without `SIGNER_PIN_FILE`',
    description:
      'The PIN of the token. It weakens security: other processes can read the environment. ' +
      'Prefer `SIGNER_PIN_FILE`, which takes precedence.',
  }),
};

/** The security officer's PIN, for the command line. */
export const soPinVariables = {
  SIGNER_SO_PIN: variable(Pin.optional(), {
    form: '4 to 255 characters',
    whenUnset: '`init` creates no token',
    description:
      "The security officer's PIN, with which `node signer/cli.ts init` creates a token. Prefer " +
      '`SIGNER_SO_PIN_FILE`, which takes precedence, and give it to no running signer.',
  }),
};

/** Variables that name the file of a secret, in place of the secret itself. */
const fileVariables = {
  SIGNER_PIN_FILE: variable(Path.optional(), {
    form: 'path of a file',
    whenUnset: 'required without `SIGNER_PIN`',
    description:
      'The file that holds the PIN; spaces and line breaks at its end are dropped. Let only the ' +
      'user of the signer read it.',
  }),
  SIGNER_SO_PIN_FILE: variable(Path.optional(), {
    form: 'path of a file',
    description: "The file that holds the security officer's PIN.",
  }),
};

/** Returns the JSON Schema of all variables, from which docs/configuration.md is made. */
export function describeVariables(): object {
  const variables = z.object({
    ...serverVariables,
    ...processVariables,
    ...fileVariables,
    ...pinVariables,
    ...soPinVariables,
  });
  const description =
    'The signer ([signer.md](signer.md)) and its command line, `node signer/cli.ts`, read these ' +
    'variables. A variable that is empty counts as set.';
  return z.toJSONSchema(variables.meta({ title: 'Signer', description }), { io: 'input' });
}
