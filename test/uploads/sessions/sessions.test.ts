import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { createApi } from '../../support/documents/uploads.ts';
import {
  abort,
  bytesOf,
  complete,
  countStatuses,
  fileOf,
  MiB,
  minPart,
  openSession,
  progress,
  putPart,
  upload,
} from '../../support/documents/files.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault; readonly sql: Sql }>;

test.before(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

test('the configuration returns the limits of the specification', async (t) => {
  const api = await createApi(t.context.vault);
  const { status, body } = await api.send('GET', '/v1/uploads/config');
  t.is(status, 200);
  t.deepEqual(body, {
    maxFileSize: 5_368_709_120,
    minPartSize: 5_242_880,
    maxPartSize: 104_857_600,
    maxParts: 1000,
    sessionTTL: 86_400,
    allowedMimeTypes: ['application/octet-stream'],
  });
});

test('an upload session is valid for a day', async (t) => {
  const api = await createApi(t.context.vault);
  const before = Date.now();
  const { status, body } = await api.send('POST', '/v1/uploads', { json: fileOf(10) });
  t.is(status, 201);
  t.deepEqual(Object.keys(body).sort(), ['expiresAt', 'sessionId', 'uploadId']);
  const lifeMs = Date.parse(String(body.expiresAt)) - before;
  t.true(lifeMs >= 86_400_000 && lifeMs < 86_460_000);
  const { sessionId, expiresAt } = body;
  t.deepEqual((await progress(api, String(sessionId))).body, {
    sessionId,
    status: 'IN_PROGRESS',
    uploadedParts: 0,
    totalParts: 1,
    uploadedBytes: 0,
    totalBytes: 10,
    expiresAt,
  });
});

test('a file that no upload could have is refused', async (t) => {
  const api = await createApi(t.context.vault);
  const refusals: [object, string][] = [
    [{ fileSize: 0 }, 'validation_failed'],
    [{ fileSize: -1 }, 'validation_failed'],
    [{ fileSize: 1.5 }, 'validation_failed'],
    [{ fileSize: '10' }, 'validation_failed'],
    [{ fileSize: 2 ** 53 }, 'validation_failed'],
    [{ fileSize: 5 * 2 ** 30 + 1, totalParts: 1000 }, 'file_too_large'],
    [{ mimeType: 'text/html' }, 'mime_type_not_allowed'],
    [{ mimeType: '' }, 'validation_failed'],
    [{ totalParts: 0 }, 'validation_failed'],
    [{ totalParts: 1001, fileSize: 5 * 2 ** 30 }, 'validation_failed'],
    [{ totalParts: 2 }, 'invalid_total_parts'],
    [{ totalParts: 2, fileSize: minPart }, 'invalid_total_parts'],
    [{ totalParts: 1, fileSize: 100 * MiB + 1 }, 'invalid_total_parts'],
    [{ owner: 'me' }, 'validation_failed'],
  ];
  for (const [change, code] of refusals) {
    const { status, body } = await api.send('POST', '/v1/uploads', {
      json: { ...fileOf(10), ...change },
    });
    t.is(status, 400, JSON.stringify(change));
    t.is(body.code, code, JSON.stringify(change));
  }
});

test('the largest and the smallest possible files are accepted', async (t) => {
  const api = await createApi(t.context.vault);
  const sizes: [number, number][] = [
    [1, 1],
    [100 * MiB, 1],
    [minPart + 1, 2],
    [5 * 2 ** 30, 1000],
    [5 * 2 ** 30, 52],
  ];
  for (const [fileSize, totalParts] of sizes) await openSession(t, api, fileSize, totalParts);
});

test('a file name has at most 255 bytes, becomes NFC, and must not be a path', async (t) => {
  const api = await createApi(t.context.vault);
  const refused = [
    '',
    '.',
    '..',
    'a/b',
    'a\\b',
    '/etc/passwd',
    'line\nbreak',
    'tab\t',
    'del\u007f',
    'c1\u0085',
    'sep\u2028',
    'nul\u0000',
    'half\ud800',
    'a'.repeat(256),
    'é'.repeat(128),
  ];
  for (const fileName of refused) {
    const { status } = await api.send('POST', '/v1/uploads', { json: { ...fileOf(10), fileName } });
    t.is(status, 400, JSON.stringify(fileName));
  }
  for (const fileName of ['...', 'a'.repeat(255), 'é'.repeat(127), 'e\u0301.bin', ' %2F..#?.bin']) {
    const { status, body } = await api.send('POST', '/v1/uploads', {
      json: { ...fileOf(3), fileName },
    });
    t.is(status, 201, JSON.stringify(fileName));
    const sessionId = String(body.sessionId);
    await putPart(api, sessionId, 1, bytesOf(3));
    const { fileKey } = (await complete(api, sessionId)).body;
    const [uuid, ...name] = String(fileKey).split('/');
    t.regex(uuid ?? '', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    t.is(name.join('/'), fileName.normalize('NFC'));
  }
});

test('concurrent upload sessions stay within the plan’s number; an abort frees one', async (t) => {
  const api = await createApi(t.context.vault);
  const open = () => api.send('POST', '/v1/uploads', { json: fileOf(10) });
  const answers = await Promise.all(Array.from({ length: 30 }, open));
  t.deepEqual(countStatuses(answers), { 201: 20, 429: 10 });
  const refused = answers.find(({ status }) => status === 429);
  t.is(refused?.body.code, 'quota_exceeded');
  t.truthy(refused?.headers.get('retry-after'));

  const sessionId = String(answers.find(({ status }) => status === 201)?.body.sessionId);
  await abort(api, sessionId);
  t.deepEqual(countStatuses([await open(), await open()]), { 201: 1, 429: 1 });
});

test('concurrent upload sessions stay within the plan’s bytes, counted per user', async (t) => {
  const [api, other] = [await createApi(t.context.vault), await createApi(t.context.vault)];
  const open = () => api.send('POST', '/v1/uploads', { json: fileOf(4 * 2 ** 30, 100) });
  t.deepEqual(countStatuses(await Promise.all(Array.from({ length: 30 }, open))), {
    201: 12,
    429: 18,
  });
  await openSession(t, other, 4 * 2 ** 30, 100);
});

test('an expired upload session frees its quota; the bytes of a completed one count', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  await Promise.all(Array.from({ length: 20 }, () => openSession(t, api, 10)));
  await sql(`update upload_sessions set expires_at = now() where user_id = $1`, [
    api.caller.userId,
  ]);
  await openSession(t, api, 10);
  await sql(
    `update upload_sessions set status = 'COMPLETED', file_size = $2
    where user_id = $1 and expires_at > now()`,
    [api.caller.userId, 50 * 2 ** 30],
  );
  t.is((await api.send('POST', '/v1/uploads', { json: fileOf(1) })).status, 429);
});

test('an upload session is invisible to other users and tenants', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const strangers = [
    await createApi(vault),
    await createApi(vault, { userId: api.caller.userId, tenantId: 'other' }),
    await createApi(vault, { roles: ['user', 'auditor', 'operator', 'probatio_admin'] }),
  ];
  const sessionId = await openSession(t, api, 3);
  for (const stranger of strangers) {
    for (const answer of [
      await putPart(stranger, sessionId, 1, bytesOf(3)),
      await progress(stranger, sessionId),
      await complete(stranger, sessionId),
      await abort(stranger, sessionId),
    ]) {
      t.is(answer.status, 404);
      t.is(answer.body.code, 'not_found');
    }
  }
  t.is((await progress(api, sessionId)).body.status, 'IN_PROGRESS');
  t.is((await progress(api, randomUUID())).status, 404);
  t.is((await progress(api, 'no-uuid')).status, 400);
});

