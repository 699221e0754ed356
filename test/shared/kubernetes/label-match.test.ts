// Tests which labels satisfy a selector, as in apimachinery's Selector.Matches.
import { expect, it } from "vitest";
import { matchesLabels } from "../../../shared/kubernetes/label-match.ts";
import { parseLabelSelector } from "../../../shared/kubernetes/label-selector.ts";

const LABELS = {
  site: "berlin",
  tier: "gpu",
  slots: "12",
  empty: "",
  huge: "9223372036854775808",
  most: "9223372036854775807",
};

it.each([
  ["", true],
  ["site", true],
  ["!site", false],
  ["other", false],
  ["!other", true],
  ["site=berlin", true],
  ["site==rome", false],
  ["site!=rome", true],
  ["other!=rome", true],
  ["site in (rome, berlin)", true],
  ["site notin (rome, berlin)", false],
  ["other notin (rome)", true],
  ["other in (rome)", false],
  ["empty=", true],
  ["slots>11", true],
  ["slots>12", false],
  ["slots<13", true],
  ["most>1", true],
  ["huge>1", false],
  ["huge<1", false],
  ["tier>1", false],
  ["other>1", false],
  ["toString", false],
  ["site=berlin,tier!=gpu", false],
  ["site=berlin,tier=gpu", true],
])("%j → %s", (selector, expected) => {
  const parsed = parseLabelSelector(selector);
  expect(parsed.ok && matchesLabels(parsed.value, LABELS)).toBe(expected);
});
