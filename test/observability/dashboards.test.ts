import { readdir, readFile } from 'node:fs/promises';
import test from 'ava';
import { projectFile } from '../../app/dev/files/project.ts';
import { listTemplates } from '../../app/wiring/routes.ts';
import { dashboards, renderDashboard } from '../../charts/dashboards/render.ts';
import { metricsOfCode, seriesOfCode } from './series.ts';

const directory = 'charts/probatio/files/dashboards';
const panels = dashboards.flatMap(({ title, rows }) =>
  rows.flatMap((row) => row.panels.map((panel) => ({ ...panel, dashboard: title }))),
);
const queries = panels.flatMap((panel) => panel.queries);

/** Returns the series that a query selects, each with its matchers of labels. */
const selections = (expr: string) =>
  [...expr.matchAll(/(?<name>[a-z0-9_]+)\{(?<matchers>[^}]*)\}/g)].map(({ groups }) => ({
    name: groups?.['name'] ?? '',
    matchers: groups?.['matchers'] ?? '',
  }));

test('the dashboards match the code: npm run dashboards updates them', async (t) => {
  const names = (await readdir(projectFile(directory))).toSorted();
  t.deepEqual(names, dashboards.map(({ uid }) => `${uid}.json`).toSorted());
  for (const dashboard of dashboards) {
    const committed = await readFile(projectFile(`${directory}/${dashboard.uid}.json`), 'utf8');
    t.is(renderDashboard(dashboard), committed, dashboard.title);
  }
});

test('queries select series of the code, by labels that they have and of one namespace', (t) => {
  for (const { expr } of queries) {
    const found = selections(expr);
    t.true(found.length > 0, expr);
    for (const { name, matchers } of found) {
      const metric = seriesOfCode.get(name);
      t.truthy(metric, name);
      const labels = new Set(['namespace', ...(metric?.labels ?? []).map((label) => label.name)]);
      const matched = [...matchers.matchAll(/([a-z_]+)(?:=~|!~|!=|=)"/g)].map(([, label]) => label);
      const [grouping = ''] = [...expr.matchAll(/ by \(([^)]*)\)/g)].map(([, by]) => by ?? '');
      const used = [...matched, ...grouping.split(', ')].filter(
        (label) => label !== '' && label !== 'le',
      );
      t.deepEqual(
        used.filter((label) => !labels.has(label ?? '')),
        [],
        expr,
      );
      t.true(matched.includes('namespace'), expr);
    }
  }
});

test('every metric of the code is on a dashboard', (t) => {
  const shown = new Set(queries.flatMap(({ expr }) => selections(expr).map(({ name }) => name)));
  const metrics = new Set([...shown].map((name) => seriesOfCode.get(name)?.name));
  t.deepEqual(
    metricsOfCode.map(({ name }) => name).filter((name) => !metrics.has(name)),
    [],
  );
});

test('a pattern of routes matches routes of the API', (t) => {
  const patterns = new Set(
    queries.flatMap(({ expr }) =>
      [...expr.matchAll(/http_route=~"([^"]*)"/g)].flatMap(([, pattern = '']) =>
        pattern.split('|'),
      ),
    ),
  );
  t.true(patterns.size > 0);
  const templates = listTemplates();
  for (const pattern of patterns) {
    t.true(
      templates.some((template) => new RegExp(`^(?:${pattern})$`).test(template)),
      pattern,
    );
  }
});

test('a panel has a title of its own, a description, and names for several series', (t) => {
  for (const { dashboard, title, description, queries: own } of panels) {
    const name = `${dashboard}: ${title}`;
    t.is(panels.filter((other) => `${other.dashboard}: ${other.title}` === name).length, 1, name);
    t.regex(description, /^[A-Z].+\.$/, name);
    if (own.length > 1) for (const { legend } of own) t.not(legend, '', name);
  }
});

test('Grafana tells panels apart by their ids, and queries of a panel by their names', (t) => {
  for (const dashboard of dashboards) {
    const { panels: built } = JSON.parse(renderDashboard(dashboard)) as {
      readonly panels: readonly {
        readonly id: number;
        readonly targets?: readonly { readonly refId: string }[];
      }[];
    };
    t.is(new Set(built.map(({ id }) => id)).size, built.length);
    for (const { targets = [] } of built) {
      t.deepEqual(
        targets.map(({ refId }) => refId),
        ['A', 'B', 'C'].slice(0, targets.length),
      );
    }
  }
});
