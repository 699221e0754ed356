import { expect, test } from "vitest";
import { canonicalVersion } from "../../../shared/kubernetes/version.ts";

test.each([
  ["2.1.9", "2.1.9"],
  ["v2.1.9", "2.1.9"],
  [" v1.7.2-beta.1+build.5 ", "1.7.2-beta.1+build.5"],
  ["1.6.20~ds1", "1.6.20"],
  ["1.6.20-", "1.6.20"],
  ["19.03.5-ce", "19.3.5"],
  ["1.2.3-01", "1.2.3"],
  ["1.2.3-01a", "1.2.3-01a"],
  ["1.2.03", "1.2.3"],
  ["01.2.3", null],
  ["1.30", "1.30"],
  ["1.30-rc", "1.30"],
  ["1.2.3.4", "1.2.3.4"],
  ["2", null],
  ["", null],
  ["edge", null],
  ["1.2.18446744073709551615", "1.2.18446744073709551615"],
  ["1.2.18446744073709551616", null],
  ["1.2.3\n4", null],
])("%j → %j, as kubelet's newRuntimeVersion shows it", (text, version) => {
  expect(canonicalVersion(text)).toBe(version);
});
