// Tests the report as text: 80 columns, the worst findings first, unread resources last.
import { expect, test } from "vitest";
import type { Finding } from "../../../infra/impact/finding.ts";
import { impactText } from "../../../infra/impact/impact-text.ts";
import { PIPE } from "../../../infra/operator/render/terminal.ts";

const finding: Finding = {
  check: "daemon-sets",
  severity: "breaks",
  object: "DaemonSet kube-system/agent",
  consequence:
    "300 of its pods would stay Pending, one on each Node. One such pod blocks its rolling updates on real Nodes.",
  remedy: "Add a required node affinity to its pods: key rollcall.dev/machine, operator DoesNotExist.",
  link: "https://kubernetes.io/docs/",
};
const report = (changes: object = {}) => ({
  machines: 300,
  version: "v1.36.3",
  nodes: { all: 21, machines: 0 },
  findings: [finding],
  unread: [],
  ...changes,
});

test("a finding, on a pipe", () => {
  expect(impactText(report(), PIPE)).toBe(`300 more Nodes of rollcall's in a cluster with 21 Nodes, v1.36.3:

BREAKS  DaemonSet kube-system/agent
  300 of its pods would stay Pending, one on each Node. One such pod blocks its
  rolling updates on real Nodes.
  → Add a required node affinity to its pods: key rollcall.dev/machine,
    operator DoesNotExist.
  https://kubernetes.io/docs/

1 breaks something.
`);
});

test.each<[situation: string, changes: object, contains: string]>([
  ["nothing", { findings: [] }, "\nNothing was found that more Nodes would change.\n"],
  [
    "several of each",
    { findings: [finding, finding, { ...finding, severity: "costs" }, { ...finding, severity: "note" }] },
    "\n2 break something, 1 costs something, 1 note.\n",
  ],
  [
    "nothing that breaks",
    { findings: [{ ...finding, severity: "costs" }] },
    "\nNothing breaks, 1 costs something.\n",
  ],
  [
    "machines that are there",
    { nodes: { all: 21, machines: 7 }, version: null },
    "21 Nodes (7 of rollcall's),\nversion not known:\n",
  ],
  [
    "what was not read",
    { unread: [{ what: "daemonsets", why: "forbidden" }] },
    "\nCould not be read or tried, so that hazards there are not in this list:\n  daemonsets: forbidden\n",
  ],
])("%s", (_, changes, contains) => {
  expect(impactText(report(changes), PIPE)).toContain(contains);
});

test("a refusal of several lines keeps them, without what a terminal would obey", () => {
  const refusal = { ...finding, consequence: "refused:\nzone is required\u001B[2J" };
  expect(impactText(report({ findings: [refusal] }), PIPE)).toContain(
    "  refused:\n  zone is required\u{FFFD}[2J\n",
  );
});

test("a narrow terminal → no line is wider", () => {
  const text = impactText(report({ findings: [{ ...finding, link: undefined }] }), {
    columns: 40,
    isColored: false,
  });
  expect(text.split("\n").filter((line) => line.length > 40)).toEqual([]);
});
