import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** An object of Kubernetes, of which tests read what they are about. */
// eslint-disable-next-line typescript/no-explicit-any -- Kubernetes objects have hundreds of types.
export type ClusterObject = Record<string, any>;

/** Runs kubectl. Resolves with its standard output; throws with what it prints if it fails. */
export type Kubectl = (...args: readonly string[]) => Promise<string>;

/** Returns kubectl for a namespace of the cluster of test/labs/cluster-lab. */
export function kubectlOf(namespace: string): Kubectl {
  variable('KUBECONFIG');
  return async (...args) => {
    const options = { maxBuffer: 2 ** 26 };
    const { stdout } = await run('kubectl', [`--namespace=${namespace}`, ...args], options);
    return stdout;
  };
}

/** Creates or changes objects. */
export async function apply(namespace: string, objects: readonly ClusterObject[]): Promise<void> {
  const args = [`--namespace=${namespace}`, 'apply', '--server-side', '--filename=-'];
  await send(args, { apiVersion: 'v1', kind: 'List', items: objects });
}

/** Evicts a pod as a drained node does. Throws if its disruption budget does not allow that. */
export async function evict(namespace: string, name: string): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } };
  await send(['create', `--raw=${path}`, '--filename=-'], eviction);
}

/** Runs kubectl with an object as its standard input. */
async function send(args: readonly string[], object: ClusterObject): Promise<void> {
  const child = spawn('kubectl', args, { stdio: ['pipe', 'ignore', 'pipe'] });
  child.stdin.end(JSON.stringify(object));
  const [printed, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  if (code !== 0) throw new Error(printed);
}

/** Resolves with the objects of a kind, such as `pods`, that have the given labels. */
export async function list(
  kubectl: Kubectl,
  kind: string,
  selector = '',
): Promise<readonly ClusterObject[]> {
  const json = await kubectl('get', kind, '--output=json', `--selector=${selector}`);
  return (JSON.parse(json) as { readonly items: readonly ClusterObject[] }).items;
}

/** Returns a variable that .ci/cluster sets. */
export function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`run .ci/cluster, which sets ${name}`);
  return value;
}
