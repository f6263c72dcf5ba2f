/** Writes the rules of Prometheus to standard output. */
import { renderRules } from './render.ts';

process.stdout.write(renderRules());
