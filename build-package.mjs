/**
 * Builds the package in the current folder for `npm pack`, since Node runs no TypeScript that lies
 * in node_modules: writes JavaScript and type declarations to `dist`. With --clean it removes them.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

rmSync('dist', { recursive: true, force: true });
if (!process.argv.includes('--clean')) build();

function build() {
  const { status } = spawnSync('tsc', ['-p', 'tsconfig.package.json'], { stdio: 'inherit' });
  if (status !== 0) process.exit(1);
  for (const name of readdirSync('dist', { recursive: true })) {
    if (name.endsWith('.js')) renamePrograms(join('dist', name));
  }
  copyFileSync(fileURLToPath(new URL('LICENSE', import.meta.url)), 'dist/LICENSE');
}

/** Renames the programs of workers and child processes, which tsc leaves as they are. */
function renamePrograms(file) {
  const text = readFileSync(file, 'utf8');
  const renamed = text.replace(/(\bnew URL\('\.[^']*)\.ts(?=', import\.meta\.url\))/g, '$1.js');
  if (renamed !== text) writeFileSync(file, renamed);
}
