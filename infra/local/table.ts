// Draws the live table of `npm start`: a line per Node, redrawn in place, or without a terminal a line per change.
import type { V1Lease, V1Node } from "@kubernetes/client-node";
import { clearScreenDown, cursorTo, moveCursor } from "node:readline";
import { styleText } from "node:util";
import type { KubeAdmin } from "./kube-admin.ts";

export interface NodeRow {
  name: string;
  status: string;
  /** The lease's renewal in RFC 3339. undefined if the lease was never renewed. */
  leaseRenewedAt: string | undefined;
  createdAt: string | undefined;
  version: string;
  internalIP: string;
  osImage: string;
  kernel: string;
}

/** The Nodes and the number of machines on sockets, or the time since which the apiserver does not answer. */
export type View =
  | { kind: "nodes"; rows: NodeRow[]; nowMs: number; sockets?: number | undefined }
  | { kind: "away"; sinceMs: number; fault: string; nowMs: number };

/** The size of a terminal in characters. */
export interface Size {
  columns: number;
  rows: number;
}

const COLUMNS: [head: string, cell: (row: NodeRow, nowMs: number) => string][] = [
  ["NAME", ({ name }) => name],
  ["STATUS", ({ status }) => status],
  ["LEASE", ({ leaseRenewedAt }, nowMs) => age(leaseRenewedAt, nowMs)],
  ["AGE", ({ createdAt }, nowMs) => age(createdAt, nowMs)],
  ["VERSION", ({ version }) => version],
  ["INTERNAL-IP", ({ internalIP }) => internalIP],
  ["OS-IMAGE", ({ osImage }) => osImage],
  ["KERNEL", ({ kernel }) => kernel],
];
/** The number of columns that are always shown: NAME and STATUS. Other columns are left out if they do not fit. */
const ALWAYS = 2;
const BETWEEN = "   ";
/** The number of lines beside the Nodes: the head, the counts of hidden and Ready Nodes, and the cursor's line. */
const OTHER_LINES = 4;

/** Returns an age like `12s`, `4m`, `3h` or `9d`, or `-` for an unknown time. */
export function age(since: string | undefined, nowMs: number): string {
  if (since === undefined) return "-";
  const seconds = Math.max(0, Math.floor((nowMs - Date.parse(since)) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

/** Returns the lines of the view, cut to the lines and columns that fit on the terminal. */
export function viewLines(view: View, thisMachine: string, size: Size): string[] {
  if (view.kind === "away") return awayLines(view, size);
  const rows = inOrder(view.rows, thisMachine);
  const shown = rows.slice(0, Math.max(1, size.rows - OTHER_LINES));
  const ready = rows.filter(isReady).length;
  return [
    ...tableLines(shown, view.nowMs, size.columns),
    ...(rows.length > shown.length ? [`… and ${rows.length - shown.length} more`] : []),
    `${ready} of ${rows.length} Ready${view.sockets === undefined ? "" : `, ${view.sockets} on sockets`}`,
  ].map((line) => cut(line, size.columns));
}

/** Returns the rows in their order: first Nodes that are not Ready, then this machine, then other Nodes. */
function inOrder(rows: NodeRow[], thisMachine: string): NodeRow[] {
  const rank = (row: NodeRow) => (isReady(row) ? (row.name === thisMachine ? 1 : 2) : 0);
  return rows.toSorted((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name, "en", { numeric: true }));
}

const isReady = ({ status }: NodeRow) => status === "Ready" || status.startsWith("Ready,");

function tableLines(rows: NodeRow[], nowMs: number, columns: number): string[] {
  const lines = [
    COLUMNS.map(([head]) => head),
    ...rows.map((row) => COLUMNS.map(([, cell]) => cell(row, nowMs))),
  ];
  const widths = COLUMNS.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const fits = (count: number) =>
    widths.slice(0, count).reduce((sum, width) => sum + width, 0) + (count - 1) * BETWEEN.length < columns;
  let count = COLUMNS.length;
  while (count > ALWAYS && !fits(count)) count--;
  return lines.map((line) =>
    line
      .slice(0, count)
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(BETWEEN)
      .trimEnd(),
  );
}

/** Returns the lines while the apiserver does not answer, without the last known Nodes, which may have changed. */
function awayLines({ sinceMs, fault, nowMs }: View & { kind: "away" }, { columns }: Size): string[] {
  const since = age(new Date(sinceMs).toISOString(), nowMs);
  const lines = [
    `The apiserver has not answered for ${since}: whether the Nodes are Ready is not known.`,
    fault,
  ];
  return lines.map((line) => cut(line, columns));
}

/** Returns a line cut before the terminal's last column, because some terminals begin a new line after it. */
function cut(line: string, columns: number): string {
  return line.length < columns ? line : `${line.slice(0, Math.max(0, columns - 2))}…`;
}

export interface LiveTable {
  draw: (view: View) => void;
  /** Prints a message above the table. */
  note: (message: string) => void;
}

/** Makes the table for a stream. `thisMachine` is the name of this machine's Node. */
export function liveTable(out: NodeJS.WriteStream, thisMachine: string): LiveTable {
  if (!out.isTTY) return { draw: changesOnly(out), note: (message) => void out.write(`${message}\n`) };
  let view: View | undefined;
  let drawn: string[] = [];
  const known = new Map<string, NodeRow>();
  const size = () => ({ columns: out.columns || 80, rows: out.rows || 24 });
  const erase = () => {
    // If the terminal has become narrower, it has wrapped lines that are now too wide.
    const lines = drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / size().columns)), 0);
    // Text that the user typed (^C) may be in the cursor's line, so the cursor first moves to its beginning.
    cursorTo(out, 0);
    moveCursor(out, 0, -lines);
    clearScreenDown(out);
  };
  const print = () => {
    drawn = view ? viewLines(view, thisMachine, size()) : [];
    const lines = drawn.map((line, index) => (index === 0 ? styleText("bold", line) : line));
    out.write(lines.map((line) => `${line}\n`).join(""));
  };
  out.on("resize", () => {
    erase();
    print();
  });
  return {
    draw(next) {
      erase();
      view = next.kind === "nodes" ? withDeleted(next, known) : next;
      print();
    },
    note(message) {
      erase();
      out.write(`${message}\n`);
      print();
    },
  };
}

