import test from 'ava';
import { decide } from '../../../k8s/signing-key/decide.ts';
import { findElder } from '../../../k8s/signing-key/pass.ts';
import type { ObservedSigningKey, SigningKeyAction } from '../../../k8s/signing-key/observed.ts';
import type { RegistryKey } from '../../../k8s/vault/answers.ts';
import { after, idOf, key, replica, signingKey, start, type TokenOf } from '../support/keys.ts';

interface Scene extends Partial<Omit<ObservedSigningKey, 'keys' | 'replicas'>> {
  readonly keys?: readonly RegistryKey[];
  readonly tokens?: readonly TokenOf[];
}

function look({ keys = [active], tokens = [[1, 2]], ...rest }: Scene) {
  return decide({
    now: start,
    resource: signingKey(),
    elder: undefined,
    failed: undefined,
    keys: { ok: keys },
    replicas: tokens.map((token, index) => replica(`pod-${index}`, token)),
    ...rest,
  });
}

const active = key(1, { state: 'ACTIVE' });
const rotation = { from: idOf(1), startedAt: start.toISOString() };
const rotating = signingKey({ status: { rotation } });
const reasonsOf = ({ status }: ReturnType<typeof decide>) =>
  status.conditions.map(({ type, status: value, reason }) => `${type} ${value} ${reason}`);

/** Every state that can be observed, with what is found and done about it. */
const table: readonly (readonly [
  name: string,
  scene: Scene,
  ready: string,
  rotates: string,
  action: string | undefined,
])[] = [
  [
    'an older resource',
    { elder: 'a' },
    'False DuplicatePurpose',
    'False DuplicatePurpose',
    undefined,
  ],
  ['no active key', { keys: [key(1)] }, 'False NoActiveKey', 'False NoActiveKey', undefined],
  ['a key that signs', {}, 'True ActiveKeyHeld', 'False Idle', undefined],
  ['no pod', { tokens: [] }, 'Unknown ReplicaUnavailable', 'False Idle', undefined],
  ['a token without it', { tokens: [[1], []] }, 'False KeyMissing', 'False Idle', undefined],
  [
    'a pod away',
    { tokens: [[1], 'unreachable'] },
    'Unknown ReplicaUnavailable',
    'False Idle',
    undefined,
  ],
  [
    'a token away',
    { tokens: ['unreadable'] },
    'Unknown ReplicaUnavailable',
    'False Idle',
    undefined,
  ],
  [
    'a spare is missing',
    { resource: signingKey({ spec: { keepSpare: true } }) },
    'True ActiveKeyHeld',
    'False CreatingKey',
    undefined,
  ],
  [
    'a spare is to be made',
    { resource: signingKey({ spec: { keepSpare: true }, status: { creating: 2 } }) },
    'True ActiveKeyHeld',
    'False CreatingKey',
    'create 2',
  ],
  [
    'a spare is there',
    { resource: signingKey({ spec: { keepSpare: true } }), keys: [active, key(2)] },
    'True ActiveKeyHeld',
    'False Idle',
    undefined,
  ],
  [
    'an imported key is no spare',
    {
      resource: signingKey({ spec: { keepSpare: true }, status: { creating: 3 } }),
      keys: [active, key(2, { imported: true })],
    },
    'True ActiveKeyHeld',
    'False CreatingKey',
    'create 3',
  ],
  [
    'a request',
    { resource: signingKey({ request: 'a' }) },
    'True ActiveKeyHeld',
    'True CreatingKey',
    undefined,
  ],
  [
    'a request that was answered',
    { resource: signingKey({ request: 'a', status: { answeredRequest: 'a' } }) },
    'True ActiveKeyHeld',
    'False Idle',
    undefined,
  ],
  [
    'an empty request',
    { resource: signingKey({ request: '' }) },
    'True ActiveKeyHeld',
    'False Idle',
    undefined,
  ],
  [
    'a rotation not yet due',
    { resource: signingKey({ spec: { rotateEvery: '1h' } }), now: after(3_599) },
    'True ActiveKeyHeld',
    'False Idle',
    undefined,
  ],
  [
    'a rotation that is due',
    { resource: signingKey({ spec: { rotateEvery: '1h' } }), now: after(3_600) },
    'True ActiveKeyHeld',
    'True CreatingKey',
    undefined,
  ],
  [
    'a rotation that the status does not hold yet',
    { resource: signingKey({ request: 'a' }), keys: [active, key(2)] },
    'True ActiveKeyHeld',
    'True Activating',
    undefined,
  ],
  [
    'a record that is not signed',
    { resource: rotating, keys: [active, key(2, { isRecorded: false })] },
    'True ActiveKeyHeld',
    'True RecordUnsigned',
    undefined,
  ],
  [
    'a token that lacks the successor',
    { resource: rotating, keys: [active, key(2)], tokens: [[1, 2], [1]] },
    'True ActiveKeyHeld',
    'True WaitingForReplicas',
    undefined,
  ],
  [
    'a pod of which nothing is known',
    { resource: rotating, keys: [active, key(2)], tokens: [[1, 2], 'unreachable'] },
    'Unknown ReplicaUnavailable',
    'True WaitingForReplicas',
    undefined,
  ],
  [
    'no pod at all',
    { resource: rotating, keys: [active, key(2)], tokens: [] },
    'Unknown ReplicaUnavailable',
    'True WaitingForReplicas',
    undefined,
  ],
  [
    'everybody holds the successor',
    {
      resource: rotating,
      keys: [active, key(2), key(3)],
      tokens: [
        [1, 2],
        [1, 2],
      ],
    },
    'True ActiveKeyHeld',
    'True Activating',
    `activate ${idOf(2)}`,
  ],
  [
    'a successor that was given up',
    { resource: rotating, keys: [active, key(2, { state: 'RETIRED' })] },
    'True ActiveKeyHeld',
    'True CreatingKey',
    undefined,
  ],
  [
    'a wait that is not over',
    {
      resource: signingKey({ status: { rotation, notBefore: after(9).toISOString() } }),
      keys: [active, key(2)],
    },
    'True ActiveKeyHeld',
    'True Publishing',
    undefined,
  ],
  [
    'a wait that is over',
    {
      resource: signingKey({ status: { rotation, notBefore: after(9).toISOString() } }),
      keys: [active, key(2)],
      now: after(9),
    },
    'True ActiveKeyHeld',
    'True Activating',
    `activate ${idOf(2)}`,
  ],
];

