import { describe, expect, it } from "vitest";
import { isBehind } from "../../../../shared/fleet/sort-keys.ts";

describe("isBehind", () => {
  it.each([
    ["0.1.0", "0.2.0", true],
    ["0.2.0-rc.1", "0.2.0", true],
    ["0.9.0", "0.10.0", true],
    ["0.2.0", "0.2.0", false],
    ["0.3.0", "0.2.0", false],
    ["", "0.2.0", false],
    ["dev", "0.2.0", false],
    ["0.1.0", "dev", false],
  ])("%j compared with %j → %s", (version, other, expected) => {
    expect(isBehind(version, other)).toBe(expected);
  });
});