/** Returns the view with the Nodes that were there before, as deleted ones. Adds the present Nodes to `known`. */
function withDeleted(view: View & { kind: "nodes" }, known: Map<string, NodeRow>): View {
  for (const row of view.rows) known.set(row.name, row);
  const present = new Set(view.rows.map(({ name }) => name));
  const gone = [...known.values()].filter(({ name }) => !present.has(name));
  return { ...view, rows: [...view.rows, ...gone.map((row) => ({ ...row, status: "Deleted" }))] };
}

/** Milliseconds without a change until the number of sockets is printed. */
const SETTLED_MS = 10_000;

function changesOnly(out: NodeJS.WriteStream): LiveTable["draw"] {
  const last = new Map<string, string>();
  let isAway = false;
  const sockets = { count: 0, sinceMs: 0, printed: 0 };
  return (view) => {
    if (view.kind === "away") {
      if (!isAway) out.write(`the apiserver does not answer: ${view.fault}\n`);
      isAway = true;
      return;
    }
    if (isAway) out.write("the apiserver answers again\n");
    isAway = false;
    for (const { name, status } of view.rows) {
      if (last.get(name) === status) continue;
      last.set(name, status);
      out.write(`node ${name} is ${status}\n`);
    }
    const there = new Set(view.rows.map(({ name }) => name));
    for (const name of last.keys()) {
      if (there.has(name)) continue;
      last.delete(name);
      out.write(`node ${name} is gone\n`);
    }
    const { sockets: count = sockets.count, nowMs, rows } = view;
    if (count !== sockets.count) Object.assign(sockets, { count, sinceMs: nowMs });
    if (count === sockets.printed || nowMs - sockets.sinceMs < SETTLED_MS) return;
    sockets.printed = count;
    out.write(`${count} of ${rows.length} machines report over sockets\n`);
  };
}

/** Reads all Nodes of the cluster and their leases. */
export async function readNodes(admin: KubeAdmin): Promise<NodeRow[]> {
  const [nodes, leases] = await Promise.all([
    list<V1Node>(admin, "/api/v1/nodes"),
    list<V1Lease>(admin, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"),
  ]);
  const leaseOf = new Map(leases.map((lease) => [lease.metadata?.name, lease]));
  return nodes.map((node) => nodeRow(node, leaseOf.get(node.metadata?.name)));
}

async function list<T>(admin: KubeAdmin, path: string): Promise<T[]> {
  return ((await admin({ method: "GET", path })) as { items: T[] }).items;
}

function nodeRow(node: V1Node, lease: V1Lease | undefined): NodeRow {
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready")?.status;
  // The status is kubectl's: Unknown without a Ready condition, but NotReady for a condition with the status Unknown.
  const word = ready === undefined ? "Unknown" : ready === "True" ? "Ready" : "NotReady";
  const info = node.status?.nodeInfo;
  return {
    name: node.metadata?.name ?? "",
    status: node.spec?.unschedulable ? `${word},SchedulingDisabled` : word,
    leaseRenewedAt: timeText(lease?.spec?.renewTime),
    createdAt: timeText(node.metadata?.creationTimestamp),
    version: info?.kubeletVersion ?? "",
    internalIP: node.status?.addresses?.find(({ type }) => type === "InternalIP")?.address ?? "",
    osImage: info?.osImage ?? "",
    kernel: info?.kernelVersion ?? "",
  };
}

/** Returns a time in RFC 3339. In JSON a time is a text, although its type is Date. */
function timeText(time: Date | string | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}
