import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { projectFile } from '../../app/dev/files/project.ts';

const run = promisify(execFile);
const chart = projectFile('charts/probatio');

/** An object of Kubernetes, of which tests read what they are about. */
// eslint-disable-next-line typescript/no-explicit-any -- Kubernetes objects have hundreds of types.
export type KubernetesObject = Record<string, any>;

/** The versions of Helm that the chart is for, by the variable that names the program. */
export const helms = { 3: variable('CHART_HELM_3'), 4: variable('CHART_HELM_4') } as const;

/** Returns the path of a file that test/chart/tools/install installs. */
export const tool = (name: string) => join(variable('CHART_TOOLS'), name);

function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`run .ci/chart, which sets ${name}`);
  return value;
}

export interface Rendering {
  /** A file of charts/probatio/ci. */
  readonly values?: string;
  /** Files of values in place of `values`. */
  readonly files?: readonly string[];
  /** Further values, as `--set-json` takes them. */
  readonly set?: readonly string[];
  readonly release?: string;
  readonly kubeVersion?: string;
  readonly helm?: string;
}

/** Renders the chart. Throws with what Helm prints if it refuses the values. */
export async function template(options: Rendering = {}): Promise<string> {
  const {
    values = 'smallest-values.yaml',
    files = [`${chart}/ci/${values}`],
    set = [],
    release = 'vault',
    kubeVersion = '1.33.0',
    helm = helms[4],
  } = options;
  const { stdout } = await run(
    helm,
    [
      'template',
      release,
      chart,
      '--namespace=evidence',
      `--kube-version=${kubeVersion}`,
      ...files.map((file) => `--values=${file}`),
      ...set.map((value) => `--set-json=${value}`),
    ],
    { maxBuffer: 16 * 2 ** 20 },
  );
  return stdout;
}

export async function render(options?: Rendering): Promise<KubernetesObject[]> {
  return parseAllDocuments(await template(options), { version: '1.1' })
    .map((document): unknown => document.toJSON())
    .filter((object): object is KubernetesObject => object !== null);
}

/** Lints the chart; resolves with what Helm prints. */
export async function lint(helm: string, values: string): Promise<string> {
  const { stdout } = await run(helm, ['lint', '--strict', chart, `--values=${chart}/ci/${values}`]);
  return stdout;
}

/** Returns the templates of all pods of an object: none, or one. */
export function podsOf(object: KubernetesObject): KubernetesObject[] {
  const { kind, spec } = object;
  if (kind === 'Pod') return [object];
  if (kind === 'CronJob') return [spec.jobTemplate.spec.template];
  return kind === 'Deployment' || kind === 'Job' ? [spec.template] : [];
}

/** Returns the containers of a pod, those of its start included. */
export const containersOf = ({ spec }: KubernetesObject): KubernetesObject[] => [
  ...(spec.initContainers ?? []),
  ...spec.containers,
];
