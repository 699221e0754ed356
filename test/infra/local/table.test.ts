import { PassThrough } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it, test } from "vitest";
import { age, liveTable, type NodeRow, type View, viewLines } from "../../../infra/local/table.ts";

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

  const lines = (rows: NodeRow[], columns: number, height = 50) =>
    viewLines({ kind: "nodes", rows, nowMs: NOW }, "me", { columns, rows: height });

  it("a line per Node, in columns; how many are Ready", () => {
    const rows = [
      row("a"),
      row("a-longer-name", { status: "NotReady", leaseRenewedAt: undefined }),
      row("b", { status: "Ready,SchedulingDisabled" }),
    ];
    expect(lines(rows, 200)).toEqual([
      "NAME            STATUS                     LEASE   AGE   VERSION                   INTERNAL-IP   OS-IMAGE   KERNEL",
      "a-longer-name   NotReady                   -       60m   v1.36.0-rollcall-v0.1.0   10.0.0.1      Debian     6.1.0",
      "a               Ready                      3s      60m   v1.36.0-rollcall-v0.1.0   10.0.0.1      Debian     6.1.0",
      "b               Ready,SchedulingDisabled   3s      60m   v1.36.0-rollcall-v0.1.0   10.0.0.1      Debian     6.1.0",
      "2 of 3 Ready",
    ]);
  });

  it("sockets, where they are counted → how many", () => {
    const view: View = { kind: "nodes", rows: [row("a"), row("b")], nowMs: NOW, sockets: 1 };
    expect(viewLines(view, "me", { columns: 200, rows: 24 }).at(-1)).toBe("2 of 2 Ready, 1 on sockets");
  });

  it("Nodes that are not Ready come first, then this machine, then the others by name", () => {
    const notReady = (name: string, status: string) => row(name, { status });
    const rows = [
      row("sim-10"),
      row("sim-2"),
      notReady("z", "NotReady,SchedulingDisabled"),
      row("me"),
      notReady("y", "Unknown"),
    ];
    const names = lines(rows, 80).map((line) => line.split(" ")[0]);
    expect(names.slice(1, -1)).toEqual(["y", "z", "me", "sim-2", "sim-10"]);
  });

  it("no Nodes → the head and a zero", () => {
    expect(lines([], 80).at(-1)).toBe("0 of 0 Ready");
  });

  test.each([
    [200, "NAME     STATUS   LEASE   AGE   VERSION                   INTERNAL-IP   OS-IMAGE   KERNEL"],
    [80, "NAME     STATUS   LEASE   AGE   VERSION                   INTERNAL-IP"],
    [40, "NAME     STATUS   LEASE   AGE"],
    [18, "NAME     STATUS"],
    [12, "NAME     S…"],
  ])("a terminal of %d columns → the columns that fit, and no line reaches the last one", (columns, head) => {
    const drawn = lines([row("edge-1")], columns);
    expect(drawn[0]).toBe(head);
    for (const line of drawn) expect(line.length).toBeLessThan(columns);
  });

  test.each([
    [20, 24, 20, []],
    [21, 24, 20, ["… and 1 more"]],
    [21, 25, 21, []],
    [3, 1, 1, ["… and 2 more"]],
  ])("%d Nodes in a terminal of %d rows → %d of them, and how many more", (count, height, shown, more) => {
    const rows = Array.from({ length: count }, (_, index) => row(`n${index}`));
    const drawn = lines(rows, 80, height);
    expect(drawn.filter((line) => /^n\d/.test(line))).toHaveLength(shown);
    expect(drawn.slice(1 + shown)).toEqual([...more, `${count} of ${count} Ready`]);
  });

  it("an apiserver that is away → since when, why, and no Node as it was before", () => {
    const view = { kind: "away", sinceMs: NOW - 12_000, fault: "ECONNREFUSED", nowMs: NOW } as const;
    expect(viewLines(view, "me", { columns: 100, rows: 24 })).toEqual([
      "The apiserver has not answered for 12s: whether the Nodes are Ready is not known.",
      "ECONNREFUSED",
    ]);
  });
});

