import { dirname } from 'node:path';
import { statSync } from 'node:fs';
import type { z } from 'zod';
import { ConfigError } from '../protocol/process/config-error.ts';
import {
  readEnvironment,
  type Environment,
  type KnownVariables,
} from '../protocol/process/environment.ts';
import { findFileProblem } from '../protocol/process/named-file.ts';
import { findDirectoryProblem } from '../protocol/socket-directory.ts';
import { parseSettings } from '../protocol/process/parse-settings.ts';
import type { TracingSettings } from '../protocol/tracing/tracing-settings.ts';
import {
  allVariables,
  pinVariables,
  processVariables,
  secretNames,
  serverVariables,
  soPinVariables,
  tokenVariables,
} from './variables.ts';

/** The values of variables, by their names. */
type ValuesOf<Schemas extends z.ZodRawShape> = z.output<z.ZodObject<Schemas>>;

const serverSchemas = { ...processVariables, ...serverVariables };

export interface SignerConfig {
  readonly socketPath: string;
  /** The URLs of the vaults that the signer serves. */
  readonly issuers: readonly string[];
  /** Tokens a second for each user. */
  readonly tokensPerUser: number;
  /** Tokens a second for all users. */
  readonly tokensPerSecond: number;
  readonly metrics: {
    readonly host: string;
    /** The port of `/metrics` and `/live`; undefined if they are not served. */
    readonly port: number | undefined;
  };
  readonly tracing: TracingSettings;
  readonly sessions: number;
  readonly operationTimeoutMs: number;
  readonly logLevel: string;
  /** Variables that begin like those of the signer and that it does not know. */
  readonly unknown: readonly string[];
  /** The settings that are weaker than recommended, each as `VARIABLE: why`. */
  readonly weaknesses: readonly string[];
}

/**
 * Loads the signer's own configuration, and finds the problems of that of the HSM process, but does
 * not read the file of the PIN. Throws ConfigError.
 */
export function loadSignerConfig(env: NodeJS.ProcessEnv): SignerConfig {
  const environment = read(env, { ...serverSchemas, ...pinVariables }, true);
  // With a file, the value is its path, whose form says nothing.
  const { SIGNER_PIN: file } = environment.files;
  const ofPin = file === undefined ? pinVariables : {};
  const values = load({ ...serverSchemas, ...ofPin }, environment, (settings) => [
    ...findLibraryProblems(settings.SIGNER_LIBRARY),
    ...findSocketProblems(settings.SIGNER_SOCKET_PATH),
  ]);
  return {
    socketPath: values.SIGNER_SOCKET_PATH,
    issuers: values.SIGNER_ISSUERS,
    tokensPerUser: values.SIGNER_TOKENS_PER_USER,
    tokensPerSecond: values.SIGNER_TOKENS_PER_SECOND,
    metrics: { host: values.SIGNER_METRICS_HOST, port: values.SIGNER_METRICS_PORT },
    tracing: {
      endpoint: values.OTEL_EXPORTER_OTLP_ENDPOINT,
      sampler: values.OTEL_TRACES_SAMPLER,
      share: values.OTEL_TRACES_SAMPLER_ARG,
    },
    sessions: values.SIGNER_SESSIONS,
    operationTimeoutMs: values.SIGNER_OPERATION_TIMEOUT_MS,
    logLevel: values.LOG_LEVEL,
    unknown: environment.unknown,
    weaknesses: [
      ...(file === undefined ? ['SIGNER_PIN: other processes can read the environment'] : []),
      ...environment.exposed.map((name) => `${name}: every user may read the file`),
    ],
  };
}

/** Loads the configuration of the HSM process. Throws ConfigError. */
export function loadHsmConfig(env: NodeJS.ProcessEnv) {
  const schemas = { ...processVariables, ...pinVariables };
  const values = load(schemas, read(env, schemas));
  return {
    library: values.SIGNER_LIBRARY,
    tokenLabel: values.SIGNER_TOKEN_LABEL,
    pin: values.SIGNER_PIN,
    rsaBits: values.SIGNER_TOKEN_KEY_BITS,
    sessions: values.SIGNER_SESSIONS,
    queueLimit: values.SIGNER_QUEUE_LIMIT,
    keepAliveMs: values.SIGNER_KEEP_ALIVE_MS,
    logLevel: values.LOG_LEVEL,
  };
}

/** Loads the configuration of the command line tool. Throws ConfigError. */
export function loadToolConfig(env: NodeJS.ProcessEnv) {
  const schemas = { ...tokenVariables, ...pinVariables, ...soPinVariables };
  const values = load(schemas, read(env, schemas), ({ SIGNER_LIBRARY: library }) =>
    findLibraryProblems(library),
  );
  return {
    library: values.SIGNER_LIBRARY,
    tokenLabel: values.SIGNER_TOKEN_LABEL,
    pin: values.SIGNER_PIN,
    soPin: values.SIGNER_SO_PIN,
    rsaBits: values.SIGNER_TOKEN_KEY_BITS,
  };
}

/** Reads the variables of one program of the signer; those of the others may stand beside them. */
function read(
  env: NodeJS.ProcessEnv,
  schemas: z.ZodRawShape,
  onlyInspectsFiles = false,
): Environment {
  const settings = Object.keys(schemas);
  const known: KnownVariables = {
    settings,
    secrets: secretNames.filter((name) => settings.includes(name)),
    others: allVariables,
    prefixes: ['SIGNER_'],
    onlyInspectsFiles,
  };
  return readEnvironment(env, known);
}

/** Parses variables. `findMore` finds problems of the values of those that are valid. */
function load<Schemas extends Readonly<Record<string, z.ZodType>>>(
  schemas: Schemas,
  environment: Environment,
  findMore: (values: Partial<ValuesOf<Schemas>>) => readonly string[] = () => [],
): ValuesOf<Schemas> {
  const parsed = parseSettings(schemas, environment);
  const values = parsed.values as ValuesOf<Schemas>;
  const problems = [...environment.problems, ...parsed.problems, ...findMore(values)];
  if (problems.length > 0) throw new ConfigError(problems);
  return values;
}

/** Finds problems of the library. One that is named without a folder is left to the linker. */
function findLibraryProblems(library: string | undefined): readonly string[] {
  if (library === undefined || !library.includes('/')) return [];
  const problem = findFileProblem(library, { isTrusted: true });
  return problem === undefined ? [] : [`SIGNER_LIBRARY: ${problem}`];
}

function findSocketProblems(path: string | undefined): readonly string[] {
  if (path === undefined) return [];
  try {
    if (statSync(dirname(path), { throwIfNoEntry: false })?.isDirectory() !== true) {
      return ['SIGNER_SOCKET_PATH: is in a directory that does not exist; create the directory'];
    }
    if (statSync(path, { throwIfNoEntry: false })?.isSocket() === false) {
      return ['SIGNER_SOCKET_PATH: names something that is no socket; choose another path'];
    }
    const problem = findDirectoryProblem(path);
    return problem === undefined ? [] : [`SIGNER_SOCKET_PATH: ${problem}`];
  } catch {
    return ['SIGNER_SOCKET_PATH: is in a directory that this process may not use; let its user in'];
  }
}
