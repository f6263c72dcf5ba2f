/**
 * Makes the namespace of skaffold.yaml and its Secrets, unless they exist. It needs kubectl, whose
 * context Skaffold names.
 */
import { execFileSync } from 'node:child_process';
import { makeSecrets } from './secrets.ts';

const namespace = 'vault';
const context = process.env['SKAFFOLD_KUBE_CONTEXT'] ?? '';

function kubectl(args: readonly string[], input: object = {}): string {
  const flags = [...(context === '' ? [] : [`--context=${context}`]), `--namespace=${namespace}`];
  return execFileSync('kubectl', [...flags, ...args], {
    encoding: 'utf8',
    input: JSON.stringify(input),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}

const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
kubectl(['apply', '--server-side', '--filename=-'], {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: namespace, labels },
});
const existing = kubectl(['get', 'secrets', '--output=name']).split('\n');
const secrets = makeSecrets();
const missing = secrets.filter(({ metadata }) => !existing.includes(`secret/${metadata.name}`));
if (missing.length === secrets.length) {
  kubectl(['create', '--filename=-'], { apiVersion: 'v1', kind: 'List', items: secrets });
} else if (missing.length > 0) {
  const names = missing.map(({ metadata }) => metadata.name).join(', ');
  console.error(`The namespace ${namespace} lacks some of its Secrets: ${names}.`);
  console.error(`Run skaffold delete, kubectl delete namespace ${namespace}, and try again.`);
  process.exitCode = 1;
}
