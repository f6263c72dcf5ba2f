import type { Dashboard } from './dashboard.ts';
import { max, quantile, rate } from './query.ts';

const requests = 'http_server_request_duration_seconds';
const ofUploads = 'http_route=~"/v1/uploads.*|.*/upload|.*/versions"';
const ofDownloads = 'http_route=~".*/download|.*/export"';

export const uploadsDashboard: Dashboard = {
  uid: 'uploads',
  title: 'Uploads',
  description: 'For platform teams: how much is stored and fetched, how fast, and what fails?',
  rows: [
    {
      title: 'Bytes',
      panels: [
        {
          title: 'Uploaded',
          description: 'Bytes a second of the parts of uploads that were stored.',
          kind: 'lines',
          unit: 'binBps',
          queries: [rate('probatio_upload_bytes_total', { legend: 'uploaded' })],
        },
        {
          title: 'Downloaded',
          description: 'Bytes a second of files that were handed to connections.',
          kind: 'lines',
          unit: 'binBps',
          queries: [rate('probatio_download_bytes_total', { legend: 'downloaded' })],
        },
      ],
    },
    {
      title: 'Requests',
      panels: [
        {
          title: 'Uploads by route and status',
          description: 'Requests a second that begin, continue, complete or abort uploads.',
          kind: 'lines',
          unit: 'reqps',
          queries: [
            rate(`${requests}_count`, {
              by: ['http_route', 'http_response_status_code'],
              where: ofUploads,
            }),
          ],
        },
        {
          title: 'Duration of uploads',
          description: 'The 95th percentile by route. A part takes as long as its client sends.',
          kind: 'lines',
          unit: 's',
          queries: [quantile(0.95, requests, { by: ['http_route'], where: ofUploads })],
        },
        {
          title: 'Downloads by route and status',
          description: 'Requests a second for files and exports.',
          kind: 'lines',
          unit: 'reqps',
          queries: [
            rate(`${requests}_count`, {
              by: ['http_route', 'http_response_status_code'],
              where: ofDownloads,
            }),
          ],
        },
        {
          title: 'Deletions of objects that are due',
          description: 'Objects and unfinished uploads that the store still has to forget.',
          kind: 'lines',
          unit: 'short',
          queries: [
            max('probatio_outbox_messages', {
              by: ['kind'],
              where: 'kind=~"object.delete|multipart.abort"',
            }),
          ],
        },
      ],
    },
  ],
};
