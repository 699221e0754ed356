// Tests rollcall node: all data of one machine on one screen, and advice for its faults.
import { expect, it, test } from "vitest";
import { nodeScreen } from "../../../../infra/operator/fleet/machine-screen.ts";
import { PIPE } from "../../../../infra/operator/render/terminal.ts";
import type { WholeNode } from "../../../../shared/protocol/operator-answers.ts";
import { wholeNode } from "../made-up-node.ts";

const PAGE = "https://rollcall.example.com/?machine=edge-7";
const entry = { id: 1, at: "2026-01-01T11:00:00.123Z", kind: "state", text: "silent → ready" };
const textOf = (change: Partial<WholeNode> = {}, columns: number | null = null) =>
  nodeScreen(wholeNode(change), [entry], PAGE).text({
    screen: { ...PIPE, columns },
    nowMs: Date.UTC(2026, 0, 1, 12),
    isWide: false,
  });

it("one that is well → everything, and nothing to do", () => {
  expect(textOf()).toBe(`name               edge-7
state              ready since 2026-01-01T11:00:00Z (60m ago)
phase              registered
ready              yes

MemoryPressure     False: sufficient memory
Ready              True for 60m: posting ready status

memory.available   2.0Gi of 4.0Gi (50%); at least 100Mi, soft 1Gi
pid.available      100 of 400 (25%)

shim               0.1.0
system             Debian 12, 6.1, amd64
runtime            none
capacity           cpu 4
addresses          InternalIP 10.0.0.7
reports from       203.0.113.7
machine ID         m

last report        2026-01-01T11:59:55Z (5s ago), by http
lease until        2026-01-01T12:00:35Z
events waiting     none
key                k, since 2026-01-01T11:00:00Z
join token         t

2026-01-01T11:00:00Z   silent → ready

page   https://rollcall.example.com/?machine=edge-7
`);
});

const { summary } = wholeNode();
test.each<[situation: string, change: Partial<WholeNode>, lines: RegExp[]]>([
  [
    "silent",
    { silentSince: "2026-01-01T11:50:00Z" },
    [
      /^ready +not known; the machine was ready when it reported last$/m,
      /^silent since +.*\(10m ago\)$/m,
      /^what to do +`rollcall nodes --beside edge-7`/m,
    ],
  ],
  ["cloned", { phase: "cloned", isReady: false }, [/^what to do +`rollcall node clones edge-7`/m]],
  [
    "not Ready",
    {
      isReady: false,
      conditions: [{ type: "Ready", status: "False", message: "no runtime", since: "2026-01-01T11:00:00Z" }],
    },
    [/^what to do +fix what the condition Ready reports$/m, /^Ready +False for 60m: no runtime$/m],
  ],
  [
    "never heard of",
    { phase: null, isReady: false, lastReportAt: null, vitals: null },
    [/never reported/, /node-shim status/],
  ],
  [
    "refused",
    { key: { ...wholeNode().key, isRefused: true, next: "k2" } },
    [/rollcall forget edge-7/, /^next key +k2$/m],
  ],
  ["a clock that is behind", { isSkewed: true, skewMs: -90_400 }, [/^clock +90s behind the Worker's$/m]],
  ["not told of yet", { summary: null }, [/^machine ID +m$/m, /^runtime +auto$/m]],
  ["of a Worker with a newer phase", { phase: "resting", isReady: false }, [/^phase +resting$/m]],
  [
    "with a reason, a cordon, a clock that is off",
    {
      summary: summary && { ...summary, why: "the disk is full", withheld: "label a", isUnschedulable: true },
      isSkewed: true,
      skewMs: 90_400,
      outbox: { waiting: 3, oldest: "2026-01-01T11:58:00Z", dropped: 2 },
    },
    [
      /^why +the disk is full$/m,
      /^withheld +label a$/m,
      /^cordoned +yes$/m,
      /^clock +90s ahead of the Worker's$/m,
      /^events waiting +3, .*\(2m ago\); 2 were dropped$/m,
    ],
  ],
])("%s → says so, and what to do", (_, change, lines) => {
  const text = textOf(change);
  for (const line of lines) expect(text).toMatch(line);
});

test.each([40, 80, 200])("%i columns → no line is wider", (columns) => {
  const wide = textOf({ phase: "two shims", isReady: false }, columns).split("\n");
  // A link may be longer than the screen, because it must not be split.
  expect(wide.filter((line) => line.length > columns && !line.endsWith(PAGE))).toEqual([]);
});
