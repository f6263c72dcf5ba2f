import { randomUUID } from 'node:crypto';
import { apply, type Kubectl } from './kubectl.ts';
import { claim, confinedPod, secret } from './objects.ts';

export const publicUrl = 'https://vault.test';
export const tokenLabel = 'probatio';
/** The directory of SoftHSM in the image of the signer. */
export const tokenDirectory = '/var/lib/probatio/tokens';

/**
 * Makes a token of SoftHSM in a claim, which stands for a network HSM, and a Secret of its PINs.
 * Both, and the Job that makes the token, get this name.
 */
export async function createToken(
  namespace: string,
  kubectl: Kubectl,
  name = 'token',
): Promise<void> {
  const container = {
    name: 'init',
    image: 'probatio-lab/signer:lab',
    args: ['node', 'signer/cli.ts', 'init'],
    env: Object.entries({
      SIGNER_ISSUERS: publicUrl,
      SIGNER_TOKEN_LABEL: tokenLabel,
      SIGNER_PIN_FILE: '/etc/probatio/pin',
      SIGNER_SO_PIN_FILE: '/etc/probatio/so-pin',
    }).map(([name, value]) => ({ name, value })),
    volumeMounts: [
      { name: 'token', mountPath: tokenDirectory },
      { name: 'pins', mountPath: '/etc/probatio', readOnly: true },
    ],
  };
  const volumes = [
    { name: 'token', persistentVolumeClaim: { claimName: name } },
    { name: 'pins', secret: { secretName: name, defaultMode: 0o440 } },
  ];
  const pod = confinedPod({ user: 10_002, group: 10_000, container, volumes });
  await apply(namespace, [
    secret(name, { pin: randomUUID(), 'so-pin': randomUUID() }),
    claim(name),
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name },
      spec: { template: { spec: { ...pod, restartPolicy: 'OnFailure' } } },
    },
  ]);
  await kubectl('wait', '--for=condition=Complete', `job/${name}`, '--timeout=120s');
}
