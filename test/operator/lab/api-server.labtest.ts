import { AuthorizationV1Api, CustomObjectsApi } from '@kubernetes/client-node';
import test from 'ava';
import { connect, isRefusal } from '../../../k8s/cluster/connection.ts';
import { createResources } from '../../../k8s/cluster/resources.ts';
import { createElection, leaseSeconds } from '../../../k8s/election/election.ts';
import { createLeaseStore } from '../../../k8s/election/lease-store.ts';
import { namespace, startApiServer, type ApiServer } from './api-server.ts';

const group = 'probatio.dev';
const version = 'v1alpha1';

let server: ApiServer;
let api: CustomObjectsApi;

test.before(async (t) => {
  t.timeout(600_000);
  server = await startApiServer();
  api = connect(server.admin, CustomObjectsApi);
});
test.after.always(() => server?.stop());

function create(plural: 'signingkeys' | 'vaultmaintenances', name: string, spec: object) {
  const kind = plural === 'signingkeys' ? 'SigningKey' : 'VaultMaintenance';
  const body = { apiVersion: `${group}/${version}`, kind, metadata: { name }, spec };
  const place = { group, version, namespace, plural };
  return api.createNamespacedCustomObject({ ...place, body, fieldValidation: 'Strict' });
}

async function refusalOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    return String((error as { readonly body?: unknown }).body);
  }
  return 'accepted';
}

test.serial('the API server refuses specs that are not valid, and says why', async (t) => {
  for (const [plural, spec, reason] of [
    ['signingkeys', {}, /spec.purpose: Required value/],
    ['signingkeys', { purpose: 'mac' }, /Unsupported value/],
    ['signingkeys', { purpose: 'audit', rotateEvery: '5m' }, /must be at least 1h/],
    ['signingkeys', { purpose: 'audit', rotateEvery: '' }, /must be at least 1h/],
    ['signingkeys', { purpose: 'audit', rotateEvery: '90d' }, /rotateEvery/],
    ['signingkeys', { purpose: 'audit', keepSpares: true }, /unknown field/],
    ['signingkeys', { purpose: 'audit', keepSpare: 'yes' }, /keepSpare/],
    ['vaultmaintenances', { retryDeadLetters: { everyMinutes: 1 } }, /everyMinutes/],
    ['vaultmaintenances', { backlogAbove: -1 }, /backlogAbove/],
    ['vaultmaintenances', { overdueAfter: '59m' }, /must be at least 1h/],
    ['vaultmaintenances', { backlog: 1 }, /unknown field/],
  ] as const) {
    t.regex(await refusalOf(create(plural, 'bad', spec)), reason, JSON.stringify(spec));
  }
});

test.serial('a purpose cannot be changed, and defaults are filled in', async (t) => {
  t.like(await create('signingkeys', 'audit', { purpose: 'audit', rotateEvery: '2160h' }), {
    spec: { keepSpare: true },
  });
  t.like(await create('vaultmaintenances', 'vault', { retryDeadLetters: {} }), {
    spec: { overdueAfter: '26h', backlogAbove: 10_000, retryDeadLetters: { everyMinutes: 60 } },
  });
  const place = { group, version, namespace, plural: 'signingkeys', name: 'audit' };
  const body = [{ op: 'replace', path: '/spec/purpose', value: 'token' }];
  t.regex(
    await refusalOf(api.patchNamespacedCustomObject({ ...place, body })),
    /cannot be changed/,
  );
});

