// Tests the request that `token create` sends for its flags, and the errors for malformed flags.
import { expect, it, test } from "vitest";
import { movedLines, seconds, tokenRequest, TYPED } from "../../../infra/operator/token-commands.ts";
import { tokenRequestSchema } from "../../../shared/protocol/join-tokens.ts";

test.each([
  ["90m", 5400],
  ["24h", 86_400],
  ["7d", 604_800],
  ["1d12h", 129_600],
  ["1s", 1],
  ["365d", 31_536_000],
])("--expires-in %s → %d seconds", (typed, expected) => {
  expect(seconds(typed)).toBe(expected);
});

test.each([
  "",
  "soon",
  "7",
  "d",
  "1.5d",
  "7dd",
  "-1h",
  "0",
  "0d",
  "500ms",
  "1500ms",
  "365d1s",
  "366d",
  "1h1d",
])("--expires-in %j → says what it has to be", (typed) => {
  expect(() => seconds(typed)).toThrow("must be a duration such as 90m, 24h or 7d; from 1s to 365d");
});

const FLAGS = { names: "edge-*", expiresIn: 60, uses: 2 };

test.each([
  ["a label that stays", { site: "north" }, false, []],
  [
    "labels that others count",
    { "topology.kubernetes.io/zone": "a", "failure-domain.beta.kubernetes.io/region": "n" },
    false,
    [
      "its Nodes have the label topology.kubernetes.io/zone as rollcall.dev/zone: under that key no program counts them as places for pods",
      expect.stringContaining("failure-domain.beta.kubernetes.io/region as rollcall.dev/region"),
    ],
  ],
  [
    "one, of machines that may run pods",
    { "kubernetes.io/hostname": "a" },
    true,
    [
      expect.stringMatching(
        /^Nodes with the taint rollcall.dev\/facts-only have .* as rollcall.dev\/hostname/,
      ),
    ],
  ],
])("--label with %s → what is said of it", (_, label, withoutFactsOnlyTaint, expected) => {
  expect(movedLines({ ...FLAGS, label, withoutFactsOnlyTaint })).toEqual(expected);
});

it("flags → a request that the Worker takes", () => {
  const wish = tokenRequest({ ...FLAGS, label: { site: "north" }, mayLabel: ["a/*"], mayTaint: [""] });
  const wanted = { names: "edge-*", expiresInSeconds: 60, uses: 2, labels: { site: "north" } };
  expect(wish).toEqual({ ...wanted, mayAll: false, mayLabel: ["a/*"], mayTaint: [] });
  expect(tokenRequestSchema.safeParse(wish).success).toBe(true);
  expect(tokenRequest({ ...FLAGS, mayAll: true })).toMatchObject({ mayAll: true });
  expect(tokenRequest({ ...FLAGS, questions: false })).toMatchObject({ mayBeAsked: false });
  expect(tokenRequest({ ...FLAGS, questions: true })).not.toHaveProperty("mayBeAsked");
});

test.each([
  [
    ["edge", "gpu"],
    ["edge", "gpu"],
  ],
  [[""], []],
])("--role %j → %j", (role, roles) => {
  expect(tokenRequest({ ...FLAGS, role })).toMatchObject({ roles });
});

it("each field of a request → has the flag that was typed for it", () => {
  expect(Object.keys(TYPED).toSorted()).toEqual(Object.keys(tokenRequestSchema.shape).toSorted());
});
