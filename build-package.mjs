/**
 * Builds the package in the current folder for `npm pack`: writes JavaScript and type declarations
 * to `dist`, because Node does not run TypeScript files in node_modules, and copies shell scripts.
 * With --clean, only removes `dist`.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, globSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
  const scripts = globSync('**/*.sh', { exclude: ['dist/**', 'node_modules/**'] });
  for (const script of scripts) copyFileSync(script, join('dist', script));
  copyFileSync(fileURLToPath(new URL('LICENSE', import.meta.url)), 'dist/LICENSE');
}

/**
 * Changes `new URL('….ts', …)`, which names the program of a worker or child process, to the .js
 * file in a compiled file, since tsc leaves these URLs unchanged.
 */
function renamePrograms(file) {
  const text = readFileSync(file, 'utf8');
  const renamed = text.replace(/(\bnew URL\('\.[^']*)\.ts(?=', import\.meta\.url\))/g, '$1.js');
  if (renamed !== text) writeFileSync(file, renamed);
}
