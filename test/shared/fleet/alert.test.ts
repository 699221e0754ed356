// Tests the messages to receivers in each format. docs/notifications.md shows the same messages.
import { describe, expect, it } from "vitest";
import { type AlertMessage, messageText, type Alert, textOf } from "../../../shared/fleet/alert.ts";
import type { MessageFormat } from "../../../shared/protocol/receiver-api.ts";

const START_MS = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;

const alert = (more: Partial<Alert> = {}): Alert => ({
  id: "alert-1",
  status: "firing",
  isRepeated: false,
  kind: "machine",
  name: "edge-7",
  state: "silent",
  severity: "warning",
  sinceMs: START_MS,
  untilMs: null,
  machines: 1,
  names: ["edge-7"],
  address: "203.0.113.7",
  why: "",
  ...more,
});
const over = {
  status: "resolved",
  untilMs: START_MS + 65 * MINUTE,
  why: "ready",
} satisfies Partial<Alert>;
const outage = {
  kind: "outage",
  name: "12",
  severity: "critical",
  machines: 40,
  names: ["edge-1", "edge-2"],
} satisfies Partial<Alert>;
const cluster = {
  kind: "cluster",
  name: "rollcall",
  state: "cluster-unreachable",
  address: "",
  names: [],
} satisfies Partial<Alert>;
const message = (alerts: Alert[]): AlertMessage => ({
  id: "message-1",
  deployment: "rollcall",
  origin: "https://rollcall.example.com",
  receiver: "ops",
  atMs: START_MS + 2 * MINUTE,
  dropped: 0,
  alerts,
});
const parsed = (...asked: Parameters<typeof messageText>): unknown => JSON.parse(messageText(...asked));

it.each<[Partial<Alert>, string]>([
  [{}, "edge-7 is silent since 2026-01-01T00:00:00.000Z"],
  [
    { state: "not-ready", why: "disk pressure" },
    "edge-7 is not-ready since 2026-01-01T00:00:00.000Z: disk pressure",
  ],
  [over, "Over: edge-7 was silent, for 1 h 5 min, until 2026-01-01T01:05:00.000Z; now it is ready"],
  [
    { ...over, untilMs: START_MS },
    "Over: edge-7 was silent, for 0 s, until 2026-01-01T00:00:00.000Z; now it is ready",
  ],
  [
    { ...over, why: "not-ready" },
    "Changed: edge-7 was silent, for 1 h 5 min, until 2026-01-01T01:05:00.000Z; now it is not-ready",
  ],
  [
    { ...over, why: "silent" },
    "Changed: edge-7 is still silent since 2026-01-01T00:00:00.000Z, and no longer matches this receiver",
  ],
  [
    outage,
    "Outage: 40 machines behind 203.0.113.7 are silent since 2026-01-01T00:00:00.000Z: edge-1, edge-2, …",
  ],
  [
    { ...outage, ...over, why: "", untilMs: START_MS + 26 * 60 * MINUTE },
    "Over: Outage: 40 machines behind 203.0.113.7 were silent, for 1 d 2 h, until 2026-01-02T02:00:00.000Z: edge-1, edge-2, …",
  ],
  [cluster, "The cluster cannot be written, as far as is known for 1 machine since 2026-01-01T00:00:00.000Z"],
])("%j → %s", (more, text) => {
  expect(textOf(alert(more))).toBe(text);
});

it("json → versioned, with all fields", () => {
  expect(parsed("json", message([alert(), alert(over)]))).toEqual({
    version: 1,
    id: "message-1",
    deployment: "rollcall",
    receiver: "ops",
    at: "2026-01-01T00:02:00.000Z",
    dropped: 0,
    alerts: [
      {
        id: "alert-1",
        status: "firing",
        isRepeated: false,
        kind: "machine",
        name: "edge-7",
        state: "silent",
        severity: "warning",
        since: "2026-01-01T00:00:00.000Z",
        until: null,
        machines: 1,
        names: ["edge-7"],
        address: "203.0.113.7",
        why: "",
        text: "edge-7 is silent since 2026-01-01T00:00:00.000Z",
        url: "https://rollcall.example.com/v1/nodes/edge-7",
        page: "https://rollcall.example.com/?machine=edge-7",
      },
      expect.objectContaining({ status: "resolved", until: "2026-01-01T01:05:00.000Z" }),
    ],
  });
});

it.each<[kind: string, more: Partial<Alert>, page: string]>([
  ["machine", {}, "https://rollcall.example.com/?machine=edge-7"],
  ["outage", outage, "https://rollcall.example.com/?outage=12"],
  ["cluster", cluster, "https://rollcall.example.com/"],
])("the page of a %s alert → in a field of its own, in each format", (_, more, page) => {
  const bodyOf = (format: MessageFormat, origin: string) =>
    messageText(format, { ...message([alert(more)]), origin });
  const linked = { json: `"page":"${page}"`, slack: ` <${page}|page>"`, alertmanager: `"page":"${page}"` };
  for (const [format, text] of Object.entries(linked) as [MessageFormat, string][])
    expect(bodyOf(format, "https://rollcall.example.com")).toContain(text);
  expect(bodyOf("json", "")).toContain('"page":""');
  for (const format of ["slack", "alertmanager"] as const) expect(bodyOf(format, "")).not.toMatch(/page/);
});

