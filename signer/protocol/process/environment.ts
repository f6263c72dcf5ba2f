import { findSecretFileProblem, isReadableByOthers, readSecretFile } from './named-file.ts';
import { isOfOthers } from './other-programs.ts';
import { findSimilar } from './spelling.ts';

/** Environment variables by name; an empty one counts as not set and is left out. */
export type Variables = Readonly<Partial<Record<string, string>>>;

/** The variables that a program reads. */
export interface KnownVariables {
  /** The settings that the program reads, by their variables. */
  readonly settings: readonly string[];
  /** Those of them that hold a secret, which `NAME_FILE` may name a file of instead. */
  readonly secrets: readonly string[];
  /**
   * Variables that other programs of the vault read. They may stand in the environment of this one.
   */
  readonly others?: readonly string[];
  /** Beginnings of names, such as `MAIL_`, of which an unknown one is worth a warning. */
  readonly prefixes?: readonly string[];
  /** Finds faults of the files of secrets without reading them: the values are the paths then. */
  readonly onlyInspectsFiles?: boolean;
}

/** An environment as a program reads it. */
export interface Environment {
  /**
   * The settings that are set. A secret has the content of its file. A setting of `refused` has an
   * arbitrary value.
   */
  readonly variables: Variables;
  /** The paths of the files of secrets, by the variable of the setting. */
  readonly files: Variables;
  /** The settings about which `problems` says enough. */
  readonly refused: ReadonlySet<string>;
  /** The problems, each as `VARIABLE: what is wrong; what to do`. They quote no value. */
  readonly problems: readonly string[];
  /** Variables that begin like settings and that no program of the vault reads. */
  readonly unknown: readonly string[];
  /** The variables of files that hold a secret and that every user of the machine may read. */
  readonly exposed: readonly string[];
}

/** The variable that names the file of a secret. */
export function fileVariable(secret: string): string {
  return `${secret}_FILE`;
}

/** Reads an environment: leaves out what is not set or not meant for us, and reads secrets. */
export function readEnvironment(env: NodeJS.ProcessEnv, known: KnownVariables): Environment {
  const set = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && entry[1] !== '' && !isOfOthers(entry[0], entry[1]),
  );
  const given: Record<string, string> = Object.fromEntries(set);
  const settings = [...known.settings, ...known.secrets.map(fileVariable)];
  const ours = new Set([...settings, ...(known.others ?? [])]);
  const strange = Object.keys(given).filter((name) => !ours.has(name));
  const misspelt = strange.flatMap((name) => {
    const meant = findSimilar(name, settings);
    return meant === undefined ? [] : [{ name, meant }];
  });
  const secrets = known.secrets.map((name) => readSecret(name, given, known));
  const replaced = new Map(misspelt.map(({ meant }) => [settingOf(meant, known.secrets), '']));
  const read = secrets.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]));
  return {
    variables: { ...Object.fromEntries(replaced), ...given, ...Object.fromEntries(read) },
    files: Object.fromEntries(
      secrets.flatMap(({ name, file }) => (file === undefined ? [] : [[name, file]])),
    ),
    refused: new Set([
      ...[...replaced.keys()].filter((name) => given[name] === undefined),
      ...secrets.flatMap(({ name, problem }) => (problem === undefined ? [] : [name])),
    ]),
    problems: [
      ...misspelt.map(({ name, meant }) => `${name}: is no setting; did you mean ${meant}?`),
      ...secrets.flatMap(({ problem }) => problem ?? []),
    ],
    unknown: strange.filter(
      (name) =>
        (known.prefixes ?? []).some((prefix) => name.startsWith(prefix)) &&
        !misspelt.some((one) => one.name === name),
    ),
    exposed: secrets.flatMap(({ name, file }) =>
      file !== undefined && isReadableByOthers(file) ? [fileVariable(name)] : [],
    ),
  };
}

/** Returns the setting to which a variable belongs: its own, or that of the file of a secret. */
function settingOf(variable: string, secrets: readonly string[]): string {
  return secrets.find((secret) => fileVariable(secret) === variable) ?? variable;
}

interface ReadSecret {
  readonly name: string;
  readonly value?: string;
  readonly file?: string;
  readonly problem?: string;
}

/** Reads a secret from its file if one is named. Refuses a secret that is given twice. */
function readSecret(
  name: string,
  given: Variables,
  { onlyInspectsFiles = false }: KnownVariables,
): ReadSecret {
  const variable = fileVariable(name);
  const file = given[variable];
  if (file === undefined) return { name };
  if (given[name] !== undefined) {
    return { name, problem: `${name}: is set beside ${variable}; set only one of them` };
  }
  if (onlyInspectsFiles) {
    const problem = findSecretFileProblem(file);
    return problem === undefined
      ? { name, value: file, file }
      : { name, value: '', problem: `${variable}: ${problem}` };
  }
  const read = readSecretFile(file);
  return 'problem' in read
    ? { name, value: '', problem: `${variable}: ${read.problem}` }
    : { name, value: read.secret, file };
}
