import type { DataSourceRef } from '@grafana/grafana-foundation-sdk/common';
import {
  DashboardBuilder,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as NumberBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as LinesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';
import { auditDashboard } from './audit.ts';
import type { Dashboard, Panel } from './dashboard.ts';
import { jobsDashboard } from './jobs.ts';
import { overviewDashboard } from './overview.ts';
import { securityDashboard } from './security.ts';
import { uploadsDashboard } from './uploads.ts';

export const dashboards: readonly Dashboard[] = [
  overviewDashboard,
  auditDashboard,
  jobsDashboard,
  uploadsDashboard,
  securityDashboard,
];

const tag = 'probatio';
const source: DataSourceRef = { type: 'prometheus', uid: '${datasource}' };
/** The name of the first query of a panel is A, by which Grafana tells queries apart. */
const firstRefId = 0x41;
/** The width and height of a panel, in units of which a row has 24. */
const sizes = { number: { width: 6, height: 4 }, lines: { width: 12, height: 8 } } as const;

/** Returns a dashboard as Grafana imports it, as JSON text. */
export function renderDashboard({ uid, title, description, rows }: Dashboard): string {
  const builder = new DashboardBuilder(`Probatio: ${title}`)
    .uid(`probatio-${uid}`)
    .description(description)
    .tags([tag])
    .readonly()
    .refresh('30s')
    .time({ from: 'now-3h', to: 'now' })
    .timezone('browser')
    .link(
      new DashboardLinkBuilder('Probatio')
        .type(DashboardLinkType.Dashboards)
        .tags([tag])
        .asDropdown(true)
        .keepTime(true)
        .includeVars(true),
    )
    .withVariable(new DatasourceVariableBuilder('datasource').label('Source').type('prometheus'))
    .withVariable(
      new QueryVariableBuilder('namespace')
        .label('Namespace')
        .datasource(source)
        .query('label_values(probatio_build_info, namespace)')
        .refresh(VariableRefresh.OnTimeRangeChanged)
        .sort(VariableSort.AlphabeticalAsc),
    );
  let id = 0;
  for (const row of rows) {
    builder.withRow(new RowBuilder(row.title).id((id += 1)));
    for (const panel of row.panels) builder.withPanel(buildPanel(panel).id((id += 1)));
  }
  return `${JSON.stringify(builder.build(), null, 2)}\n`;
}

function buildPanel(panel: Panel) {
  const { width, height } = sizes[panel.kind];
  const builder = panel.kind === 'number' ? new NumberBuilder() : new LinesBuilder();
  builder
    .title(panel.title)
    .description(panel.description)
    .datasource(source)
    .unit(panel.unit)
    .span(width)
    .height(height)
    .thresholds(
      new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps([
        // Grafana takes null as less than every value.
        { value: null, color: 'green' },
        ...(panel.redFrom === undefined ? [] : [{ value: panel.redFrom, color: 'red' }]),
      ]),
    );
  for (const [index, { expr, legend }] of panel.queries.entries()) {
    const refId = String.fromCodePoint(firstRefId + index);
    const query = new DataqueryBuilder().refId(refId).expr(expr).legendFormat(legend);
    builder.withTarget(panel.kind === 'number' ? query.instant() : query.range());
  }
  return builder;
}
