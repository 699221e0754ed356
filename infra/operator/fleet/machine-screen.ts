// Renders the screen of one machine: state, reason and remedy, conditions, resources, facts, and latest history. Pure.
import * as z from "zod/mini";
import {
  PHASE_EXPLANATIONS,
  REMOVAL_EXPLANATION,
  STATE_EXPLANATIONS,
} from "../../../shared/fleet/explanations.ts";
import { isBeingRemoved } from "../../../shared/fleet/unready.ts";
import { isWell } from "../../../shared/fleet/well-conditions.ts";
import type { HistoryEntry, WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { ageOf } from "../render/age.ts";
import { type Shown, textOf } from "../render/shown.ts";
import { pairs } from "../render/table.ts";
import { type Paint, widthOf } from "../render/terminal.ts";
import { maintenanceText, paintOf } from "./machine-list.ts";

type Line = readonly [name: string, text: string, paint?: Paint | undefined];

/** Renders one machine's screen. `entries`: its latest history, newest first. `page`: its address in the page. */
export const nodeScreen = (node: WholeNode, entries: readonly HistoryEntry[], page: string): Shown =>
  textOf(({ screen, nowMs }) => {
    const parts = [
      [...stateLines(node, nowMs), ...todoLines(node)],
      conditionLines(node, nowMs),
      vitalsLines(node),
      machineLines(node),
      workerLines(node, nowMs),
    ];
    const width = Math.max(...parts.flat().map(([name]) => widthOf(name)));
    const last = entries.toReversed().map(({ at, text }): Line => [`${at.slice(0, 19)}Z`, text]);
    return [
      ...parts.map((lines) =>
        pairs(
          lines.filter(([, text]) => text !== ""),
          screen,
          width,
        ),
      ),
      pairs(last, screen),
      pairs([["page", page]], screen),
    ]
      .filter((text) => text !== "")
      .join("\n");
  });

const withAge = (at: string, nowMs: number) => `${at} (${ageOf(at, nowMs)} ago)`;

function stateLines(node: WholeNode, nowMs: number): Line[] {
  const { name, summary, phase, isReady, silentSince } = node;
  const { isUnschedulable = false } = summary ?? {};
  return [
    ["name", name],
    ...(summary
      ? [
          [
            "state",
            `${summary.state} since ${withAge(summary.since, nowMs)}`,
            paintOf(summary.state),
          ] as const,
        ]
      : []),
    ["phase", phase ?? "never reported"],
    silentSince
      ? ["ready", lastReadyText(node), "red"]
      : ["ready", isReady ? "yes" : "no", isReady ? "green" : "red"],
    ...(silentSince ? [["silent since", withAge(silentSince, nowMs)] as const] : []),
    ["maintenance", maintenanceText(node.conditions)],
    ...(isUnschedulable ? [["cordoned", "yes"] as const] : []),
    ...(node.node === null && phase !== null ? [["Node", "none known"] as const] : []),
  ];
}

/** Returns whether a silent machine was ready, by its last report: a node controller may have changed its Node since. */
function lastReadyText({ conditions, isReady }: WholeNode): string {
  const ready = conditions.find(({ type }) => type === "Ready");
  const wasReady = ready ? ready.status === "True" : isReady;
  return `not known; the machine was ${wasReady ? "" : "not "}ready when it reported last`;
}

/** Returns the lines about problems and their remedies, or none if the machine is well. */
function todoLines(node: WholeNode): Line[] {
  const { summary } = node;
  const todo = todoOf(node);
  return [
    ...(summary?.why ? [["why", summary.why] as const] : []),
    ...(todo ? [["what to do", todo.replaceAll("NAME", node.name), "yellow"] as const] : []),
    ...(summary?.withheld ? [["withheld", summary.withheld] as const] : []),
  ];
}

function todoOf({ phase, isReady, silentSince, key, summary }: WholeNode): string {
  if (isBeingRemoved(summary?.why ?? "")) return REMOVAL_EXPLANATION.todo;
  if (key.isRefused) return STATE_EXPLANATIONS.revoked.todo;
  if (silentSince) return STATE_EXPLANATIONS.silent.todo;
  if (phase === null)
    return "it has enrolled and never reported: start its shim; `node-shim status` on the machine says more";
  if (phase === "registered") return isReady ? "" : "fix what the condition Ready reports";
  return Object.entries(PHASE_EXPLANATIONS).find(([each]) => each === phase)?.[1].todo ?? "";
}

/** Returns a line for each condition of the last report. A condition of a silent machine has no age. */
function conditionLines({ conditions, summary, silentSince }: WholeNode, nowMs: number): Line[] {
  return conditions.map((condition): Line => {
    const { type, status, message = "" } = condition;
    const indexed = summary?.conditions.find((each) => each.type === type);
    const since = ageOf(condition.since ?? (indexed?.status === status ? indexed.since : null), nowMs);
    const known = silentSince ? `${status} when it reported last` : `${status}${since && ` for ${since}`}`;
    return [type, `${known}${message && `: ${message}`}`, isWell(condition) ? undefined : "red"];
  });
}

const signalsSchema = z.object({ signals: z.record(z.string(), z.tuple([z.number(), z.number()])) });

/** Returns a line for each resource: the available amount, and the eviction thresholds. */
function vitalsLines({ vitals, thresholds: { hard, soft } }: WholeNode): Line[] {
  const { data } = signalsSchema.safeParse(vitals);
  return Object.entries(data?.signals ?? {}).map(([signal, [available, capacity]]): Line => {
    const amount = /memory|fs\.available/.test(signal) ? binary : String;
    const percent = capacity > 0 ? ` (${Math.floor((available / capacity) * 100)}%)` : "";
    const limits = [
      ...(hard[signal] ? [`at least ${hard[signal]}`] : []),
      ...(soft[signal] ? [`soft ${soft[signal]}`] : []),
    ].join(", ");
    return [signal, `${amount(available)} of ${amount(capacity)}${percent}${limits && `; ${limits}`}`];
  });
}

const UNITS = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

/** Returns an amount of bytes like `17.1Gi`. */
function binary(bytes: number): string {
  let [amount, unit] = [bytes, 0];
  while (amount >= 1024 && unit < UNITS.length - 1) [amount, unit] = [amount / 1024, unit + 1];
  return `${amount >= 100 || unit === 0 ? Math.floor(amount) : amount.toFixed(1)}${UNITS[unit]}`;
}

const secondsOf = (ms: number) => `${Math.round(Math.abs(ms) / 1000)}s`;

function machineLines({ summary, machine, runtime, skewMs, isSkewed, allocatable }: WholeNode): Line[] {
  const skew: Line[] =
    isSkewed && skewMs !== null
      ? [["clock", `${secondsOf(skewMs)} ${skewMs > 0 ? "ahead of" : "behind"} the Worker's`, "yellow"]]
      : [];
  if (!summary) return [["machine ID", machine.machineID], ["runtime", runtime], ...skew];
  const { versions, addresses, address, capacity } = summary;
  const { shim, kernel, os, runtime: container, architecture } = versions;
  const amounts = (list: Record<string, string>) =>
    Object.entries(list)
      .map(([what, amount]) => `${what} ${amount}`)
      .join(", ");
  const known = (texts: string[]) => texts.filter((text) => text !== "").join(", ");
  return [
    ["shim", shim || "not known"],
    ["system", known([os, kernel, architecture])],
    ["runtime", known([container, runtime === "auto" ? "" : `--runtime ${runtime}`]) || "none"],
    ["capacity", amounts(capacity)],
    ...(allocatable ? [["a kubelet's allocatable", amounts(allocatable)] as const] : []),
    ["addresses", addresses.map((each) => `${each.type} ${each.address}`).join(", ")],
    ...(address ? [["reports from", address] as const] : []),
    ["machine ID", machine.machineID],
    ...skew,
  ];
}

function workerLines(node: WholeNode, nowMs: number): Line[] {
  const { lastReportAt, deadlines, outbox, key, transport } = node;
  const waiting =
    outbox.oldest === null ? "none" : `${outbox.waiting}, the oldest since ${withAge(outbox.oldest, nowMs)}`;
  const dropped = outbox.dropped > 0 ? `; ${outbox.dropped} were dropped` : "";
  return [
    [
      "last report",
      lastReportAt
        ? `${withAge(lastReportAt, nowMs)}, by ${transport}`
        : "not known: see history, or the Node's lease",
    ],
    ...(deadlines.lease ? [["lease until", deadlines.lease] as const] : []),
    ["events waiting", waiting + dropped],
    ["key", `${key.thumbprint}, since ${key.pinnedAt}`],
    ...(key.next ? [["next key", key.next] as const] : []),
    ["join token", key.token],
  ];
}
