import { randomUUID } from 'node:crypto';
import { apply, type Kubectl } from './kubectl.ts';
import { claim, confinedPod, secret } from './objects.ts';

export const publicUrl = 'https://vault.test';
export const tokenLabel = 'probatio';
/** The directory of SoftHSM in the image of the signer. */
export const tokenDirectory = '/var/lib/probatio/tokens';

/** Makes a token of SoftHSM in the claim `tokens`, which stands for a network HSM, and its PINs. */
export async function createToken(namespace: string, kubectl: Kubectl): Promise<void> {
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
      { name: 'tokens', mountPath: tokenDirectory },
      { name: 'pins', mountPath: '/etc/probatio', readOnly: true },
    ],
  };
  const volumes = [
    { name: 'tokens', persistentVolumeClaim: { claimName: 'tokens' } },
    { name: 'pins', secret: { secretName: 'pin', defaultMode: 0o440 } },
  ];
  const pod = confinedPod({ user: 10_002, group: 10_000, container, volumes });
  await apply(namespace, [
    secret('pin', { pin: randomUUID(), 'so-pin': randomUUID() }),
    claim('tokens'),
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'token' },
      spec: { template: { spec: { ...pod, restartPolicy: 'OnFailure' } } },
    },
  ]);
  await kubectl('wait', '--for=condition=Complete', 'job/token', '--timeout=120s');
}