test.serial('a status is applied as a whole, and only on what was read', async (t) => {
  const resources = createResources({
    kubeConfig: server.operator,
    namespace,
    onInvalid: (_kind, error) => t.fail(error.message),
  });
  const [read] = await resources.listSigningKeys();
  if (read === undefined) throw new Error('there should be a SigningKey');
  const status = { observedGeneration: 1, failedAttempts: 0, conditions: [] };
  t.true(await resources.applyStatus(read, { ...status, creating: 2 }));
  t.false(await resources.applyStatus(read, { ...status, creating: 3 }));
  const [again] = await resources.listSigningKeys();
  t.is(again?.status?.creating, 2);
  if (again === undefined) throw new Error('there should be a SigningKey');
  t.true(await resources.applyStatus(again, { ...status, notBefore: '2026-11-26T10:00:00Z' }));
  const [last] = await resources.listSigningKeys();
  t.like(last?.status, { creating: undefined, notBefore: '2026-11-26T10:00:00Z' });
});

test.serial(
  'of several candidates one gets the Lease, and another after it has resigned',
  async (t) => {
    const candidateOf = (identity: string) =>
      createElection({
        store: createLeaseStore({
          kubeConfig: server.operator,
          namespace,
          name: 'vault-operator',
          durationSeconds: leaseSeconds,
          clock: () => new Date(),
        }),
        identity,
        monotonic: () => performance.now(),
      });
    const candidates = ['a', 'b', 'c'].map(candidateOf);
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(candidates.map((one) => one.campaign()));
      t.is(candidates.filter((one) => one.isLeader()).length, 1);
    }
    const leader = candidates.find((one) => one.isLeader());
    await leader?.resign();
    const others = candidates.filter((one) => one !== leader);
    await Promise.all(others.map((one) => one.campaign()));
    t.is(others.filter((one) => one.isLeader()).length, 1);
  },
);

/** All that the operator may do, by resource. */
const rights: Readonly<Record<string, readonly string[]>> = {
  'probatio.dev/signingkeys': ['list', 'watch'],
  'probatio.dev/signingkeys/status': ['patch'],
  'probatio.dev/vaultmaintenances': ['list', 'watch'],
  'probatio.dev/vaultmaintenances/status': ['patch'],
  '/pods': ['list', 'watch'],
  '/pods/exec': [],
  '/events': ['create'],
  '/secrets': [],
  '/configmaps': [],
  '/serviceaccounts/token': [],
  'apps/deployments': [],
  'batch/cronjobs': ['get', 'list'],
  'batch/jobs': ['list', 'create'],
  'coordination.k8s.io/leases': ['create'],
  'rbac.authorization.k8s.io/roles': [],
  'apiextensions.k8s.io/customresourcedefinitions': [],
};
const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];

test.serial('the operator may do what the table says, in its namespace alone', async (t) => {
  const authorization = connect(server.operator, AuthorizationV1Api);
  const may = async (place: string, verb: string, where: string | undefined) => {
    const [apiGroup, resource, subresource] = place.split('/');
    const resourceAttributes = { group: apiGroup, resource, subresource, verb, namespace: where };
    const body = { spec: { resourceAttributes } };
    const { status } = await authorization.createSelfSubjectAccessReview({ body });
    return status?.allowed ?? false;
  };
  for (const [place, allowed] of Object.entries(rights)) {
    const found = [];
    for (const verb of verbs) {
      if (await may(place, verb, namespace)) found.push(verb);
      t.false(await may(place, verb, 'default'), `${verb} ${place}`);
      t.false(await may(place, verb, undefined), `${verb} ${place}`);
    }
    t.deepEqual(found, [...allowed], place);
  }
});

test.serial('a resource that is gone takes no status', async (t) => {
  const resources = createResources({
    kubeConfig: server.operator,
    namespace,
    onInvalid: () => undefined,
  });
  const [read] = await resources.listSigningKeys();
  if (read === undefined) throw new Error('there should be a SigningKey');
  const place = { group, version, namespace, plural: 'signingkeys', name: 'audit' };
  await api.deleteNamespacedCustomObject(place);
  const status = { observedGeneration: 1, failedAttempts: 0, conditions: [] };
  t.false(await resources.applyStatus(read, status));
  const gone = await api.getNamespacedCustomObject(place).catch((error: unknown) => error);
  t.true(isRefusal(gone, 404));
});