describe("a machine's diagnosis → lines that are marked as its own words, and why there are none", () => {
  const findings = ["fail  disk  / is full", "warn  dns  <http://evil.example>"];
  it.each<[MessageFormat, NonNullable<Alert["diagnosis"]>, string]>([
    ["json", { findings, none: "" }, '"diagnosis":{"findings":["fail  disk  / is full",'],
    [
      "slack",
      { findings, none: "" },
      "The machine's own words:\\nfail  disk  / is full\\nwarn  dns  &lt;http[:]//evil.example&gt;",
    ],
    ["slack", { findings: [], none: "the machine is silent" }, "\\nNo diagnosis: the machine is silent."],
    ["alertmanager", { findings, none: "" }, '"diagnosis":"The machine\'s own words:\\nfail  disk'],
  ])("%s", (format, diagnosis, text) =>
    expect(messageText(format, message([alert({ state: "not-ready", diagnosis })]))).toContain(text),
  );
});

describe("slack", () => {
  it("→ a text, and a section for each alert, escaped", () => {
    const text =
      ":red_circle: edge-7 is not-ready since 2026-01-01T00:00:00.000Z: a &lt;!channel&gt; &amp; b <https://rollcall.example.com/?machine=edge-7|page>";
    expect(parsed("slack", message([alert({ state: "not-ready", why: "a <!channel> & b" })]))).toEqual({
      text,
      blocks: [{ type: "section", text: { type: "mrkdwn", text, verbatim: true } }],
    });
  });

  it.each([
    ["well", "ready", ":white_check_mark: Over: edge-7 was"],
    ["in another bad state", "silent", ":large_yellow_circle: Changed: edge-7 was"],
  ])("an ended alert about a machine that is %s → %s's sign", (_, why, text) => {
    const ended = message([alert({ ...over, state: "not-ready", why })]);
    expect(parsed("slack", ended)).toMatchObject({ text: expect.stringContaining(text) });
  });

  it.each([
    "http://evil.example/login",
    "https://evil.example/",
    "see HTTPS://evil.example now",
    "ftp://evil.example",
  ])("a machine's text with %s → readable, and no link; the page's own link stays", (why) => {
    const { text, blocks } = parsed("slack", message([alert({ why })])) as {
      text: string;
      blocks: { text: { text: string; verbatim: boolean } }[];
    };
    const shown = `${why.replace("://", "[:]//")} <https://rollcall.example.com/?machine=edge-7|page>`;
    for (const each of [text, blocks[0]!.text.text]) {
      expect(each.endsWith(shown)).toBe(true);
      expect(each.match(/:\/\//g)).toHaveLength(1);
    }
    // Slack links bare names as well, unless a text is verbatim.
    expect(blocks[0]!.text.verbatim).toBe(true);
  });

  it("many long ones → within Slack's limits", () => {
    const long = Array.from({ length: 40 }, () => alert({ why: "&".repeat(5000) }));
    const { text, blocks } = parsed("slack", message(long)) as {
      text: string;
      blocks: { text: { text: string } }[];
    };
    expect([text.length <= 4000, blocks.length]).toEqual([true, 40]);
    expect(blocks.every((block) => block.text.text.length <= 3000)).toBe(true);
    // Each remaining line is whole, so no link is cut.
    for (const each of [text.replace(/\n…$/, ""), ...blocks.map((block) => block.text.text)])
      expect(each).toMatch(/… <https:\S+\|page>$/);
  });
});

describe("alertmanager", () => {
  it.each<[string, Partial<Alert>, Record<string, string>]>([
    [
      "a machine",
      {},
      { alertname: "RollcallMachine", machine: "edge-7", state: "silent", severity: "warning" },
    ],
    [
      "an outage",
      outage,
      { alertname: "RollcallOutage", outage: "12", state: "silent", severity: "critical" },
    ],
    [
      "the cluster",
      cluster,
      { alertname: "RollcallCluster", state: "cluster-unreachable", severity: "warning" },
    ],
  ])("%s → the same labels while it lasts and when it is over", (_, more, labels) => {
    const posted = parsed("alertmanager", message([alert(more), alert({ ...more, ...over })]));
    expect(posted).toMatchObject([
      { startsAt: "2026-01-01T00:00:00.000Z", endsAt: "2027-01-01T00:02:00.000Z" },
      { startsAt: "2026-01-01T00:00:00.000Z", endsAt: "2026-01-01T01:05:00.000Z" },
    ]);
    for (const each of posted as { labels: unknown }[])
      expect(each.labels).toEqual({ deployment: "rollcall", ...labels });
  });
});
