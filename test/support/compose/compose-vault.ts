import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import { projectFile } from '../../../app/dev/files/project.ts';
import { temporaryDirectory } from '../processes/processes.ts';

const run = promisify(execFile);

export interface Output {
  readonly code: number;
  /** The text of both output streams. */
  readonly text: string;
}

/** The part of `docker inspect` that tests read. */
export interface Inspected {
  readonly Config: { readonly Labels: Readonly<Record<string, string>> };
  readonly State: { readonly ExitCode: number };
  readonly HostConfig: {
    readonly ReadonlyRootfs: boolean;
    readonly Privileged: boolean;
    readonly CapAdd: readonly string[] | null;
    readonly CapDrop: readonly string[] | null;
    readonly SecurityOpt: readonly string[] | null;
    readonly PortBindings: Readonly<Record<string, readonly { readonly HostIp: string }[]>> | null;
  };
  readonly Mounts: readonly { readonly Name?: string; readonly RW: boolean }[];
}

/** A project of docker-compose.yml, with the images of the lab. */
export interface ComposeVault {
  readonly baseUrl: string;
  readonly mailDirectory: string;
  /** Runs a command of Compose. */
  compose(...args: readonly string[]): Promise<Output>;
  /** Resolves with the containers of the project by their services, those that ended included. */
  inspect(): Promise<ReadonlyMap<string, Inspected>>;
  /** Resolves with the directory of a volume on this machine. */
  directoryOf(volume: string): Promise<string>;
}

/**
 * Describes a project without containers. It is removed with its volumes when the test ends.
 * @param settings Variables of docker-compose.yml.
 */
export async function createComposeVault(
  t: ExecutionContext,
  settings: Readonly<Record<string, string>> = {},
): Promise<ComposeVault> {
  const project = `vault-${randomBytes(4).toString('hex')}`;
  const mailDirectory = await temporaryDirectory(t);
  await chmod(mailDirectory, 0o777);
  const program = variable('COMPOSE_LAB_COMPOSE');
  const files = ['docker-compose.yml', 'test/labs/images/compose.yml'].map((name) =>
    projectFile(name),
  );
  const env = {
    ...process.env,
    APP_IMAGE: 'probatio-lab/app:lab',
    SIGNER_IMAGE: 'probatio-lab/signer:lab',
    MAIL_DIRECTORY: mailDirectory,
    ...settings,
  };
  const common = [`--project-name=${project}`, '--ansi=never', ...files.map((f) => `--file=${f}`)];
  const compose = (...args: readonly string[]) => runBoth(program, [...common, ...args], env);
  t.teardown(() => compose('--profile=*', 'down', '--volumes', '--timeout=10'));
  return {
    baseUrl: 'http://127.0.0.1:8080',
    mailDirectory,
    compose,
    async inspect() {
      const { text } = await compose('ps', '--all', '--quiet');
      const ids = text.split('\n').filter((line) => /^[0-9a-f]{64}$/.test(line));
      if (ids.length === 0) return new Map();
      const found = JSON.parse(await docker('inspect', ...ids)) as readonly Inspected[];
      return new Map(found.map((each) => [serviceOf(each), each] as const));
    },
    directoryOf: (volume) =>
      docker('volume', 'inspect', '--format={{.Mountpoint}}', `${project}_${volume}`),
  };
}

const serviceOf = ({ Config: { Labels } }: Inspected) => Labels['com.docker.compose.service'] ?? '';

/**
 * Runs Debian's client of Docker, as another one may stand before it in the path, and resolves with
 * what it prints.
 */
export async function docker(...args: readonly string[]): Promise<string> {
  const { stdout } = await run('/usr/bin/docker', args, { maxBuffer: 2 ** 26 });
  return stdout.trim();
}

async function runBoth(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Output> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, text: `${stdout}${stderr}` });
      else reject(new Error(`${program} did not run`, { cause: error }));
    });
  });
}

/** Returns a variable that .ci/compose sets. */
function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`run .ci/compose, which sets ${name}`);
  return value;
}
