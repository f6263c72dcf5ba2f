import { z } from 'zod';
import { ConfigError } from '../../signer/protocol/process/config-error.ts';
import { readEnvironment } from '../../signer/protocol/process/environment.ts';
import { parseSettings } from '../../signer/protocol/process/parse-settings.ts';

const Name = z.string().regex(/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/);
const Port = z.coerce.number().int().min(1).max(65_535);

/** The variables of the operator; the chart sets all of them. */
const variables = {
  OPERATOR_NAMESPACE: Name.meta({ form: 'name of the namespace of the vault' }),
  OPERATOR_IDENTITY: Name.meta({ form: 'name of this pod' }),
  OPERATOR_LEASE: Name.default('probatio-operator').meta({ form: 'name of a Lease' }),
  OPERATOR_SELECTOR: z.string().min(3).meta({ form: 'labels of the release, as key=value,…' }),
  OPERATOR_INTERNAL_PORT: Port.default(8081),
  OPERATOR_KEY_CREATION: z.enum(['app', 'job']).default('app'),
  OPERATOR_PROBES_HOST: z.string().min(1).default('0.0.0.0'),
  OPERATOR_PROBES_PORT: Port.default(8082),
  INTERNAL_API_KEY_FILE: z.string().min(1).meta({ form: 'path of the file of the key' }),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'fatal']).default('info'),
};

export type Settings = ReturnType<typeof loadSettings>;

/** Loads the settings. Throws ConfigError with every problem. */
export function loadSettings(env: NodeJS.ProcessEnv) {
  const environment = readEnvironment(env, {
    settings: Object.keys(variables),
    secrets: [],
    prefixes: ['OPERATOR_'],
  });
  const parsed = parseSettings(variables, environment);
  const problems = [...environment.problems, ...parsed.problems];
  if (problems.length > 0) throw new ConfigError(problems);
  const values = parsed.values as z.output<z.ZodObject<typeof variables>>;
  return {
    namespace: values.OPERATOR_NAMESPACE,
    identity: values.OPERATOR_IDENTITY,
    leaseName: values.OPERATOR_LEASE,
    selector: values.OPERATOR_SELECTOR,
    internalPort: values.OPERATOR_INTERNAL_PORT,
    /** Whether the app makes keys in its HSM, or a Job does in a Secret. */
    keyCreation: values.OPERATOR_KEY_CREATION,
    probes: { host: values.OPERATOR_PROBES_HOST, port: values.OPERATOR_PROBES_PORT },
    keyFile: values.INTERNAL_API_KEY_FILE,
    logLevel: values.LOG_LEVEL,
    unknown: environment.unknown,
  };
}
