import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { knownVariables } from '../../app/config/environment.ts';
import { allVariables } from '../../signer/config/variables.ts';
import { readEnvironment } from '../../signer/protocol/process/environment.ts';
import { isOfOthers } from '../../signer/protocol/process/other-programs.ts';
import { findSimilar } from '../../signer/protocol/process/spelling.ts';
import { temporaryDirectory } from '../support/processes/processes.ts';

const known = knownVariables();
const read = (env: NodeJS.ProcessEnv) => readEnvironment(env, known);

test('a name within two letters of a setting is taken for it', (t) => {
  const names = ['DATABASE_URL', 'MAIL_FROM', 'HOST', 'PORT'];
  const meant = {
    DATABASE_ULR: 'DATABASE_URL',
    DATBASE_URLS: 'DATABASE_URL',
    DATABASEURL: 'DATABASE_URL',
    database_url: 'DATABASE_URL',
    MAIL_FORM: 'MAIL_FROM',
    EMAIL_FROM: 'MAIL_FROM',
    PROT: 'PORT',
    HOSTS: 'HOST',
  };
  for (const [name, setting] of Object.entries(meant)) t.is(findSimilar(name, names), setting);
  const others = ['DATABASE_NAME', 'MAIL_TO', 'MAIL', 'HOME', 'COST2', 'PORT0', 'PATH', 'LOST_URL'];
  for (const name of others) t.is(findSimilar(name, names), undefined, name);
});

test('no setting is taken for another one, nor for a variable of others', (t) => {
  const settings = [...known.settings, ...known.secrets.map((name) => `${name}_FILE`)];
  for (const name of [...settings, ...allVariables, ...(known.others ?? [])]) {
    t.false(isOfOthers(name, '1'), name);
    t.notRegex(read({ [name]: '1' }).problems.join(), /did you mean/, name);
  }
});

test('variables of the system, of Node and of proxies are neither refused nor remarked', (t) => {
  const env = {
    HOME: '/root',
    HOSTNAME: 'pod',
    HOSTTYPE: 'x86_64',
    HTTP_PROXY: 'http://proxy',
    HTTPS_PROXY: 'http://proxy',
    http_proxy: 'http://proxy',
    NO_PROXY: '.svc',
    LOGNAME: 'root',
    MAIL: '/var/mail/root',
    NODE_OPTIONS: '--max-old-space-size=512',
    NODE_EXTRA_CA_CERTS: '/ca.pem',
    NODE_TLS_REJECT_UNAUTHORIZED: '1',
    PATH: '/bin',
    PORT0: '31000',
    AWS_REGION: 'eu-central-1',
  };
  const { problems, unknown } = read(env);
  t.deepEqual({ problems, unknown }, { problems: [], unknown: [] });
});

test('what Kubernetes makes of Services is never read as a setting', (t) => {
  const services = [
    'REDIS',
    'DATABASE',
    'DATABASE_SERVICE',
    'MAIL',
    'HTTP',
    'HTTP_INTERNAL',
    'SIGNER',
  ];
  const env: Record<string, string> = {};
  for (const name of services) {
    Object.assign(env, {
      [`${name}_SERVICE_HOST`]: '10.0.0.7',
      [`${name}_SERVICE_PORT`]: '80',
      [`${name}_SERVICE_PORT_HTTP`]: '80',
      [`${name}_PORT`]: 'tcp://10.0.0.7:80',
      [`${name}_PORT_80_TCP`]: 'tcp://10.0.0.7:80',
      [`${name}_PORT_80_TCP_PROTO`]: 'tcp',
      [`${name}_PORT_80_TCP_PORT`]: '80',
      [`${name}_PORT_80_TCP_ADDR`]: '10.0.0.7',
    });
  }
  const { variables, problems, unknown } = read(env);
  t.deepEqual({ variables, problems, unknown }, { variables: {}, problems: [], unknown: [] });
  t.is(read({ ...env, HTTP_INTERNAL_PORT: '8081' }).variables['HTTP_INTERNAL_PORT'], '8081');
});

test('an unknown variable that begins like a setting is remarked', (t) => {
  const { problems, unknown } = read({
    HTTP_TIMEOUT_SECONDS: '5',
    SIGNER_LIBRARY: '/lib.so',
    NODE_FOO: '1',
    OTHER: '1',
  });
  t.deepEqual({ problems, unknown }, { problems: [], unknown: ['HTTP_TIMEOUT_SECONDS'] });
});

test('a secret is read from its file, without the line breaks at its end', async (t) => {
  const file = path.join(await temporaryDirectory(t), 'secret');
  await writeFile(file, ' se cret \r\n\n', { mode: 0o600 });
  const { variables, files, exposed } = read({ REDIS_URL_FILE: file });
  t.is(variables['REDIS_URL'], ' se cret ');
  t.deepEqual(files, { REDIS_URL: file });
  t.deepEqual(exposed, []);
  await chmod(file, 0o644);
  t.deepEqual(read({ REDIS_URL_FILE: file }).exposed, ['REDIS_URL_FILE']);
});