describe("drawing", () => {
  function output(tty: boolean) {
    const stream = new PassThrough();
    const out = Object.assign(stream, { isTTY: tty, columns: 100, rows: 24 });
    const table = liveTable(out as unknown as NodeJS.WriteStream, "me");
    const draw = (...rows: NodeRow[]) => table.draw({ kind: "nodes", rows, nowMs: NOW });
    const away = () => table.draw({ kind: "away", sinceMs: NOW, fault: "ECONNREFUSED", nowMs: NOW });
    const resize = (columns: number) => {
      out.columns = columns;
      out.emit("resize");
    };
    return { table, draw, away, resize, written: () => String(stream.read() ?? "") };
  }

  it("not a terminal → a line per change, no control characters", () => {
    const { table, draw, away, written } = output(false);
    draw(row("a"), row("b", { status: "NotReady" }));
    expect(written()).toBe("node a is Ready\nnode b is NotReady\n");
    draw(row("a", { leaseRenewedAt: before(1) }), row("b", { status: "Ready" }));
    expect(written()).toBe("node b is Ready\n");
    draw(row("a"));
    expect(written()).toBe("node b is gone\n");
    draw(row("a"), row("b"));
    expect(written()).toBe("node b is Ready\n");
    table.note("the shim ended");
    expect(written()).toBe("the shim ended\n");
    away();
    away();
    expect(written()).toBe("the apiserver does not answer: ECONNREFUSED\n");
    draw(row("a"), row("b"));
    expect(written()).toBe("the apiserver answers again\n");
  });

  it("a terminal, and a Node that is deleted → Deleted, until a Node of this name is there again", () => {
    const { draw, away, written } = output(true);
    const statuses = () => {
      const plain = stripVTControlCharacters(written());
      return [...plain.matchAll(/^(a|b) +(\w+)/gm)].map(([, name, status]) => `${name} ${status}`);
    };
    draw(row("a"), row("b"));
    expect(statuses()).toEqual(["a Ready", "b Ready"]);
    draw(row("a"));
    away();
    written();
    draw(row("a"));
    expect(statuses()).toEqual(["b Deleted", "a Ready"]);
    draw(row("a"), row("b"));
    expect(statuses()).toEqual(["a Ready", "b Ready"]);
  });

  test.each<[situation: string, counts: [seconds: number, sockets: number | undefined][], said: string[]]>([
    [
      "as they become more → once they are as many for ten seconds",
      [
        [0, 1],
        [5, 2],
        [14, 2],
        [15, 2],
        [16, 2],
      ],
      ["2"],
    ],
    [
      "none → not a word",
      [
        [0, 0],
        [60, 0],
      ],
      [],
    ],
    [
      "unknown for a while → nothing is new",
      [
        [0, 2],
        [10, 2],
        [20, undefined],
        [30, 2],
      ],
      ["2"],
    ],
    [
      "fewer → said again",
      [
        [0, 2],
        [10, 2],
        [20, 0],
        [30, 0],
      ],
      ["2", "0"],
    ],
  ])("not a terminal, sockets %s", (_, counts, said) => {
    const { table, written } = output(false);
    const rows = [row("a"), row("b")];
    for (const [seconds, sockets] of counts)
      table.draw({ kind: "nodes", rows, nowMs: NOW + 1000 * seconds, sockets });
    const lines = said.map((count) => `${count} of 2 machines report over sockets\n`);
    expect(written()).toBe(`node a is Ready\nnode b is Ready\n${lines.join("")}`);
  });

  it("a terminal → drawn in place of the last; a note stays above", () => {
    const { table, draw, written } = output(true);
    draw(row("a"));
    expect(stripVTControlCharacters(written())).toMatch(/^NAME .*\na .*\n1 of 1 Ready\n$/);
    table.note("the shim ended");
    const again = written();
    expect(again.startsWith("\u001B[1G\u001B[3A\u001B[0J")).toBe(true);
    expect(stripVTControlCharacters(again)).toMatch(/^the shim ended\nNAME .*\na .*\n1 of 1 Ready\n$/);
  });

  it("a window that is made narrower → what it broke into more lines is drawn over, in its new width", () => {
    const { draw, resize, written } = output(true);
    draw(row("a"));
    // The head has 96 characters and the Node 91, so each takes three lines of 40 characters. The counts take one
    // line.
    const [head, node] = stripVTControlCharacters(written()).split("\n");
    expect([head?.length, node?.length].map((length) => Math.ceil((length ?? 0) / 40))).toEqual([3, 3]);
    resize(40);
    const again = written();
    expect(again.startsWith("\u001B[1G\u001B[7A\u001B[0J")).toBe(true);
    for (const line of stripVTControlCharacters(again).split("\n")) expect(line.length).toBeLessThan(40);
  });
});
