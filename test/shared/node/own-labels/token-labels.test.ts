// The labels of a join token: put back where they are missing, gone with the token, and never what others decide about.
import { expect, test } from "vitest";
import { tokenLabels } from "../../../../shared/node/own-labels.ts";
import type { DraftNode } from "../../../../shared/setters/setter.ts";

type Map = Record<string, string>;
const LIST = "rollcall.dev/token-labels";
const ROLE = "node-role.kubernetes.io/edge";

test.each<[situation: string, given: Map, before: Map, annotations: Map, after: Map, listed?: string]>([
  ["a new Node", { tier: "front" }, {}, {}, { tier: "front" }, "tier"],
  [
    "somebody has removed it",
    { tier: "front" },
    { a: "b" },
    { [LIST]: "tier" },
    { a: "b", tier: "front" },
    "tier",
  ],
  ["another token gives none", {}, { tier: "front", a: "b" }, { [LIST]: "tier" }, { a: "b" }],
  [
    "another token gives none, and the machine says it by now",
    {},
    { tier: "back" },
    { [LIST]: "tier", "rollcall.dev/fact-labels": "tier" },
    { tier: "back" },
  ],
  [
    "another token gives none, and the machine's configuration says it by now",
    {},
    { tier: "back" },
    { [LIST]: "tier", "rollcall.dev/node-labels": "tier" },
    { tier: "back" },
  ],
  [
    "somebody has listed what no token gives",
    {},
    { [ROLE]: "", "rollcall.dev/machine": "" },
    { [LIST]: `${ROLE},rollcall.dev/machine` },
    { [ROLE]: "", "rollcall.dev/machine": "" },
  ],
])("%s", (_, given, labels, annotations, after, listed) => {
  const node: DraftNode = { metadata: { labels, annotations }, spec: {}, status: {} };
  expect(tokenLabels(given)(node)).toBeNull();
  expect(node.metadata.labels).toEqual(after);
  expect(node.metadata.annotations?.[LIST]).toBe(listed);
});
