import { readdir, readFile } from 'node:fs/promises';
import test from 'ava';
import { parse } from 'yaml';
import { TaskName } from '../../app/maintenance/schema.ts';
import { projectFile } from '../../app/dev/files/project.ts';
import { listTemplates } from '../../app/wiring/routes.ts';
import { groups, renderRules } from '../../charts/monitoring/render.ts';
import { duration } from '../../charts/monitoring/rule.ts';
import { cases } from './rules/cases.ts';
import { namesIn, seriesOfCode } from './series.ts';

const alerting = groups.flatMap((group) => group.alerting);
const recording = groups.flatMap((group) => group.recording);
const alerts = [...new Set(alerting.map(({ alert }) => alert))];
const headings = ['Meaning', 'Impact', 'Diagnosis', 'Mitigation'];

const runbookOf = (alert: string) => readFile(projectFile(`docs/runbooks/${alert}.md`), 'utf8');

test('rules.yaml matches the code: npm run rules updates it', async (t) => {
  const committed = await readFile(projectFile('charts/probatio/files/rules.yaml'), 'utf8');
  t.is(renderRules(), committed);
  t.is((parse(committed) as { readonly groups: unknown[] }).groups.length, groups.length);
});

test('every alert has a runbook, and every runbook an alert', async (t) => {
  const files = (await readdir(projectFile('docs/runbooks'))).filter(
    (name) => name !== 'README.md',
  );
  t.deepEqual(files.sort(), alerts.map((alert) => `${alert}.md`).sort());
  const overview = await runbookOf('README');
  for (const alert of alerts) t.true(overview.includes(`- [${alert}](${alert}.md)`), alert);
});

test('a runbook has meaning, impact, diagnosis by commands, and mitigation', async (t) => {
  for (const alert of alerts) {
    const text = await runbookOf(alert);
    const found = [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
    t.deepEqual(found, headings, alert);
    t.regex(text, /## Diagnosis\n\n```sh\n/, alert);
  }
});

test('the commands, tasks and routes that runbooks name exist', async (t) => {
  const cli = await readFile(projectFile('app/cli.ts'), 'utf8');
  const signer = await readFile(projectFile('signer/cli.ts'), 'utf8');
  const templates = new Set(listTemplates());
  const isKnown = (line: string): boolean => {
    const [program = '', first = '', second = ''] = line.split(' ');
    if (program === 'curl') {
      return templates.has(
        /http:\/\/127\.0\.0\.1:\d+(?<path>\S+)/.exec(line)?.groups?.['path'] ?? '',
      );
    }
    if (program === 'node') return first === 'signer/cli.ts' && signer.includes(`  ${second} `);
    if (program !== 'probatio') return false;
    if (first === 'maintenance') return TaskName.options.some((task) => task === second);
    return cli.includes(`  ['${first === 'help' ? second : first}',`);
  };
  for (const alert of alerts) {
    const blocks = [...(await runbookOf(alert)).matchAll(/```sh\n(?<lines>[^`]*)```/g)];
    const lines = blocks.flatMap(({ groups: block }) => block?.['lines']?.trim().split('\n') ?? []);
    t.true(lines.length > 0);
    t.deepEqual(
      lines.filter((line) => !isKnown(line)),
      [],
      alert,
    );
  }
});

test('rules ask for metrics of the code, or for what other rules record', (t) => {
  const recorded = new Set(recording.map(({ record }) => record));
  for (const { expr } of [...recording, ...alerting]) {
    const unknown = namesIn(expr).filter((name) => !seriesOfCode.has(name) && !recorded.has(name));
    t.deepEqual(unknown, []);
  }
});

test('every alert of each severity has a case that fires and one that stays silent', (t) => {
  for (const { alert, severity } of alerting) {
    const own = cases.filter((each) => each.alert === alert && each.severity === severity);
    t.true(
      own.some(({ fires }) => fires !== undefined),
      `${alert} ${severity} fires`,
    );
    t.true(
      own.some(({ fires }) => fires === undefined),
      `${alert} ${severity} stays silent`,
    );
  }
});

test('a duration is written in its greatest whole unit', (t) => {
  const seconds = [45, 60, 90, 300, 3_600, 86_400, 172_800];
  t.deepEqual(seconds.map(duration), ['45s', '1m', '90s', '5m', '1h', '1d', '2d']);
  t.deepEqual([0.15, 2.5].map(duration), ['150ms', '2500ms']);
});
