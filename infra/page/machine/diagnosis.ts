// Finds the problem of one machine: a sentence about it, and a remedy. The result does not depend on the present time.
import {
  conditionTodo,
  type Explanation,
  PHASE_EXPLANATIONS,
  REMOVAL_EXPLANATION,
  STATE_EXPLANATIONS,
} from "../../../shared/fleet/explanations.ts";
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import { fleetStateOf, isClusterAway } from "../../../shared/fleet/state.ts";
import type { Node } from "../../../shared/kubernetes/types.ts";
import { FACTS_ONLY_TAINT } from "../../../shared/node/ownership.ts";
import { isBeingRemoved } from "../../../shared/fleet/unready.ts";
import { conditionText, problemsText } from "../../../shared/fleet/well-conditions.ts";
import type { Phase } from "../../../shared/protocol/answers.ts";
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { shortDuration } from "../base/relative-time.ts";
import { sentenceOf } from "../base/words.ts";
import { type ConditionRow, conditionRows, maintained } from "./condition-rows.ts";
import type { ActName } from "./machine-acts.ts";
import type { MachineNeighbours } from "./neighbours.ts";

/** The severity of the problem. `off`: the machine is out of use, and nothing is urgent. */
type Severity = "good" | "warning" | "bad" | "off";

/** A detail below the sentence: a text, or a time. */
export interface DiagnosisDetail {
  name: string;
  text?: string;
  /** The time, in RFC 3339 or in milliseconds since 1970. */
  at?: string | number;
}

export interface DiagnosisWarning {
  text: string;
  /** The remedy, with commands in backticks. "" for no text. */
  todo: string;
  acts: ActName[];
  link?: DiagnosisLink;
}

export type DiagnosisLink = "approvals" | "deployment" | "outage" | "clones" | "history";

export interface MachineDiagnosis {
  /** The state, typically one of FLEET_STATES. A newer Worker may have other states. */
  state: string;
  severity: Severity;
  sentence: string;
  /** The remedy, with commands in backticks, where NAME stands for the machine's name. "" for no text. */
  todo: string;
  details: DiagnosisDetail[];
  /** The actions that are possible now. */
  acts: ActName[];
  link: DiagnosisLink | null;
  warnings: DiagnosisWarning[];
  isConditionWrong: boolean;
}

export interface DiagnosisInput {
  name: string;
  /** The machine as the feed reports it. null if the feed does not contain the machine. */
  live: FeedMachine | null;
  /** The Worker's last answer about the machine. null before the first answer. */
  whole: WholeNode | null;
  /** When `whole` arrived, in milliseconds since 1970. 0 before the first answer. */
  answeredMs: number;
  neighbours: MachineNeighbours | null;
  /** true if another machine asks for this machine's name. */
  isContested: boolean;
}

interface DiagnosisFacts extends DiagnosisInput {
  state: string;
  phase: string | null;
  /** The reason why the machine is not ready, from the fleet index. */
  why: string;
  isUsed: boolean;
  conditions: ConditionRow[];
}

type Found = Omit<MachineDiagnosis, "state" | "warnings" | "isConditionWrong">;

/** Returns the diagnosis, or null if neither the feed nor the Worker has sent the machine. */
export function diagnose(input: DiagnosisInput): MachineDiagnosis | null {
  const facts = factsOf(input);
  if (!facts) return null;
  const warnings = warningsOf(facts);
  const found = maintained(foundOf(facts, warnings.length), facts.conditions);
  const isConditionWrong = facts.conditions.some(({ isWell }) => !isWell);
  return { state: facts.state, ...found, warnings, isConditionWrong };
}

function factsOf(input: DiagnosisInput): DiagnosisFacts | null {
  const { live, whole } = input;
  const summary = whole?.summary;
  const known = live ?? summary;
  const state = known?.state ?? (whole && stateOfObject(whole));
  if (!state) return null;
  return {
    ...input,
    state,
    phase: live ? live.phase : (whole?.phase ?? null),
    why: known?.why ?? "",
    isUsed: live?.isUsed ?? summary?.key.isUsed ?? whole?.phase !== null,
    conditions: whole ? conditionRows(whole) : conditionsOfFeed(live),
  };
}

