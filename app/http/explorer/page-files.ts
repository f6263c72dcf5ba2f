import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

interface PageFile {
  readonly type: string;
  readonly content: string;
}

/** The part of esbuild that the explorer uses. Only development has the package. */
interface Bundler {
  build(options: object): Promise<{ readonly outputFiles: readonly { readonly text: string }[] }>;
}

type Load = () => Promise<string>;

const page = new URL('../../../client/explorer/main.ts', import.meta.url);

const readBeside = (name: string): Load => {
  return () => readFile(new URL(name, page), 'utf8');
};

const readSwagger = (name: string): Load => {
  return () => readFile(new URL(name, import.meta.resolve('swagger-ui-dist')), 'utf8');
};

const files: ReadonlyMap<string, { readonly type: string; readonly load: Load }> = new Map([
  ['page.html', { type: 'text/html', load: readBeside('page.html') }],
  ['page.css', { type: 'text/css', load: readBeside('page.css') }],
  ['page.js', { type: 'text/javascript', load: bundlePage }],
  ['swagger-ui.css', { type: 'text/css', load: readSwagger('swagger-ui.css') }],
  ['swagger-ui-bundle.js', { type: 'text/javascript', load: readSwagger('swagger-ui-bundle.js') }],
]);

/**
 * Returns a function that loads a file of the explorer's page and keeps it. The function resolves
 * with undefined for an unknown name, and where the files are not installed: they come from
 * packages and folders that only development has.
 */
export function createPageFiles() {
  const loaded = new Map<string, Promise<PageFile | undefined>>();

  async function loadFile(name: string): Promise<PageFile | undefined> {
    const file = files.get(name);
    if (file === undefined) return undefined;
    try {
      return { type: file.type, content: await file.load() };
    } catch (error) {
      loaded.delete(name);
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  return (name: string): Promise<PageFile | undefined> => {
    const found = loaded.get(name) ?? loadFile(name);
    if (files.has(name)) loaded.set(name, found);
    return found;
  };
}

/** Bundles the program of the page with the client library. */
async function bundlePage(): Promise<string> {
  const { build } = (await import(import.meta.resolve('esbuild'))) as Bundler;
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(page)],
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2024',
    write: false,
    logLevel: 'silent',
  });
  return outputFiles.map(({ text }) => text).join('');
}

function isMissing(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return ['ENOENT', 'ERR_MODULE_NOT_FOUND'].includes(code);
}
