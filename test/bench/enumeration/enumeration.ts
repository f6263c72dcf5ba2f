import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { startVaultProcesses } from '../../support/processes/vault-processes.ts';
import { createSignerCipher } from '../../support/encryption/signer-cipher.ts';
import { round, type Bench } from '../harness/bench.ts';
import { startBenchStack } from '../harness/bench-stack.ts';
import { areaUnderCurve } from './auc.ts';
import { insertPeople, randomSalt, randomVerifier, type People } from './people.ts';
import { createTimedPost, type TimedAnswer, type TimedPost } from './timed-post.ts';

/** Requests of each kind: for something that exists, and for something that does not. */
const requests = 2_000;
const warmUps = 200;
const activeAccounts = 50;
/** The greatest distance from 0.5 that the area under the curve may have. */
const limit = 0.05;
const deliberateMs = 2;

/** Asks for something that exists (or does not) and resolves with what the client observed. */
type Ask = (isThere: boolean, index: number) => Promise<TimedAnswer>;

/**
 * Measures whether response times reveal what exists: the largest distance of the area under the
 * curve from 0.5, against the limit of 0.05. A control is delayed by 2 ms on purpose, and the bench
 * throws unless it is detected.
 */
export const benchEnumeration: Bench = async (progress) => {
  await using stack = await startBenchStack();
  await using vault = await startVaultProcesses(stack, {
    settings: { AUTH_UNKNOWN_USER: 'decoy' },
  });
  const cipher = await createSignerCipher(stack.signerSocketPath);
  const people = await insertPeople(vault.databases.service, cipher, {
    active: activeAccounts,
    tokens: requests + warmUps,
  });
  const http = createTimedPost(vault.baseUrl);
  const asks = { ...routes(http, people), control: delayed(routes(http, people).register) };
  const areas: Record<string, number> = {};
  for (const [name, ask] of Object.entries(asks)) {
    areas[name] = await tell(ask);
    progress(`${name}: ${round(areas[name])}`);
  }
  http.close();
  const { control = Number.NaN, ...measured } = areas;
  if (control < 0.5 + limit) throw new Error(`the deliberate delay was not detected: ${control}`);
  const worst = Math.max(...Object.values(measured).map((area) => Math.abs(area - 0.5)));
  return {
    ours: round(worst, 4),
    reference: limit,
    unit: '|AUC - 0.5|',
    ratio: round(limit / worst),
    ...Object.fromEntries(Object.entries(areas).map(([name, area]) => [name, round(area)])),
    requests,
  };
};

/** The four routes that must not reveal what exists, in the order in which they are measured. */
function routes(http: TimedPost, { active, tokens }: People): Record<RouteName, Ask> {
  const address = (isThere: boolean, index: number) =>
    isThere ? (active[index % active.length] ?? '') : `${randomUUID()}@vault.test`;
  const challenge = (email: string) =>
    http.post('/v1/auth/login/challenge', { email, A: randomVerifier() });

  return {
    register: (isThere, index) =>
      http.post('/v1/auth/register', {
        email: address(isThere, index),
        salt: randomSalt(),
        verifier: randomVerifier(),
      }),
    validateEmail: (isThere, index) =>
      http.post('/v1/auth/validate-email', { token: isThere ? tokens[index] : randomUUID() }),
    challenge: (isThere, index) => challenge(address(isThere, index)),
    async verify(isThere, index) {
      const A = randomVerifier();
      const { body } = await http.post('/v1/auth/login/challenge', {
        email: address(isThere, index),
        A,
      });
      const M1 = randomBytes(32).toString('hex');
      return http.post('/v1/auth/login/verify', { sessionId: body['sessionId'], A, M1 });
    },
  };
}

type RouteName = 'register' | 'validateEmail' | 'challenge' | 'verify';

/** Delays the requests for what exists, as a service with a timing leak would. */
function delayed(ask: Ask): Ask {
  return async (isThere, index) => {
    const startedAt = performance.now();
    if (isThere) await setTimeout(deliberateMs);
    const lateMs = performance.now() - startedAt;
    const answer = await ask(false, index);
    return { ...answer, ms: answer.ms + lateMs };
  };
}

/**
 * Measures one route. The order is random, since a request may affect the next. Throws if responses
 * differ in shape.
 */
async function tell(ask: Ask): Promise<number> {
  const times = { there: [] as number[], notThere: [] as number[] };
  const shapes = new Set<string>();
  let index = 0;
  for (; index < warmUps; index++) await ask(index % 2 === 0, index);
  while (times.there.length < requests || times.notThere.length < requests) {
    const isThere =
      times.notThere.length >= requests || (times.there.length < requests && randomInt(2) === 1);
    const { ms, shape } = await ask(isThere, isThere ? index++ : index);
    (isThere ? times.there : times.notThere).push(ms);
    shapes.add(shape);
  }
  if (shapes.size > 1) throw new Error(`the responses differ:\n${[...shapes].join('\n')}`);
  return areaUnderCurve(times.notThere, times.there);
}
