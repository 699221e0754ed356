// Lists the active settings of the deployment, with the source of each. A secret is listed as `present` or `absent`.
import type { SettingInForce } from "../protocol/administration-answers.ts";
import { type Configured, isEmpty, textOf } from "./check-result.ts";
import { checkConfiguration } from "./configuration.ts";
import { SECRETS } from "./secrets.ts";

/** Lists all variables and secrets. An absent or empty variable is listed with its default, or as empty without one. */
export function settingsInForce(
  configured: Configured,
  defaults: Readonly<Record<string, string | number>>,
): SettingInForce[] {
  return checkConfiguration(configured).findings.map(({ check: name, state }) => {
    const text = textOf(configured, name);
    const isAbsent = isEmpty(text);
    if (name in SECRETS) return { name, value: isAbsent ? "absent" : "present", source: "secret", state };
    // The value of a failed check is not shown, because an invalid URL may contain a password.
    const shown = state === "failed" ? null : text;
    return isAbsent
      ? { name, value: String(defaults[name] ?? ""), source: "default", state }
      : { name, value: shown, source: "variable", state };
  });
}
