import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { CoreV1Api, RbacAuthorizationV1Api, type V1Role } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { projectFile } from '../../../app/dev/files/project.ts';
import { connect } from '../../../k8s/cluster/connection.ts';
import { unpackTokens } from '../../../signer/provisioner/token-archive.ts';
import { namespace, type ApiServer } from '../../operator/lab/api-server.ts';

export const tokenSecret = 'vault-token';
export const keysSecret = 'vault-api-keys';
export const hashesSecret = 'vault-internal-api';
export const deployment = 'vault';
const library = '/usr/lib/softhsm/libsofthsm2.so';

export type Account = 'bootstrap' | 'keygen';

/** Gives the accounts of both Jobs the Roles of the chart, and a directory as in their pods. */
export async function createAccount(server: ApiServer, account: Account): Promise<string> {
  const template = await readFile(
    projectFile(`charts/probatio/templates/softhsm/${account}.yaml`),
    'utf8',
  );
  const found = template.split('\n---\n').find((part) => /^kind: Role$/m.test(part)) ?? '';
  const rules = found
    .slice(found.indexOf('\nrules:'))
    .replaceAll('{{ include "probatio.tokenSecret" . }}', tokenSecret)
    .replaceAll('{{ include "probatio.apiKeysSecret" . }}', keysSecret)
    .replaceAll('{{ $deployments | toJson }}', JSON.stringify([deployment]));
  const metadata = { name: account };
  const rbac = connect(server.admin, RbacAuthorizationV1Api);
  const role = { metadata, ...(parse(rules) as Pick<V1Role, 'rules'>) };
  await rbac.createNamespacedRole({ namespace, body: role });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: account };
  const subjects = [{ kind: 'ServiceAccount', name: account, namespace }];
  await rbac.createNamespacedRoleBinding({ namespace, body: { metadata, roleRef, subjects } });
  const core = connect(server.admin, CoreV1Api);
  await core.createNamespacedServiceAccount({ namespace, body: { metadata } });
  const request = { spec: { audiences: [], expirationSeconds: 3_600 } };
  const place = { namespace, name: account };
  const { status } = await core.createNamespacedServiceAccountToken({ ...place, body: request });
  const directory = await mkdtemp(join(tmpdir(), 'probatio-account-'));
  await writeFile(join(directory, 'token'), String(status?.token));
  await copyFile(server.address.caFile, join(directory, 'ca.crt'));
  return directory;
}

export interface Run {
  readonly code: number | null;
  /** The text of both output streams. */
  readonly log: string;
}

interface RunOptions {
  readonly server: ApiServer;
  readonly accountDirectory: string;
  readonly args: readonly string[];
  readonly settings?: Readonly<Record<string, string>>;
  /** Kills the process. */
  readonly kill?: AbortSignal;
}

/** Runs the provisioner as its image does, with a directory of tokens of its own. */
export async function runProvisioner(options: RunOptions): Promise<Run> {
  const { server, accountDirectory, args, settings = {}, kill } = options;
  return withTokens(async ({ directory, config }) => {
    const child = spawn(process.execPath, [projectFile('signer/provisioner/main.ts'), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        SOFTHSM2_CONF: config,
        KUBERNETES_SERVICE_HOST: '127.0.0.1',
        KUBERNETES_SERVICE_PORT: String(server.address.port),
        PROVISIONER_ACCOUNT_DIRECTORY: accountDirectory,
        PROVISIONER_NAMESPACE: namespace,
        PROVISIONER_TOKEN_SECRET: tokenSecret,
        PROVISIONER_TOKEN_DIRECTORY: directory,
        SIGNER_LIBRARY: library,
        SIGNER_TOKEN_LABEL: 'probatio',
        ...settings,
      },
    });
    kill?.addEventListener('abort', () => child.kill('SIGKILL'));
    const [out, err, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close') as Promise<[number | null]>,
    ]);
    return { code, log: out + err };
  });
}

interface Tokens {
  readonly directory: string;
  readonly config: string;
}

/** Runs `work` with an empty directory of tokens of SoftHSM. */
export async function withTokens<T>(work: (tokens: Tokens) => Promise<T>): Promise<T> {
  const parent = await mkdtemp(join(tmpdir(), 'probatio-tokens-'));
  const directory = join(parent, 'tokens');
  const config = join(parent, 'softhsm2.conf');
  await mkdir(directory);
  await writeFile(config, `directories.tokendir = ${directory}\n`);
  try {
    return await work({ directory, config });
  } finally {
    await rm(parent, { recursive: true, force: true });
  }
}

/** Lists the labels of the signing keys in the Secret of the token, by the tool of the signer. */
export async function labelsIn(archive: Buffer, pin: string): Promise<readonly string[]> {
  return withTokens(async ({ directory, config }) => {
    await unpackTokens(directory, archive);
    const child = spawn(process.execPath, [projectFile('signer/cli.ts'), 'list'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        PATH: process.env['PATH'],
        SOFTHSM2_CONF: config,
        SIGNER_LIBRARY: library,
        SIGNER_TOKEN_LABEL: 'probatio',
        SIGNER_PIN: pin,
      },
    });
    const lines = (await text(child.stdout)).trim().split('\n');
    return lines
      .map((line) => JSON.parse(line) as { readonly purpose: string; readonly generation: number })
      .map(({ purpose, generation }) => `${purpose}-${generation}`)
      .toSorted();
  });
}
