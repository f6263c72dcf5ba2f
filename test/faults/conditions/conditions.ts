import { clocks } from './clocks.ts';
import type { Condition } from './condition.ts';
import { databases } from './databases.ts';
import { outputs } from './outputs.ts';
import { storage } from './storage.ts';
import { tokens } from './tokens.ts';

export const conditions: readonly Condition[] = [
  ...outputs,
  ...clocks,
  ...storage,
  ...databases,
  ...tokens,
];
