// What is wrong with one machine, in one sentence, and what to do about it. Pure; nothing in it moves with the clock.
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import {
  type Explanation,
  PHASE_EXPLANATIONS,
  STATE_EXPLANATIONS,
} from "../../../shared/fleet/explanations.ts";
import { fleetStateOf } from "../../../shared/fleet/state.ts";
import type { Phase } from "../../../shared/protocol/answers.ts";
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { conditionRows, type ConditionRow, conditionText } from "./condition-rows.ts";
import type { MachineDiagnosis, DiagnosisDetail, DiagnosisFacts, DiagnosisInput } from "./diagnosis-types.ts";
import type { ActName } from "./machine-acts.ts";
import type { MachineNeighbours } from "./neighbours.ts";
import { warningsOf } from "./warnings.ts";

type Found = Omit<MachineDiagnosis, "state" | "warnings" | "isConditionWrong">;

/** null: nothing is known yet. */
export function diagnose(input: DiagnosisInput): MachineDiagnosis | null {
  const facts = factsOf(input);
  if (!facts) return null;
  const warnings = warningsOf(facts);
  const found = foundOf(facts, warnings.length);
  const isConditionWrong = facts.conditions.some(({ isWell }) => !isWell);
  return { state: facts.state, ...found, warnings, isConditionWrong };
}

function factsOf(input: DiagnosisInput): DiagnosisFacts | null {
  const { live, whole } = input;
  const summary = whole?.summary;
  const told = live ?? summary;
  const state = told?.state ?? (whole && stateOfObject(whole));
  if (!state) return null;
  return {
    ...input,
    state,
    phase: live ? live.phase : (whole?.phase ?? null),
    why: told?.why ?? "",
    isUsed: live?.isUsed ?? summary?.key.isUsed ?? whole?.phase !== null,
    conditions: whole ? conditionRows(whole) : conditionsOfFeed(live),
  };
}

/** Before the fleet index was told of it. */
const stateOfObject = ({ key, silentSince, phase, isReady }: WholeNode): string =>
  fleetStateOf({
    isRevoked: key.isRefused,
    isSilent: silentSince !== null,
    phase: phase as Phase | null,
    isReady,
  });

const conditionsOfFeed = (live: FeedMachine | null): ConditionRow[] =>
  conditionRows({
    conditions: Object.entries(live?.conditions ?? {}).map(([type, status]) => ({ type, status })),
    summary: null,
    node: null,
  });

function foundOf(facts: DiagnosisFacts, warnings: number): Found {
  switch (facts.state) {
    case "ready":
      return ready(warnings);
    case "silent":
      return silent(facts);
    case "revoked":
      return revoked();
    case "cluster-unreachable":
      return clusterUnreachable(facts);
    case "blocked":
      return blocked(facts);
    case "pending":
      return { ...nothing, ...STATE("pending"), severity: "warning", link: "approvals" };
    default:
      return notReady(facts);
  }
}

const nothing: Found = { severity: "bad", sentence: "", todo: "", details: [], acts: [], link: null };

const STATE = (state: keyof typeof STATE_EXPLANATIONS) => saidBy(STATE_EXPLANATIONS[state]);
const saidBy = ({ means, todo }: Explanation) => ({ sentence: means, todo });

function phaseWords(phase: string | null): { sentence: string; todo: string } | null {
  const known = Object.entries(PHASE_EXPLANATIONS).find(([each]) => each === phase);
  return known ? saidBy(known[1]) : null;
}

function ready(warnings: number): Found {
  if (warnings === 0) return { ...nothing, severity: "good", sentence: "Ready; nothing to do." };
  const things = warnings === 1 ? "one thing" : `${warnings} things`;
  return { ...nothing, severity: "warning", sentence: `Ready, with ${things} to know.` };
}

function silent({ isUsed, neighbours, live, whole, conditions }: DiagnosisFacts): Found {
  if (!isUsed)
    return {
      ...nothing,
      sentence: "It has enrolled and never reported.",
      todo: "Start its shim; `node-shim status` on the machine says what is missing.",
    };
  const isWholePlace =
    neighbours !== null && neighbours.silent > 0 && neighbours.silent === neighbours.others;
  const since = live?.silentSinceMs ?? whole?.silentSince;
  return {
    ...nothing,
    sentence: silentSentence(neighbours),
    todo: isWholePlace
      ? "See to the site’s power or network; the machines there come back by themselves. `rollcall nodes --beside NAME` lists them."
      : "Look at the machine’s power and network, and at its shim: `node-shim status` there. When it is back, its history says whether it was down or only cut off.",
    details: [
      ...(whole?.lastReportAt ? [{ name: "Last report", at: whole.lastReportAt }] : []),
      ...(since ? [{ name: "Silent since", at: since }] : []),
      ...lastWords(conditions),
      {
        name: "Its Node",
        text: "becomes Unknown; the cluster evicts its pods once their tolerations run out",
      },
    ],
    link: neighbours?.outage ? "outage" : null,
  };
}

