/** A process that runs the plans of the tests on the database in DATABASE_OWNER_URL. */
import { run } from './plans.ts';

await run(process.env['DATABASE_OWNER_URL'] ?? '');
