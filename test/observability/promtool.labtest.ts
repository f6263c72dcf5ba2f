import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { Registry } from 'prom-client';
import { projectFile } from '../../app/dev/files/project.ts';
import { dashboards } from '../../charts/dashboards/render.ts';
import { annotationsOf, groups } from '../../charts/monitoring/render.ts';
import { createMetrics } from '../../signer/metrics/metrics.ts';
import { createMeter } from '../../signer/protocol/metrics/meter.ts';
import { newMetrics } from '../support/metrics/new-metrics.ts';
import { cases } from './rules/cases.ts';
import type { RuleCase } from './rules/case.ts';

const rules = projectFile('charts/probatio/files/rules.yaml');
const alerts = groups.flatMap(({ alerting }) => alerting);

async function promtool(args: readonly string[], input = '') {
  const child = spawn('promtool', args, { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.end(input);
  const [output, errors] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { exitCode: child.exitCode, output: output + errors };
}

/** Runs a case by `promtool test rules`. */
async function tryCase(t: ExecutionContext, { alert, severity, input, at, fires }: RuleCase) {
  const directory = await mkdtemp(join(tmpdir(), 'probatio-rules-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const file = join(directory, 'test.yaml');
  const isOf = (rule: (typeof alerts)[number]) =>
    rule.alert === alert && rule.severity === severity;
  const summary = alerts.find(isOf)?.summary ?? '';
  const labels = { ...fires, severity };
  const expected =
    fires === undefined
      ? []
      : [{ exp_labels: labels, exp_annotations: annotationsOf(alert, summary) }];
  const history = {
    interval: '1m',
    input_series: Object.entries(input).map(([series, values]) => ({ series, values })),
    alert_rule_test: [{ eval_time: at, alertname: alert, exp_alerts: expected }],
  };
  const content = { rule_files: [rules], evaluation_interval: '1m', tests: [history] };
  await writeFile(file, JSON.stringify(content));
  return promtool(['test', 'rules', file]);
}

for (const [index, each] of cases.entries()) {
  const does = each.fires === undefined ? 'stays silent' : 'fires';
  test(`${each.alert} (${each.severity}) ${does}: case ${index}`, async (t) => {
    const { exitCode, output } = await tryCase(t, each);
    t.is(exitCode, 0, output);
  });
}

test('a case fails if its alert does not do what it says', async (t) => {
  const firing = cases.find(({ fires }) => fires !== undefined);
  if (firing === undefined) throw new Error('there is no case that fires');
  const { fires: _fires, ...silent } = firing;
  t.is((await tryCase(t, silent)).exitCode, 1);
});

test('the rules are valid', async (t) => {
  const { exitCode, output } = await promtool(['check', 'rules', rules]);
  t.is(exitCode, 0, output);
});

test('Prometheus understands the queries of the dashboards', async (t) => {
  const exprs = dashboards.flatMap(({ rows }) =>
    rows.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries.map(({ expr }) => expr))),
  );
  const check = async (expressions: readonly string[]) => {
    const directory = await mkdtemp(join(tmpdir(), 'probatio-dashboards-'));
    t.teardown(() => rm(directory, { recursive: true }));
    const queries = expressions.map((expr, index) => ({
      record: `query:${index}`,
      // Grafana replaces these variables.
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$namespace', 'vault'),
    }));
    const file = join(directory, 'queries.yaml');
    await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboards', rules: queries }] }));
    return promtool(['check', 'rules', file]);
  };
  t.true(exprs.length > 50);
  const { exitCode, output } = await check(exprs);
  t.is(exitCode, 0, output);
  t.is((await check([...exprs, 'sum(rate(probatio_jobs))'])).exitCode, 1);
});

test('promtool finds no fault in the metrics of an app and a signer that begin', async (t) => {
  const signer = new Registry();
  const meter = createMeter(signer);
  createMetrics({ meter, sessionsMax: 1, readState: () => 'ready' });
  const scraped = (await newMetrics().registry.metrics()) + (await signer.metrics());
  t.deepEqual(await promtool(['check', 'metrics'], scraped), { exitCode: 0, output: '' });
  const misnamed = '# HELP signer_x Calls.\n# TYPE signer_x counter\nsigner_x 1\n';
  const { exitCode } = await promtool(['check', 'metrics'], scraped + misnamed);
  t.not(exitCode, 0);
});
