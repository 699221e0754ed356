import { describe, expect, it } from "vitest";
import { packageVersion, releaseOf } from "../../shared/package-version.ts";
import { ROLLOUT_LIMITS } from "../../shared/protocol/limits.ts";

describe("packageVersion, and back", () => {
  it.each([
    ["0.1.0", "0.1.0"],
    ["0.2.0-rc.1", "0.2.0~rc.1"],
  ])("%s → %s", (version, expected) => {
    expect(packageVersion(version)).toBe(expected);
    expect(releaseOf(expected)).toBe(version);
  });
});

describe("a text that is not the Debian version of a release → null", () => {
  it.each([
    "",
    "0.2",
    "newest",
    "0.2.0-rc.1",
    "1:0.2.0",
    "0.2.0 rollcall-cli",
    "0.2.0\n",
    "0.2.0;reboot",
    "--allow-unauthenticated",
    "0.2.0/testing",
    "0.2.0~",
  ])("%j", (text) => {
    expect(releaseOf(text)).toBeNull();
  });

  it("of the most characters, and of one more", () => {
    const most = `0.2.0~${"a".repeat(ROLLOUT_LIMITS.versionLength - 6)}`;
    expect([releaseOf(most), releaseOf(`${most}a`)]).toEqual([packageVersion(most).replace("~", "-"), null]);
  });
});
