import { z } from 'zod';
import type { Variables } from '../../../signer/protocol/process/environment.ts';

/** The documentation of a setting in docs/configuration.md that does not follow from its schema. */
export interface Description {
  /** Complete sentences on what the setting does. They say so if a value weakens security. */
  readonly description: string;
  /** The unit of a number, such as `seconds`. */
  readonly unit?: string;
  /** The allowed values of a text, if the schema does not list them. */
  readonly form?: string;
  /** The default, if it depends on other settings or lies outside of the app. */
  readonly whenUnset?: string;
}

/** An environment variable of the app. */
export interface Setting<Schema extends z.ZodType = z.ZodType> {
  readonly variable: string;
  readonly schema: Schema;
}

/** A setting whose value may stand in a file, which the variable `<variable>_FILE` names. */
export interface SecretSetting<Schema extends z.ZodType = z.ZodType> extends Setting<Schema> {
  /** When the file is read again, such as `at each new connection`. */
  readonly rereads: string;
}

/** The settings of one subject, which are a section of docs/configuration.md. */
export interface SettingGroup<
  Settings extends Readonly<Record<string, Setting>> = Readonly<Record<string, Setting>>,
> {
  readonly title: string;
  /** Says what holds for all settings of the group. */
  readonly introduction?: string;
  /** Settings by their names in the configuration. */
  readonly settings: Settings;
  /** Returns the conflicts between several settings, each as `VARIABLE: problem`. */
  findConflicts?(variables: Variables): readonly string[];
}

/**
 * The parsed values of the settings of a group, by their names in the configuration. Beside a
 * secret `url`, `urlFile` is the path of its file if it has one.
 */
export type ValuesOf<Group extends SettingGroup> = {
  readonly [Name in keyof Group['settings']]: z.output<Group['settings'][Name]['schema']>;
} & {
  readonly [
    Name in keyof Group['settings'] as Group['settings'][Name] extends SecretSetting
      ? `${Name & string}File`
      : never
  ]?: string;
};

/** Returns the JSON Schema of the variables of a group, from which its documentation is made. */
export function toJsonSchema({ title, introduction, settings }: SettingGroup) {
  const variables = Object.values(settings).map(({ variable, schema }) => [variable, schema]);
  return z.toJSONSchema(
    z.object(Object.fromEntries(variables)).meta({ title, description: introduction }),
    { io: 'input', unrepresentable: 'any' },
  );
}

/** Defines a setting: its variable, its schema with the default, and its documentation. */
export function setting<Schema extends z.ZodType>(
  variable: string,
  schema: Schema,
  description: Description,
): Setting<Schema> {
  return { variable, schema: schema.meta({ ...description }) };
}

/** Defines a setting that holds a secret. */
export function secretSetting<Schema extends z.ZodType>(
  variable: string,
  schema: Schema,
  { rereads, ...description }: Description & Pick<SecretSetting, 'rereads'>,
): SecretSetting<Schema> {
  return { variable, schema: schema.meta({ ...description, rereads }), rereads };
}

/** Returns whether a file may hold the value of a setting. */
export function isSecret(setting: Setting): setting is SecretSetting {
  return 'rereads' in setting;
}