function describe(action: SigningKeyAction | undefined): string | undefined {
  if (action === undefined) return undefined;
  return action.kind === 'create' ? `create ${action.generation}` : `activate ${action.keyId}`;
}

for (const [name, scene, ready, rotates, action] of table) {
  test(`decided: ${name}`, (t) => {
    const decision = look(scene);
    t.deepEqual(reasonsOf(decision), [`Ready ${ready}`, `Rotating ${rotates}`]);
    t.is(describe(decision.action), action);
  });
}

test('while no pod answers, nothing is done and what was known is kept', (t) => {
  const known = signingKey({ status: { rotation, keyId: idOf(1), creating: 2 } });
  const { status, action } = decide({
    now: start,
    resource: known,
    elder: undefined,
    failed: undefined,
    keys: { failure: { code: 'unreachable' } },
    replicas: [replica('pod-0', [1, 2])],
  });
  t.is(action, undefined);
  t.like(status, { rotation, keyId: idOf(1), creating: 2 });
  t.is(status.conditions[0]?.reason, 'VaultUnavailable');
});

test('a rotation is over once another key signs, whoever activated it', (t) => {
  const resource = signingKey({
    status: { rotation: { ...rotation, request: 'a' }, keyId: idOf(1) },
  });
  const keys = [key(1, { state: 'RETIRED' }), key(5, { state: 'ACTIVE' })];
  const { status, events } = look({ resource, keys, tokens: [[1, 5]] });
  t.like(status, { rotation: undefined, answeredRequest: 'a', keyId: idOf(5) });
  t.true(events.some(({ reason }) => reason === 'Rotated'));
});

test('Retry-After is obeyed, and is no failure while a key is published', (t) => {
  const action = { kind: 'activate', keyId: idOf(2) } as const;
  const failure = { code: 'key_not_published', retryAfterSeconds: 77 };
  const decision = look({
    resource: rotating,
    keys: [active, key(2)],
    failed: { action, failure },
  });
  t.like(decision.status, { failedAttempts: 0, notBefore: after(77).toISOString() });
  t.deepEqual([decision.action, decision.wakeAt], [undefined, after(77)]);
});

test('an attempt that fails is tried again after a time that doubles up to five minutes', (t) => {
  const action = { kind: 'activate', keyId: idOf(2) } as const;
  const failed = { action, failure: { code: 'bad_response' } };
  const waits = [0, 1, 2, 9, 100].map((failedAttempts) => {
    const resource = signingKey({ status: { rotation, failedAttempts } });
    const { status } = look({ resource, keys: [active, key(2)], failed });
    t.is(status.conditions[1]?.reason, 'StepFailed');
    return (Date.parse(status.notBefore ?? '') - start.getTime()) / 1_000;
  });
  t.deepEqual(waits, [10, 20, 40, 300, 300]);
});

test('a generation that cannot be made any more gives way to the next', (t) => {
  const action = { kind: 'create', purpose: 'audit', generation: 2 } as const;
  const failed = { action, failure: { code: 'key_generation_differs' } };
  const resource = signingKey({ status: { rotation, creating: 2 } });
  const decision = look({ resource, failed });
  t.is(decision.status.creating, 3);
  t.is(decision.action, undefined);
});

test('an event is recorded at each change of a condition, and none at a repeat', (t) => {
  const first = look({});
  t.deepEqual(
    first.events.map(({ type, reason }) => `${type} ${reason}`),
    ['Normal ActiveKeyHeld', 'Normal Idle'],
  );
  const again = look({ resource: signingKey({ status: first.status }), now: after(60) });
  t.deepEqual([again.events, again.status], [[], first.status]);
});

test('of resources of one purpose the oldest acts', (t) => {
  const [a, b, c] = [
    signingKey({ name: 'a', uid: 'ua', creationTimestamp: after(1).toISOString() }),
    signingKey({ name: 'b', uid: 'ub', creationTimestamp: after(0).toISOString() }),
    signingKey({ name: 'c', uid: 'uc', spec: { purpose: 'token' } }),
  ];
  t.deepEqual(
    [a, b, c].map((one) => findElder(one, [a, b, c])),
    ['b', undefined, undefined],
  );
});
