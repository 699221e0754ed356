// The deployment's settings as they are in force, with where each comes from. Of a secret only whether there is one.
import type { SettingInForce } from "../protocol/administration-answers.ts";
import { type Configured, isEmpty, textOf } from "./check-result.ts";
import { checkConfiguration } from "./configuration.ts";
import { SECRETS } from "./secrets.ts";

/** `defaults`: of variables that are absent or empty; of those without an entry it is the empty text. */
export function settingsInForce(
  configured: Configured,
  defaults: Readonly<Record<string, string | number>>,
): SettingInForce[] {
  return checkConfiguration(configured).findings.map(({ check: name, state }) => {
    const text = textOf(configured, name);
    const isAbsent = isEmpty(text);
    if (name in SECRETS) return { name, value: isAbsent ? "absent" : "present", source: "secret", state };
    // A URL that is wrong may have a password in it.
    const shown = state === "failed" ? null : text;
    return isAbsent
      ? { name, value: String(defaults[name] ?? ""), source: "default", state }
      : { name, value: shown, source: "variable", state };
  });
}
