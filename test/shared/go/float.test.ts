import { describe, expect, test } from "vitest";
import { parseFloat32 } from "../../../shared/go/float.ts";
import { failure, success } from "../../../shared/result.ts";

describe("32-bit float", () => {
  test.each([
    ["0.1", 0.10000000149011612],
    ["1_0.5", 10.5],
    ["0x1.8p1", 3],
    ["-inf", -Infinity],
    ["3.4028235e38", 3.4028234663852886e38],
    ["1e-60", 0],
  ])("%s is %d", (text, value) => {
    expect(parseFloat32(text)).toEqual(success(value));
  });

  test.each([
    ["", "invalid syntax"],
    ["1_", "invalid syntax"],
    ["1__0", "invalid syntax"],
    [" 1", "invalid syntax"],
    ["0x1", "invalid syntax"],
    ["+nan", "invalid syntax"],
    ["3.4028236e38", "value out of range"],
  ])("%j is none", (text, error) => {
    expect(parseFloat32(text)).toEqual(failure(`strconv.ParseFloat: parsing "${text}": ${error}`));
  });
});
