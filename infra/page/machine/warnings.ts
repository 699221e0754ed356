// What is not as it should be with a machine besides what its state says. Pure.
import { CONDITION_EXPLANATIONS } from "../../../shared/fleet/explanations.ts";
import { shortDuration } from "../base/relative-time.ts";
import { conditionText } from "./condition-rows.ts";
import type { DiagnosisFacts, DiagnosisWarning } from "./diagnosis-types.ts";

type Check = (facts: DiagnosisFacts) => DiagnosisWarning[];

/** The most urgent first. */
export function warningsOf(facts: DiagnosisFacts): DiagnosisWarning[] {
  return CHECKS.flatMap((check) => check(facts));
}

const warn = (text: string, todo: string, more: Partial<DiagnosisWarning> = {}): DiagnosisWarning[] => [
  { text, todo, acts: [], ...more },
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
  return warn("Another machine asks for its name, with another key.", "Approve or reject it.", {
    link: "approvals",
  });
}

/** Of a silent machine they are what it said last, and in its sentence. */
function pressures({ conditions, state }: DiagnosisFacts): DiagnosisWarning[] {
  if (state === "silent" || state === "revoked") return [];
  return conditions
    .filter(({ type, isWell }) => !isWell && type !== "Ready")
    .flatMap((row) => warn(`${conditionText(row)}.`, CONDITION_EXPLANATIONS[row.type]?.todo ?? ""));
}

/** Where there are good ones before them: else that is the phase. */
function refusedFacts({ whole, phase }: DiagnosisFacts): DiagnosisWarning[] {
  const refused = whole?.factsRefused;
  if (!refused || phase === "facts refused") return [];
  const { path, message } = refused;
  return warn(
    `What it says of itself now is refused, and its last good facts count: ${path || "the facts"}: ${message}.`,
    "Correct it on the machine; `node-shim facts` shows where it was read.",
  );
}

function cordoned({ live, whole }: DiagnosisFacts): DiagnosisWarning[] {
  if (!(live?.isUnschedulable ?? whole?.summary?.isUnschedulable)) return [];
  return warn(
    "It is cordoned: nothing new is scheduled on it.",
    "When it may be used: `kubectl uncordon NAME`",
  );
}

function skewed({ live, whole }: DiagnosisFacts): DiagnosisWarning[] {
  const skewMs = live?.skewMs ?? (whole?.isSkewed ? (whole.skewMs ?? 0) : 0);
  if (skewMs === 0) return [];
  return warn(
    `Its clock is ${shortDuration(Math.abs(skewMs))} ${skewMs > 0 ? "ahead" : "behind"}.`,
    "Have the machine’s time synchronized: `timedatectl status` there says by what.",
  );
}

function withheld({ live, whole }: DiagnosisFacts): DiagnosisWarning[] {
  const text = live?.withheld ?? whole?.summary?.withheld ?? "";
  if (text === "") return [];
  return warn(
    `Its Node lacks some of what the machine asks for: ${text}.`,
    "The deployment or its join token does not allow it: enrol it with a token that does, or take it out of the machine’s configuration.",
  );
}

/** Events are sent some seconds after what they tell of: only those that wait for longer say that something is wrong. */
const EVENTS_WAIT_MS = 60_000;

function waitingEvents({ whole, answeredMs, state }: DiagnosisFacts): DiagnosisWarning[] {
  const { waiting = 0, oldest = null } = whole?.outbox ?? {};
  if (waiting === 0 || oldest === null || state === "cluster-unreachable") return [];
  if (answeredMs - Date.parse(oldest) < EVENTS_WAIT_MS) return [];
  return warn(
    `${waiting === 1 ? "One event waits" : `${waiting} events wait`} for the apiserver.`,
    "They are sent by themselves; where it stays so, `rollcall status` says what is wrong with the apiserver.",
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

/** One that has never reported is told of by its state. */
function unusedKey({ isUsed, phase, state }: DiagnosisFacts): DiagnosisWarning[] {
  if (isUsed || phase === null || state === "silent") return [];
  return warn("It has not reported with its new key yet.", "Start its shim anew: `node-shim status` there.");
}

function withoutRuntime({ whole }: DiagnosisFacts): DiagnosisWarning[] {
  if (whole?.runtime !== "none") return [];
  return warn("An operator said that it needs no container runtime: it is Ready without one.", "", {
    acts: ["runtime-auto"],
  });
}
