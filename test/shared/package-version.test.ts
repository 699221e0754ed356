import { describe, expect, it } from "vitest";
import { packageVersion } from "../../shared/package-version.ts";

describe("packageVersion", () => {
  it.each([
    ["0.1.0", "0.1.0"],
    ["0.2.0-rc.1", "0.2.0~rc.1"],
  ])("%s → %s", (version, expected) => {
    expect(packageVersion(version)).toBe(expected);
  });
});