/** Returns the state from the node object's answer, for a machine that is not in the fleet index yet. */
const stateOfObject = ({ key, silentSince, phase, isReady, conditions }: WholeNode): string =>
  fleetStateOf({
    isRevoked: key.isRefused,
    isSilent: silentSince !== null,
    phase: phase as Phase | null,
    isReady,
    hasFault: conditions.some(({ type, status }) => type === "Ready" && status === "False"),
  });

/** Returns the conditions in the feed. An Unknown one of a silent machine is the node controller's, and left out. */
const conditionsOfFeed = (live: FeedMachine | null): ConditionRow[] =>
  conditionRows({
    conditions: Object.entries(live?.conditions ?? {})
      .map(([type, status]) => ({ type, status }))
      .filter(({ status }) => live?.state !== "silent" || status !== "Unknown"),
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
      return { ...nothing, ...revoked(facts), severity: "off" };
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

const STATE = (state: keyof typeof STATE_EXPLANATIONS) => wordsOf(STATE_EXPLANATIONS[state]);
const wordsOf = ({ means, todo }: Explanation) => ({ sentence: means, todo });

function phaseWords(phase: string | null): { sentence: string; todo: string } | null {
  const known = Object.entries(PHASE_EXPLANATIONS).find(([each]) => each === phase);
  return known ? wordsOf(known[1]) : null;
}

/** Returns the reason of the fleet index: an operator revoked the key, or the machine's removal waits. */
function revoked({ why }: DiagnosisFacts): Pick<Found, "sentence" | "todo" | "acts"> {
  const isRemoval = isBeingRemoved(why);
  const words = isRemoval ? wordsOf(REMOVAL_EXPLANATION) : STATE("revoked");
  const own = why === "" ? {} : { sentence: sentenceOf(why.charAt(0).toUpperCase() + why.slice(1)) };
  return { ...words, ...own, acts: isRemoval ? [] : ["forget"] };
}

function ready(warnings: number): Found {
  if (warnings === 0) return { ...nothing, severity: "good", sentence: "Ready; nothing to do." };
  return {
    ...nothing,
    severity: "warning",
    sentence: `Ready, with ${warnings === 1 ? "one warning" : `${warnings} warnings`}.`,
  };
}

function silent(facts: DiagnosisFacts): Found {
  const { isUsed, neighbours, whole } = facts;
  if (!isUsed)
    return {
      ...nothing,
      sentence: "It has enrolled and never reported.",
      todo: "Start its shim; `node-shim status` on the machine says what is missing.",
    };
  const isWholePlace =
    neighbours !== null && neighbours.silent > 0 && neighbours.silent === neighbours.others;
  return {
    ...nothing,
    sentence: silentSentence(neighbours),
    todo: isWholePlace
      ? "Check the site’s power or network; the machines there come back by themselves. `rollcall nodes --beside NAME` lists them."
      : "Check the machine’s power and network, and its shim: `node-shim status` there. When it is back, its history shows whether it was down or only cut off.",
    details: [
      ...(whole?.lastReportAt ? [{ name: "Last report", at: whole.lastReportAt }] : []),
      ...lastWords(facts),
      {
        name: "Its Node",
        text: hasPods(whole)
          ? "becomes Unknown; the cluster evicts its pods once their tolerations run out"
          : "becomes Unknown",
      },
    ],
    link: neighbours?.outage ? "outage" : null,
  };
}

/** Returns true if the machine's Node may run pods: it exists, and lacks the facts-only taint. */
function hasPods(whole: WholeNode | null): boolean {
  const node: Pick<Node, "spec"> | null = whole?.node ?? null;
  return node !== null && !node.spec?.taints?.some(({ key }) => key === FACTS_ONLY_TAINT.key);
}

function silentSentence(neighbours: MachineNeighbours | null): string {
  const { network = "", others = 0, silent = 0 } = neighbours ?? {};
  if (others === 0) return "Not reporting, and no other machine reports from its address.";
  const all = `${others === 1 ? "the other machine" : `all ${others} other machines`} behind ${network}`;
  if (silent === others)
    return `Not reporting, and neither ${others === 1 ? "is" : "are"} ${all}: it is most likely their power or network.`;
  if (silent === 0)
    return `Not reporting, while ${all} ${others === 1 ? "reports" : "report"}: check this machine.`;
  return `Not reporting, like ${silent} of ${others} other machines behind ${network}.`;
}

/**
 * Returns the conditions of the last report as a detail: a lack of memory has often stopped a silent machine. The feed
 * alone cannot show that there was no problem: it has the Node's Ready.
 */
function lastWords({ conditions, whole }: DiagnosisFacts): DiagnosisDetail[] {
  const text = problemsText(conditions) || (whole && conditions.length > 0 ? "no problem" : "");
  return text === "" ? [] : [{ name: "Last reported", text }];
}

/** Returns the problem of the cluster, after the machine's own problem if the machine reports one. */
function clusterUnreachable(facts: DiagnosisFacts): Found {
  const { phase, conditions, whole } = facts;
  const words = phaseWords(phase) ?? STATE("cluster-unreachable");
  const wrong = conditions.filter(({ isWell, status }) => !isWell && status !== "Unknown");
  const ready = wrong.find(({ type }) => type === "Ready");
  const own = ready && conditionWrong(facts, ready);
  const begin = wrong.length === 0 ? "Nothing is wrong with this machine, it is the cluster" : "The cluster";
  const { lease } = whole?.deadlines ?? {};
  return {
    ...(own ?? { ...nothing, severity: "warning" }),
    sentence: `${own ? `${own.sentence} ` : ""}${begin}: ${lowered(words.sentence)}`,
    todo: own ? `${own.todo} For the cluster: ${lowered(words.todo)}` : words.todo,
    details: [...(own?.details ?? []), ...(lease ? [{ name: "Its lease lasts until", at: lease }] : [])],
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
    severity: "warning",
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
  if (isClusterAway(phase)) return clusterUnreachable(facts);
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
  const event = whole?.events?.find(({ reason }) => reason === "KubeletSetupFailed");
  return {
    ...nothing,
    ...phaseWords("setup failed"),
    details: event ? [{ name: "Its message", text: event.message }] : [],
    link: "history",
  };
}

interface ReportedVitals {
  errors?: Partial<Record<string, string[]>>;
  shuttingDown?: boolean;
}

function conditionWrong({ live, whole, why }: DiagnosisFacts, { status, message }: ConditionRow): Found {
  const { errors = {}, shuttingDown } = (whole?.vitals ?? {}) as ReportedVitals;
  const { runtime = "" } = (whole?.summary ?? live)?.versions ?? {};
  const service = runtime.split(" ")[0] || "containerd";
  const isForRuntime = (errors["runtime"]?.length ?? 0) > 0 || /container runtime|PLEG/i.test(message || why);
  const details = Object.entries(errors).flatMap(([source, texts = []]) =>
    texts
      // The sentence contains the message already.
      .filter((text) => !message.includes(text))
      .map((text) => ({ name: source.charAt(0).toUpperCase() + source.slice(1), text })),
  );
  if (shuttingDown)
    return {
      ...nothing,
      severity: "warning",
      sentence: `The machine is shutting down${message && `: ${sentenceOf(message)}`}`,
      todo: "Nothing, if this is intended: it is Ready again after it has started.",
    };
  return {
    ...nothing,
    sentence: `Not Ready${status === "Unknown" ? " (Unknown)" : ""}: ${sentenceOf(message || why || "without a message")}`,
    todo: isForRuntime
      ? `Check the container runtime on the machine: \`systemctl status ${service}\` there. If it needs none, set that here.`
      : "Check on the machine what the message names; `node-shim doctor` there checks the usual causes. The first report without the cause ends it.",
    details,
    acts: isForRuntime && whole?.runtime !== "none" ? ["runtime-none"] : [],
  };
}

type Check = (facts: DiagnosisFacts) => DiagnosisWarning[];

/** Returns the warnings, the most urgent first. */
function warningsOf(facts: DiagnosisFacts): DiagnosisWarning[] {
  return CHECKS.flatMap((check) => check(facts));
}

const warn = (text: string, todo: string, more: Partial<DiagnosisWarning> = {}): DiagnosisWarning[] => [
  { text: sentenceOf(text), todo, acts: [], ...more },
];

const CHECKS: readonly Check[] = [
  contested,
  pressures,
  refusedFacts,
  cordoned,
  skewed,
  withheld,
  droppedEvents,
  waitingEvents,
  unusedKey,
  withoutRuntime,
];

function contested({ isContested }: DiagnosisFacts): DiagnosisWarning[] {
  if (!isContested) return [];
  const text = "Another machine asks for its name, with another key.";
  return warn(text, "Approve or reject it.", { link: "approvals" });
}

/** Warns of each pressure of a machine whose reports count. The details of a silent machine list its last conditions. */
function pressures({ conditions, state, phase }: DiagnosisFacts): DiagnosisWarning[] {
  if (state === "silent" || state === "revoked" || phase === "cloned") return [];
  return conditions
    .filter(({ type, isWell }) => !isWell && type !== "Ready")
    .flatMap((row) => warn(conditionText(row), conditionTodo(row.type)));
}

/** Warns of refused facts. Without earlier facts, the phase `facts refused` already reports the problem. */
function refusedFacts({ whole, phase }: DiagnosisFacts): DiagnosisWarning[] {
  const refused = whole?.factsRefused;
  if (!refused || phase === "facts refused") return [];
  const { path, message } = refused;
  return warn(
    `A value of its facts does not count as sent: ${path || "the facts"}: ${message}`,
    "Correct it on the machine; `node-shim facts` shows where each was read.",
  );
}

function cordoned({ live, whole }: DiagnosisFacts): DiagnosisWarning[] {
  if (!(live?.isUnschedulable ?? whole?.summary?.isUnschedulable)) return [];
  return warn(
    "It is cordoned: no new pods are scheduled on it.",
    "To allow pods again: `kubectl uncordon NAME`",
  );
}

function skewed({ live, whole }: DiagnosisFacts): DiagnosisWarning[] {
  const skewMs = live?.skewMs ?? (whole?.isSkewed ? (whole.skewMs ?? 0) : 0);
  if (skewMs === 0) return [];
  return warn(
    `Its clock is ${shortDuration(Math.abs(skewMs))} ${skewMs > 0 ? "ahead" : "behind"}.`,
    "Synchronize the machine’s clock: `timedatectl status` there shows its time source.",
  );
}

function withheld({ live, whole }: DiagnosisFacts): DiagnosisWarning[] {
  const text = live?.withheld ?? whole?.summary?.withheld ?? "";
  if (text === "") return [];
  return warn(
    `Its Node lacks some of what the machine asks for: ${text}`,
    "The deployment or its join token does not allow it: enrol it with a token that does, or take it out of the machine’s configuration.",
  );
}

/** Milliseconds for which an event may wait. Events are normally sent some seconds after their cause. */
const EVENTS_WAIT_MS = 60_000;

function waitingEvents({ whole, answeredMs, phase }: DiagnosisFacts): DiagnosisWarning[] {
  const { waiting = 0, oldest = null } = whole?.outbox ?? {};
  if (waiting === 0 || oldest === null || isClusterAway(phase)) return [];
  if (answeredMs - Date.parse(oldest) < EVENTS_WAIT_MS) return [];
  return warn(
    `${waiting === 1 ? "One event waits" : `${waiting} events wait`} for the apiserver.`,
    "The Worker sends them by itself. If they stay, `rollcall status` shows what is wrong with the apiserver.",
  );
}

function droppedEvents({ whole }: DiagnosisFacts): DiagnosisWarning[] {
  const { dropped = 0 } = whole?.outbox ?? {};
  if (dropped === 0) return [];
  return warn(
    `${dropped === 1 ? "One event was" : `${dropped} events were`} dropped: the apiserver did not take them in time.`,
    "",
  );
}

/** Warns of a new key without a report. A silent machine has no warning, because its state already says so. */
function unusedKey({ isUsed, phase, state }: DiagnosisFacts): DiagnosisWarning[] {
  if (isUsed || phase === null || state === "silent") return [];
  return warn("It has not reported with its new key yet.", "Restart its shim: `node-shim status` there.");
}

function withoutRuntime({ whole }: DiagnosisFacts): DiagnosisWarning[] {
  if (whole?.runtime !== "none") return [];
  return warn("An operator has set that it needs no container runtime: it is Ready without one.", "", {
    acts: ["runtime-auto"],
  });
}
