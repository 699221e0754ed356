// The active settings of the deployment, with the source of each. Of a secret it shows only whether there is one.
import type { SettingInForce } from "../protocol/administration-answers.ts";
import { type Configured, isEmpty, textOf } from "./check-result.ts";
import { checkConfiguration } from "./configuration.ts";
import { SECRETS } from "./secrets.ts";

/** `defaults` has the values of absent or empty variables. A variable without an entry is the empty text. */
export function settingsInForce(
  configured: Configured,
  defaults: Readonly<Record<string, string | number>>,
): SettingInForce[] {
  return checkConfiguration(configured).findings.map(({ check: name, state }) => {
    const text = textOf(configured, name);
    const isAbsent = isEmpty(text);
    if (name in SECRETS) return { name, value: isAbsent ? "absent" : "present", source: "secret", state };
    // An invalid URL may have a password.
    const shown = state === "failed" ? null : text;
    return isAbsent
      ? { name, value: String(defaults[name] ?? ""), source: "default", state }
      : { name, value: shown, source: "variable", state };
  });
}
