import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it, test } from "vitest";
import { age, liveTable, type NodeRow, tableLines } from "../../../infra/local/table.ts";

const NOW = Date.parse("2026-01-10T00:00:00Z");
const before = (seconds: number) => new Date(NOW - seconds * 1000).toISOString();
const row = (name: string, more: Partial<NodeRow> = {}): NodeRow => ({
  name,
  status: "Ready",
  leaseRenewedAt: before(3),
  createdAt: before(3600),
  version: "v1.36.0-rollcall-v0.1.0",
  internalIP: "10.0.0.1",
  osImage: "Debian",
  kernel: "6.1.0",
  ...more,
});

describe("the table", () => {
  test.each([
    [undefined, "-"],
    [before(-5), "0s"],
    [before(0), "0s"],
    [before(119), "119s"],
    [before(120), "2m"],
    [before(7199), "119m"],
    [before(7200), "2h"],
    [before(172_799), "47h"],
    [before(172_800), "2d"],
  ])("age of %s → %s", (since, text) => {
    expect(age(since, NOW)).toBe(text);
  });

  it("a line per Node, in columns; how many are Ready", () => {
    const rows = [
      row("a"),
      row("a-longer-name", { status: "NotReady", leaseRenewedAt: undefined }),
      row("b", { status: "Ready,SchedulingDisabled" }),
    ];
    expect(tableLines(rows, NOW, 200)).toEqual([
      "NAME            STATUS                     LEASE   AGE   INTERNAL-IP   OS-IMAGE   KERNEL   VERSION",
      "a               Ready                      3s      60m   10.0.0.1      Debian     6.1.0    v1.36.0-rollcall-v0.1.0",
      "a-longer-name   NotReady                   -       60m   10.0.0.1      Debian     6.1.0    v1.36.0-rollcall-v0.1.0",
      "b               Ready,SchedulingDisabled   3s      60m   10.0.0.1      Debian     6.1.0    v1.36.0-rollcall-v0.1.0",
      "2 of 3 Ready",
    ]);
  });

  it("no Nodes → the head and a zero", () => {
    expect(tableLines([], NOW, 80).at(-1)).toBe("0 of 0 Ready");
  });

  it("a narrow terminal → no line reaches its last column", () => {
    for (const line of tableLines([row("edge-1")], NOW, 40)) expect(line.length).toBeLessThan(40);
  });

  it("20 Nodes → all; 21 → 20 and how many more, and all are counted", () => {
    const rows = (count: number) => Array.from({ length: count }, (_, index) => row(`n${index}`));
    expect(tableLines(rows(20), NOW, 80)).toHaveLength(22);
    expect(tableLines(rows(21), NOW, 80).slice(-2)).toEqual(["… and 1 more", "21 of 21 Ready"]);
  });
});

describe("drawing", () => {
  function output(tty: boolean) {
    const stream = new PassThrough();
    const out = Object.assign(stream, { isTTY: tty, columns: 100 }) as unknown as NodeJS.WriteStream;
    return { table: liveTable(out), written: () => String(stream.read() ?? "") };
  }

  it("not a terminal → a line per change, no control characters", () => {
    const { table, written } = output(false);
    table.draw([row("a"), row("b", { status: "Unknown" })], NOW);
    expect(written()).toBe("node a is Ready\nnode b is Unknown\n");
    table.draw([row("a", { leaseRenewedAt: before(1) }), row("b", { status: "Ready" })], NOW);
    expect(written()).toBe("node b is Ready\n");
    table.draw([row("a")], NOW);
    expect(written()).toBe("node b is gone\n");
    table.draw([row("a"), row("b")], NOW);
    expect(written()).toBe("node b is Ready\n");
    table.note("the shim ended");
    expect(written()).toBe("the shim ended\n");
  });

  it("a terminal → drawn in place of the last; a note stays above", () => {
    const { table, written } = output(true);
    table.draw([row("a")], NOW);
    expect(stripVTControlCharacters(written())).toMatch(/^NAME .*\na .*\n1 of 1 Ready\n$/);
    table.note("the shim ended");
    const again = written();
    expect(again.startsWith("\u001B[3A\u001B[0J")).toBe(true);
    expect(stripVTControlCharacters(again)).toMatch(/^the shim ended\nNAME .*\na .*\n1 of 1 Ready\n$/);
  });
});
