import { createTemplateDatabase } from '../../support/runs/template-database.ts';
import { testStack, type TestStack } from '../../support/vault/stack.ts';
import { startOwnPostgres, type OwnPostgres } from './own-postgres.ts';

/** The services of the tests with a Postgres of their own, which can be killed. */
export interface OwnStack extends AsyncDisposable {
  readonly postgres: OwnPostgres;
  readonly stack: TestStack;
}

export async function startOwnStack(): Promise<OwnStack> {
  await using resources = new AsyncDisposableStack();
  const postgres = resources.use(await startOwnPostgres());
  const templateDatabase = 'template_vault';
  await createTemplateDatabase(postgres.access, templateDatabase);
  const running = resources.move();
  return {
    postgres,
    stack: { ...testStack(), postgres: postgres.access, templateDatabase },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