test('an expired upload session gives 410 for parts, completion and status', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const aborted = await openSession(t, api, 3);
  await abort(api, aborted);
  const states = {
    IN_PROGRESS: await openSession(t, api, 3),
    ABORTED: aborted,
    COMPLETED: (await upload(t, api, bytesOf(3))).sessionId,
  };
  await sql('update upload_sessions set expires_at = now() where user_id = $1', [
    api.caller.userId,
  ]);
  for (const [state, sessionId] of Object.entries(states)) {
    for (const answer of [
      await putPart(api, sessionId, 1, bytesOf(3)),
      await putPart(api, sessionId, 7, bytesOf(0)),
      await complete(api, sessionId),
      await progress(api, sessionId),
    ]) {
      t.is(answer.status, 410, state);
      t.is(answer.body.code, 'session_expired');
    }
  }
  t.is((await abort(api, states.COMPLETED)).status, 409);
  t.is((await abort(api, states.IN_PROGRESS)).status, 200);
});

test('an abort is idempotent, closes the upload session and deletes its parts', async (t) => {
  const api = await createApi(t.context.vault);
  const sessionId = await openSession(t, api, 3);
  await putPart(api, sessionId, 1, bytesOf(3));
  const first = await abort(api, sessionId);
  t.is(first.status, 200);
  t.like(first.body, { sessionId, status: 'ABORTED' });
  t.deepEqual((await abort(api, sessionId)).body, first.body);
  for (const answer of [
    await putPart(api, sessionId, 1, bytesOf(3)),
    await complete(api, sessionId),
  ]) {
    t.is(answer.status, 409);
    t.is(answer.body.code, 'session_closed');
  }
  t.is((await progress(api, sessionId)).body.status, 'ABORTED');
});

test('concurrent aborts return one response and leave one audit entry', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const sessionId = await openSession(t, api, 3);
  const answers = await Promise.all(Array.from({ length: 20 }, () => abort(api, sessionId)));
  t.deepEqual(countStatuses(answers), { 200: 20 });
  t.is(new Set(answers.map(({ body }) => body.abortedAt)).size, 1);
  const entries = await sql(
    `select action from audit_entries where resource_id = $1 order by seq`,
    [sessionId],
  );
  t.deepEqual(entries, [{ action: 'upload.created' }, { action: 'upload.aborted' }]);
});

test('a completed upload session cannot be aborted', async (t) => {
  const api = await createApi(t.context.vault);
  const { sessionId, fileKey } = await upload(t, api, bytesOf(3));
  const { status, body } = await abort(api, sessionId);
  t.is(status, 409);
  t.is(body.code, 'session_completed');
  t.like((await progress(api, sessionId)).body, { status: 'COMPLETED', fileKey });
});

test('every route is forbidden without the scope for uploads', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const token = await vault.tokens.access({ ...api.caller, scopes: ['documents:write'] });
  const headers = { authorization: `Bearer ${token}` };
  const path = `/v1/uploads/${randomUUID()}`;
  for (const [method, url] of [
    ['GET', '/v1/uploads/config'],
    ['GET', path],
    ['PUT', `${path}/parts/1`],
    ['POST', `${path}/complete`],
    ['DELETE', path],
  ] as const) {
    const { status, body } = await api.send(method, url, { headers });
    t.is(status, 403, url);
    t.is(body.code, 'access_denied');
  }
});
