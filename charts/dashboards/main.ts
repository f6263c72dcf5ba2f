/** Writes the dashboards of Grafana to the files of the chart. */
import { writeFile } from 'node:fs/promises';
import { projectFile } from '../../app/dev/files/project.ts';
import { dashboards, renderDashboard } from './render.ts';

for (const dashboard of dashboards) {
  const file = projectFile(`charts/probatio/files/dashboards/${dashboard.uid}.json`);
  await writeFile(file, renderDashboard(dashboard));
}