function silentSentence(neighbours: MachineNeighbours | null): string {
  const { network = "", others = 0, silent = 0 } = neighbours ?? {};
  if (others === 0) return "Silent: its reports have stopped, and nobody else reports from its address.";
  const all = `${others === 1 ? "the other machine" : `all ${others} other machines`} behind ${network}`;
  if (silent === others)
    return `Silent, and so ${others === 1 ? "is" : "are"} ${all}: it is most likely their power or network.`;
  if (silent === 0)
    return `Silent, while ${all} ${others === 1 ? "reports" : "report"}: look at this machine.`;
  return `Silent, as are ${silent} of ${others} other machines behind ${network}.`;
}

/** What its conditions were when it was heard of last: a machine that was short of memory has often died of it. */
function lastWords(conditions: readonly ConditionRow[]): DiagnosisDetail[] {
  const wrong = conditions.filter(({ isWell }) => !isWell);
  const said = wrong.map(conditionText).join("; ");
  return conditions.length === 0 ? [] : [{ name: "It said last", text: said || "all was well" }];
}

function revoked(): Found {
  return { ...nothing, ...STATE("revoked"), severity: "off", acts: ["forget"] };
}

function clusterUnreachable({ phase, whole }: DiagnosisFacts): Found {
  const words = phaseWords(phase) ?? STATE("cluster-unreachable");
  return {
    ...nothing,
    severity: "warning",
    sentence: `Nothing is wrong with this machine, it is the cluster: ${lowered(words.sentence)}`,
    todo: words.todo,
    details: whole?.deadlines.lease ? [{ name: "Its lease runs out", at: whole.deadlines.lease }] : [],
    link: "deployment",
  };
}

const lowered = (sentence: string) => sentence.charAt(0).toLowerCase() + sentence.slice(1);

const ACTS_OF_PHASE: Readonly<Partial<Record<string, ActName[]>>> = {
  cloned: ["believe"],
  "two shims": ["believe"],
  "node deleted": ["register", "forget"],
};

function blocked({ phase, why, whole }: DiagnosisFacts): Found {
  const words = phaseWords(phase) ?? { ...STATE("blocked"), sentence: why || STATE("blocked").sentence };
  const refused = phase === "facts refused" ? whole?.factsRefused : undefined;
  const isOfSenders = phase === "cloned" || phase === "two shims";
  return {
    ...nothing,
    ...words,
    details: refused ? [refusedDetail(refused)] : [],
    acts: ACTS_OF_PHASE[phase ?? ""] ?? [],
    link: isOfSenders ? "clones" : null,
  };
}

const refusedDetail = ({ path, message }: { path: string; message: string }): DiagnosisDetail => ({
  name: "Refused",
  text: `${path || "the facts"}: ${message}`,
});

function notReady(facts: DiagnosisFacts): Found {
  const { phase, isUsed, why, conditions } = facts;
  if (phase === null || !isUsed)
    return {
      ...nothing,
      severity: "warning",
      sentence: "It has enrolled and not reported yet.",
      todo: "Start its shim; `node-shim status` on the machine says what is missing.",
    };
  if (phase === "setup failed") return setupFailed(facts);
  if (phase !== "registered") {
    const words = phaseWords(phase) ?? { sentence: why || STATE("not-ready").sentence, todo: "" };
    return { ...nothing, severity: "warning", ...words, link: "history" };
  }
  const condition = conditions.find(({ type }) => type === "Ready");
  if (!condition)
    return { ...nothing, sentence: sentenceOf(why || "Its Node is not Ready"), link: "history" };
  return conditionWrong(facts, condition);
}

function setupFailed({ whole }: DiagnosisFacts): Found {
  const said = whole?.events?.find(({ reason }) => reason === "KubeletSetupFailed");
  return {
    ...nothing,
    ...phaseWords("setup failed"),
    details: said ? [{ name: "It said", text: said.message }] : [],
    link: "history",
  };
}

interface SaidVitals {
  errors?: Partial<Record<string, string[]>>;
  shuttingDown?: boolean;
}

/** Ready itself is what is wrong. */
function conditionWrong({ whole, why }: DiagnosisFacts, { status, message }: ConditionRow): Found {
  const { errors = {}, shuttingDown } = (whole?.vitals ?? {}) as SaidVitals;
  const service = whole?.summary?.versions.runtime.split(" ")[0] || "containerd";
  const isForRuntime = (errors["runtime"]?.length ?? 0) > 0 || /container runtime|PLEG/i.test(message);
  const details = Object.entries(errors).flatMap(([source, texts = []]) =>
    texts.map((text) => ({ name: source.charAt(0).toUpperCase() + source.slice(1), text })),
  );
  if (shuttingDown)
    return {
      ...nothing,
      severity: "warning",
      sentence: `The machine is shutting down${message && `: ${sentenceOf(message)}`}`,
      todo: "Nothing, if somebody wants that: it is Ready again after it has started.",
    };
  return {
    ...nothing,
    sentence: `Not Ready${status === "Unknown" ? " (Unknown)" : ""}: ${sentenceOf(message || why || "no message says why")}`,
    todo: isForRuntime
      ? `See to the container runtime on the machine: \`systemctl status ${service}\` there. If it is to run none, say so here.`
      : "See on the machine to what the message names; `node-shim doctor` there looks at the usual causes. It is over with the report in which the cause is.",
    details,
    acts: isForRuntime && whole?.runtime !== "none" ? ["runtime-none"] : [],
  };
}

const sentenceOf = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`);
