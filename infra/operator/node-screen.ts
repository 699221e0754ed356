// One machine on one screen: what is known of it, why it is not ready, and what to do. Pure.
import { PHASE_EXPLANATIONS, STATE_EXPLANATIONS } from "../../shared/fleet/explanations.ts";
import type { ShownNode } from "../../shared/protocol/operator-answers.ts";
import { ageOf } from "./render/age.ts";
import type { Paint } from "./render/screen.ts";
import { type Shown, textOf } from "./render/shown.ts";
import { pairs } from "./render/table.ts";

type Line = readonly [name: string, text: string, paint?: Paint];

export const nodeScreen = (node: ShownNode): Shown =>
  textOf(({ screen, nowMs }) => pairs(nodeLines(node, nowMs), screen));

function nodeLines(node: ShownNode, nowMs: number): Line[] {
  const { name, phase, isReady, silentSince, lastReportAt, conditions, thumbprint, runtime } = node;
  const wasReady = isReady ? "yes" : "no";
  const todo = todoOf(node);
  return [
    ["name", name],
    ["phase", phase ?? "never reported"],
    ["ready", silentSince ? `${wasReady} when it was heard of last` : wasReady, isReady ? "green" : "red"],
    ...(silentSince ? [["silent since", withAge(silentSince, nowMs)] as const] : []),
    ...(todo ? [["what to do", todo, "yellow"] as const] : []),
    [
      "last report",
      lastReportAt ? withAge(lastReportAt, nowMs) : "not known here: see history, or the Node's lease",
    ],
    ...conditions.map(({ type, status, message }): Line => [
      type,
      message ? `${status}: ${message}` : status,
    ]),
    ["runtime", runtime],
    ["key", thumbprint],
  ];
}

const withAge = (at: string, nowMs: number) => `${at} (${ageOf(at, nowMs)} ago)`;

function todoOf({ name, phase, isReady, silentSince }: ShownNode): string {
  if (silentSince) return named(STATE_EXPLANATIONS.silent.todo, name);
  if (phase === null || isReady) return "";
  const known = Object.entries(PHASE_EXPLANATIONS).find(([each]) => each === phase);
  if (phase === "registered") return "see to what the condition Ready says";
  return known ? named(known[1].todo, name) : "";
}

const named = (todo: string, name: string) => todo.replaceAll("NAME", name);
