import test from 'ava';
import { ClientError } from '../../../client/errors/client-error.ts';
import { defaultRetry, retryDelaySeconds, withRetries } from '../../../client/http/retry.ts';
import { VaultError } from '../../../client/errors/vault-error.ts';

function answer(status: number, code: string, retryAfter?: string): VaultError {
  const headers = new Headers(retryAfter === undefined ? {} : { 'retry-after': retryAfter });
  return new VaultError(status, headers, { message: '', code }, new Date('2026-01-01T00:00:00Z'));
}

const policy = { ...defaultRetry, random: () => 1 };

test('delays double up to a limit, with a jitter of half', (t) => {
  const error = new ClientError('network_error');
  const delays = [1, 2, 3, 4, 5, 6, 7].map((n) => retryDelaySeconds(policy, n, error));
  t.deepEqual(delays, [0.5, 1, 2, 4, 8, 16, 32]);
  t.is(retryDelaySeconds({ ...policy, random: () => 0 }, 3, error), 1);
  t.is(retryDelaySeconds(policy, policy.attempts, error), undefined);
});

test('no retry is sent before Retry-After, given in seconds or as a date', (t) => {
  t.is(retryDelaySeconds(policy, 1, answer(503, 'service_unavailable', '20')), 20);
  const date = 'Thu, 01 Jan 2026 00:00:09 GMT';
  t.is(retryDelaySeconds(policy, 1, answer(429, 'rate_limited', date)), 9);
  t.is(retryDelaySeconds(policy, 6, answer(503, 'service_unavailable', '1')), 16);
});

test('a retry waits out the lease of a dead server, up to a minute', (t) => {
  const hasty = { ...defaultRetry, random: () => 0 };
  let seconds = 0;
  for (let failures = 1; failures < hasty.attempts; failures += 1) {
    seconds += retryDelaySeconds(hasty, failures, answer(409, 'idempotency_in_progress', '2')) ?? 0;
  }
  t.true(seconds >= 60);
});

test('a Retry-After beyond the limit of patience throws', (t) => {
  t.is(retryDelaySeconds(policy, 1, answer(429, 'quota_exceeded', '3600')), undefined);
});

test('only errors that may pass by themselves are retried', (t) => {
  t.is(retryDelaySeconds(policy, 1, answer(409, 'part_in_progress', '2')), 2);
  t.is(retryDelaySeconds(policy, 1, answer(409, 'idempotency_in_progress', '2')), 2);
  t.is(retryDelaySeconds(policy, 1, answer(404, 'proof_not_ready', '1')), 1);
  for (const error of [
    answer(400, 'invalid_json'),
    answer(401, 'invalid_token'),
    answer(404, 'not_found'),
    answer(409, 'part_conflict'),
    answer(500, 'internal_error'),
    new ClientError('source_changed'),
    new TypeError('a programming error'),
  ]) {
    t.is(retryDelaySeconds(policy, 1, error), undefined);
  }
});

test('waiting ends at once when the caller aborts', async (t) => {
  const caller = new AbortController();
  const reason = new Error('the user left');
  const waiting = withRetries(defaultRetry, caller.signal, async () => {
    setImmediate(() => caller.abort(reason));
    throw answer(503, 'service_unavailable', '60');
  });
  t.is(await t.throwsAsync(waiting), reason);
});
