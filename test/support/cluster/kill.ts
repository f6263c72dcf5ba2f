import { readdir, readFile } from 'node:fs/promises';
import type { Kubectl } from './kubectl.ts';

interface ContainerStatus {
  readonly name: string;
  /** Absent until it has run. */
  readonly containerID?: string;
  readonly restartCount: number;
}

interface Pod {
  readonly status: Readonly<
    Record<'initContainerStatuses' | 'containerStatuses', readonly ContainerStatus[]>
  >;
}

/** Kills the pods that have the given labels, without a grace period. */
export async function killPods(kubectl: Kubectl, selector: string): Promise<void> {
  await kubectl('delete', 'pods', `--selector=${selector}`, '--grace-period=0', '--force');
}

/** Kills all processes of a container of a pod, as the kernel does when memory is short. */
export async function killContainer(kubectl: Kubectl, pod: string, name: string): Promise<void> {
  const { containerID } = await statusOf(kubectl, pod, name);
  const id = containerID?.replace('containerd://', '') ?? '';
  if (id === '') throw new Error(`the container ${name} of ${pod} does not run`);
  await killAll('cgroup', (cgroups) => cgroups.includes(id));
}

/** Resolves with the status of a container, or of a sidecar. Throws if the pod has none. */
export async function statusOf(
  kubectl: Kubectl,
  pod: string,
  name: string,
): Promise<ContainerStatus> {
  const { status } = JSON.parse(await kubectl('get', 'pod', pod, '--output=json')) as Pod;
  const found = [...status.initContainerStatuses, ...status.containerStatuses].find(
    (container) => container.name === name,
  );
  if (found === undefined) throw new Error(`${pod} has no container ${name}`);
  return found;
}

/** Kills the node's kubelet, which the lab starts again. */
export async function killKubelet(): Promise<void> {
  await killAll('comm', (name) => name.trim() === 'kubelet');
}

/** Kills the processes of which a file under /proc matches. Throws if there is none. */
async function killAll(file: string, matches: (text: string) => boolean): Promise<void> {
  const pids = (await readdir('/proc')).filter((name) => /^[0-9]+$/.test(name));
  const texts = await Promise.all(
    // A process may end meanwhile.
    pids.map((pid) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
  );
  const found = pids.filter((_, index) => matches(texts[index] ?? ''));
  if (found.length === 0) throw new Error('no such process runs');
  for (const pid of found) process.kill(Number(pid), 'SIGKILL');
}
