// Tests the list of the deployment's settings that operators see.
import { describe, expect, it } from "vitest";
import { settingsInForce } from "../../../shared/deployment/settings-in-force.ts";

const DEFAULTS = { MAX_IMAGES: 50 };
const of = (name: string, configured: Record<string, unknown>) =>
  settingsInForce(configured, DEFAULTS).find((setting) => setting.name === name);

describe("a setting", () => {
  it.each<[string, string, Record<string, unknown>, object]>([
    ["that is absent", "MAX_IMAGES", {}, { value: "50", source: "default" }],
    ["that is empty", "MAX_IMAGES", { MAX_IMAGES: "" }, { value: "50", source: "default" }],
    ["that is a number", "MAX_IMAGES", { MAX_IMAGES: 7 }, { value: "7", source: "variable", state: "ok" }],
    ["without a default", "NODE_ROLE", {}, { value: "", source: "default" }],
    [
      "that is wrong, and could contain a password",
      "KUBE_URL",
      { KUBE_URL: "https://me:secret@kube.test" },
      { value: null, source: "variable", state: "failed" },
    ],
    ["that is a secret", "KUBE_TOKEN", { KUBE_TOKEN: "t" }, { value: "present", source: "secret" }],
    [
      "that is a secret, and absent",
      "KUBE_TOKEN",
      {},
      { value: "absent", source: "secret", state: "failed" },
    ],
  ])("%s", (_, name, configured, expected) => {
    expect(of(name, configured)).toMatchObject(expected);
  });
});
