import { z } from 'zod';
import { allVariables, tokenVariables } from '../config/variables.ts';
import { ConfigError } from '../protocol/process/config-error.ts';
import { readEnvironment } from '../protocol/process/environment.ts';
import { parseSettings } from '../protocol/process/parse-settings.ts';
import { maxGeneration } from '../protocol/protocol.ts';

const Name = z.string().regex(/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/);
const Path = z.string().min(1);

/** The variables of the provisioner; the chart sets all of them. */
const variables = {
  ...tokenVariables,
  PROVISIONER_NAMESPACE: Name.meta({ form: 'name of the namespace of the vault' }),
  PROVISIONER_TOKEN_SECRET: Name.meta({ form: 'name of the Secret of the token' }),
  PROVISIONER_TOKEN_DIRECTORY: Path.default('/var/lib/probatio/tokens').meta({
    form: 'path of the directory that the configuration of SoftHSM names',
  }),
  PROVISIONER_KEYS_SECRET: Name.optional().meta({ form: 'name of the Secret of API keys' }),
  PROVISIONER_HASHES_SECRET: Name.optional().meta({ form: 'name of the Secret of their hashes' }),
  PROVISIONER_DEPLOYMENTS: z
    .string()
    .default('')
    .transform((text) => text.split(',').filter((name) => name !== ''))
    .pipe(z.array(Name))
    .meta({ form: 'names of Deployments, separated by commas' }),
  PROVISIONER_JOB_UID: z.uuid().optional().meta({ form: 'uid of the Job of this pod' }),
  PROVISIONER_GENERATION: z.coerce.number().int().min(1).max(maxGeneration).optional().meta({
    form: 'generation of the key to make',
  }),
  PROVISIONER_ACCOUNT_DIRECTORY: Path.default('/var/run/secrets/kubernetes.io/serviceaccount').meta(
    { form: 'path of the directory with token and ca.crt of the account' },
  ),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'fatal']).default('info'),
};

export type ProvisionerSettings = ReturnType<typeof loadProvisionerSettings>;

/** The settings of a Job that makes a key. */
export type KeygenSettings = ProvisionerSettings & { readonly jobUid: string };

/** Loads the settings. Throws ConfigError with every problem. */
export function loadProvisionerSettings(env: NodeJS.ProcessEnv) {
  const environment = readEnvironment(env, {
    settings: Object.keys(variables),
    secrets: [],
    others: allVariables,
    prefixes: ['PROVISIONER_'],
  });
  const parsed = parseSettings(variables, environment);
  const values = parsed.values as z.output<z.ZodObject<typeof variables>>;
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '443' } = env;
  const { PROVISIONER_KEYS_SECRET: keysSecret, PROVISIONER_HASHES_SECRET: hashesSecret } = values;
  const problems = [...environment.problems, ...parsed.problems];
  if (host === '')
    problems.push('KUBERNETES_SERVICE_HOST: is not set; run this program in a pod of Kubernetes');
  if (!/^\d{1,5}$/.test(port)) problems.push('KUBERNETES_SERVICE_PORT: is no port; correct it');
  if ((keysSecret === undefined) !== (hashesSecret === undefined))
    problems.push('PROVISIONER_KEYS_SECRET: set PROVISIONER_HASHES_SECRET too, or neither');
  if (problems.length > 0) throw new ConfigError(problems);
  return {
    apiServer: { host, port: Number(port), accountDirectory: values.PROVISIONER_ACCOUNT_DIRECTORY },
    namespace: values.PROVISIONER_NAMESPACE,
    tokenSecret: values.PROVISIONER_TOKEN_SECRET,
    tokenDirectory: values.PROVISIONER_TOKEN_DIRECTORY,
    /** The Secrets of the internal API keys; undefined if others make them. */
    internalKeys:
      keysSecret === undefined || hashesSecret === undefined
        ? undefined
        : { keysSecret, hashesSecret },
    deployments: values.PROVISIONER_DEPLOYMENTS,
    jobUid: values.PROVISIONER_JOB_UID,
    generation: values.PROVISIONER_GENERATION,
    library: values.SIGNER_LIBRARY,
    tokenLabel: values.SIGNER_TOKEN_LABEL,
    rsaBits: values.SIGNER_TOKEN_KEY_BITS,
    logLevel: values.LOG_LEVEL,
    unknown: environment.unknown,
  };
}
