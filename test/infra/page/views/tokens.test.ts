import { describe, expect, it } from "vitest";
import { tokenRequestSchema } from "../../../../shared/protocol/join-tokens.ts";
import { type TokenForm, tokenRequest, usedText } from "../../../../infra/page/views/tokens.tsx";

const form: TokenForm = {
  names: "edge-*",
  uses: "5",
  expiresInSeconds: "3600",
  isRejoin: false,
  isNeverAsked: false,
  roles: "",
  labels: "",
  taints: "",
  isWithoutFactsOnlyTaint: false,
  isMayAll: false,
  mayLabel: "",
  mayTaint: "",
  mayCondition: "",
  mayResource: "",
  mayAddress: "",
  mayFeature: "",
  mayCloud: "",
};

describe("what the form says → the request, which the Worker takes", () => {
  it.each<[string, Partial<TokenForm>, object]>([
    ["no more than is needed", {}, {}],
    ["spaces around a name", { names: " edge-* " }, {}],
    [
      "a rejoin has one use",
      { names: "edge-1", isRejoin: true, uses: "9" },
      { names: "edge-1", uses: 1, rejoin: true },
    ],
    ["no questions", { isNeverAsked: true }, { mayBeAsked: false }],
    ["roles", { roles: "edge, gpu" }, { roles: ["edge", "gpu"] }],
    [
      "labels, also an empty one",
      { labels: "site=berlin\n\n example.com/empty=" },
      { labels: { site: "berlin", "example.com/empty": "" } },
    ],
    [
      "taints",
      { taints: "gpu=yes:NoSchedule\nspot:NoExecute" },
      {
        taints: [
          { key: "gpu", value: "yes", effect: "NoSchedule" },
          { key: "spot", effect: "NoExecute" },
        ],
      },
    ],
    ["may be given pods", { isWithoutFactsOnlyTaint: true }, { withoutFactsOnlyTaint: true }],
    ["may set everything", { isMayAll: true }, { mayAll: true }],
    [
      "may set more than the default",
      { mayLabel: "tier\n example.com/* \n", mayAddress: "203.0.113.0/24", mayCloud: "aws:///a/*" },
      { mayLabel: ["tier", "example.com/*"], mayAddress: ["203.0.113.0/24"], mayCloud: ["aws:///a/*"] },
    ],
  ])("%s", (_, change, more) => {
    const wish = tokenRequest({ ...form, ...change });
    const expected = { names: "edge-*", uses: 5, expiresInSeconds: 3600, mayAll: false, ...more };
    expect(wish).toEqual({ ok: true, value: expected });
    expect(tokenRequestSchema.safeParse(expected).success).toBe(true);
  });
});

describe("what cannot be meant is said beside its field", () => {
  it.each<[string, Partial<TokenForm>, keyof TokenForm]>([
    ["no name", { names: " " }, "names"],
    ["a rejoin by a pattern", { isRejoin: true }, "names"],
    ["no number", { uses: "many" }, "uses"],
    ["none at all", { uses: "0" }, "uses"],
    ["half of one", { uses: "1.5" }, "uses"],
    ["a label without a value's sign", { labels: "site" }, "labels"],
    ["a taint without an effect", { taints: "gpu=yes" }, "taints"],
    ["a taint with another effect", { taints: "gpu:NoWay" }, "taints"],
  ])("%s", (_, change, field) => {
    expect(tokenRequest({ ...form, ...change })).toMatchObject({ ok: false, error: { field } });
  });
});

it.each([
  [0, 0, 1, "0 of 1"],
  [200, 1, 400, "200 of 400, 1 waits"],
  [200, 2, 400, "200 of 400, 2 wait"],
])("%d enrolled, %d waiting, of %d → %s", (used, waiting, uses, text) => {
  expect(usedText(used, waiting, uses)).toBe(text);
});
