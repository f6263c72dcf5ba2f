import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CustomObjectsApi } from '@kubernetes/client-node';
import test from 'ava';
import { projectFile } from '../../../app/dev/files/project.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { connect } from '../../../k8s/cluster/connection.ts';
import { startTcpProxy, type TcpProxy } from '../../support/network/tcp-proxy.ts';
import { namespace, startApiServer, type ApiServer } from './api-server.ts';
import { serveVault } from './served-vault.ts';
import { createVaultPod } from './vault-pod.ts';

type Name = 'one' | 'two';

const internalKeys = { one: 'key-of-one', two: 'key-of-two' };
const otherOf = { one: 'two', two: 'one' } as const;
const takeOver = { timeoutMs: 120_000 };

let server: ApiServer;
let served: Awaited<ReturnType<typeof serveVault>>;
let directory: string;

interface Operator {
  readonly child: ChildProcess;
  /** Before the API server. */
  readonly proxy: TcpProxy;
}
const operators = new Map<Name, Operator>();

interface Fault {
  readonly strike: (leader: Operator) => void;
  /** Undoes it; undefined if the process ends. */
  readonly heal?: (leader: Operator) => void;
}

const faults: Readonly<Record<string, Fault>> = {
  killed: { strike: ({ child }) => void child.kill('SIGKILL') },
  frozen: {
    strike: ({ child }) => void child.kill('SIGSTOP'),
    heal: ({ child }) => void child.kill('SIGCONT'),
  },
  // It still reaches the vault.
  'cut off from the API server': {
    strike: ({ proxy }) => proxy.freeze(),
    heal: ({ proxy }) => proxy.thaw(),
  },
  ended: { strike: ({ child }) => void child.kill('SIGTERM') },
};

test.before(async (t) => {
  t.timeout(600_000);
  server = await startApiServer();
  served = await serveVault(internalKeys);
  directory = await mkdtemp(join(tmpdir(), 'probatio-operators-'));
  await createVaultPod(server.admin);
  const body = {
    apiVersion: 'probatio.dev/v1alpha1',
    kind: 'SigningKey',
    metadata: { name: 'audit' },
    spec: { purpose: 'audit' },
  };
  const place = { group: 'probatio.dev', version: 'v1alpha1', namespace, plural: 'signingkeys' };
  await connect(server.admin, CustomObjectsApi).createNamespacedCustomObject({ ...place, body });
});
test.after.always(async () => {
  for (const { child, proxy } of operators.values()) {
    child.kill('SIGKILL');
    await proxy.close();
  }
  served?.close();
  await server?.stop();
  await rm(directory, { recursive: true });
});

/** Starts a process of the operator, as its image does. */
async function start(name: Name): Promise<void> {
  const keyFile = join(directory, name);
  await writeFile(keyFile, internalKeys[name]);
  const proxy = operators.get(name)?.proxy ?? (await startTcpProxy(server.url));
  const kubeconfig = join(directory, `kubeconfig-${name}`);
  await writeFile(kubeconfig, server.operatorBehind(proxy).exportConfig());
  const child = spawn(process.execPath, [projectFile('k8s/main.ts')], {
    stdio: 'ignore',
    env: {
      PATH: process.env['PATH'],
      KUBECONFIG: kubeconfig,
      OPERATOR_NAMESPACE: namespace,
      OPERATOR_IDENTITY: name,
      OPERATOR_LEASE: 'vault-operator',
      OPERATOR_SELECTOR: 'app.kubernetes.io/instance=vault',
      OPERATOR_INTERNAL_PORT: String(served.port),
      OPERATOR_PROBES_HOST: '127.0.0.1',
      OPERATOR_PROBES_PORT: name === 'one' ? '18482' : '18483',
      INTERNAL_API_KEY_FILE: keyFile,
    },
  });
  operators.set(name, { child, proxy });
}

/** Resolves with who asks the vault next. */
async function nextAsker(): Promise<Name> {
  const { length } = served.askers;
  await until(async () => served.askers.length > length, { what: 'a request', ...takeOver });
  return served.askers.at(-1)?.name as Name;
}

/** Waits until `name` asks, and returns when it did so first since an instant. */
async function firstRequest(name: Name, since: number): Promise<number> {
  const find = async () =>
    served.askers.find((asker) => asker.name === name && asker.at >= since)?.at;
  return until(find, { what: `requests of ${name}`, ...takeOver });
}

test.serial('a leader that fails is replaced, and never do two act', async (t) => {
  t.timeout(600_000);
  await start('one');
  await nextAsker();
  await start('two');
  for (const [fault, { strike, heal }] of Object.entries(faults)) {
    const leader = await nextAsker();
    const other = otherOf[leader];
    const failing = operators.get(leader);
    if (failing === undefined) throw new Error(`${leader} should run`);
    const since = Date.now();
    strike(failing);
    const replacedAt = await firstRequest(other, since);
    t.log(`${fault}: ${other} asks after ${(replacedAt - since) / 1_000} s`);
    if (heal === undefined) {
      const { child } = failing;
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      if (fault === 'ended') t.is(child.exitCode, 0);
      else await start(leader);
    } else {
      heal(failing);
      const before = served.askers.length;
      // The other process makes several passes meanwhile.
      await until(
        async () => served.askers.slice(before).filter(({ name }) => name === other).length > 6,
        { what: 'more requests', ...takeOver },
      );
    }
    t.deepEqual(
      served.askers.filter(({ name, at }) => name === leader && at >= replacedAt),
      [],
      fault,
    );
  }
});
